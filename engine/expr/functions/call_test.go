package functions_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/expr/roots"
)

// newRun begins an evaluation whose time is never up.
func newRun() *functions.Run {
	return functions.NewRun(budget.Until(func() error { return nil }), nil)
}

// call calls a function as a template does.
func call(run *functions.Run, name string, args ...any) (any, error) {
	return functions.Named(name).Call(run, args)
}

// A call with too few arguments, or too many, is refused with the usage of the function.
func TestArity(t *testing.T) {
	for _, described := range functions.All() {
		fn := functions.Named(described.Name)
		params, variadic := fn.Params()
		g := NewWithT(t)
		least := len(params)
		if variadic {
			least--
			g.Expect(fn.Arity(budget.MaxArguments)).To(Succeed(), described.Name)
		} else {
			g.Expect(fn.Arity(least+1)).To(MatchError(HaveSuffix(": "+described.Usage)), described.Name)
		}
		g.Expect(fn.Arity(least)).To(Succeed(), described.Name)
		if least > 0 {
			g.Expect(fn.Arity(least-1)).To(MatchError(HaveSuffix(": "+described.Usage)), described.Name)
		}
		g.Expect(fn.Arity(budget.MaxArguments+1)).To(MatchError(ContainSubstring("a call may have at most 256")), described.Name)
	}
	g := NewWithT(t)
	g.Expect(functions.Named("trim").Arity(0)).To(MatchError("trim needs 1 argument, not 0: trim TEXT"))
	g.Expect(functions.Named("replace").Arity(1)).To(MatchError("replace needs 3 arguments, not 1: replace OLD NEW TEXT"))
	g.Expect(functions.Named("add").Arity(0)).To(MatchError("add needs at least 1 argument, not 0: add N…"))
}

// Every function takes whatever it may be given: it answers, or says in words of its own what is wrong.
func TestCall_anything(t *testing.T) {
	values := []any{
		nil, "", "a", "ä\x00", "-1", "[", int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), 0.5, math.MaxFloat64, true, []any{}, []any{nil, "a", int64(1)},
		map[string]any{}, map[string]any{"a": nil, "Cert": "x"},
	}
	for _, described := range functions.All() {
		fn := functions.Named(described.Name)
		if fn.Draws() {
			continue
		}
		params, variadic := fn.Params()
		n := len(params)
		if variadic {
			n++
		}
		for i := range len(values) * len(values) {
			args := make([]any, n)
			for j := range args {
				args[j] = values[(i/max(1, j*len(values))+j)%len(values)]
			}
			v, err := fn.Call(newRun(), args)
			if err != nil {
				if text := err.Error(); text == "" || strings.Contains(text, "goroutine") || strings.Contains(text, "reflect") {
					t.Errorf("%s %q: %v", described.Name, args, err)
				}
				continue
			}
			if !isJSON(v) {
				t.Errorf("%s %q gives %T", described.Name, args, v)
			}
		}
	}
}

// isJSON says whether a value consists of nothing but what templates know.
func isJSON(v any) bool {
	switch v := v.(type) {
	case nil, string, bool, int64, float64:
		return true
	case []any:
		for _, element := range v {
			if !isJSON(element) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, element := range v {
			if !isJSON(element) {
				return false
			}
		}
		return true
	}
	return false
}

// Arguments are made fit where nothing is lost by it.
func TestCall_arguments(t *testing.T) {
	for name, tc := range map[string]struct {
		function string
		args     []any
		want     any // text: the end of an error
	}{
		"a whole float for a number":     {"until", []any{2.0}, []any{int64(0), int64(1)}},
		"a number for a float":           {"floor", []any{int64(2)}, 2.0},
		"a fraction for a number":        {"until", []any{1.5}, "until: argument 1 must be a whole number, not a number"},
		"text for a number":              {"until", []any{"1"}, "must be a whole number, not a string; use toInt"},
		"a number for text":              {"upper", []any{int64(1)}, "must be a string, not a number; use toString"},
		"a list for text":                {"upper", []any{[]any{}}, "must be a string, not a list; use toString"},
		"text for a list":                {"first", []any{"a"}, "must be a list, not a string"},
		"a map for a list":               {"first", []any{map[string]any{}}, "must be a list, not a map"},
		"a list for a map":               {"keys", []any{[]any{}}, "must be a map, not a list"},
		"text for a boolean":             {"ternary", []any{"a", "b", "true"}, "must be a boolean, not a string"},
		"nothing for text":               {"upper", []any{nil}, "argument 1 of upper: no value; where it may be absent, use default or if"},
		"nothing where it may be absent": {"default", []any{int64(1), nil}, int64(1)},
		"the second of many":             {"concat", []any{[]any{}, nil}, "argument 2 of concat: no value; where it may be absent, use default or if"},
		"not a number at all":            {"floor", []any{math.NaN()}, "the result is not a finite number"},
		"what is no JSON value":          {"toString", []any{make(chan int)}, "a chan is no JSON value"},
		"a slice of Go's":                {"first", []any{[]string{"a"}}, "a"},
	} {
		g := NewWithT(t)
		v, err := call(newRun(), tc.function, tc.args...)
		if want, isText := tc.want.(string); isText && err != nil {
			g.Expect(err).To(MatchError(HaveSuffix(want)), name)
			continue
		}
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(v).To(Equal(tc.want), name)
	}
	_, err := call(newRun(), "upper", nil)
	NewWithT(t).Expect(roots.IsAbsent(err)).To(BeTrue())
}

// What a function walks through is work, and what it makes is memory, at least as much as it takes.
func TestCall_charges(t *testing.T) {
	text := strings.Repeat("a,", 1000)
	list := make([]any, 1000)
	fields := map[string]any{}
	for i := range list {
		list[i] = "a"
		fields[strings.Repeat("k", i+1)] = "v"
	}
	for name, tc := range map[string]struct {
		function     string
		args         []any
		memory, work int // at least
	}{
		"a call alone":           {"hasPrefix", []any{"a", "b"}, 0, 250},
		"what it is given":       {"contains", []any{"b", text}, 0, len(text)},
		"what is not looked at":  {"len", []any{list}, 0, 250},
		"text that it makes":     {"upper", []any{text}, len(text), len(text)},
		"parts":                  {"splitList", []any{",", text}, 1000 * 2 * budget.BytesOfElement, len(text)},
		"a map of parts":         {"split", []any{",", text}, 1000 * budget.BytesOfEntry, len(text)},
		"a list":                 {"concat", []any{list, list}, 2000 * budget.BytesOfElement / 2, 250},
		"a list of lists":        {"chunk", []any{int64(1), list}, 1000 * 2 * budget.BytesOfElement, 250},
		"sorting":                {"sortAlpha", []any{list}, 1000 * 2 * budget.BytesOfElement, 2000 * 10},
		"every with every":       {"without", []any{list, "x", "y", "z"}, 1000 * budget.BytesOfElement / 2, 3 * 3000},
		"keys":                   {"keys", []any{fields}, 1000 * 4 * budget.BytesOfElement, 500_000 * 10},
		"a new map":              {"pick", []any{fields, "k"}, 1000 * budget.BytesOfEntry, 500_000},
		"a copy":                 {"deepCopy", []any{fields}, 1000 * budget.BytesOfEntry, 250},
		"a merged map":           {"merge", []any{map[string]any{}, fields}, 1000 * budget.BytesOfEntry, 250},
		"JSON that is read":      {"fromJson", []any{"[" + strings.Repeat("1,", 999) + "1]"}, 1000 * budget.BytesOfEntry, 2000},
		"YAML that is read":      {"fromYaml", []any{"[" + strings.Repeat("1,", 999) + "1]"}, 1000 * 512, 2000},
		"YAML that is written":   {"toYaml", []any{list}, 1000 * 512, 3000},
		"a pattern":              {"regexMatch", []any{"(abc){100}", "x"}, 300 * budget.BytesOfInstruction, 300 * budget.BytesOfInstruction},
		"a search":               {"regexFind", []any{"b", text}, budget.BytesOfInstruction, 2 * len(text)},
		"groups of all matches":  {"regexFindAllGroups", []any{"(a)", int64(-1), text}, 1000 * (budget.BytesOfMap + 2*budget.BytesOfEntry), len(text)},
		"a version":              {"semver", []any{"1.2.3"}, 6 * budget.BytesOfEntry, 5 * 400},
		"characters at the ends": {"trimAll", []any{strings.Repeat("b", 100), text}, len(text), 100 * len(text)},
		"a flat list":            {"flatten", []any{list}, 1000 * budget.BytesOfElement, 250},
		"without repetitions":    {"uniq", []any{list}, 1000 * budget.BytesOfEntry, 3000},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			run := newRun()
			_, err := call(run, tc.function, tc.args...)
			g.Expect(err).NotTo(HaveOccurred())
			memory, work := run.Used()
			g.Expect(memory).To(And(BeNumerically(">=", tc.memory), BeNumerically("<=", 4*tc.memory+1000)))
			g.Expect(work).To(And(BeNumerically(">=", tc.work), BeNumerically("<=", 12*tc.work+2000)))
		})
	}
}

// An evaluation that has used up its budget can call nothing more.
func TestCall_withoutBudget(t *testing.T) {
	g := NewWithT(t)
	run := newRun()
	g.Expect(run.Work(budget.MaxWork)).To(Succeed())
	_, err := call(run, "hasPrefix", "a", "b")
	over, ok := errors.AsType[*budget.ExceededError](err)
	g.Expect(ok).To(BeTrue())
	g.Expect(over.Limit).To(Equal(budget.Work))
	run = newRun()
	g.Expect(run.Allocate(budget.MaxMemory)).To(Succeed())
	_, err = call(run, "upper", "a")
	over, ok = errors.AsType[*budget.ExceededError](err)
	g.Expect(ok).To(BeTrue())
	g.Expect(over.Limit).To(Equal(budget.Memory))
}

// The arguments of one call weigh together no more than an evaluation may give.
func TestCall_argumentsTogether(t *testing.T) {
	g := NewWithT(t)
	half := strings.Repeat("a", budget.MaxOutput/2)
	_, err := call(newRun(), "eq", half, half)
	over, ok := errors.AsType[*budget.ExceededError](err)
	g.Expect(ok).To(BeTrue(), "%v", err)
	g.Expect(over.Limit).To(Equal(budget.Output))
	_, err = call(newRun(), "eq", half, "a")
	g.Expect(err).NotTo(HaveOccurred())
}

// A map that one evaluation has made is not another's to change.
func TestRun_ownMaps(t *testing.T) {
	g := NewWithT(t)
	run := newRun()
	own, err := call(run, "dict", "a", int64(1))
	g.Expect(err).NotTo(HaveOccurred())
	changed, err := call(run, "set", own, "b", int64(2))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reflect.ValueOf(changed).Pointer()).To(Equal(reflect.ValueOf(own).Pointer()), "it is the same map")
	_, err = call(newRun(), "set", own, "c", int64(3))
	g.Expect(err).To(MatchError("set: the map is not the template's own; take a copy with deepCopy"))
	g.Expect(own).To(Equal(map[string]any{"a": int64(1), "b": int64(2)}))
	value := map[string]any{"x": "y"}
	_, err = call(run, "set", own, "c", value)
	g.Expect(err).NotTo(HaveOccurred())
	value["x"] = "changed"
	g.Expect(own).To(HaveKeyWithValue("c", map[string]any{"x": "y"}), "what is put into it is a copy")
	_, err = call(run, "set", own, "self", own)
	g.Expect(err).NotTo(HaveOccurred(), "a map that held itself would have no end")
}

// Functions that are known from elsewhere are refused with a reason, and none of them is there.
func TestRefused(t *testing.T) {
	g := NewWithT(t)
	for name, want := range map[string]string{
		"now": "depends on the clock", "env": "reads what is outside the resource", "call": "no value is a function", "include": "is Helm's", "lookup": "reads what is outside",
	} {
		reason, refused := functions.Refused(name)
		g.Expect(refused).To(BeTrue(), name)
		g.Expect(reason).To(ContainSubstring(want))
		g.Expect(functions.Named(name)).To(BeNil())
	}
	for _, name := range append(functions.Names(), "", "nobody") {
		_, refused := functions.Refused(name)
		g.Expect(refused).To(BeFalse(), name)
	}
}

// What may be absent in the arguments of a function is said by the function.
func TestTakesAbsent(t *testing.T) {
	g := NewWithT(t)
	for _, name := range []string{"default", "coalesce", "ternary", "empty", "and", "or", "not", "hasKey", "get", "isReady", "label"} {
		g.Expect(functions.Named(name).TakesAbsent()).To(BeTrue(), name)
	}
	for _, name := range []string{"upper", "add", "eq", "len", "index", "dict", "quote"} {
		g.Expect(functions.Named(name).TakesAbsent()).To(BeFalse(), name)
	}
}
