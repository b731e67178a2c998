package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// page is a page of the repository.
type page struct {
	source   string // in the repository
	target   string // on the site
	Title    string
	Summary  string
	section  *section
	group    *group
	previous *page
	next     *page
	content  []byte
	document ast.Node
	headings []heading
}

// heading is one that links can lead to.
type heading struct {
	Level int
	ID    string
	Text  string
}

// read reads a page, and gives its headings the names that GitHub gives them.
func (s *site) read(source string) (*page, error) {
	content, err := fs.ReadFile(s.repository, source)
	if err != nil {
		return nil, err
	}
	p := &page{source: source, content: content, document: s.markdown.Parser().Parse(text.NewReader(content))}
	taken := map[string]int{}
	for n := p.document.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		title := p.text(h)
		id := unique(anchor(title), taken)
		h.SetAttributeString("id", []byte(id))
		p.headings = append(p.headings, heading{h.Level, id, title})
		if h.Level == 1 && p.Title != "" {
			return nil, fmt.Errorf("%s: two titles, %q and %q", source, p.Title, title)
		}
		if h.Level == 1 {
			p.Title = title
		}
	}
	if p.Title == "" {
		return nil, fmt.Errorf("%s has no title: begin it with a line like `# Title`", source)
	}
	return p, nil
}

// anchor is how GitHub names a heading: in lower case, without punctuation, with hyphens for spaces.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(title))
}

// unique numbers a name that is taken, as GitHub does.
func unique(name string, taken map[string]int) string {
	out := name
	for {
		count, there := taken[out]
		if !there {
			taken[out] = 0
			return out
		}
		taken[name] = max(count, taken[name]) + 1
		out = fmt.Sprintf("%s-%d", name, taken[name])
	}
}

func idOf(h *ast.Heading) string {
	id, _ := h.AttributeString("id")
	b, _ := id.([]byte)
	return string(b)
}

// has says whether a link can lead to this heading.
func (p *page) has(id string) bool {
	for _, h := range p.headings {
		if h.ID == id {
			return true
		}
	}
	return false
}

// text is what a reader sees of a node, with single spaces.
func (p *page) text(node ast.Node) string {
	var out strings.Builder
	// The walk never fails: the function gives no error.
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock {
				out.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(unescaped(n, p.content))
			if n.SoftLineBreak() || n.HardLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.AutoLink:
			out.Write(n.Label(p.content))
		case *ast.RawHTML:
			out.WriteByte(' ')
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			out.Write(n.Lines().Value(p.content))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(out.String()), " ")
}

// lineBreak is the one tag that pages may have: Markdown has no other way to begin a line inside of a table.
const lineBreak = "<br>"

// refuseMarkup names HTML that would be left out: what is neither a comment nor a line break.
func (p *page) refuseMarkup() error {
	var wrong []error
	_ = ast.Walk(p.document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		var lines *text.Segments
		switch n := n.(type) {
		case *ast.HTMLBlock:
			lines = n.Lines()
		case *ast.RawHTML:
			lines = n.Segments
		default:
			return ast.WalkContinue, nil
		}
		value := string(bytes.TrimSpace(lines.Value(p.content)))
		if entering && value != lineBreak && !strings.HasPrefix(value, "<!--") {
			wrong = append(wrong, fmt.Errorf("%s:%d: HTML is left out, write Markdown: %s", p.source, p.line(lines.At(0).Start), value))
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(wrong...)
}

// line is the number of the line that holds a byte.
func (p *page) line(at int) int { return 1 + bytes.Count(p.content[:at], []byte("\n")) }
