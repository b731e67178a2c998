package expr

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// pipe rewrites a pipeline into one node: each command becomes the last argument of the next. The variables that the
// pipeline declares are known from here on. lenient says that what is read may be absent.
func (c *compiler) pipe(p *parse.PipeNode, dot place, lenient bool) (parse.Node, origin) {
	if c.depth++; c.depth > budget.MaxNesting {
		c.fail(p.Pos, budget.Over(budget.Nesting))
	}
	defer func() { c.depth-- }()
	// In `.spec.x | default 1`, .spec.x is an argument of default, and so may be absent.
	lenientUpTo := -1
	for i, cmd := range p.Cmds {
		if name, ok := cmd.Args[0].(*parse.IdentifierNode); ok && takesAbsent(name.Ident) {
			lenientUpTo = i
		}
	}
	var value parse.Node
	var from origin
	for i, cmd := range p.Cmds {
		if c.err != nil {
			break
		}
		value, from = c.command(cmd, dot, value, from, lenient || i < lenientUpTo)
	}
	for _, v := range p.Decl {
		known := from
		if c.changed[v.Ident[0]] || p.IsAssign {
			known = origin{}
		}
		c.vars = append(c.vars, variable{name: v.Ident[0], from: known})
	}
	return value, from
}

// command rewrites one command. last is the result of the one before it, if any.
func (c *compiler) command(cmd *parse.CommandNode, dot place, last parse.Node, lastFrom origin, lenient bool) (parse.Node, origin) {
	if name, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return c.function(name, cmd.Args[1:], dot, last, lastFrom, lenient)
	}
	if len(cmd.Args) > 1 || last != nil {
		c.failf(cmd.Pos, "%s is not a function, so it takes no arguments", value.Shorten(cmd.Args[0].String()))
		return nil, origin{}
	}
	if _, isNil := cmd.Args[0].(*parse.NilNode); isNil {
		c.failf(cmd.Pos, "nil alone is no expression")
		return nil, origin{}
	}
	return c.operand(cmd.Args[0], dot, lenient)
}

// operand rewrites an argument, or a command without arguments.
func (c *compiler) operand(n parse.Node, dot place, lenient bool) (parse.Node, origin) {
	switch n := n.(type) {
	case *parse.DotNode:
		c.record(dot.from)
		return dot.node, dot.from
	case *parse.FieldNode:
		pos := n.Pos
		if len(n.Ident) > 1 { // the parser gives the position of the second field
			pos -= parse.Pos(len(n.Ident[0]) + 1)
		}
		return c.fields(pos, dot.node, dot.from, n.Ident, lenient)
	case *parse.VariableNode:
		value, from := c.variable(n)
		if len(n.Ident) == 1 {
			c.record(from)
			return value, from
		}
		return c.fields(n.Pos, value, from, n.Ident[1:], lenient)
	case *parse.ChainNode:
		value, from := c.operand(n.Node, dot, lenient)
		return c.fields(n.Pos, value, from, n.Field, lenient)
	case *parse.PipeNode:
		if len(n.Decl) > 0 {
			c.failf(n.Pos, "a variable cannot be declared inside parentheses")
			return nil, origin{}
		}
		return c.pipe(n, dot, lenient)
	case *parse.IdentifierNode:
		return c.function(n, nil, dot, nil, origin{}, lenient)
	case *parse.NumberNode:
		if n.IsComplex || !n.IsInt && !n.IsFloat {
			c.failf(n.Pos, "%s is not a number that can be used here", value.Shorten(n.Text))
		}
	}
	return n, origin{} // a constant
}

func (c *compiler) variable(n *parse.VariableNode) (parse.Node, origin) {
	if n.Ident[0] == "$" {
		return c.root.node, c.root.from
	}
	value := &parse.VariableNode{NodeType: parse.NodeVariable, Pos: n.Pos, Ident: n.Ident[:1]}
	for _, v := range slices.Backward(c.vars) {
		if v.name == n.Ident[0] {
			return value, v.from
		}
	}
	return value, origin{}
}

// fields rewrites the reading of fields below a value.
func (c *compiler) fields(pos parse.Pos, value parse.Node, from origin, fields []string, lenient bool) (parse.Node, origin) {
	to, err := c.scope.resolve(from, fields)
	if err != nil {
		c.fail(pos, err)
		return nil, origin{}
	}
	if !to.known {
		return c.operation(opField, &site{path: fields, fold: len(fields), lenient: lenient}, value), to
	}
	c.record(to)
	if !lenient && c.perhaps == 0 {
		c.needs[to.inputs().String()] = to.inputs()
	}
	if len(from.path) == 0 {
		return c.operation(opRead, &site{path: to.path, fold: to.sure, lenient: lenient}), to
	}
	below := len(from.path)
	s := &site{path: to.path[below:], fold: max(to.sure-below, 0), from: from, lenient: lenient}
	return c.operation(opField, s, value), to
}

// function rewrites a call.
func (c *compiler) function(name *parse.IdentifierNode, args []parse.Node, dot place, last parse.Node, lastFrom origin,
	lenient bool,
) (parse.Node, origin) {
	fn := functions.Named(name.Ident)
	if fn == nil {
		c.fail(name.Pos, c.unknownFunction(name))
		return nil, origin{}
	}
	if fn.Draws() && c.scope.random == nil {
		c.failf(name.Pos, "function %q gives another result each time; %s", name.Ident,
			cmp.Or(c.scope.undrawn, "such functions are allowed only under `once: true`"))
		return nil, origin{}
	}
	n := len(args)
	if last != nil {
		n++
	}
	if err := fn.Arity(n); err != nil {
		c.fail(name.Pos, err)
		return nil, origin{}
	}
	if fn.Name == functions.And || fn.Name == functions.Or {
		defer c.perhaps.enter()()
	}
	lenientArgs := lenient || takesAbsent(name.Ident)
	values := make([]parse.Node, 0, n)
	origins := make([]origin, 0, n)
	for _, arg := range args {
		value, from := c.operand(arg, dot, lenientArgs)
		if c.err != nil {
			return nil, origin{}
		}
		values, origins = append(values, value), append(origins, from)
	}
	if last != nil {
		values, origins = append(values, last), append(origins, lastFrom)
	}
	if fn.Name == functions.And || fn.Name == functions.Or {
		// These stay what they are in text/template, because they must not evaluate more arguments than they need.
		return pipeOf(append([]parse.Node{parse.NewIdentifier(fn.Name)}, values...)...), origin{}
	}
	from := c.element(fn.Name, name.Pos, values, origins)
	call := &site{fn: fn, from: from, lenient: lenient}
	if fn.Name == functions.Get {
		call.looked = c.scope.names().lookup(args, origins)
	}
	return c.operation(opCall, call, values...), from
}

// element gives the origin of what index and get read, where the keys are constants.
func (c *compiler) element(function string, pos parse.Pos, values []parse.Node, origins []origin) origin {
	object, keys := 0, values[min(1, len(values)):]
	switch {
	case function == functions.Get && !origins[0].known && len(values) == 2: // the object comes last
		object, keys = 1, values[:1]
	case function != functions.Get && function != functions.Index:
		return origin{}
	}
	from := origins[object]
	if !from.known || len(from.path) == 0 {
		return origin{}
	}
	from.folds = false
	segments := make([]string, 0, len(keys))
	for _, key := range keys {
		switch key := key.(type) {
		case *parse.StringNode:
			segments = append(segments, key.Text)
		case *parse.NumberNode:
			if !key.IsUint {
				return origin{}
			}
			segments = append(segments, strconv.FormatUint(key.Uint64, 10))
		default:
			return origin{}
		}
	}
	to, err := c.scope.resolve(from, segments)
	if err != nil {
		c.fail(pos, err)
		return origin{}
	}
	c.record(to)
	return to
}

// record notes that a path is read.
func (c *compiler) record(from origin) {
	if !from.known {
		return
	}
	if len(from.path) > 0 {
		path := from.inputs()
		c.paths[path.String()] = path
		return
	}
	for _, root := range c.scope.roots.Names() { // all the data
		c.paths[root] = Path{root}
	}
}

// operation makes the call of an internal function.
func (c *compiler) operation(name string, s *site, args ...parse.Node) *parse.PipeNode {
	s.expr = c.action
	c.sites = append(c.sites, s)
	index := len(c.sites) - 1
	number := &parse.NumberNode{NodeType: parse.NodeNumber, IsInt: true, Int64: int64(index), Text: strconv.Itoa(index)}
	return op(name, append([]parse.Node{number}, args...)...)
}

func op(name string, args ...parse.Node) *parse.PipeNode {
	state := &parse.VariableNode{NodeType: parse.NodeVariable, Ident: []string{"$"}}
	return pipeOf(append([]parse.Node{parse.NewIdentifier(name), state}, args...)...)
}

func pipeOf(words ...parse.Node) *parse.PipeNode {
	cmd := &parse.CommandNode{NodeType: parse.NodeCommand, Args: words}
	return &parse.PipeNode{NodeType: parse.NodePipe, Cmds: []*parse.CommandNode{cmd}}
}

// declare gives a pipeline that assigns value to what p declares.
func declare(p *parse.PipeNode, value parse.Node) *parse.PipeNode {
	out := &parse.PipeNode{NodeType: parse.NodePipe, IsAssign: p.IsAssign, Decl: p.Decl}
	if inner, ok := value.(*parse.PipeNode); ok {
		out.Cmds = inner.Cmds
	} else {
		out.Cmds = pipeOf(value).Cmds
	}
	return out
}

func actionOf(p *parse.PipeNode) *parse.ActionNode {
	return &parse.ActionNode{NodeType: parse.NodeAction, Pipe: p}
}

func listOf(n parse.Node) *parse.ListNode {
	return &parse.ListNode{NodeType: parse.NodeList, Nodes: []parse.Node{n}}
}

// lastFunction names the function that gives a pipeline's value.
func lastFunction(p *parse.PipeNode) string {
	if name, ok := p.Cmds[len(p.Cmds)-1].Args[0].(*parse.IdentifierNode); ok {
		return name.Ident
	}
	return ""
}

func takesAbsent(name string) bool {
	fn := functions.Named(name)
	return fn != nil && fn.TakesAbsent()
}

// missingDot is a path that was written without the dot before it.
var missingDot = regexp.MustCompile(`^[\pL_][\pL\pN_]*(\.[\pL_][\pL\pN_]*)*`)

// unknownFunction says what may have been meant, or why there is no such function.
func (c *compiler) unknownFunction(n *parse.IdentifierNode) error {
	name := n.Ident
	path := cmp.Or(missingDot.FindString(c.text[min(int(n.Pos), len(c.text)):]), name)
	if c.scope.roots.Reads(name) {
		return fmt.Errorf("%s is a field, not a function: write .%s, with a dot before it", name, value.Shorten(path))
	}
	if below, ok := strings.CutPrefix(path, "self."); ok {
		return fmt.Errorf("self is CEL's name for the resource: write .%s", value.Shorten(below))
	}
	if roots.Elsewhere(name) {
		return c.scope.roots.Check(name)
	}
	if reason, ok := functions.Refused(name); ok {
		return fmt.Errorf("function %q %s", name, reason)
	}
	return fmt.Errorf("unknown function %q%s", value.Shorten(name), suggest.DidYouMean(name, functions.Names()))
}
