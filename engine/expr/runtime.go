package expr

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// state belongs to one run of one template.
type state struct {
	*functions.Run

	template *Template
	data     Data
	out      strings.Builder
	kept     any
	missed   *missed // the last call of get that has found nothing
}

// Write takes the template's text, as long as the limit allows.
func (st *state) Write(p []byte) (int, error) {
	if err := st.Output(len(p)); err != nil {
		return 0, err
	}
	return st.out.Write(p)
}

// frame is what the variable $ holds while a template runs: it carries the state to the functions that the compiler put
// in. dot is what the template was called with.
type frame struct {
	state *state
	dot   any
	depth int
}

// site is a place in a template where something is read, called or printed.
type site struct {
	expr   string              // the action as written, for messages
	fn     *functions.Function // of a call
	path   Path                // of a read: from the root, or below a value
	from   origin              // where that value comes from; of a call: what it gives
	fold   int                 // from this segment on, the first letter's case is decided by the value
	looked []looked            // of a call of get: its arguments
	// lenient: what is absent is nil here, no error.
	lenient bool
}

// The names of the internal functions.
const (
	opRead  = "__read"
	opField = "__field"
	opCall  = "__call"
	opPrint = "__print"
	opKeep  = "__keep"
	opRange = "__range"
	opTick  = "__tick"
	opFrame = "__frame"
	opDot   = "__dot"
)

// internals are the functions that the compiler puts into a tree. Users cannot call them: the compiler knows no such names.
func internals() template.FuncMap {
	return template.FuncMap{
		opRead: runRead, opField: runField, opCall: runCall, opPrint: runPrint, opKeep: runKeep,
		opRange: runRange, opTick: runTick, opFrame: runFrame, opDot: func(f *frame) any { return f.dot },
	}
}

func (f *frame) site(i int) *site { return f.state.template.sites[i] }

func runRead(f *frame, i int) (any, error) {
	s := f.site(i)
	v, err := s.read(f.state.data)
	return v, s.wrap(err)
}

// read reads the site's path from the root.
func (s *site) read(d Data) (any, error) {
	v, n := value.Walk(d, s.path, s.fold)
	if v != nil || s.lenient {
		return v, nil
	}
	return nil, s.absent(s.path, n, d)
}

// runField reads fields of a value.
func runField(f *frame, i int, base any) (any, error) {
	s := f.site(i)
	path, foldFrom := s.path, s.fold
	if !s.from.known && f.state.isAll(base) {
		// All the data came here by a way that the compiler could not follow, so shortcuts are still in the path.
		if full, ok := shortcut(path[0]); ok && f.state.data[path[0]] == nil {
			path, foldFrom = full.With(path[1:]...), len(full)
		}
	}
	v, n := value.Walk(base, path, foldFrom)
	if v != nil || s.lenient {
		return v, nil
	}
	return nil, s.wrap(s.absent(path, n, base))
}

// absent makes the error for a path of which only n segments could be read from base.
func (s *site) absent(path Path, n int, base any) error {
	e := &roots.AbsentError{Path: s.from.path.With(path...)}
	parent, _ := value.Walk(base, path[:n], s.fold)
	switch parent.(type) {
	case nil, map[string]any, []any:
	default:
		at := s.from.path.With(path[:n]...).String()
		if at == "" {
			at = "the value"
		}
		e.Found = fmt.Sprintf("%s is a %s", at, value.TemplateType(parent))
	}
	return e
}

// wrap adds the expression to an error, once.
func (s *site) wrap(err error) error {
	if err == nil {
		return nil
	}
	return &siteError{expr: s.expr, err: err}
}

// runPrint gives the text of a value that stands beside other text.
func runPrint(f *frame, i int, v any) (string, error) {
	s := f.site(i)
	if v == nil {
		if s.lenient {
			return "", nil
		}
		return "", s.wrap(&roots.AbsentError{What: "the expression"})
	}
	text, err := f.state.text(v)
	return text, s.wrap(err)
}

// text gives a value as text, if it is not too big for that.
func (st *state) text(v any) (string, error) {
	if err := st.Weigh(v); err != nil {
		return "", err
	}
	return value.Print(v)
}

// runKeep keeps the value of a template that is a single expression.
func runKeep(f *frame, i int, v any) (string, error) {
	kept, err := f.state.CopyOut(v)
	if kept == nil && err == nil {
		err = f.state.null()
	}
	f.state.kept = kept
	return "", f.site(i).wrap(err)
}

// runRange checks what a range goes over.
func runRange(f *frame, i int, v any) (any, error) {
	switch v := v.(type) {
	case nil, []any, map[string]any, int, int64:
		return v, nil
	default:
		return nil, f.site(i).wrap(fmt.Errorf("range needs a list, a map or a whole number, not a %s", value.TemplateType(v)))
	}
}

// runTick stands at the start of each range body.
func runTick(f *frame, i int) (string, error) {
	return "", f.site(i).wrap(f.state.Iterate())
}

// runFrame makes what a called template gets.
func runFrame(f *frame, i int, dot any) (*frame, error) {
	if f.depth >= budget.MaxDepth {
		return nil, f.site(i).wrap(budget.Over(budget.Depth))
	}
	if err := f.state.Iterate(); err != nil {
		return nil, f.site(i).wrap(err)
	}
	return &frame{state: f.state, dot: dot, depth: f.depth + 1}, nil
}

// isAll says whether a value is all the data, not a part of it.
func (st *state) isAll(v any) bool {
	m, ok := v.(map[string]any)
	return ok && reflect.ValueOf(m).Pointer() == reflect.ValueOf(st.data).Pointer()
}

// runCall calls a function of the table.
func runCall(f *frame, i int, args ...any) (any, error) {
	s := f.site(i)
	if err := f.state.Check(); err != nil {
		return nil, s.wrap(err)
	}
	v, err := s.fn.Call(f.state.Run, args)
	if v == nil && err == nil && s.looked != nil {
		f.state.missed = &missed{site: s, args: args}
	}
	if absent, ok := errors.AsType[*roots.AbsentError](err); ok {
		if s.lenient {
			return nil, nil // What is absent is nil here; nothing in, nothing out.
		}
		if errors.Is(err, functions.ErrNoElement) {
			err = &roots.AbsentError{Path: s.from.path, What: absent.What}
		} else if f.state.hasMissed(s.expr) {
			err = f.state.missed.error()
		}
	}
	return v, s.wrap(err)
}
