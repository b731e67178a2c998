package expr

import (
	"strings"
	"text/template/parse"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/value"
)

// part is a piece of text, or a path that is read.
type part struct {
	text string
	read *site
}

// simple gives the parts of a template that is nothing but text and paths, as most are; nil for others. They are put together without
// text/template, which is slower.
func (c *compiler) simple() []part {
	var parts []part
	for _, n := range c.done[mainTree].Root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			parts = append(parts, part{text: string(n.Text)})
		case *parse.ActionNode:
			printed := n.Pipe.Cmds[0].Args
			if len(n.Pipe.Decl) > 0 || len(printed) < 4 {
				return nil
			}
			read := readOf(c.sites, printed[3])
			if read == nil {
				return nil
			}
			parts = append(parts, part{read: read})
		default:
			return nil
		}
	}
	return parts
}

// readOf gives the site of a node that reads one path from the root and does nothing else, or nil.
func readOf(sites []*site, n parse.Node) *site {
	p, ok := n.(*parse.PipeNode)
	if !ok {
		return nil
	}
	op, ok := p.Cmds[0].Args[0].(*parse.IdentifierNode)
	if !ok || op.Ident != opRead {
		return nil
	}
	number, ok := p.Cmds[0].Args[2].(*parse.NumberNode)
	if !ok {
		return nil
	}
	return sites[number.Int64]
}

// Filled gives the text of a template that is nothing but text and paths, with a value in place of each path; false: there is more to it.
func (t *Template) Filled(value string) (string, bool) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.read != nil {
			b.WriteString(value)
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String(), t.parts != nil
}

// concat puts the parts together.
func (t *Template) concat(b *budget.Budget, d Data) (any, error) {
	st := &state{Run: functions.NewRun(b, nil)}
	for _, p := range t.parts {
		text := p.text
		if p.read != nil {
			v, err := p.read.read(d)
			if err == nil {
				text, err = st.text(v)
			}
			if err != nil {
				return nil, p.read.wrap(err)
			}
		}
		if err := b.Output(len(text)); err != nil {
			return nil, &siteError{expr: value.Shorten(t.text), err: err}
		}
		st.out.WriteString(text)
	}
	return st.out.String(), nil
}
