package view

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/web/api"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(utiljson.Unmarshal(asJSON, &obj.Object)).To(Succeed()) // whole numbers as in a cache
	return obj
}

// TestStateOfAResource: the first that is true counts.
func TestStateOfAResource(t *testing.T) {
	const ready, failing = `{type: Ready, status: "True", reason: R, message: fine}`, `{type: Ready, status: "False", reason: ReconcileError, message: "a\n b"}`
	const notYet, waiting = `{type: Ready, status: "False", reason: NotYet, message: m}`, `{type: Reconciling, status: "True", reason: W, message: w}`
	for name, tc := range map[string]struct {
		metadata, conditions string
		state                api.State
		reason, message      string
	}{
		"ready":                    {``, ready, api.Ready, "", ""},
		"ready, of a former spec":  {`generation: 2`, `{type: Ready, status: "True", observedGeneration: 1}`, api.Waiting, "Outdated", "its status is that of an older generation of its spec"},
		"ready, of this spec":      {`generation: 2`, `{type: Ready, status: "True", observedGeneration: 2}`, api.Ready, "", ""},
		"failing, of a former one": {`generation: 2`, `{type: Ready, status: "False", reason: ReconcileError, message: m, observedGeneration: 1}`, api.Failing, "ReconcileError", "m"},
		"ready, and more to come":  {``, ready + "," + waiting, api.Waiting, "W", "w"},
		"failing":                  {``, failing, api.Failing, "ReconcileError", "a b"},
		"failing, and stalled":     {``, failing + `,{type: Stalled, status: "True", reason: TemplateError, message: m}`, api.Failing, "TemplateError", "a b"},
		"failing, and not stalled": {``, failing + `,{type: Stalled, status: "False", reason: NotStalled}`, api.Failing, "ReconcileError", "a b"},
		"failing, and tried again": {``, failing + "," + waiting, api.Failing, "ReconcileError", "a b"},
		"a child has failed":       {``, notYet, api.Failing, "NotYet", "m"},
		"on its way":               {``, notYet + "," + waiting, api.Waiting, "W", "w"},
		"nobody has said":          {``, ``, api.Unknown, "", ""},
		"unknown":                  {``, `{type: Ready, status: Unknown, reason: U, message: u}`, api.Unknown, "U", "u"},
		"deleted":                  {`deletionTimestamp: 2026-01-01T00:00:00Z`, failing, api.Deleting, "ReconcileError", "a b"},
		"paused":                   {`annotations: {` + v1alpha1.AnnotationPaused + `: "true"}`, failing, api.Paused, "ReconcileError", "a b"},
		"rolled back":              {`annotations: {` + v1alpha1.AnnotationRolledBack + `: "{}"}`, ready, api.RolledBack, "R", "fine"},
	} {
		t.Run(name, func(t *testing.T) {
			row := Row(object(t, `{metadata: {namespace: a, name: b, `+tc.metadata+`}, status: {conditions: [`+tc.conditions+`]}}`))
			NewWithT(t).Expect(row).To(Equal(api.Row{Reference: api.Reference{Namespace: "a", Name: "b"}, State: tc.state, CountsAs: row.CountsAs, Reason: tc.reason, Message: tc.message, Created: row.Created, Since: row.Since}))
		})
	}
	for _, odd := range []string{`status: 3`, `status: {conditions: {a: b}}`, `status: {conditions: [3, null, [], {type: 3}]}`, `metadata: 3`, `status: {conditions: [{type: Ready, status: true}]}`} {
		Row(object(t, `{`+odd+`}`)) // it does not panic
	}
}

// TestWhatASecretHoldsIsNotShown, in no place of it.
func TestWhatASecretHoldsIsNotShown(t *testing.T) {
	g := NewWithT(t)
	secret := object(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, managedFields: [{manager: m}], annotations: {kubectl.kubernetes.io/last-applied-configuration: hidden, b: c}}, data: {p: aGlkZGVu, q: "", odd: 3}, stringData: {r: hidden}}`)
	text := YAML(secret)
	g.Expect(text).NotTo(Or(ContainSubstring("hidden"), ContainSubstring("aGlkZGVu"), ContainSubstring("managedFields"), ContainSubstring("r: h")))
	g.Expect(text).To(And(ContainSubstring("p: '*** (6 bytes)'"), ContainSubstring("q: '*** (0 bytes)'"), ContainSubstring("r: '*** (6 bytes)'"), ContainSubstring("b: c")))
	g.Expect(secret.Object["data"]).To(HaveKeyWithValue("p", "aGlkZGVu"), "the object itself stays")
	g.Expect(YAML(object(t, `{apiVersion: v1, kind: Secret, data: plain}`))).NotTo(ContainSubstring("plain"))
	g.Expect(YAML(object(t, `{apiVersion: v1, kind: ConfigMap, data: {p: shown}}`))).To(ContainSubstring("p: shown"))
	odd := YAML(&unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "\x7fb"}}})
	g.Expect(odd).To(And(ContainSubstring(`"kind": "ConfigMap"`), ContainSubstring("\x7fb")), "what YAML can't hold is JSON")
	g.Expect(YAML(object(t, `{apiVersion: example.com/v1, kind: Secret, data: {p: shown}}`))).To(ContainSubstring("p: shown"), "another kind of that name")
}

func TestALargeObjectIsCut(t *testing.T) {
	text := YAML(object(t, `{kind: ConfigMap, data: {a: `+strings.Repeat("x", maxYAML+100)+`}}`))
	NewWithT(t).Expect(text).To(And(HaveLen(maxYAML+len("\n# 127 bytes more are not shown\n")), HaveSuffix("bytes more are not shown\n")))
}

func TestABox(t *testing.T) {
	g := NewWithT(t)
	at := metav1.NewTime(time.Unix(100, 0))
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	box.Spec.CRD.Name = "webs.example.com"
	g.Expect(Box(box, nil)).To(Equal(api.Box{Name: "web", CRD: "webs.example.com", State: api.Unknown}))

	health := &v1alpha1.CRDHealth{}
	health.Status = v1alpha1.CRDHealthStatus{
		State: v1alpha1.HealthDegraded, Resources: v1alpha1.ResourceCounts{Total: 5, Ready: 1, Waiting: 2, Failing: 3}, ConsecutiveFailures: 7, FailureThreshold: 5, Workers: 3, QueueDepth: 4,
		LastFailure: &v1alpha1.Failure{Time: at, Resource: v1alpha1.ResourceReference{Namespace: "a", Name: "b"}, Step: "validation", Message: "m"}, Rollback: &v1alpha1.RollbackStatus{Active: true, Count: 1},
		Failing: []v1alpha1.FailingResource{
			{ResourceReference: v1alpha1.ResourceReference{Namespace: "a", Name: "worst"}, Step: "onReconcile", Message: "w", Since: at},
			{ResourceReference: v1alpha1.ResourceReference{Namespace: "a", Name: "other"}, Message: "o", Since: at},
		},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Degraded", Message: "3 of 5\n fail"}},
	}
	shown := Box(box, health)
	g.Expect(shown.State).To(Equal(api.Degraded))
	g.Expect(shown.Reason + ": " + shown.Message).To(Equal("Degraded: 3 of 5 fail"))
	g.Expect(shown.Resources).To(Equal(api.Counts{Total: 5, Ready: 1, Waiting: 2, Failing: 3}))
	g.Expect(shown.LastFailure).To(Equal(&api.Failure{Time: at.Time, Resource: api.Reference{Namespace: "a", Name: "b"}, Step: "validation", Message: "m"}))
	g.Expect(shown.Worst).To(Equal(&api.Failure{Time: at.Time, Resource: api.Reference{Namespace: "a", Name: "worst"}, Step: "onReconcile", Message: "w"}))
	name := func(a api.Alert) string { return a.Name }
	g.Expect(shown.Alerts).To(HaveExactElements(
		WithTransform(name, Equal("OrkestraBoxDegraded")), WithTransform(name, Equal("OrkestraResourcesFailing")), WithTransform(name, Equal("OrkestraRollbackHeld"))))
	for state, rests := range map[v1alpha1.HealthState]bool{
		v1alpha1.HealthPending: true, v1alpha1.HealthStarting: true, v1alpha1.HealthStopped: true, v1alpha1.HealthHealthy: false, v1alpha1.HealthSuspended: false,
	} {
		resting := &v1alpha1.CRDHealth{Status: v1alpha1.CRDHealthStatus{State: state}}
		if rests {
			g.Expect(Box(box, resting).Alerts).To(HaveExactElements(WithTransform(name, Equal("OrkestraBoxNotRunning"))), "%s", state)
		} else {
			g.Expect(Box(box, resting).Alerts).To(BeEmpty(), "%s", state)
		}
	}

	box.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionPoliciesInstalled, Status: metav1.ConditionFalse, Reason: "PoliciesMissing"}}
	g.Expect(Box(box, health).Alerts).To(ContainElement(api.Alert{Name: "OrkestraPoliciesMissing", Runbook: runbooks + "policies-missing.md"}))
	box.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "CompileError", Message: "spec.x"}}
	g.Expect(Box(box, health).Reason).To(Equal("CompileError"), "what is wrong with the box itself comes first")

	earlier := metav1.NewTime(at.Add(-time.Minute))
	health.Status.Conditions[0].LastTransitionTime, box.Status.Conditions[0].LastTransitionTime = earlier, at
	g.Expect(Box(box, health).Since).To(HaveValue(Equal(at.Time)), "since when it is so, of what is said")
	g.Expect(Box(box, nil).Since).To(HaveValue(Equal(at.Time)))
	box.Status.Conditions = nil
	g.Expect(Box(box, health).Since).To(HaveValue(Equal(earlier.Time)))
	health.Status.Conditions[0].Status = metav1.ConditionTrue
	g.Expect(Box(box, health).Since).To(BeNil(), "nothing is wrong")
}

// TestDependenciesGoBothWays: who waits for a box is written where it waits.
func TestDependenciesGoBothWays(t *testing.T) {
	g := NewWithT(t)
	waits := func(name string, met bool) v1alpha1.CRDHealth {
		h := v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: name}}
		h.Status.Dependencies = []v1alpha1.DependencyStatus{{Name: "db", Condition: "Healthy", Met: met}}
		return h
	}
	all := []v1alpha1.CRDHealth{waits("shop", true), waits("blog", false), {ObjectMeta: metav1.ObjectMeta{Name: "db"}}}
	g.Expect(Detail(&v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "db"}}, &all[2], all).Dependents).To(Equal([]api.Dependency{{Box: "blog", Condition: "Healthy"}, {Box: "shop", Condition: "Healthy", Met: true}}))
	g.Expect(Detail(&v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, &all[0], all).DependsOn).To(Equal([]api.Dependency{{Box: "db", Condition: "Healthy", Met: true}}))
}

func TestWhatARevisionChanged(t *testing.T) {
	g := NewWithT(t)
	kept := func(name, spec string) appsv1.ControllerRevision {
		return appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: runtime.RawExtension{Raw: []byte(spec)}}
	}
	got := Revisions([]appsv1.ControllerRevision{
		kept("c", `{"a":{"b":[1,{"c":"x"}]},"n":null}`), kept("b", `{"a":{"b":[1,{"c":"y"},3]},"d":"`+strings.Repeat("é", 300)+`"}`), kept("a", `{`),
	}, "c")
	g.Expect(got[0].Current).To(BeTrue())
	g.Expect(got[0].Changes).To(Equal([]string{`a.b[1].c: "y" → "x"`, `a.b[2]: 3 → absent`, `d: "` + strings.Repeat("é", 199) + `… → absent`, `n: absent → null`}))
	g.Expect(got[1].Changes).To(Equal([]string{"what was kept can't be read"}))
	g.Expect(got[2].Changes).To(BeEmpty())
	many := kept("m", `[`+strings.Repeat("1,", 200)+`1]`)
	g.Expect(Revisions([]appsv1.ControllerRevision{many, kept("z", `[]`)}, "")[0].Changes).To(HaveLen(101))
}

// TestAHealthyBoxSaysWhatElseThereIs: that nothing is wrong is not said beside it.
func TestAHealthyBoxSaysWhatElseThereIs(t *testing.T) {
	for said, want := range map[string]string{
		"the box works": ": ", "every resource is healthy": ": ", "the box works, but some resources fail; webs a/b: no": ": ",
		"the box works; new resources wait: box \"db\"\n is not there": `: the box works; new resources wait: box "db" is not there`,
	} {
		health := &v1alpha1.CRDHealth{Status: v1alpha1.CRDHealthStatus{State: v1alpha1.HealthHealthy, Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Message: said}}}}
		b := Box(&v1alpha1.OperatorBox{}, health)
		NewWithT(t).Expect(b.Reason+": "+b.Message).To(Equal(want), said)
	}
	unwritable := &v1alpha1.OperatorBox{Status: v1alpha1.OperatorBoxStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionStatusWritable, Status: metav1.ConditionFalse, Reason: "NoStatusSubresource", Message: "m"}}}}
	health := &v1alpha1.CRDHealth{Status: v1alpha1.CRDHealthStatus{State: v1alpha1.HealthHealthy}}
	NewWithT(t).Expect(Box(unwritable, health)).To(And(HaveField("Reason", "NoStatusSubresource"), HaveField("Message", "m")))
	health.Status.State = v1alpha1.HealthSuspended
	NewWithT(t).Expect(Box(unwritable, health).Reason).To(BeEmpty(), "its state says what there is to know")
}

// TestWhatAResourceCountsAs: as the health of its box counts it, where its state is another one.
func TestWhatAResourceCountsAs(t *testing.T) {
	const failing, waiting = `{type: Ready, status: "False", reason: ReconcileError}`, `{type: Ready, status: "False", reason: A},{type: Reconciling, status: "True"}`
	const paused, deleted, back = `annotations: {` + v1alpha1.AnnotationPaused + `: "true"}`, `deletionTimestamp: 2026-01-01T00:00:00Z`, `annotations: {` + v1alpha1.AnnotationRolledBack + `: "{}"}`
	for name, tc := range map[string]struct {
		metadata, conditions string
		want                 api.State
	}{
		"ready, of a former spec": {`generation: 2`, `{type: Ready, status: "True", observedGeneration: 1}`, api.Ready},
		"failing":                 {``, failing, ""}, "waiting": {``, waiting, ""}, "nobody has said": {paused, ``, ""},
		"paused, and failing": {paused, failing, api.Failing}, "paused, and ready": {paused, `{type: Ready, status: "True"}`, api.Ready},
		"paused before its first reconcile": {paused, `{type: Ready, status: "False", reason: Paused}`, ""},
		"deleted, and failing":              {deleted, failing, api.Failing}, "deleted, and under way": {deleted, waiting, api.Waiting}, "rolled back": {back, waiting, api.Failing},
	} {
		row := Row(object(t, `{metadata: {name: b, `+tc.metadata+`}, status: {conditions: [`+tc.conditions+`]}}`))
		NewWithT(t).Expect(row.CountsAs).To(Equal(tc.want), name)
	}
}

// TestSinceWhenNobodyHasSaidAnything: since the resource was made.
func TestSinceWhenNobodyHasSaidAnything(t *testing.T) {
	row := Row(object(t, `{metadata: {name: b, creationTimestamp: 2026-01-01T00:00:00Z}}`))
	NewWithT(t).Expect(row).To(And(HaveField("State", api.Unknown), HaveField("Since", HaveValue(BeTemporally("==", row.Created)))))
	NewWithT(t).Expect(Row(object(t, `{metadata: {name: b}}`)).Since).To(BeNil())
}
