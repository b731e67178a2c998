package main

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	extensions "github.com/yuin/goldmark/extension/ast"
)

// section is one of the sorts of pages: a heading of the list of pages.
type section struct {
	Title  string
	ID     string
	Groups []*group
}

// group is a table of pages below a heading.
type group struct {
	Title   string // empty: these pages stand directly below the section
	ID      string
	Entries []*entry
}

// entry is a row of such a table.
type entry struct {
	source  string // the page, in the repository
	label   string // the title that the list gives the page; empty: the page's own
	summary string
	Page    *page
}

// listed reads which pages there are from the page that lists them: headings of the second level are sections, those of the third groups, and each row of a
// table links to a page and says what it is for. What stands in front of the first section stays on that page.
func listed(front *page) ([]*section, error) {
	var sections []*section
	var current *group
	var wrong []error
	for _, node := range following(front.document) {
		switch n := node.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				current = &group{}
				sections = append(sections, &section{Title: front.text(n), ID: idOf(n), Groups: []*group{current}})
				continue
			}
			if len(sections) == 0 {
				wrong = append(wrong, fmt.Errorf("%s: the heading %q stands in no section", front.source, front.text(n)))
				continue
			}
			current = &group{Title: front.text(n), ID: idOf(n)}
			last := sections[len(sections)-1]
			last.Groups = append(last.Groups, current)
		case *extensions.Table:
			entries, err := front.rows(n)
			wrong = append(wrong, err)
			if current != nil {
				current.Entries = append(current.Entries, entries...)
			}
		}
	}
	for _, s := range sections {
		if len(s.Groups[0].Entries) == 0 {
			s.Groups = s.Groups[1:]
		}
	}
	if len(sections) == 0 {
		wrong = append(wrong, fmt.Errorf("%s lists no pages", front.source))
	}
	return sections, errors.Join(wrong...)
}

// following takes what begins with the first section out of a document.
func following(document ast.Node) []ast.Node {
	var out []ast.Node
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); len(out) > 0 || ok && h.Level > 1 {
			out = append(out, n)
		}
	}
	for _, n := range out {
		document.RemoveChild(document, n)
	}
	return out
}

// rows reads the pages of a table.
func (p *page) rows(table ast.Node) ([]*entry, error) {
	var out []*entry
	var wrong []error
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		if _, ok := row.(*extensions.TableRow); !ok {
			continue
		}
		link, ok := row.FirstChild().FirstChild().(*ast.Link)
		if !ok || link.NextSibling() != nil || row.ChildCount() != 2 {
			wrong = append(wrong, fmt.Errorf("%s: want a link to a page and what it is for in the row %q", p.source, p.text(row)))
			continue
		}
		e := &entry{source: path.Join(path.Dir(p.source), string(link.Destination)), summary: p.text(row.LastChild())}
		if label := p.text(link); !isPage(label) {
			e.label = strings.ToUpper(label[:1]) + label[1:]
		}
		out = append(out, e)
	}
	return out, errors.Join(wrong...)
}
