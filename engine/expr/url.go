package expr

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"text/template/parse"
)

// The functions that put a value into a URL.
const (
	funcSegment = "urlSegment"
	funcPath    = "urlPath"
	funcQuery   = "urlquery"
)

// CompileURL parses a URL whose parts may be templates. What a template prints is escaped by where it stands: as one segment of the
// path, or as a part of the query, so that a value can't lead to another path of the host. A template that ends with urlPath prints
// several segments. What stands before the path is as it is: whether it may be a template at all is for the caller to say.
func (s *Scope) CompileURL(text string) (*Template, error) {
	if !IsTemplate(text) {
		return s.Compile(text)
	}
	if t, err := s.Compile(text); err != nil {
		return t, err // the positions are those of the text as written, and not of the one with escapes
	}
	tree := parse.New(mainTree)
	tree.Mode = parse.SkipFuncCheck
	parsed, err := tree.Parse(text, leftDelim, "}}", map[string]*parse.Tree{})
	if err != nil {
		return nil, translateParse(text, err)
	}
	var place urlPlace
	if err := place.list(parsed.Root); err != nil {
		return nil, err
	}
	return s.Compile(parsed.Root.String())
}

// urlPlace is how far a URL has come: what has been written of it as text.
type urlPlace struct{ written string }

// escape is the function that escapes what is printed at the place; empty before the path.
func (p *urlPlace) escape() string {
	_, rest, found := strings.Cut(p.written, "://")
	switch {
	case !found || !strings.ContainsAny(rest, "/?#"):
		return ""
	case strings.ContainsAny(rest, "?#"):
		return funcQuery
	default:
		return funcSegment
	}
}

// list wraps all that a list of nodes prints.
func (p *urlPlace) list(l *parse.ListNode) error {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if err := p.node(n); err != nil {
			return err
		}
	}
	return nil
}

func (p *urlPlace) node(n parse.Node) error {
	switch n := n.(type) {
	case *parse.TextNode:
		p.written += string(n.Text)
	case *parse.ActionNode:
		p.print(n.Pipe)
	case *parse.IfNode:
		return errors.Join(p.list(n.List), p.list(n.ElseList))
	case *parse.WithNode:
		return errors.Join(p.list(n.List), p.list(n.ElseList))
	case *parse.RangeNode:
		return errors.Join(p.list(n.List), p.list(n.ElseList))
	case *parse.TemplateNode:
		return fmt.Errorf("{{template %q}}: a URL takes no named template, which may print any part of it", n.Name)
	default: // break, continue and comments print nothing
	}
	return nil
}

// print puts the escaping function behind a pipeline that prints, unless its author has said how it is escaped.
func (p *urlPlace) print(pipe *parse.PipeNode) {
	escape := p.escape()
	if len(pipe.Decl) > 0 || escape == "" {
		return
	}
	if last, ok := pipe.Cmds[len(pipe.Cmds)-1].Args[0].(*parse.IdentifierNode); ok &&
		(last.Ident == escape || last.Ident == funcPath && escape == funcSegment) {
		return
	}
	pipe.Cmds = append(pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier(escape)}})
}

// CheckURLPath refuses a rendered URL that leads to another path than it shows: by the segments "." and "..", and by empty ones, which
// servers take away. The error does not show the URL, which may hold a secret.
func CheckURLPath(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return nil //nolint:nilerr // the client says what is wrong with a URL
	}
	segments := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	for i, segment := range segments {
		if segment == "." || segment == ".." || segment == "" && i < len(segments)-1 {
			return fmt.Errorf("segment %d of the path is %q, which may lead to another path: a template must yield a name there", i+1, segment)
		}
	}
	if slices.Contains(strings.Split(strings.ReplaceAll(u.Path, `\`, "/"), "/"), "..") {
		return errors.New(`the path holds "..", which may lead to another path`)
	}
	return nil
}
