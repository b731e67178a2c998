package expr

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/expr/random"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// Template is one compiled string. It is immutable and safe for concurrent use.
type Template struct {
	text    string
	literal bool
	// single is the read that the template consists of, if it is nothing but one path.
	single *site
	// parts are all there is, if that is text and paths.
	parts []part
	// exec is the rewritten tree, if it takes more than the above.
	exec  *template.Template
	sites []*site
	// keeps: the template is one expression, whose value is kept.
	keeps bool
	// tells: it is all of a value that has a name. Where it gives null, it is asked which key it has looked up in vain.
	tells bool
	paths []Path
	// needs are those of them that must not be absent, whatever else is read.
	needs []Path
	// named are the values that it reads.
	named []*Named
	// random is what functions may draw from; nil where the scope allows none.
	random *random.Source
}

// IsTemplate says whether a string holds an action, so that it is more than a literal.
func IsTemplate(s string) bool {
	return strings.Contains(s, leftDelim)
}

// GivesText says whether a string holds actions and always gives a text, because it is more than one expression. Of one that can't be
// parsed, nothing is known.
func GivesText(s string) bool {
	if !IsTemplate(s) {
		return false
	}
	c := &compiler{text: s}
	return c.parse() == nil && loneAction(c.parsed[mainTree]) == nil
}

// GivesText says whether the template always gives a text, as the function GivesText does of a string.
func (t *Template) GivesText() bool { return !t.literal && t.single == nil && !t.keeps }

// Compile parses one string. A string without {{ is a literal. Errors say what is wrong, with the position and the nearest
// valid name.
func (s *Scope) Compile(text string) (*Template, error) {
	if IsTemplate(text) {
		return s.compile(text, false)
	}
	if err := s.refuseOtherSyntax(text); err != nil {
		return nil, err
	}
	return &Template{text: text, literal: true}, nil
}

// otherSyntax is an expression in the syntax of other tools: a name before a field that objects have, or such a field alone. Shells have no names
// with dots, so that their variables are none.
var otherSyntax = regexp.MustCompile(`\$\{\s*\.?(?:children\.)?(?:([a-z]\w*)\.)?((?:spec|metadata|status|data)(?:\.\??\w+)+)[^}]*\}`)

// Literal writes a text as a template that gives just that text. Nothing in it is an action then, nor taken for the syntax of another tool.
func Literal(text string) string {
	var b strings.Builder
	plain := func(part string) { b.WriteString(strings.ReplaceAll(part, leftDelim, `{{ "`+leftDelim+`" }}`)) }
	from := 0
	for _, at := range otherSyntax.FindAllStringIndex(text, -1) {
		start, end := at[0], at[0]+len("${")
		for start > from && text[start-1] == '{' { // it would begin the action
			start--
		}
		plain(text[from:start])
		fmt.Fprintf(&b, "{{ %q }}", text[start:end])
		from = end
	}
	plain(text[from:])
	return b.String()
}

// refuseOtherSyntax refuses a text that would stand in a child as it was written. A name that means nothing here may be meant for whom the text
// is made.
func (s *Scope) refuseOtherSyntax(text string) error {
	for _, at := range otherSyntax.FindAllStringSubmatchIndex(text, -1) {
		object := ""
		if at[2] >= 0 {
			object = text[at[2]:at[3]]
		}
		if path, known := pathHere(s.roots, object, strings.ReplaceAll(text[at[4]:at[5]], "?", "")); known {
			return writeInstead(text, at[0], text[at[0]:at[1]], path)
		}
	}
	return nil
}

// pathHere gives the path that templates have for a field of an object of another tool, and whether it is known that this is meant: the resource,
// or a child by its name. A field data alone is none of the resource.
func pathHere(readable *roots.Set, object, field string) (path string, known bool) {
	switch object {
	case "", "schema", "self":
		return field, !strings.HasPrefix(field, "data.")
	}
	children, _ := readable.Schema(roots.Children)
	if children == nil {
		return "", false
	}
	_, known = children.Properties[object]
	return roots.Children + "." + object + "." + field, known
}

// writeInstead says how an expression in the syntax of another tool is written.
func writeInstead(text string, at int, written, path string) error {
	literal := fmt.Sprintf("{{ %q }}", written)
	if value.Shorten(written) != written {
		literal = "put it between {{ ` and ` }}" // a part of it would be taken for the whole
	}
	return fmt.Errorf("%s: templates are written {{ }}: write {{ .%s }} for %s; for the text itself, %s", position(text, at), path, value.Shorten(written), literal)
}

// CompilePath parses the field of a condition: a path such as spec.list[0].x or metadata.annotations['a.b/c'] or, when it
// holds {{, a template. What a path reads may be absent: it then evaluates to nil. So does a template that is a single
// expression.
func (s *Scope) CompilePath(text string) (*Template, error) {
	if IsTemplate(text) {
		return s.compile(text, true)
	}
	path, err := value.ParsePath(text)
	if err != nil {
		return nil, err
	}
	o, err := s.resolve(origin{known: true}, path)
	if err != nil {
		return nil, err
	}
	t := &Template{text: text, single: &site{path: o.path, fold: o.sure, lenient: true}}
	t.reads(s, []Path{o.inputs()})
	return t, nil
}

func (s *Scope) compile(text string, lenient bool) (*Template, error) {
	c := &compiler{scope: s, text: text, lenient: lenient, paths: map[string]Path{}, needs: map[string]Path{}}
	t, err := c.compile()
	if err != nil {
		return nil, err
	}
	t.random = s.random
	t.reads(s, sortedPaths(c.paths))
	t.needs = s.names().needed(c.needs)
	return t, nil
}

// reads notes what the template reads in a scope.
func (t *Template) reads(s *Scope, paths []Path) {
	t.named, t.paths = s.names().in(paths), s.names().closure(paths)
}

func sortedPaths(paths map[string]Path) []Path {
	sorted := slices.AppendSeq(make([]Path, 0, len(paths)), maps.Values(paths))
	slices.SortFunc(sorted, slices.Compare[Path])
	return sorted
}

// Literal gives the text when nothing in it is templated.
func (t *Template) Literal() (string, bool) {
	return t.text, t.literal
}

// String gives the template as written.
func (t *Template) String() string {
	return t.text
}

// Paths gives every path that the template may read, sorted and unique, with shortcuts replaced. A path stands for all that
// is below it. What a range reads of its elements is under the path of the list.
func (t *Template) Paths() []Path {
	return clones(t.paths)
}

func clones(all []Path) []Path {
	out := make([]Path, len(all))
	for i, p := range all {
		out[i] = slices.Clone(p)
	}
	return out
}

// Needs gives paths without which the template gives nothing, sorted and unique: those that are read whatever the data is, and where nothing
// says that they may be absent. Of what a value reads, they are among them. Of CEL nothing is known.
func (t *Template) Needs() []Path {
	return slices.Clone(t.needs)
}

// Path gives the path when the template is nothing but one path, with shortcuts replaced. It says false also where the
// case of a letter below .Spec or .Status is decided by the data.
func (t *Template) Path() (Path, bool) {
	if t.single == nil || t.single.fold < len(t.single.path) {
		return nil, false
	}
	return slices.Clone(t.single.path), true
}

// schema says what the template gives: the value of a path has the schema of the path, and what stands beside other text is text. Of what
// a function gives, nothing is known.
func (t *Template) schema(s *Scope) *roots.Schema {
	if path, ok := t.Path(); ok {
		if node, err := s.SchemaAt(path); err == nil && node != nil {
			return node
		}
	}
	if t.literal || t.parts != nil || t.exec != nil && !t.keeps {
		return &roots.Schema{Type: value.TypeString}
	}
	return roots.Unchecked()
}

// Eval evaluates the template. A single expression gives its own value: string, bool, int64, float64, map[string]any,
// []any or nil, which the caller owns; anything else gives a string. Errors are permanent (roots.AbsentError,
// budget.ExceededError, a function's error), except budget.PoolError and those of ctx itself, which are handed on.
func (t *Template) Eval(ctx context.Context, d Data) (any, error) {
	if t.literal {
		return t.text, nil
	}
	g, err := give(ctx, t.named, d)
	if err != nil {
		return nil, &siteError{expr: value.Shorten(t.text), err: err}
	}
	b, done := budget.New(ctx)
	defer done()
	v, err := t.eval(b, g.data)
	return v, g.explain(err)
}

func (t *Template) eval(b *budget.Budget, d Data) (any, error) {
	if t.literal {
		return t.text, nil
	}
	if t.parts != nil {
		return t.concat(b, d)
	}
	if t.single == nil {
		return t.execute(b, d)
	}
	v, err := t.single.read(d)
	if err == nil {
		v, err = b.CopyOut(v)
	}
	if err != nil {
		return nil, &siteError{expr: value.Shorten(t.text), err: err}
	}
	return v, nil
}

// execute runs the tree. Errors of our own carry the expression already.
func (t *Template) execute(b *budget.Budget, d Data) (v any, err error) {
	st := &state{Run: functions.NewRun(b, t.random), template: t, data: d}
	defer func() {
		// Functions have a recover of their own, which names them. This one is for bugs in what the compiler has put in.
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("evaluating %s: internal error (%T)", value.Shorten(t.text), r)
		}
	}()
	if err := b.Check(); err != nil {
		return nil, &siteError{expr: value.Shorten(t.text), err: err}
	}
	if err := t.exec.Execute(st, &frame{state: st, dot: d}); err != nil {
		return nil, translateExec(t.text, err)
	}
	if t.keeps {
		return st.kept, nil
	}
	return st.out.String(), nil
}

// MayShow says whether a message may show a value that a template has made, where paths are what that template reads. It is the one
// rule for values in conditions, events and logs: everything comes from the resource's own spec, or is its name, which those who
// read its status can read as well. What another object, an answer of a call, or a Secret holds is named by path and type alone. A
// template that reads nothing shows what the box's author has written. An empty path stands for all that there is.
func MayShow(paths []Path) bool {
	return !slices.ContainsFunc(paths, func(p Path) bool {
		switch {
		case len(p) == 0:
			return true
		case p[0] == roots.Values: // what it is made of is among the paths
			return false
		case p[0] == roots.Metadata:
			return len(p) != 2 || p[1] != "name" && p[1] != "namespace"
		default:
			return p[0] != roots.Spec
		}
	})
}
