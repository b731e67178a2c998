package outcome

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// blocking makes a blocker whose message is its name.
func blocking(of stage.Weight, name string, needs ...string) stage.Blocker {
	return stage.Blocker{Wait: stage.Wait{Message: name, Of: name}, Weight: of, Gives: name, Needs: needs}
}

func TestRootOf(t *testing.T) {
	failed, troubled, late := blocking(stage.ChildFailed, "failed"), blocking(stage.ChildTroubled, "troubled"), blocking(stage.ChildOnItsWay, "late")
	unmet := stage.Blocker{Wait: stage.Wait{Message: "unmet"}, Weight: stage.NotReadyYet}
	cases := map[string]struct {
		all    []stage.Blocker
		want   string
		others int
	}{
		"one":                               {[]stage.Blocker{late}, "late", 0},
		"a failed child before a wait":      {[]stage.Blocker{blocking(stage.Waiting, "gate"), failed}, "failed", 1},
		"and before one that is on its way": {[]stage.Blocker{late, failed}, "failed", 1},
		"of two that failed, the first":     {[]stage.Blocker{failed, blocking(stage.ChildFailed, "also")}, "failed", 1},
		"a complaint before a wait":         {[]stage.Blocker{blocking(stage.Waiting, "gate"), late, troubled}, "troubled", 2},
		"a failed child before it":          {[]stage.Blocker{troubled, failed}, "failed", 1},
		"a wait before what is late":        {[]stage.Blocker{late, blocking(stage.Waiting, "gate", "late")}, "gate", 1},
		"the gate that others wait for":     {[]stage.Blocker{blocking(stage.Waiting, "c", "b"), blocking(stage.Waiting, "b", "a"), blocking(stage.Waiting, "a", "there")}, "a", 2},
		"of several such, the first":        {[]stage.Blocker{blocking(stage.Waiting, "c", "b"), blocking(stage.Waiting, "a"), blocking(stage.Waiting, "b")}, "a", 2},
		"of a ring, the first":              {[]stage.Blocker{blocking(stage.Waiting, "a", "b"), blocking(stage.Waiting, "b", "a")}, "a", 1},
		"one that waits for itself":         {[]stage.Blocker{blocking(stage.Waiting, "a", "a"), blocking(stage.Waiting, "b", "a")}, "a", 1},
		"several that are late":             {[]stage.Blocker{late, blocking(stage.ChildOnItsWay, "later"), unmet}, "late", 2},
		"readyWhen last":                    {[]stage.Blocker{unmet, late}, "late", 1},
		"two blockers about one thing":      {[]stage.Blocker{blocking(stage.Waiting, "a"), {Wait: stage.Wait{Message: "again", Of: "a"}, Weight: stage.ChildTroubled, Gives: "a"}}, "again", 0},
		"two blockers about nobody says":    {[]stage.Blocker{{Wait: stage.Wait{Message: "a"}, Weight: stage.Waiting}, {Wait: stage.Wait{Message: "b"}, Weight: stage.Waiting}}, "a", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			root, others := rootOf(tc.all)
			g.Expect(root.Message).To(gomega.Equal(tc.want))
			g.Expect(others).To(gomega.Equal(tc.others))
		})
	}
}

func TestALongMessageKeepsItsCount(t *testing.T) {
	g := gomega.NewWithT(t)
	long := blocking(stage.Waiting, strings.Repeat("x ", 150))
	_, message := summarize([]stage.Blocker{long, blocking(stage.Waiting, "b")})
	g.Expect(message).To(gomega.HaveLen(256 + len("…") - 1))
	g.Expect(message).To(gomega.HaveSuffix(" … (and 1 more)"))
}

func TestALongNameKeepsItsReason(t *testing.T) {
	g := gomega.NewWithT(t)
	long := blocking(stage.Waiting, "configmaps/"+strings.Repeat("x", 249)+": children.deployment.status.readyReplicas: wanted more than 0, actual 0")
	_, message := summarize([]stage.Blocker{long, blocking(stage.Waiting, "b")})
	g.Expect(message).To(gomega.HavePrefix("configmaps/xxx"))
	g.Expect(message).To(gomega.HaveSuffix("xxx: children.deployment.status.readyReplicas: wanted more than 0, actual 0 (and 1 more)"))
}
