package drain

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

func TestDrainUsage(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an argument":         {[]string{"now"}, `wanted no argument, got 1: "now"`},
		"force and undo":      {[]string{"--force", "--undo"}, "force undo"},
		"a negative time":     {[]string{"--timeout", "-1s"}, "--timeout -1s: wanted a duration such as 5m, or 0"},
		"a time without unit": {[]string{"--timeout", "5"}, "--timeout"},
		"an unknown flag":     {[]string{"--all"}, "--all"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := shared.Run(t, NewCommand(), "", append([]string{"drain"}, c.args...)...)
			g.Expect(code).To(Equal(exit.Usage), stderr)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(And(HavePrefix("error: "), ContainSubstring(c.want)))
		})
	}
}

func TestDrainWithoutACluster(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct{ kubeconfig, context, want string }{
		"no kubeconfig":      {filepath.Join(t.TempDir(), "none"), "", "finding the API server: "},
		"an unknown context": {shared.Kubeconfig(t, gone.URL), "other", `context "other" does not exist`},
		"nobody answers":     {shared.Kubeconfig(t, gone.URL), "test", "listing OperatorBoxes: "},
	} {
		for _, mode := range []string{"--force=false", "--force"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				g := NewWithT(t)
				stdout, stderr, code := shared.Run(t, NewCommand(), "", "drain", mode, "--kubeconfig", c.kubeconfig, "--context", c.context)
				g.Expect(code).To(Equal(exit.No))
				g.Expect(stdout).To(BeEmpty())
				g.Expect(stderr).To(And(HavePrefix("error: "), ContainSubstring(c.want), Not(ContainSubstring("--help"))))
			})
		}
	}
}

func TestDrainWithoutTheKind(t *testing.T) {
	for _, mode := range []string{"--force=false", "--force"} {
		g := NewWithT(t)
		stdout, stderr, code := shared.Run(t, NewCommand(), "", "drain", mode, "--kubeconfig", (&shared.APIServer{}).Start(t), "--context", "test")
		g.Expect(code).To(BeZero(), stderr)
		g.Expect(stdout).To(Equal("The cluster has no OperatorBoxes: there is nothing to let go of.\n"))
	}
}

func TestStateOfABox(t *testing.T) {
	const unseen = "the manager has not looked at it yet"
	deleted := metav1.Now()
	for name, c := range map[string]struct {
		finalizer bool
		reason    string
		deleted   bool
		want      string
		held      bool
	}{
		"never looked at":                      {want: unseen, held: true},
		"it runs":                              {finalizer: true, reason: v1alpha1.ReasonRunning, want: unseen, held: true},
		"it ran, and is not held yet":          {reason: v1alpha1.ReasonRunning, want: unseen, held: true},
		"resources are left":                   {finalizer: true, reason: v1alpha1.ReasonDraining, want: "message", held: true},
		"drained":                              {reason: v1alpha1.ReasonDrained},
		"drained before, and held again":       {finalizer: true, reason: v1alpha1.ReasonDrained, want: "message", held: true},
		"it is being deleted":                  {finalizer: true, reason: v1alpha1.ReasonDeletionBlocked, deleted: true, want: "message", held: true},
		"it is being deleted, and others wait": {deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			box := &v1alpha1.OperatorBox{}
			if c.finalizer {
				box.Finalizers = []string{v1alpha1.Finalizer}
			}
			if c.deleted {
				box.DeletionTimestamp = &deleted
			}
			if c.reason != "" {
				box.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: c.reason, Message: "message"}}
			}
			state, held := stateOf(box)
			g.Expect(held).To(Equal(c.held))
			g.Expect(state).To(Equal(c.want))
		})
	}
}

func TestWhatIsLeftIsCut(t *testing.T) {
	g := NewWithT(t)
	g.Expect(joined(nil)).To(BeEmpty())
	g.Expect(joined([]string{"a", "b"})).To(Equal("\n  a\n  b"))
	lines := strings.Split(strings.Repeat("x", 23), "")
	g.Expect(joined(lines)).To(HaveSuffix("\n  x\n  3 more"))
}
