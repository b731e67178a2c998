package expr

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// mode says how a function treats its arguments.
type mode uint8

const (
	// lenient: what is read inside the arguments may be absent.
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

// function is one row of the function table.
type function struct {
	Func
	call  any // a Go function; it may take the *state first
	mode  mode
	value reflect.Value
	// state says that the first parameter is the *state; params are the others, the last one repeated if variadic.
	state    bool
	params   []reflect.Type
	variadic bool
}

// prepare looks at the Go function once.
func (fn *function) prepare() {
	fn.value = reflect.ValueOf(fn.call)
	t := fn.value.Type()
	for i := range t.NumIn() {
		if i == 0 && t.In(0) == reflect.TypeFor[*state]() {
			fn.state = true
			continue
		}
		fn.params = append(fn.params, t.In(i))
	}
	if fn.variadic = t.IsVariadic(); fn.variadic {
		last := len(fn.params) - 1
		fn.params[last] = fn.params[last].Elem()
	}
}

// arity checks a number of arguments.
func (fn *function) arity(n int) error {
	want := len(fn.params)
	switch {
	case n > maxArguments:
		return fmt.Errorf("%s has %d arguments; a call may have at most %d", fn.Name, n, maxArguments)
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

// runCall calls a function of the table.
func runCall(f *frame, i int, args ...any) (any, error) {
	s := f.site(i)
	if err := f.state.check(); err != nil {
		return nil, s.wrap(err)
	}
	v, err := s.fn.run(f.state, args)
	if absent, ok := errors.AsType[*AbsentError](err); ok {
		if s.lenient {
			return nil, nil // What is absent is nil here; nothing in, nothing out.
		}
		if errors.Is(err, errNoElement) {
			err = &AbsentError{Path: s.from.path, what: absent.what}
		}
	}
	return v, s.wrap(err)
}

// workOfCall is what a call costs, whatever it does.
const workOfCall = 250

// run calls the function, within the budget: what it walks through is counted before, what it makes afterwards, unless it may be
// much more than what it is given. Such functions count by themselves, before they make it.
func (fn *function) run(st *state, args []any) (any, error) {
	in := make([]reflect.Value, 0, len(args)+1)
	if fn.state {
		in = append(in, reflect.ValueOf(st))
	}
	if err := st.do(workOfCall); err != nil {
		return nil, err
	}
	room := maxOutput // for all arguments together
	for i, arg := range args {
		if arg == nil && fn.mode&nils == 0 {
			return nil, &AbsentError{what: fmt.Sprintf("argument %d of %s", i+1, fn.Name)}
		}
		if fn.mode&light == 0 {
			w, err := st.weighed(arg, room)
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
	return v, st.allocateResult(v)
}

// allocateResult counts what a function has made. What is in its lists and maps is part of the arguments, or was counted when it
// was made.
func (st *state) allocateResult(v any) error {
	switch v := v.(type) {
	case string:
		return st.allocate(len(v) + bytesOfElement)
	case []any:
		return st.allocateList(len(v))
	case map[string]any:
		return st.allocateMap(len(v))
	}
	return nil
}

// invoke calls the Go function. A panic in it becomes an error that names the function: the library functions have some for
// arguments that they do not expect.
func (fn *function) invoke(in []reflect.Value) (v any, err error) {
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
	if v, err = fromGo(out[0].Interface()); err != nil {
		return nil, fmt.Errorf("%s: %w", fn.Name, err)
	}
	if text, ok := v.(string); ok && len(text) > maxOutput {
		return nil, overBudget(limitOutput)
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

// translate keeps the text of errors of our own. The library's own errors quote the value that they stumbled over, which may
// be secret.
func (fn *function) translate(err error) error {
	if _, ok := errors.AsType[*BudgetError](err); ok {
		return err
	}
	if IsAbsent(err) {
		return err
	}
	if own, ok := errors.AsType[argumentError](err); ok {
		return fmt.Errorf("%s: %w", fn.Name, own)
	}
	if said, ok := errors.AsType[*FailError](err); ok {
		return fmt.Errorf("%s: %w", fn.Name, said)
	}
	return fmt.Errorf("%s: cannot work on these arguments", fn.Name)
}

// convert makes an argument fit a parameter.
func convert(arg any, want reflect.Type) (reflect.Value, error) {
	arg, err := fromGo(arg)
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
		if n, ok := wholeNumber(arg); ok {
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
	return reflect.Value{}, fmt.Errorf("must be a %s, not a %s%s", kindName(want), typeName(arg), hint)
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "whole number"
	case reflect.Float64:
		return typeNumber
	case reflect.Bool:
		return typeBoolean
	case reflect.Slice:
		return typeList
	default:
		return strings.ToLower(t.Kind().String())
	}
}

// wholeNumber gives an int64 for whole numbers of either type.
func wholeNumber(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < 1<<63 {
			return int64(n), true
		}
	}
	return 0, false
}
