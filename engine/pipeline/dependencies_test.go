package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestUnmet(t *testing.T) {
	started, healthy := Dependency{Name: "db", Condition: v1alpha1.ConditionStarted}, Dependency{Name: "db", Condition: v1alpha1.ConditionHealthy}
	cases := map[string]struct {
		dependency Dependency
		state      DependencyState
		want       string
	}{
		"nothing of that name":            {started, DependencyState{}, `there is no box or CRDHealth "db" yet, wanted Started`},
		"a box that starts":               {started, DependencyState{OfBox: true, State: v1alpha1.HealthStarting}, `box "db" is Starting, wanted Started`},
		"a box that has started":          {started, DependencyState{OfBox: true, State: v1alpha1.HealthHealthy, Started: true}, ""},
		"one that is degraded has":        {started, DependencyState{OfBox: true, State: v1alpha1.HealthDegraded, Started: true}, ""},
		"a healthy box":                   {healthy, DependencyState{OfBox: true, State: v1alpha1.HealthHealthy, Started: true}, ""},
		"a degraded box":                  {healthy, DependencyState{OfBox: true, State: v1alpha1.HealthDegraded, Started: true}, `box "db" is Degraded, wanted Healthy`},
		"a suspended box":                 {healthy, DependencyState{OfBox: true, State: v1alpha1.HealthSuspended}, `box "db" is Suspended, wanted Healthy`},
		"another operator's is degraded":  {healthy, DependencyState{State: v1alpha1.HealthDegraded, Started: true}, `CRDHealth "db" is Degraded, wanted Healthy`},
		"another operator's is healthy":   {healthy, DependencyState{State: v1alpha1.HealthHealthy, Started: true}, ""},
		"another operator's is not known": {started, DependencyState{State: v1alpha1.HealthPending}, `CRDHealth "db" is Pending, wanted Started`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			gomega.NewWithT(t).Expect(tc.dependency.Unmet(tc.state)).To(gomega.Equal(tc.want))
		})
	}
}

func TestMistakesOfDependencies(t *testing.T) {
	// What boxes depend on, by their names; the box is "website".
	boxes := map[string][]string{
		"a": {"b", "x"}, "b": {"c"}, "c": {"website"}, "x": {"z"}, "z": {"x"}, "free": {}, "short": {"website", "a"},
	}
	cases := map[string]struct {
		dependsOn string
		want      []string
	}{
		"none":                        {`[]`, nil},
		"any case":                    {`[{name: free, condition: hEALTHY}, {name: x, condition: STARTED}, {name: z}]`, nil},
		"an unknown name is no error": {`[{name: nobody}]`, nil},
		"a ring that others make":     {`[{name: x}]`, nil},
		"itself":                      {`[{name: website}]`, []string{`spec.dependsOn[0].name: Invalid value: "website": a box can't depend on itself`}},
		"twice":                       {`[{name: free}, {name: free, condition: Healthy}]`, []string{`spec.dependsOn[1].name: Duplicate value: "free"`}},
		"a condition that is none":    {`[{name: free, condition: helthy}]`, []string{`spec.dependsOn[0].condition: Invalid value: "helthy": wanted Started or Healthy, did you mean "Healthy"?`}},
		"a ring":                      {`[{name: a}]`, []string{`spec.dependsOn[0].name: Invalid value: "a": a ring of dependencies: website → a → b → c → website; take one of them away`}},
		"two rings, each the shortest": {`[{name: free}, {name: short}, {name: c}]`, []string{
			`spec.dependsOn[1].name: Invalid value: "short": a ring of dependencies: website → short → website; take one of them away`,
			`spec.dependsOn[2].name: Invalid value: "c": a ring of dependencies: website → c → website; take one of them away`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			env := Env{CRD: websites(t), DependsOn: func(box string) []string { return boxes[box] }}
			_, errs := Compile(boxOf(t, "dependsOn: "+tc.dependsOn), env)
			g.Expect(messages(errs)).To(gomega.HaveExactElements(tc.want))
		})
	}
}

// A search that goes every way would take 2^40 steps here.
func TestRingsAreFoundAmongMany(t *testing.T) {
	g := gomega.NewWithT(t)
	const deep = 40
	asked := map[string]int{}
	layers := func(last string) func(string) []string {
		return func(box string) []string {
			asked[box]++
			var layer, side int
			if _, err := fmt.Sscanf(box, "b%d-%d", &layer, &side); err != nil {
				return nil
			}
			if layer == deep {
				return []string{last}
			}
			return []string{fmt.Sprintf("b%d-0", layer+1), fmt.Sprintf("b%d-1", layer+1)}
		}
	}
	g.Expect(ringOf("box", "b0-0", layers("free"))).To(gomega.BeNil())
	for box, times := range asked {
		g.Expect(times).To(gomega.Equal(1), box)
	}
	ring := ringOf("box", "b0-0", layers("box"))
	g.Expect(ring).To(gomega.HaveLen(deep + 3))
	text := spokenRing(ring)
	g.Expect(text).To(gomega.HavePrefix("box → b0-0 → "))
	g.Expect(text).To(gomega.HaveSuffix(" → box"))
	g.Expect(text).To(gomega.ContainSubstring(" → (31 more) → "))
	g.Expect(strings.Count(text, "→")).To(gomega.Equal(maxRing))
}

const dependent = `
dependsOn: [{name: db, condition: healthy}, {name: queue}]
onCreate: {configmaps: [{name: seed}]}
onReconcile: {configmaps: [{name: config}]}
`

func TestNewResourcesWaitForDependencies(t *testing.T) {
	g := gomega.NewWithT(t)
	p, plan := newPorts(), planOf(t, dependent)
	p.dependencies = map[string]DependencyState{"db": {OfBox: true, State: v1alpha1.HealthDegraded, Started: true}}
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop"}), "nothing is made")
	g.Expect(r.AwaitsDependency).To(gomega.BeTrue())
	g.Expect(r.Marks.Active).To(gomega.BeFalse())
	res, err := r.Result(context.Background(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	const unmet = `box "db" is Degraded, wanted Healthy (and 1 more)`
	for _, c := range []metav1.Condition{res.Ready, res.Reconciling} {
		g.Expect(c).To(gomega.And(gomega.HaveField("Reason", v1alpha1.ReasonWaitingForDependency), gomega.HaveField("Message", unmet)))
	}
	g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionFalse))
	g.Expect(res.Reconciling.Status).To(gomega.Equal(metav1.ConditionTrue))
	g.Expect(res.Stalled.Status).To(gomega.Equal(metav1.ConditionFalse))

	// What was heard is an input, of each dependency.
	changes := map[string]map[string]DependencyState{
		"nothing":                    p.dependencies,
		"what is met stays so":       {"db": p.dependencies["db"]},
		"another state of the first": {"db": {OfBox: true, State: v1alpha1.HealthSuspended}},
		"the second one comes":       {"db": p.dependencies["db"], "queue": {State: v1alpha1.HealthPending}},
	}
	for name, dependencies := range changes {
		p.dependencies = dependencies
		same := strings.HasPrefix(name, "nothing") || strings.HasPrefix(name, "what")
		g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.Equal(same), name)
	}

	p.dependencies = map[string]DependencyState{
		"db": {OfBox: true, State: v1alpha1.HealthHealthy, Started: true}, "queue": {State: v1alpha1.HealthDegraded, Started: true},
	}
	r, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.ContainElements("create ConfigMap/seed", "create ConfigMap/config", "mark Website/shop"))
	g.Expect(r.Marks.Active).To(gomega.BeTrue())

	// Without onCreate it is Active from when they are met, and the mark goes with the others.
	q, plain := newPorts(), planOf(t, strings.ReplaceAll(dependent, "onCreate: {configmaps: [{name: seed}]}", ""))
	waits, err := q.run(plain, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(waits.AwaitsDependency).To(gomega.BeTrue())
	g.Expect(waits.Stored.GetAnnotations()).NotTo(gomega.HaveKey(v1alpha1.AnnotationActiveSince))
	q.dependencies = p.dependencies
	q.done()
	goes, err := q.run(plain, waits.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(q.done()).To(gomega.Equal([]string{"mark Website/shop", "create ConfigMap/config"}))
	g.Expect(goes.Marks.Active).To(gomega.BeTrue())
	g.Expect(goes.Inputs.Observed()).To(gomega.BeZero())

	// Active now: it goes on whatever becomes of them, and asks for nothing.
	idle := idleRun(g, p, plan, r.Stored)
	p.dependencies = nil
	g.Expect(idle.Inputs.Unchanged(&plan.Plan, idle.Stored, p, now)).To(gomega.BeTrue())
	g.Expect(r.Inputs.Observed()).To(gomega.BeZero(), "also the cycle that made it Active has forgotten them")
	r, err = p.run(plan, idle.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.AwaitsDependency).To(gomega.BeFalse())
}

func TestDeletionWaitsForNoDependency(t *testing.T) {
	g := gomega.NewWithT(t)
	p, plan := newPorts(), planOf(t, dependent)
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.AwaitsDependency).To(gomega.BeTrue())
	p.done()
	deleted := func() *unstructured.Unstructured {
		obj := r.Stored.DeepCopy()
		obj.SetDeletionTimestamp(&metav1.Time{Time: now})
		return obj
	}()
	r, err = p.run(plan, deleted)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Released).To(gomega.BeTrue())
	g.Expect(p.done()).To(gomega.Equal([]string{fmt.Sprintf("finish shop [%s]", v1alpha1.Finalizer)}))
}
