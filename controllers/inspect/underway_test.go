package inspect

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
)

// A child that is not there is not said to be hindered by nothing where the resource says what hinders it.
func TestWhatIsNotMadeSaysWhy(t *testing.T) {
	const open = overview.Unhindered + `, and there is no ConfigMap "web"`
	for name, tc := range map[string]struct {
		resource Resource
		state    overview.State
		reason   string
	}{
		"an error of its own": {Resource{Reason: v1alpha1.ReasonNotOwned, Message: `onReconcile: a: ConfigMap "web" exists and was not made by Orkestra`},
			overview.StateError, `ConfigMap "web" exists and was not made by Orkestra`},
		"an error of the API server": {Resource{Reason: v1alpha1.ReasonAdmissionDenied, Message: `onReconcile: applying ConfigMap "web": configmaps "web" is forbidden: no`},
			overview.StateError, `configmaps "web" is forbidden: no`},
		"one about another child": {Resource{Reason: v1alpha1.ReasonAdmissionDenied, Message: `onReconcile: applying ConfigMap "website": configmaps "website" is forbidden: no`},
			overview.StateMissing, `the last reconcile failed, and there is no ConfigMap "web"`},
		"an error of another one": {Resource{Reason: v1alpha1.ReasonTemplateError, Message: "onReconcile: ab: data: no"},
			overview.StateMissing, `the last reconcile failed, and there is no ConfigMap "web"`},
		"an error of another step": {Resource{Failed: true, Reason: v1alpha1.ReasonReconcileError, Message: "cross: a: no"},
			overview.StateMissing, `the last reconcile failed before it came to it, and there is no ConfigMap "web"`},
		"a dependency": {Resource{Reason: v1alpha1.ReasonWaitingForDependency, Message: `box "db" is Degraded, wanted Healthy`},
			overview.StateWaiting, `box "db" is Degraded, wanted Healthy`},
		"a wait of its own": {Resource{Ready: true, Reason: v1alpha1.ReasonWaitingForGate, Message: "a: children.each is not there yet"},
			overview.StateWaiting, "children.each is not there yet"},
		"a wait of another one": {Resource{Reason: v1alpha1.ReasonWaitingForGate, Message: "b: children.each is not there yet"}, overview.StateMissing, open},
		"nothing":               {Resource{Ready: true}, overview.StateMissing, open},
		"its first reconcile":   {Resource{Reason: reasonFirst, Message: "onReconcile: a: no"}, overview.StateMissing, `the reconcile that is to make it has not ended, and there is no ConfigMap "web"`},
	} {
		t.Run(name, func(t *testing.T) {
			g, r := NewWithT(t), tc.resource
			r.Declarations = []Declaration{
				{Declaration: "a", Group: "onReconcile", State: overview.StateMissing, Reason: open},
				{Declaration: "a", Group: "onReconcile", State: overview.StateReady},
				{Declaration: "a", Group: "onReconcile", State: overview.StateMissing, Reason: "kind VPC is not installed"},
			}
			r.notMade()
			g.Expect(r.Declarations[0].State).To(Equal(tc.state))
			g.Expect(r.Declarations[0].Reason).To(Equal(tc.reason))
			g.Expect(r.Declarations[1].State).To(Equal(overview.StateReady))
			g.Expect(r.Declarations[2].Reason).To(Equal("kind VPC is not installed"))
		})
	}
}

// A child that is there is not said to be well where it can't be changed to what is declared now.
func TestWhatIsNotChangedSaysWhy(t *testing.T) {
	const message = `onReconcile: applying Service "web": spec.clusterIP can't be changed`
	child := &unstructured.Unstructured{}
	child.SetName("web")
	for name, tc := range map[string]struct {
		resource Resource
		state    overview.State
		reason   string
	}{
		"what is refused":     {Resource{Failed: true, Reason: v1alpha1.ReasonInvalidChild, Message: message}, overview.StateError, "spec.clusterIP can't be changed"},
		"another child":       {Resource{Failed: true, Reason: v1alpha1.ReasonInvalidChild, Message: `onReconcile: applying Service "website": no`}, overview.StateReady, ""},
		"another group":       {Resource{Failed: true, Reason: v1alpha1.ReasonInvalidChild, Message: `onCreate: applying Service "web": no`}, overview.StateReady, ""},
		"what is held":        {Resource{Failed: true, Reason: v1alpha1.ReasonHeld, Message: message}, overview.StateReady, ""},
		"what has not failed": {Resource{Reason: v1alpha1.ReasonWaitingForGate, Message: message}, overview.StateReady, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, r := NewWithT(t), tc.resource
			r.Declarations = []Declaration{{Declaration: "services", Group: "onReconcile", Kind: "Service", State: overview.StateReady, child: child}, {Declaration: "a", Group: "onReconcile"}}
			r.notChanged()
			g.Expect(r.Declarations[0].State).To(Equal(tc.state))
			g.Expect(r.Declarations[0].Reason).To(Equal(tc.reason))
			g.Expect(r.Declarations[1]).To(Equal(Declaration{Declaration: "a", Group: "onReconcile"}))
		})
	}
}
