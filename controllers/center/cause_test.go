package center

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/engine/web/api"
)

// TestTheCause is what somebody has to mend first: an error of the reconcile before what that has not come to.
func TestTheCause(t *testing.T) {
	missing := api.Declaration{Declaration: "missing", State: "Missing", Reason: "there is none"}
	waiting := api.Declaration{Declaration: "waiting", State: "Waiting", Reason: "a gate", Gate: api.Gate{Field: "spec.a"}}
	foreign := api.Declaration{Declaration: "foreign", State: "Error", Reason: "somebody else's"}
	for name, test := range map[string]struct {
		found        inspect.Resource
		declarations []api.Declaration
		want         *api.Cause
	}{
		"nothing":                         {inspect.Resource{Ready: true}, []api.Declaration{missing}, nil},
		"an object of others":             {inspect.Resource{Unselected: true, Reason: "r"}, nil, nil},
		"a gate":                          {inspect.Resource{Ready: true, Reason: "WaitingForGate"}, []api.Declaration{missing, waiting}, &api.Cause{Declaration: "waiting", Field: "spec.a", Message: "waiting: a gate"}},
		"an error before any declaration": {inspect.Resource{Failed: true, Reason: "ValidationFailed", Message: "too many"}, []api.Declaration{missing, waiting}, &api.Cause{Message: "ValidationFailed: too many"}},
		"an error of a declaration":       {inspect.Resource{Failed: true, Reason: "NotOwned", Message: "m"}, []api.Declaration{missing, foreign}, &api.Cause{Declaration: "foreign", Message: "foreign: somebody else's"}},
		"an error that may pass":          {inspect.Resource{Failed: true, Reason: v1alpha1.ReasonReconcileError, Message: "m"}, []api.Declaration{waiting}, &api.Cause{Message: "ReconcileError: m"}},
		"one that may pass, of a declaration": {inspect.Resource{Failed: true, Reason: v1alpha1.ReasonReconcileError, Message: "onReconcile: applying Deployment \"a\": no room"},
			[]api.Declaration{waiting, {Declaration: "a", State: "Error", Reason: "no room"}}, &api.Cause{Declaration: "a", Message: "a: no room"}},
		"a child that is not there, no error":  {inspect.Resource{Reason: "WaitingForDependency", Message: "no database"}, []api.Declaration{missing}, &api.Cause{Message: "WaitingForDependency: no database"}},
		"nothing that a declaration would say": {inspect.Resource{Reason: "Outdated", Message: "old"}, nil, &api.Cause{Message: "Outdated: old"}},
	} {
		NewWithT(t).Expect(causeOf(&test.found, test.declarations)).To(Equal(test.want), name)
	}
}

// TestTheCauseSaysWhatToDo: by the reason for which the resource is not ready, as its headline has it.
func TestTheCauseSaysWhatToDo(t *testing.T) {
	g := NewWithT(t)
	live := &unstructured.Unstructured{Object: map[string]any{}}
	out := resourceOf(&inspect.Resource{Failed: true, Reason: v1alpha1.ReasonNotOwned, Message: "m"}, live)
	g.Expect(out.Cause).To(And(HaveField("Reason", "NotOwned"), HaveField("Todo", HavePrefix("If nobody controls the other object: rename or delete it")), HaveField("Page", HaveSuffix("docs/how-to/troubleshoot.md#stalled"))))
	out = resourceOf(&inspect.Resource{Reason: "NoDisk", Message: "a hook says so"}, live)
	g.Expect(out.Cause).To(And(HaveField("Reason", "NoDisk"), HaveField("Todo", BeEmpty()), HaveField("Page", HaveSuffix("docs/how-to/troubleshoot.md"))))
	g.Expect(resourceOf(&inspect.Resource{Ready: true}, live).Cause).To(BeNil())
}
