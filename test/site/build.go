package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
)

const (
	// pagesFolder holds the pages, and home is the page that lists them in their order.
	pagesFolder = "docs"
	home        = pagesFolder + "/README.md"
	// designFolder holds pages for those who build Orkestra. They are not on the site: links lead to the repository.
	designFolder = pagesFolder + "/design"
)

//go:embed assets
var assets embed.FS

// site is what is being made.
type site struct {
	repository fs.FS
	markdown   goldmark.Markdown
	sections   []*section
	pages      map[string]*page // by the file in the repository
	others     map[string]*page // pages of the repository that are not on the site, read to look for their headings
	pictures   map[string]string
	files      map[string][]byte // what is made, by its path
}

// build makes the site of a repository: the content of each file, by its path. The same repository gives the same bytes. The error names everything that is
// wrong: links that lead nowhere, pages that the list of pages leaves out, titles that two pages have.
func build(repository fs.FS) (map[string][]byte, error) {
	markdown, err := newMarkdown()
	if err != nil {
		return nil, err
	}
	s := &site{repository: repository, markdown: markdown, pages: map[string]*page{}, others: map[string]*page{}, pictures: map[string]string{}, files: map[string][]byte{}}
	front, err := s.read(home)
	if err != nil {
		return nil, err
	}
	if s.sections, err = listed(front); err != nil {
		return nil, err
	}
	front.target = "index.html"
	s.pages[home] = front
	order, err := s.readListed()
	if err != nil {
		return nil, err
	}
	wrong := []error{s.unlisted(), sameTitle(order)}
	for _, p := range append([]*page{front}, order...) {
		wrong = append(wrong, s.resolve(p), p.refuseMarkup())
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if err := s.draw(front, order); err != nil {
		return nil, err
	}
	return s.files, errors.Join(s.index(order), s.copyAssets())
}

// readListed reads the pages in the order of the list, and tells each what is before and behind it.
func (s *site) readListed() ([]*page, error) {
	var order []*page
	var wrong []error
	for _, sect := range s.sections {
		for _, g := range sect.Groups {
			for _, e := range g.Entries {
				if s.pages[e.source] != nil {
					wrong = append(wrong, fmt.Errorf("%s: %s is listed twice", home, e.source))
					continue
				}
				p, err := s.read(e.source)
				if err != nil {
					wrong = append(wrong, fmt.Errorf("%s lists a page: %w", home, err))
					continue
				}
				p.target, p.section, p.group, p.Summary = target(e.source), sect, g, e.summary
				if e.label != "" {
					p.Title = e.label
				}
				if len(order) > 0 {
					last := order[len(order)-1]
					last.next, p.previous = p, last
				}
				e.Page, s.pages[e.source] = p, p
				order = append(order, p)
			}
		}
	}
	return order, errors.Join(wrong...)
}

// target is where a page is on the site.
func target(source string) string {
	source = strings.TrimPrefix(source, pagesFolder+"/")
	if path.Base(source) == "README.md" {
		return path.Dir(source) + ".html"
	}
	return strings.TrimSuffix(source, ".md") + ".html"
}

// unlisted names pages that are in no list.
func (s *site) unlisted() error {
	var wrong []error
	err := fs.WalkDir(s.repository, pagesFolder, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file == designFolder:
			return fs.SkipDir
		case !d.IsDir() && path.Ext(file) == ".md" && s.pages[file] == nil:
			wrong = append(wrong, fmt.Errorf("%s does not list %s", home, file))
		}
		return nil
	})
	return errors.Join(append(wrong, err)...)
}

// sameTitle names titles that two pages have: in a list of results nobody could tell them apart.
func sameTitle(pages []*page) error {
	var wrong []error
	seen := map[string]*page{}
	for _, p := range pages {
		key := strings.ToLower(p.Title)
		if first := seen[key]; first != nil {
			wrong = append(wrong, fmt.Errorf("%s: %s has the same title, %q", p.source, first.source, p.Title))
			continue
		}
		seen[key] = p
	}
	return errors.Join(wrong...)
}

// copyAssets adds styles, scripts and pictures.
func (s *site) copyAssets() error {
	for _, name := range []string{"style.css", "theme.js", "site.js", "icon.svg"} {
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		s.files[name] = content
	}
	for source, name := range s.pictures {
		content, err := fs.ReadFile(s.repository, source)
		if err != nil {
			return fmt.Errorf("copying %s: %w", source, err)
		}
		s.files[name] = content
	}
	return nil
}

// isPage says whether a file is a page of Markdown.
func isPage(file string) bool { return slices.Contains([]string{".md", ".markdown"}, path.Ext(file)) }
