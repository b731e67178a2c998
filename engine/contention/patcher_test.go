package contention

import (
	"context"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// undone is a patch that somebody else takes back before each cycle.
type undone struct {
	stage.Patcher

	version, sets int
}

// Patch implements stage.Patcher.
func (u *undone) Patch(context.Context, apply.Patch, *unstructured.Unstructured) (apply.Outcome, error) {
	u.sets++
	u.version++
	return apply.Outcome{Action: apply.Changed, Object: u.live(), Drift: []apply.Correction{{Difference: drift.Difference{Path: "data.a"}, SetBy: "other"}}}, nil
}

func (u *undone) live() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	obj.SetName("c")
	obj.SetResourceVersion(strconv.Itoa(u.version))
	return obj
}

// A patch and somebody who takes its field back in turns would write without end.
func TestAPatchThatIsUndoneInEachCycleIsSlowedDown(t *testing.T) {
	g := NewWithT(t)
	u, resource, now := &undone{}, &unstructured.Unstructured{Object: map[string]any{}}, time.Unix(0, 0)
	var guard Guard
	patch := apply.Patch{Manager: "orkestra-0123456789abcdef", Object: u.live()}
	patch.Object.Object["data"] = map[string]any{"a": "b"}
	cycle := func() apply.Outcome {
		guard.Begin(resource, now)
		out, err := guard.Patcher(u, resource, now, time.Minute).Patch(t.Context(), patch, u.live())
		g.Expect(err).NotTo(HaveOccurred())
		u.version++ // somebody undoes it
		return out
	}
	g.Expect(cycle().Action).To(Equal(apply.Changed))
	for range maxCorrections - 1 {
		g.Expect(cycle().Action).To(Equal(apply.Corrected))
	}
	var out apply.Outcome
	for range 900 {
		now = now.Add(time.Millisecond)
		out = cycle()
	}
	g.Expect(u.sets).To(BeNumerically("<=", maxCorrections), "as many wishes in a second")
	g.Expect(out.Contention).To(Equal(`ConfigMap "c": manager "other" keeps changing data.a, so that it is corrected less often: only one of the two may set it`))
	g.Expect(out.ReconcileAt.After(now)).To(BeTrue())
	g.Expect(guard.Begun()).To(Equal(1))
	g.Expect(guard.Begun()).To(BeZero())

	sets := u.sets
	now = out.ReconcileAt
	cycle()
	g.Expect(u.sets).To(Equal(sets+1), "it is slowed down, and never given up")

	sets = u.sets
	patch.Object.Object["data"] = map[string]any{"a": "c"}
	g.Expect(cycle().Action).To(Equal(apply.Changed))
	g.Expect(u.sets).To(Equal(sets+1), "what is declared now does not wait")
}

// Somebody who takes a field back more rarely than the first pause lasts is counted, too.
func TestAPatchThatIsUndoneNowAndThenIsCounted(t *testing.T) {
	g := NewWithT(t)
	u, resource, now := &undone{}, &unstructured.Unstructured{Object: map[string]any{}}, time.Unix(0, 0)
	var guard Guard
	patch := apply.Patch{Manager: "orkestra-0123456789abcdef", Object: u.live()}
	for range maxCorrections + 3 {
		guard.Begin(resource, now)
		_, err := guard.Patcher(u, resource, now, time.Minute).Patch(t.Context(), patch, u.live())
		g.Expect(err).NotTo(HaveOccurred())
		u.version++
		now = now.Add(3 * time.Second)
	}
	g.Expect(guard.Begun()).To(Equal(1))
}
