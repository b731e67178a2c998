package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// searchFile is where the search looks.
const searchFile = "search.json"

// found is what the search reads: pages, and their parts, each with the number of its page.
type found struct {
	Pages []foundPage `json:"pages"`
	Parts []foundPart `json:"parts"`
}

type foundPage struct {
	Path    string `json:"path"`
	Title   string `json:"title"`
	Section string `json:"section"`
	Summary string `json:"summary"`
}

type foundPart struct {
	Page    int    `json:"page"`
	ID      string `json:"id,omitempty"` // empty: what stands in front of the first heading
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text"`
}

// index writes what the search in the browser reads. A part of a page reaches from one heading to the next.
func (s *site) index(order []*page) error {
	var all found
	for number, p := range order {
		all.Pages = append(all.Pages, foundPage{p.target, p.Title, p.section.Title, p.Summary})
		part := foundPart{Page: number}
		for n := p.document.FirstChild(); n != nil; n = n.NextSibling() {
			switch h, ok := n.(*ast.Heading); {
			case ok && h.Level == 1:
			case ok:
				all.add(part)
				part = foundPart{Page: number, ID: idOf(h), Heading: p.text(h)}
			default:
				part.Text += p.text(n) + " "
			}
		}
		all.add(part)
	}
	content, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("writing what the search reads: %w", err)
	}
	s.files[searchFile] = content
	return nil
}

func (f *found) add(part foundPart) {
	part.Text = strings.TrimSpace(part.Text)
	f.Parts = append(f.Parts, part)
}
