package functions

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/random"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// Func describes a function that templates may call.
type Func struct {
	Name string
	// Aliases are other names of the same function.
	Aliases []string
	// Group is the heading under which the reference page lists it.
	Group string
	// Usage shows the arguments: trimSuffix SUFFIX TEXT.
	Usage string
	Doc   string
	// Example is a whole template, and Result what it gives, as text. A test evaluates every one.
	Example string
	Result  string
}

// row is how the tables below write a function.
type row struct {
	name, args, doc, example, result string
	call                             any
	mode                             mode
	aliases                          string
}

// What many functions take.
const (
	argText   = "TEXT"
	argValue  = "VALUE"
	argValues = "VALUE…"
	argList   = "LIST"
	argObject = "OBJECT"
	argPair   = "A B"
)

// The functions whose names stand in more than one place.
const (
	fnList = value.TemplateList
	And    = "and"
	Or     = "or"
	Get    = "get"
	Index  = "index"
)

// mode says how a function treats its arguments.
type mode uint8

const (
	// lenient: what is read inside the arguments may be absent, as in default and empty.
	lenient mode = 1 << iota
	// nils: the function is called with nil arguments. Others are not: nil in gives nil, or an error where the place is strict.
	nils
	// light: the function does not walk through lists and maps that it is given, so that they are not weighed.
	light
	// counted: what the function gives is part of what it was given, or it counts the memory for it by itself.
	counted
	// drawn: the function draws from the scope's source of randomness, or is of no use without what does.
	drawn
)

// Function is one row of the table.
type Function struct {
	Func
	call     any // a Go function
	mode     mode
	value    reflect.Value
	takes    reflect.Type   // what it needs of the evaluation, as its first parameter; nil: nothing
	params   []reflect.Type // of its arguments, the last one repeated if variadic
	variadic bool
}

// What a Go function may take of the evaluation.
var (
	takesBudget  = reflect.TypeFor[*budget.Budget]()
	takesRun     = reflect.TypeFor[*Run]()
	takesDrawing = reflect.TypeFor[*random.Drawing]()
)

// prepare reads the signature of the Go function, once.
func (fn *Function) prepare() {
	fn.value = reflect.ValueOf(fn.call)
	t := fn.value.Type()
	for i := range t.NumIn() {
		if p := t.In(i); i == 0 && (p == takesBudget || p == takesRun || p == takesDrawing) {
			fn.takes = p
			continue
		}
		fn.params = append(fn.params, t.In(i))
	}
	if fn.variadic = t.IsVariadic(); fn.variadic {
		last := len(fn.params) - 1
		fn.params[last] = fn.params[last].Elem()
	}
}

// Params gives the types of its arguments, the last of them repeated if it is variadic.
func (fn *Function) Params() (types []reflect.Type, variadic bool) { return fn.params, fn.variadic }

// TakesAbsent says whether what is read inside of its arguments may be absent.
func (fn *Function) TakesAbsent() bool { return fn.mode&lenient != 0 }

// Draws says whether the function draws, so that it gives another result each time.
func (fn *Function) Draws() bool { return fn.mode&drawn != 0 }

// Arity refuses a number of arguments that the function can't take.
func (fn *Function) Arity(n int) error {
	want := len(fn.params)
	switch {
	case n > budget.MaxArguments:
		return fmt.Errorf("%s has %d arguments; a call may have at most %d", fn.Name, n, budget.MaxArguments)
	case fn.variadic && n < want-1:
		return fmt.Errorf("%s needs at least %s, not %d: %s", fn.Name, count(want-1, "argument"), n, fn.Usage)
	case !fn.variadic && n != want:
		return fmt.Errorf("%s needs %s, not %d: %s", fn.Name, count(want, "argument"), n, fn.Usage)
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Run is one evaluation, as functions see it.
type Run struct {
	*budget.Budget

	source *random.Source
	// made are the maps that functions made in this run, which set may therefore change. The key is the map's address.
	made map[uintptr]map[string]any
}

// NewRun begins an evaluation. source is what may be drawn from; nil where the scope allows no such functions.
func NewRun(b *budget.Budget, source *random.Source) *Run { return &Run{Budget: b, source: source} }

// as gives what a function takes of the evaluation.
func (r *Run) as(t reflect.Type) reflect.Value {
	switch t {
	case takesBudget:
		return reflect.ValueOf(r.Budget)
	case takesDrawing:
		return reflect.ValueOf(&random.Drawing{Budget: r.Budget, Source: r.source})
	default:
		return reflect.ValueOf(r)
	}
}

// own remembers a map that a function made.
func (r *Run) own(m map[string]any) map[string]any {
	if r.made == nil {
		r.made = map[uintptr]map[string]any{}
	}
	r.made[reflect.ValueOf(m).Pointer()] = m
	return m
}

func (r *Run) owns(m map[string]any) bool {
	_, ok := r.made[reflect.ValueOf(m).Pointer()]
	return ok
}

// workOfCall is what a call costs, whatever it does.
const workOfCall = 250

// Call calls the function, within the budget: its arguments are counted before, and its result afterwards. A function whose result may be
// much larger than its arguments is marked counted, and counts by itself before it makes that.
func (fn *Function) Call(run *Run, args []any) (any, error) {
	in := make([]reflect.Value, 0, len(args)+1)
	if fn.takes != nil {
		in = append(in, run.as(fn.takes))
	}
	if err := run.Work(workOfCall); err != nil {
		return nil, err
	}
	room := budget.MaxOutput // for all arguments together
	for i, arg := range args {
		if arg == nil && fn.mode&nils == 0 {
			return nil, &roots.AbsentError{What: fmt.Sprintf("argument %d of %s", i+1, fn.Name)}
		}
		if fn.mode&light == 0 {
			w, err := run.WeighUpTo(arg, room)
			if err != nil {
				return nil, err
			}
			room -= w
		}
		v, err := convert(arg, fn.params[min(i, len(fn.params)-1)])
		if err != nil {
			return nil, fmt.Errorf("%s: argument %d %w", fn.Name, i+1, err)
		}
		in = append(in, v)
	}
	v, err := fn.invoke(in)
	if err != nil || fn.mode&counted != 0 {
		return v, err
	}
	return v, allocateResult(run.Budget, v)
}

// allocateResult counts what a function has made. What is in its lists and maps is part of the arguments, or was counted when it
// was made.
func allocateResult(limits *budget.Budget, v any) error {
	switch v := v.(type) {
	case string:
		return limits.Allocate(len(v) + budget.BytesOfElement)
	case []any:
		return limits.AllocateList(len(v))
	case map[string]any:
		return limits.AllocateMap(len(v))
	}
	return nil
}

// invoke calls the Go function. A panic in it becomes an error that names the function: the library functions have some for
// arguments that they do not expect.
func (fn *Function) invoke(in []reflect.Value) (v any, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("%s: cannot work on these arguments", fn.Name)
			if abort, ok := r.(abortError); ok {
				err = abort.error
			}
		}
	}()
	out := fn.value.Call(in)
	if len(out) == 2 && !out[1].IsNil() {
		err, _ := reflect.TypeAssert[error](out[1])
		return nil, fn.translate(err)
	}
	if v, err = value.FromGo(out[0].Interface()); err != nil {
		return nil, fmt.Errorf("%s: %w", fn.Name, err)
	}
	if text, ok := v.(string); ok && len(text) > budget.MaxOutput {
		return nil, budget.Over(budget.Output)
	}
	return v, nil
}

// abortError is what a function of ours panics with from inside a callback of a library that takes no error.
type abortError struct{ error }

// argumentError is an error that a function of ours made, whose text holds no values.
type argumentError string

func (e argumentError) Error() string { return string(e) }

func badArgument(format string, args ...any) error {
	return argumentError(fmt.Sprintf(format, args...))
}

// FailError is the error of a template that calls fail. The template has made its text, maybe of secrets that it reads: see MayShow.
type FailError struct {
	// Text is what the template says, shortened.
	Text string
}

// Error gives the text.
func (e *FailError) Error() string { return e.Text }

// translate keeps the text of our own errors, and replaces that of a library: it quotes the value that is wrong, which may be secret.
func (fn *Function) translate(err error) error {
	if _, ok := errors.AsType[*budget.ExceededError](err); ok {
		return err
	}
	if roots.IsAbsent(err) {
		return err
	}
	if own, ok := errors.AsType[argumentError](err); ok {
		return fmt.Errorf("%s: %w", fn.Name, own)
	}
	if own, ok := errors.AsType[random.ArgumentError](err); ok {
		return fmt.Errorf("%s: %w", fn.Name, own)
	}
	if said, ok := errors.AsType[*FailError](err); ok {
		return fmt.Errorf("%s: %w", fn.Name, said)
	}
	return fmt.Errorf("%s: cannot work on these arguments", fn.Name)
}

// convert makes an argument fit a parameter.
func convert(arg any, want reflect.Type) (reflect.Value, error) {
	arg, err := value.FromGo(arg)
	if err != nil {
		return reflect.Value{}, err
	}
	if arg == nil {
		return reflect.Zero(want), nil
	}
	switch want.Kind() {
	case reflect.Interface:
		return reflect.ValueOf(arg), nil
	case reflect.Int, reflect.Int64:
		if n, ok := value.Whole(arg); ok {
			return reflect.ValueOf(n).Convert(want), nil
		}
	case reflect.Float64:
		switch n := arg.(type) {
		case int64:
			return reflect.ValueOf(float64(n)), nil
		case float64:
			return reflect.ValueOf(n), nil
		}
	default:
		if v := reflect.ValueOf(arg); v.Type() == want {
			return v, nil
		}
	}
	hint := ""
	if _, isText := arg.(string); want.Kind() == reflect.String {
		hint = "; use toString"
	} else if isText && (want.Kind() == reflect.Int || want.Kind() == reflect.Int64) {
		hint = "; use toInt"
	}
	return reflect.Value{}, fmt.Errorf("must be a %s, not a %s%s", kindName(want), value.TemplateType(arg), hint)
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "whole number"
	case reflect.Float64:
		return value.TypeNumber
	case reflect.Bool:
		return value.TypeBoolean
	case reflect.Slice:
		return value.TemplateList
	default:
		return strings.ToLower(t.Kind().String())
	}
}
