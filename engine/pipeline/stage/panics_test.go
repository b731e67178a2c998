package stage

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/orkspace/orkestra/engine/hook"
)

// brittleError is an error whose words panic.
type brittleError struct{ words []string }

func (e *brittleError) Error() string { return e.words[0] }

// TestCodeThatDoesNotReturn is an error that says where it was: in code of the user, and not in what that calls.
func TestCodeThatDoesNotReturn(t *testing.T) {
	var none *struct{ field int }
	wrapped := map[string]interface{ V(level int) logr.Logger }{"a": (*logr.Logger)(nil)}
	for what, tc := range map[string]struct {
		code func() error
		want string
	}{
		"a panic":        {func() error { panic("a bug") }, "a bug"},
		"of nil":         {func() error { panic(nil) }, "panic called with nil argument"}, //nolint:govet // users do
		"of the runtime": {func() error { none.field++; return nil }, "runtime error: invalid memory address or nil pointer dereference"},
		"in a library":   {func() error { return errors.New(strings.Repeat("x", -1)) }, "strings: negative Repeat count"},
		"in Kubernetes":  {func() error { resource.MustParse("many"); return nil }, "cannot parse 'many': " + resource.ErrFormatWrong.Error()},
		"in ours":        {func() error { new(hook.Cycle).Client(); return nil }, "runtime error: invalid memory address or nil pointer dereference"},
		"in a wrapper":   {func() error { wrapped["a"].V(1); return nil }, "value method github.com/go-logr/logr.Logger.V called using nil *Logger pointer"},
		"in a callback":  {func() error { slices.SortFunc([]int{2, 1}, func(int, int) int { panic("a bug") }); return nil }, "a bug"},
		"a nil error": {func() error {
			var e *brittleError
			return e
		}, "the error that was returned is a *stage.brittleError that is nil: return nil where there is none (runtime error: invalid memory address or nil pointer dereference)"},
		"an error without words": {func() error { return errors.Join(&brittleError{}) },
			"the method Error of the *errors.joinError that was returned: runtime error: index out of range [0] with length 0"},
		"an exit": {func() error { runtime.Goexit(); return nil }, errExited.Error()},
		"an exit in a loop": {func() error {
			slices.SortFunc([]int{2, 1}, func(int, int) int { runtime.Goexit(); return 0 })
			return nil
		}, errExited.Error()},
		"an exit in a deferred function": {func() error { defer runtime.Goexit(); panic("a bug") }, errExited.Error()},
		"a panic after an exit":          {func() error { defer func() { panic("a bug") }(); runtime.Goexit(); return nil }, "a bug"},
	} {
		t.Run(what, func(t *testing.T) {
			g := gomega.NewWithT(t)
			err := Contain(tc.code)
			g.Expect(err).To(gomega.MatchError(gomega.MatchRegexp(`^panic: panics_test\.go:\d+: ` + regexp.QuoteMeta(tc.want))))
			g.Expect(err).To(gomega.MatchError(Contain(tc.code).Error()), "it is the same each time")
			g.Expect(Classify(StepHook, err).Class).To(gomega.Equal(Panic))
			caught, _ := errors.AsType[*PanicError](err)
			g.Expect(string(caught.Stack)).To(gomega.ContainSubstring("panics_test.go"))
		})
	}
}

// TestTheInnermostFrameOfAUser is named: where the bug is, and not where that was called.
func TestTheInnermostFrameOfAUser(t *testing.T) {
	line := 0
	bug := func(int, int) int { _, _, line, _ = runtime.Caller(0); panic("a bug") }
	err := Contain(func() error {
		slices.SortFunc([]int{2, 1}, bug)
		return nil
	})
	gomega.NewWithT(t).Expect(err).To(gomega.MatchError(fmt.Sprintf("panic: panics_test.go:%d: a bug", line)))
}

// TestCodeWithoutAFrameOfAUser was in the outermost function that is not ours: a package of a module may have a name as those of the standard library.
func TestCodeWithoutAFrameOfAUser(t *testing.T) {
	var none *bytes.Buffer
	g := gomega.NewWithT(t)
	g.Expect(Contain(none.UnreadByte)).To(gomega.MatchError(gomega.MatchRegexp(`^panic: buffer\.go:\d+: runtime error: `)))
	g.Expect(Contain(nil)).To(gomega.MatchError(gomega.HavePrefix("panic: runtime error: ")), "there is none at all")
}

// TestCodeThatReturns gives what it returns, also where it has recovered from a panic of its own.
func TestCodeThatReturns(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(Contain(func() error { return nil })).To(gomega.Succeed())
	mine := errors.New("no such table")
	g.Expect(Contain(func() error { return mine })).To(gomega.BeIdenticalTo(mine))
	g.Expect(Contain(func() (err error) {
		defer func() { _ = recover(); err = mine }()
		panic("a bug")
	})).To(gomega.BeIdenticalTo(mine))
}

func TestWhoseFunctionAFrameIs(t *testing.T) {
	for function, want := range map[string]bool{
		"main.main":                                               true,
		"main.hooks.func1":                                        true,
		"example.com/greeter/hooks.OnReconcile":                   true,
		"github.com/acme/operator.(*Proxy).Reconcile":             true,
		"example%2ecom.Hooks":                                     true,
		"strings.Repeat":                                          false,
		"encoding/json.(*Decoder).Decode":                         false,
		"k8s.io/apimachinery/pkg/api/resource.MustParse":          false,
		"sigs.k8s.io/controller-runtime/pkg/client.(*client).Get": false,
	} {
		gomega.NewWithT(t).Expect(ofUser(function)).To(gomega.Equal(want), function)
	}
}
