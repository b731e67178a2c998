package budget

import (
	"context"
	"errors"
	"math"
	"regexp/syntax"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// endless is a budget whose time is never up.
func endless() *Budget { return Until(func() error { return nil }) }

// exceeded matches the error of a limit.
func exceeded(g *WithT, err error, limit Limit) {
	over, ok := errors.AsType[*ExceededError](err)
	g.Expect(ok).To(BeTrue(), "%v", err)
	g.Expect(over.Limit).To(Equal(limit))
}

// What is just inside a limit is allowed, and the next byte is not, whatever comes at once.
func TestBudget_limits(t *testing.T) {
	for name, tc := range map[string]struct {
		charge func(*Budget, int) error
		most   int
		limit  Limit
	}{
		"output": {(*Budget).Output, MaxOutput, Output},
		"memory": {(*Budget).Allocate, MaxMemory, Memory},
		"work":   {(*Budget).Work, MaxWork, Work},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := endless()
			g.Expect(tc.charge(b, tc.most-1)).To(Succeed())
			g.Expect(tc.charge(b, 1)).To(Succeed())
			g.Expect(tc.charge(b, 0)).To(Succeed())
			exceeded(g, tc.charge(b, 1), tc.limit)
			exceeded(g, tc.charge(endless(), tc.most+1), tc.limit)
		})
	}
	g := NewWithT(t)
	exceeded(g, endless().Allocate(-1), Memory)
	exceeded(g, endless().Allocate(math.MaxInt), Memory)
	exceeded(g, endless().Work(-1), Work)
	b := endless()
	for range MaxIterations {
		g.Expect(b.Iterate()).To(Succeed())
	}
	exceeded(g, b.Iterate(), Iterations)
}

// What was refused is not charged: a function may try a smaller step.
func TestBudget_refusedIsNotCharged(t *testing.T) {
	g := NewWithT(t)
	b := endless()
	exceeded(g, b.Allocate(MaxMemory+1), Memory)
	exceeded(g, b.Work(MaxWork+1), Work)
	memory, work := b.Used()
	g.Expect([]int{memory, work}).To(Equal([]int{0, 0}))
	g.Expect(b.AllocateList(3)).To(Succeed())
	g.Expect(b.AllocateMap(2)).To(Succeed())
	g.Expect(b.Work(7)).To(Succeed())
	memory, work = b.Used()
	g.Expect(memory).To(Equal(3*BytesOfElement/2 + BytesOfElement + 2*BytesOfEntry + BytesOfMap))
	g.Expect(work).To(Equal(7))
}

// Without a budget output and memory have no limit.
func TestBudget_none(t *testing.T) {
	g := NewWithT(t)
	var none *Budget
	g.Expect(none.Output(math.MaxInt)).To(Succeed())
	g.Expect(none.Allocate(math.MaxInt)).To(Succeed())
	g.Expect(none.AllocateList(math.MaxInt)).To(Succeed())
	g.Expect(none.AllocateMap(math.MaxInt)).To(Succeed())
	g.Expect(none.Copy([]any{"a"})).To(Equal([]any{"a"}))
}

// The time is asked for at each iteration, and at work now and then.
func TestBudget_time(t *testing.T) {
	g := NewWithT(t)
	asked, up := 0, errors.New("up")
	b := Until(func() error {
		if asked++; asked > 2 {
			return up
		}
		return nil
	})
	g.Expect(b.Work(100)).To(Succeed())
	g.Expect(asked).To(BeZero(), "that was too little to ask")
	g.Expect(b.Work(1 << 16)).To(Succeed())
	g.Expect(asked).To(Equal(1))
	g.Expect(b.Iterate()).To(Succeed())
	g.Expect(b.Work(1 << 16)).To(MatchError(up))
	g.Expect(b.Iterate()).To(MatchError(up))
	g.Expect(b.Check()).To(MatchError(up))
}

// The error of the caller's context is the caller's, with its cause.
func TestNew_context(t *testing.T) {
	g := NewWithT(t)
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	b, done := New(ctx)
	defer done()
	g.Expect(b.Check()).To(Succeed())
	cancel(cause)
	g.Expect(b.Check()).To(MatchError(cause))
	g.Expect(b.Iterate()).To(MatchError(cause))
}

func TestTimes(t *testing.T) {
	g := NewWithT(t)
	for _, tc := range []struct{ a, b, want int }{
		{2, 3, 6}, {0, 5, 0}, {5, 0, 0}, {1 << 20, 1 << 20, 1 << 40}, {1 << 30, 1 << 30, 1 << 40}, {math.MaxInt, math.MaxInt, 1 << 40}, {1, 1 << 40, 1 << 40},
	} {
		g.Expect(Times(tc.a, tc.b)).To(Equal(tc.want), "%d * %d", tc.a, tc.b)
	}
}

// Parts says how many parts strings.Split gives.
func TestParts(t *testing.T) {
	g := NewWithT(t)
	for _, tc := range []struct{ text, separator string }{{"a,b,c", ","}, {"", ","}, {",", ","}, {"abc", ""}, {"a--b-", "--"}, {"abc", "x"}} {
		g.Expect(Parts(tc.text, tc.separator)).To(Equal(len(strings.Split(tc.text, tc.separator))), "%q", tc.text)
	}
}

// nested gives lists inside one another.
func nested(depth int) any {
	var v any = "a"
	for range depth {
		v = []any{v}
	}
	return v
}

// shared gives lists that hold one another twice: 2^n elements in n lists.
func shared(n int) any {
	var v any = "a"
	for range n {
		v = []any{v, v}
	}
	return v
}

func TestWeight(t *testing.T) {
	for name, tc := range map[string]struct {
		v    any
		want int
	}{
		"nothing":               {nil, 1},
		"a boolean":             {true, 1},
		"a number":              {int64(1), 9},
		"a float":               {1.5, 9},
		"text":                  {"abc", 4},
		"an empty list":         {[]any{}, 1},
		"a list":                {[]any{"a", "b"}, 1 + 3 + 3},
		"a map":                 {map[string]any{"ab": "c"}, 1 + 2 + 3},
		"deeper elements":       {[]any{[]any{"a"}}, 1 + 2 + 4},
		"as deep as it may be":  {nested(MaxNesting), 101*102/2 + 1},
		"too deep":              {nested(MaxNesting + 1), -1},
		"too deep inside a map": {map[string]any{"a": nested(MaxNesting)}, -1},
	} {
		NewWithT(t).Expect(Weight(tc.v, MaxOutput)).To(Equal(tc.want), name)
	}
	NewWithT(t).Expect(Weight(shared(60), 1000)).To(BeNumerically(">", 1000), "counting stops: 2^60 elements have no end")
	NewWithT(t).Expect(LiteralWeight(strings.Repeat("a", maxRendered))).To(Equal(maxRendered + 1))
}

func TestWeigh(t *testing.T) {
	g := NewWithT(t)
	b := endless()
	g.Expect(b.Weigh("abc")).To(Succeed())
	_, work := b.Used()
	g.Expect(work).To(Equal(4), "walking through it is work")
	exceeded(g, b.Weigh(nested(MaxNesting+1)), Nesting)
	exceeded(g, b.Weigh(shared(60)), Output)
	w, err := b.WeighUpTo("abc", 4)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w).To(Equal(4))
	_, err = b.WeighUpTo("abc", 3)
	exceeded(g, err, Output)
}

// A copy shares nothing with what it was made of.
func TestCopy(t *testing.T) {
	g := NewWithT(t)
	original := map[string]any{"list": []any{"a", int64(1), 1.5, true, nil}, "map": map[string]any{"x": "y"}, "go": 5}
	for name, copied := range map[string]func(any) (any, error){"free": Copy, "counted": endless().Copy, "given": endless().CopyOut} {
		c, err := copied(original)
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(c).To(Equal(map[string]any{"list": []any{"a", int64(1), 1.5, true, nil}, "map": map[string]any{"x": "y"}, "go": int64(5)}), name)
		m, ok := c.(map[string]any)
		g.Expect(ok).To(BeTrue())
		m["list"].([]any)[0] = "changed"
		m["map"].(map[string]any)["x"] = "changed"
	}
	g.Expect(original["list"]).To(Equal([]any{"a", int64(1), 1.5, true, nil}))
	g.Expect(original["map"]).To(Equal(map[string]any{"x": "y"}))
	_, err := Copy(nested(MaxNesting + 1))
	exceeded(g, err, Nesting)
	_, err = Copy([]any{make(chan int)})
	g.Expect(err).To(MatchError("a chan is no JSON value"))
	_, err = Copy(math.NaN())
	g.Expect(err).To(HaveOccurred())
}

// What is copied is counted as memory, and as output where the evaluation gives it.
func TestCopy_counts(t *testing.T) {
	g := NewWithT(t)
	v := map[string]any{"ab": []any{"cde"}}
	b := endless()
	_, err := b.Copy(v)
	g.Expect(err).NotTo(HaveOccurred())
	memory, _ := b.Used()
	g.Expect(memory).To(Equal(BytesOfMap + BytesOfEntry + BytesOfElement + BytesOfElement/2))
	g.Expect(b.output).To(BeZero())
	_, err = b.CopyOut(v)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.output).To(Equal(2 + 1 + 1 + 3))
	_, err = b.CopyOut(strings.Repeat("a", MaxOutput))
	exceeded(g, err, Output)
	_, err = b.Copy(shared(20))
	exceeded(g, err, Memory)
}

func TestPatternSize(t *testing.T) {
	for pattern, want := range map[string][2]int{ // at least, at most
		"a": {1, 3}, "abc": {3, 6}, "[a-z]": {1, 3}, "a|b": {1, 6}, "a{10}": {10, 40}, "(a{10}){10}": {100, 600}, "a*": {1, 4}, "": {1, 1},
	} {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		size := PatternSize(tree)
		g.Expect(size).To(And(BeNumerically(">=", want[0]), BeNumerically("<=", want[1])), pattern)
		program, err := syntax.Compile(tree.Simplify())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(2*size+2).To(BeNumerically(">=", len(program.Inst)), "%s compiles to more", pattern)
	}
}

func TestSearch(t *testing.T) {
	g := NewWithT(t)
	parse := func(pattern string) *syntax.Regexp {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		g.Expect(err).NotTo(HaveOccurred())
		return tree
	}
	b := endless()
	g.Expect(b.Search(parse("abc"), "text")).To(Succeed())
	memory, work := b.Used()
	g.Expect(memory).To(Equal(4 * BytesOfInstruction))
	g.Expect(work).To(Equal(4 * (4 + BytesOfInstruction)))
	exceeded(g, b.Search(parse("("+strings.Repeat("a", 100)+"){900}"), ""), Pattern)
	exceeded(g, b.Search(parse("(a{1,900}){1,1}y"), strings.Repeat("a", 10_000)), Search)
}
