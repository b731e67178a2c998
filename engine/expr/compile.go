package expr

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/value"
)

const (
	leftDelim  = "{{"
	rightDelim = "}}"
	mainTree   = "(this text)"
	// maxText also bounds how deeply the parser, which has no limit for blocks, calls itself.
	maxText = 256 << 10
)

// compiler rewrites the trees of one string. Its methods give nodes and keep the first error, so that they can be nested.
type compiler struct {
	scope   *Scope
	text    string
	lenient bool
	err     error

	parsed  map[string]*parse.Tree
	done    map[string]*parse.Tree // rewritten trees by name
	sites   []*site
	paths   map[string]Path
	needs   map[string]Path // those of the paths that must not be absent
	perhaps nesting         // how many blocks and calls are around here that may not be evaluated
	changed map[string]bool // variables that are assigned to, whose origin is therefore not known
	vars    []variable
	root    place // what $ stands for in the tree that is being rewritten
	action  string
	depth   int
}

type variable struct {
	name string
	from origin
}

// place is the dot of a part of a template: the node that gives it, and where it comes from.
type place struct {
	node parse.Node
	from origin
}

func (c *compiler) compile() (*Template, error) {
	if err := c.parse(); err != nil {
		return nil, err
	}
	c.done = map[string]*parse.Tree{}
	t := &Template{text: c.text}
	all := origin{known: true}
	if lone := loneAction(c.parsed[mainTree]); lone != nil {
		t.keeps = true // `{{ .spec.replicas }}` gives a number, and not its text
		c.root = place{node: op(opDot), from: all}
		c.setAction(lone.Pos, lone.Line)
		expression, _ := c.pipe(lone.Pipe, c.root, c.lenient)
		if c.err != nil {
			return nil, c.err
		}
		if t.single = readOf(c.sites, expression); t.single != nil {
			c.checkUncalled()
			return t, c.err
		}
		c.finish(mainTree, mainTree, listOf(actionOf(c.operation(opKeep, &site{}, expression))))
	} else {
		c.define(mainTree, mainTree, all)
	}
	c.checkUncalled()
	if c.err != nil {
		return nil, c.err
	}
	t.sites = c.sites
	if t.parts = c.simple(); t.parts != nil {
		return t, nil
	}
	var err error
	t.exec, err = assemble(c.done)
	return t, err
}

// checkUncalled rewrites the defined templates that nothing calls, so that mistakes in them are reported, too.
func (c *compiler) checkUncalled() {
	for _, name := range slices.Sorted(maps.Keys(c.parsed)) {
		if c.done[toAll+name] == nil && c.done[toAny+name] == nil && name != mainTree {
			c.define(name, toAny+name, origin{})
		}
	}
}

// Two versions are made of a defined template: one for callers that hand on all the data, in which paths can be checked, and
// one for all others. These come before its name.
const (
	toAll = "all "
	toAny = "any "
)

// parse reads the text. Whether functions exist is checked later, with better messages.
func (c *compiler) parse() error {
	if len(c.text) > maxText {
		return errors.New("a template is longer than 256 KiB")
	}
	tree := parse.New(mainTree)
	tree.Mode = parse.SkipFuncCheck
	c.parsed = map[string]*parse.Tree{}
	if _, err := tree.Parse(c.text, leftDelim, rightDelim, c.parsed); err != nil {
		return translateParse(c.text, err)
	}
	if c.parsed[mainTree] == nil { // nothing but definitions
		c.parsed[mainTree] = tree
	}
	c.changed = map[string]bool{}
	for _, m := range assignment.FindAllStringSubmatch(c.text, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			c.changed[strings.TrimSpace(name)] = true
		}
	}
	return nil
}

// assignment finds the variables that a text assigns to. It may find too many (those in strings), whose origin is then not checked.
var assignment = regexp.MustCompile(`(\$[\pL\pN_]*(?:\s*,\s*\$[\pL\pN_]*)?)\s*=`)

// loneAction gives the expression that a tree consists of, if it is nothing else.
func loneAction(tree *parse.Tree) *parse.ActionNode {
	if tree.Root == nil || len(tree.Root.Nodes) != 1 {
		return nil
	}
	action, ok := tree.Root.Nodes[0].(*parse.ActionNode)
	if !ok || len(action.Pipe.Decl) > 0 {
		return nil
	}
	return action
}

// assemble makes what text/template runs.
func assemble(trees map[string]*parse.Tree) (*template.Template, error) {
	t := template.New(mainTree).Funcs(internals())
	for name, tree := range trees {
		if _, err := t.AddParseTree(name, tree); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// finish notes a rewritten tree. It is a copy of the parsed one, because text/template looks up positions in its text.
func (c *compiler) finish(name, as string, list *parse.ListNode) {
	tree := *c.parsed[name]
	tree.Name, tree.Root = as, list
	c.done[as] = &tree
}

// define rewrites a named tree for callers that hand it dot from the given origin.
func (c *compiler) define(name, as string, from origin) {
	outer := *c
	c.done[as] = nil // so that a tree which calls itself is not rewritten again
	c.vars, c.root = nil, place{node: op(opDot), from: from}
	if name != mainTree {
		defer c.perhaps.enter()()
	}
	list := c.list(c.parsed[name].Root, c.root)
	c.finish(name, as, list)
	c.vars, c.root, c.action = outer.vars, outer.root, outer.action
}

func (c *compiler) list(l *parse.ListNode, dot place) *parse.ListNode {
	if l == nil {
		return nil
	}
	if c.depth++; c.depth > budget.MaxNesting {
		c.fail(l.Pos, budget.Over(budget.Nesting))
	}
	defer func() { c.depth-- }()
	out := &parse.ListNode{NodeType: parse.NodeList, Pos: l.Pos}
	for _, n := range l.Nodes {
		if c.err != nil {
			break
		}
		if n := c.node(n, dot); n != nil {
			out.Nodes = append(out.Nodes, n)
		}
	}
	return out
}

// branch rewrites a list that may not be evaluated.
func (c *compiler) branch(l *parse.ListNode, dot place) *parse.ListNode {
	defer c.perhaps.enter()()
	return c.list(l, dot)
}

// nesting counts what is around a place.
type nesting int

// enter says that what follows is one deeper, and gives the function that ends this.
func (n *nesting) enter() func() {
	*n++
	return func() { *n-- }
}

// node rewrites one node of a list; nil leaves it out.
func (c *compiler) node(n parse.Node, dot place) parse.Node {
	switch n := n.(type) {
	case *parse.ActionNode:
		c.setAction(n.Pos, n.Line)
		expression, _ := c.pipe(n.Pipe, dot, false)
		if len(n.Pipe.Decl) > 0 {
			return actionOf(declare(n.Pipe, expression))
		}
		// Sprig's get gives "" for what is absent, ours nil; in text they are the same.
		return actionOf(c.operation(opPrint, &site{lenient: lastFunction(n.Pipe) == functions.Get}, expression))
	case *parse.IfNode:
		c.setAction(n.Pos, n.Line)
		defer c.scoped()()
		condition, _ := c.pipe(n.Pipe, dot, true)
		return &parse.IfNode{BranchNode: parse.BranchNode{NodeType: parse.NodeIf, Pos: n.Pos,
			Pipe: declare(n.Pipe, condition), List: c.branch(n.List, dot), ElseList: c.branch(n.ElseList, dot)}}
	case *parse.WithNode:
		c.setAction(n.Pos, n.Line)
		defer c.scoped()()
		value, from := c.pipe(n.Pipe, dot, true)
		inner := place{node: &parse.DotNode{NodeType: parse.NodeDot, Pos: n.Pos}, from: from}
		return &parse.WithNode{BranchNode: parse.BranchNode{NodeType: parse.NodeWith, Pos: n.Pos,
			Pipe: declare(n.Pipe, value), List: c.branch(n.List, inner), ElseList: c.branch(n.ElseList, dot)}}
	case *parse.RangeNode:
		c.setAction(n.Pos, n.Line)
		defer c.scoped()()
		return c.rangeNode(n, dot)
	case *parse.TemplateNode:
		c.setAction(n.Pos, n.Line)
		return c.templateNode(n, dot)
	case *parse.CommentNode:
		return nil
	default: // text, break, continue
		return n
	}
}

func (c *compiler) rangeNode(n *parse.RangeNode, dot place) parse.Node {
	list, from := c.pipe(n.Pipe, dot, false)
	if len(from.path) == 0 {
		from = origin{} // it goes over the roots, which have no schema in common
	} else {
		settled := from.sure == len(from.path)
		from.path = from.path.With(value.AnyElement)
		if settled {
			from.sure++
		}
	}
	for i := range c.vars[len(c.vars)-len(n.Pipe.Decl):] { // what pipe declared: the last one is the element
		v := &c.vars[len(c.vars)-len(n.Pipe.Decl)+i]
		v.from = origin{}
		if i == len(n.Pipe.Decl)-1 && !c.changed[v.name] {
			v.from = from
		}
	}
	tick := actionOf(c.operation(opTick, &site{}))
	checked := c.operation(opRange, &site{}, list)
	body := c.branch(n.List, place{node: &parse.DotNode{NodeType: parse.NodeDot, Pos: n.Pos}, from: from})
	body.Nodes = append([]parse.Node{tick}, body.Nodes...)
	return &parse.RangeNode{BranchNode: parse.BranchNode{NodeType: parse.NodeRange, Pos: n.Pos,
		Pipe: declare(n.Pipe, checked), List: body, ElseList: c.branch(n.ElseList, dot)}}
}

// templateNode rewrites a call of a defined template.
func (c *compiler) templateNode(n *parse.TemplateNode, dot place) parse.Node {
	var argument parse.Node = &parse.NilNode{NodeType: parse.NodeNil, Pos: n.Pos}
	var from origin
	if n.Pipe != nil {
		argument, from = c.pipe(n.Pipe, dot, false)
	}
	if c.parsed[n.Name] == nil || n.Name == mainTree {
		c.failf(n.Pos, "template %q is not defined in this text", value.Shorten(n.Name))
		return nil
	}
	as := toAny + n.Name
	if from.known && len(from.path) == 0 {
		as = toAll + n.Name
	} else {
		from = origin{}
	}
	call := c.operation(opFrame, &site{}, argument)
	if _, ok := c.done[as]; !ok {
		c.define(n.Name, as, from)
	}
	return &parse.TemplateNode{NodeType: parse.NodeTemplate, Pos: n.Pos, Line: n.Line, Name: as, Pipe: call}
}

// scoped gives a function that forgets the variables declared since.
func (c *compiler) scoped() func() {
	mark := len(c.vars)
	return func() { c.vars = c.vars[:mark] }
}
