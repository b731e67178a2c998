package exit

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
)

func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		code int
		want string
	}{
		"fine":               {},
		"the answer is no":   {err: ErrNo, code: No},
		"a failure":          {err: Failure(errors.New("no answer")), code: No, want: "error: no answer\n"},
		"a failure in words": {err: fmt.Errorf("asking: %w", Failure(errors.New("no answer"))), code: No, want: "error: asking: no answer\n"},
		"no failure":         {err: Failure(nil)},
		"a no that failed":   {err: Failure(ErrNo), code: No},
		"wrong use":          {err: errors.New("--x: what is that"), code: Usage, want: "error: --x: what is that\nSee 'orkestra --help'.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out, notes bytes.Buffer
			root := &cobra.Command{Use: "orkestra", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return tc.err }}
			root.SetOut(&out)
			root.SetErr(&notes)
			g.Expect(Run(t.Context(), root, nil)).To(Equal(tc.code))
			g.Expect(notes.String()).To(Equal(tc.want))
			g.Expect(out.String()).To(BeEmpty())
		})
	}
}

// Help is that of the command that was used wrongly.
func TestHelpIsThatOfTheCommand(t *testing.T) {
	g := NewWithT(t)
	var notes bytes.Buffer
	root := &cobra.Command{Use: "orkestra", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(&cobra.Command{Use: "wait", RunE: func(*cobra.Command, []string) error { return nil }})
	root.SetErr(&notes)
	g.Expect(Run(t.Context(), root, []string{"wait", "--x"})).To(Equal(Usage))
	g.Expect(notes.String()).To(Equal("error: unknown flag: --x\nSee 'orkestra wait --help'.\n"))
	notes.Reset()
	g.Expect(Run(t.Context(), root, []string{"wiat"})).To(Equal(Usage))
	g.Expect(notes.String()).To(HaveSuffix("See 'orkestra --help'.\n"))
}

// What failed can be asked for its cause.
func TestFailureIsItsCause(t *testing.T) {
	cause := errors.New("no answer")
	NewWithT(t).Expect(Failure(cause)).To(MatchError(cause))
}
