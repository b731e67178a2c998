package stage

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// TestTemplatesSeeWhatTheCycleHasComeTo: what was not read yet is not there, also not as something empty.
func TestTemplatesSeeWhatTheCycleHasComeTo(t *testing.T) {
	g := gomega.NewWithT(t)
	c := (&cluster{}).cycle(t, &Plan{BoxData: map[string]any{"name": "website"}}, shop())
	data := c.Data(false)
	g.Expect(data).To(gomega.HaveKeyWithValue("box", map[string]any{"name": "website"}))
	for _, root := range []string{compile.RootCross, compile.RootExternal, compile.RootPrevious, compile.RootChildren} {
		g.Expect(data).NotTo(gomega.HaveKey(root))
	}
	c.Outside.Cross, c.Outside.External, c.Previous = map[string]any{"a": "1"}, map[string]any{"b": "2"}, map[string]any{"c": "3"}
	data = c.Data(true)
	g.Expect(data).To(gomega.HaveKeyWithValue(compile.RootCross, map[string]any{"a": "1"}))
	g.Expect(data).To(gomega.HaveKeyWithValue(compile.RootExternal, map[string]any{"b": "2"}))
	g.Expect(data).To(gomega.HaveKeyWithValue(compile.RootPrevious, map[string]any{"c": "3"}))
	g.Expect(data).To(gomega.HaveKeyWithValue(compile.RootChildren, map[string]any{"count": int64(0)}))
}

func TestSourcesAreKnownWhenTheCycleHasComeToThem(t *testing.T) {
	g := gomega.NewWithT(t)
	db, dns := compile.Outside{Root: compile.RootCross, Name: "db"}, compile.Outside{Root: compile.RootExternal, Name: "dns"}
	o := newOutside()
	g.Expect(o.Knows(nil)).To(gomega.BeTrue())
	o.Know(db)
	g.Expect(o.Knows([]compile.Outside{db})).To(gomega.BeTrue())
	g.Expect(o.Knows([]compile.Outside{db, dns})).To(gomega.BeFalse())
	g.Expect(o.LacksAny()).To(gomega.BeFalse())
	o.Lack(dns)
	g.Expect(o.LacksAny()).To(gomega.BeTrue())
	g.Expect(o.Lacks([]compile.Outside{db})).To(gomega.BeFalse())
	g.Expect(o.Lacks([]compile.Outside{db, dns})).To(gomega.BeTrue())
}

// TestAProbeChangesNothing: what a dry run comes to know is not known to the cycle that asked it.
func TestAProbeChangesNothing(t *testing.T) {
	g := gomega.NewWithT(t)
	db := compile.Outside{Root: compile.RootCross, Name: "db"}
	c := (&cluster{}).cycle(t, &Plan{}, shop())
	probe := c.Probe()
	g.Expect(probe.Probing).To(gomega.BeTrue())
	probe.Outside.Know(db)
	probe.Wait("", v1alpha1.ReasonWaitingForGate, "a wait")
	g.Expect(c.Outside.Knows([]compile.Outside{db})).To(gomega.BeFalse())
	g.Expect(c.Waits).To(gomega.BeEmpty())
}

func TestMarkGoesOnWithTheAnswer(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster := &cluster{}
	c := cluster.cycle(t, &Plan{Box: "website", Finalizers: []string{"example.com/own", v1alpha1.Finalizer}}, shop())
	g.Expect(c.Marks.New()).To(gomega.BeFalse())
	c.Marks.Activate(now)
	g.Expect(c.Marks.New()).To(gomega.BeTrue())
	g.Expect(c.MarkWith(t.Context(), v1alpha1.AnnotationDone, "{}")).To(gomega.Succeed())
	at := now.Format(time.RFC3339)
	g.Expect(cluster.marked[0].Finalizers).To(gomega.Equal([]string{"example.com/own", v1alpha1.Finalizer}))
	g.Expect(cluster.marked[0].Annotations).To(gomega.Equal(map[string]string{
		v1alpha1.AnnotationManagedBy: "website", v1alpha1.AnnotationManagedSince: at, v1alpha1.AnnotationActiveSince: at,
		v1alpha1.AnnotationDone: "{}", v1alpha1.AnnotationFinalizers: "example.com/own",
	}))
	g.Expect(c.Stored.GetFinalizers()).To(gomega.HaveLen(2))
	g.Expect(c.Owner.Resource).To(gomega.BeIdenticalTo(c.Stored))
	g.Expect(c.Began.GetFinalizers()).To(gomega.BeEmpty())
}

// TestTheOwnerIsAskedForOnce: by the cycle that was the first to mark it, and never again.
func TestTheOwnerIsAskedForOnce(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster, p := &cluster{}, &Plan{Box: "website", Finalizers: []string{v1alpha1.Finalizer}}
	c := cluster.cycle(t, p, shop())
	g.Expect(c.EnsureOwnerExists(t.Context())).To(gomega.Succeed())
	g.Expect(cluster.asked).To(gomega.BeZero(), "nothing is marked yet")
	g.Expect(c.Mark(t.Context())).To(gomega.Succeed())
	cluster.gone = true
	g.Expect(c.EnsureOwnerExists(t.Context())).To(gomega.MatchError(errOwnerGone))
	cluster.gone = false
	g.Expect(c.EnsureOwnerExists(t.Context())).To(gomega.Succeed())
	g.Expect(c.EnsureOwnerExists(t.Context())).To(gomega.Succeed())
	g.Expect(cluster.asked).To(gomega.Equal(2))

	next := cluster.cycle(t, p, c.Stored)
	g.Expect(next.Mark(t.Context())).To(gomega.Succeed())
	g.Expect(next.EnsureOwnerExists(t.Context())).To(gomega.Succeed())
	g.Expect(cluster.asked).To(gomega.Equal(2))
}

// TestNamespacesAreNotedBeforeTheFirstWrite: and taken out again when nothing is left there.
func TestNamespacesAreNotedBeforeTheFirstWrite(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster, p := &cluster{}, &Plan{Box: "website", Places: boxspec.Places{Literal: []string{"named"}, Templated: true}}
	stored := shop()
	stored.SetAnnotations(map[string]string{v1alpha1.AnnotationManagedSince: "x", v1alpha1.AnnotationNamespaces: ""})
	c := cluster.cycle(t, p, stored)
	inNamespaces := func(names ...string) (out []*unstructured.Unstructured) {
		for _, name := range names {
			out = append(out, object("ConfigMap", name, "a", "1"))
		}
		return out
	}
	g.Expect(c.Reach(t.Context(), inNamespaces("team-a", "named", "")...)).To(gomega.Succeed())
	g.Expect(cluster.marked).To(gomega.BeEmpty(), "these need no note")
	g.Expect(c.Reach(t.Context(), inNamespaces("team-c", "team-b", "team-c")...)).To(gomega.Succeed())
	g.Expect(c.Stored.GetAnnotations()).To(gomega.HaveKeyWithValue(v1alpha1.AnnotationNamespaces, "team-b,team-c"))
	g.Expect(p.MayHaveMade(c.Stored, inNamespaces("team-b")[0])).To(gomega.BeTrue())
	g.Expect(p.MayHaveMade(c.Stored, inNamespaces("team-d")[0])).To(gomega.BeFalse())

	cluster.children = inNamespaces("team-b")
	g.Expect(c.Leave(t.Context(), []string{"named"})).To(gomega.Succeed())
	g.Expect(c.Stored.GetAnnotations()).To(gomega.HaveKeyWithValue(v1alpha1.AnnotationNamespaces, "team-b"))
}

func TestResourcesDoNotReadTogether(t *testing.T) {
	g := gomega.NewWithT(t)
	p := &Plan{Runtime: Runtime{Resync: time.Hour}}
	other := shop()
	other.SetUID("other")
	first, second := (&cluster{}).cycle(t, p, shop()).NextRead(), (&cluster{}).cycle(t, p, other).NextRead()
	g.Expect(first).NotTo(gomega.Equal(second))
	for _, at := range []time.Time{first, second} {
		g.Expect(at).To(gomega.And(gomega.BeTemporally(">=", now.Add(54*time.Minute)), gomega.BeTemporally("<", now.Add(time.Hour))))
	}
}
