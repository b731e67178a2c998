package tree

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
)

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(obj.UnmarshalJSON(raw)).To(Succeed())
	return obj
}

// A Pod says why it does not run by its containers, and all else by its conditions.
func TestHowObjectsFare(t *testing.T) {
	pod := func(status string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}, status: " + status + "}"
	}
	for name, tc := range map[string]struct{ object, ready, words string }{
		"an image that is not there": {pod(`{phase: Pending, containerStatuses: [{name: web, state: {waiting: {reason: ErrImagePull, message: "not  found"}}}]}`),
			no, "ErrImagePull: container web: not found"},
		"a container that crashes": {pod(`{phase: Running, containerStatuses: [{name: ok, state: {running: {}}}, {name: web, state: {waiting: {reason: CrashLoopBackOff}}}]}`),
			no, "CrashLoopBackOff: container web"},
		"one that was killed":        {pod(`{phase: Failed, containerStatuses: [{name: web, state: {terminated: {reason: OOMKilled}}}]}`), no, "OOMKilled: container web"},
		"an init container":          {pod(`{phase: Pending, initContainerStatuses: [{name: first, state: {waiting: {reason: ErrImagePull}}}], containerStatuses: [{name: web, state: {waiting: {reason: PodInitializing}}}]}`), no, "ErrImagePull: container first"},
		"one that has completed":     {pod(`{phase: Succeeded, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: web, state: {terminated: {reason: Completed}}}]}`), yes, "Current: Pod has completed successfully"},
		"one that runs":              {pod(`{phase: Running, conditions: [{type: Ready, status: "True"}]}`), yes, "Current: Pod is Ready"},
		"one that nobody has placed": {pod(`{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: no nodes}]}`), no, "Failed: Pod could not be scheduled"},
		"a status of another shape":  {pod(`{phase: Pending, containerStatuses: none}`), no, "InProgress: Pod is in the Pending phase"},
		"an EndpointSlice":           {`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}}`, none, ""},
		"a Job":                      {`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {conditions: [{type: Failed, status: "True", message: too late}]}}`, no, "Failed: Job Failed. failed: 0/1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ready, words := readiness(parsed(t, tc.object))
			g.Expect(ready).To(Equal(tc.ready))
			g.Expect(words).To(Equal(tc.words))
		})
	}
}

func TestSpentReplicaSets(t *testing.T) {
	for text, want := range map[string]bool{
		"{spec: {replicas: 0}, status: {replicas: 0}}":    true,
		"{spec: {replicas: 0}}":                           true,
		"{spec: {replicas: 0}, status: {replicas: 1}}":    false,
		"{spec: {replicas: 2}, status: {replicas: 0}}":    false,
		"{spec: {replicas: 0}, status: {replicas: many}}": false,
	} {
		obj := parsed(t, "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a}, "+text[1:])
		NewWithT(t).Expect(retired(obj)).To(Equal(want), text)
	}
}

func TestBoxes(t *testing.T) {
	condition := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message}}
	}
	for name, tc := range map[string]struct {
		conditions   []metav1.Condition
		ready, words string
	}{
		"never looked at":     {nil, unknown, ""},
		"running":             {condition(metav1.ConditionTrue, "Running", "3 workers"), yes, "Running"},
		"one with a mistake":  {condition(metav1.ConditionFalse, "CompileFailed", "spec: no"), no, "CompileFailed: spec: no"},
		"one that is unclear": {condition(metav1.ConditionUnknown, "CRDUnknown", "no answer"), unknown, "CRDUnknown: no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			n := boxNode(&v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1alpha1.OperatorBoxStatus{Conditions: tc.conditions}})
			NewWithT(t).Expect(n).To(And(HaveField("Kind", "OperatorBox"), HaveField("Name", "a"), HaveField("Ready", tc.ready), HaveField("Status", tc.words)))
		})
	}
}

// The lines of a tree lead from each object to those below it.
func TestLinesOfATree(t *testing.T) {
	g := NewWithT(t)
	made := metav1.NewTime(clock().Add(-90 * time.Second))
	a := &answer{now: clock(), Manager: session.Manager{Message: "No manager is at work"}, Notes: []string{"a note"}, Items: []*node{
		{Kind: "OperatorBox", Name: "a", Ready: yes, Children: []*node{
			{Kind: "Shop", Namespace: "x", Name: "one", Ready: no, Status: "why", Created: &made, Children: []*node{
				{Kind: "Deployment", Name: "web", Ready: yes, Children: []*node{{Kind: "Pod", Name: "p", Ready: yes}}},
				{Kind: "ConfigMap", Declaration: "page", Ready: none, Status: "Off"},
			}},
			{Kind: "Shop", Namespace: "x", Name: "two", Ready: yes},
		}},
		{Kind: "OperatorBox", Name: "b", Ready: unknown},
	}}
	var out bytes.Buffer
	g.Expect(a.draw(&out)).To(Succeed())
	g.Expect(out.String()).To(Equal(`No manager is at work
a note
NAME                   READY     AGE   STATUS
OperatorBox/a          True      -
├─Shop/x/one           False     90s   why
│ ├─Deployment/web     True      -
│ │ └─Pod/p            True      -
│ └─page (ConfigMap)   -         -     Off
└─Shop/x/two           True      -
OperatorBox/b          Unknown   -
`))
}
