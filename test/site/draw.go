package main

import (
	"bytes"
	"fmt"
	"html/template"
)

var layout = template.Must(template.New("page.html").ParseFS(assets, "assets/page.html"))

// view is what the layout is filled with. Root leads from the page to the folder of the site.
type view struct {
	Root, Title, Summary, Edit string
	Body                       template.HTML
	Outline                    []heading
	Sections                   []*section
	page                       *page
}

// draw makes the HTML of all pages.
func (s *site) draw(front *page, order []*page) error {
	for _, p := range append([]*page{front}, order...) {
		body, err := s.body(p)
		if err != nil {
			return err
		}
		v := view{
			Root: relative(p.target, ""), Title: p.Title, Summary: p.Summary, Edit: repositoryURL + "/edit/main/" + p.source,
			Body:     template.HTML(body),
			Sections: s.sections, page: p,
		}
		for _, h := range p.headings {
			if p != front && (h.Level == 2 || h.Level == 3) {
				v.Outline = append(v.Outline, h)
			}
		}
		var out bytes.Buffer
		if err := layout.Execute(&out, v); err != nil {
			return fmt.Errorf("%s: %w", p.source, err)
		}
		s.files[p.target] = out.Bytes()
	}
	return nil
}

// To leads from this page to another one.
func (v view) To(p *page) string { return relative(v.page.target, p.target) }

// Here says whether it is this page.
func (v view) Here(p *page) bool { return v.page == p }

// Home says whether this is the page that lists the others.
func (v view) Home() bool { return v.page.section == nil }

// Open says whether this page is in a group.
func (v view) Open(g *group) bool { return v.page.group == g }

// Place is the section, and the group, that this page is in.
func (v view) Place() string {
	if v.page.group.Title == "" {
		return v.page.section.Title
	}
	return v.page.section.Title + " · " + v.page.group.Title
}

// Previous is the page before this one; nil where there is none.
func (v view) Previous() *page { return v.page.previous }

// Next is the page behind this one; nil where there is none.
func (v view) Next() *page { return v.page.next }
