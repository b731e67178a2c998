package center

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/view"
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
	live, box := &unstructured.Unstructured{Object: map[string]any{}}, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	out := resourceOf(&inspect.Resource{Failed: true, Reason: v1alpha1.ReasonNotOwned, Message: "m"}, live, box)
	g.Expect(out.Cause).To(And(HaveField("Reason", "NotOwned"), HaveField("Todo", HavePrefix("If nobody controls the other object: rename or delete it")), HaveField("Page", HaveSuffix("docs/how-to/troubleshoot.md#stalled"))))
	out = resourceOf(&inspect.Resource{Reason: "NoDisk", Message: "a hook says so"}, live, box)
	g.Expect(out.Cause).To(And(HaveField("Reason", "NoDisk"), HaveField("Todo", BeEmpty()), HaveField("Page", HaveSuffix("docs/how-to/troubleshoot.md"))))
	out = resourceOf(&inspect.Resource{Failed: true, Reason: v1alpha1.ReasonReconcileError, Message: "external: quota: no answer"}, live, box)
	g.Expect(out.Cause.Todo).To(HavePrefix("The service does not answer"), "by the message where the reason does not tell")
	box.Spec.ServiceAccountRef = &v1alpha1.ServiceAccountReference{Namespace: "team", Name: "acts"}
	out = resourceOf(&inspect.Resource{Failed: true, Reason: v1alpha1.ReasonForbidden, Message: "m"}, live, box)
	g.Expect(out.Cause.Todo).To(ContainSubstring(`"kubectl get operatorbox shop -o yaml | orkestra rbac -f - --cluster", read that, and apply it`))
	g.Expect(resourceOf(&inspect.Resource{Ready: true}, live, box).Cause).To(BeNil())
}

// TestAdviceKnowsTheSteps: what to do about an error that may pass goes by the step with which its message begins.
func TestAdviceKnowsTheSteps(t *testing.T) {
	otherwise, _ := view.Advice(v1alpha1.ReasonReconcileError, "")
	for _, step := range []string{stage.StepExternal, stage.StepHook, stage.StepConstructor, stage.StepProviders, stage.StepOutputs} {
		todo, _ := view.Advice(v1alpha1.ReasonReconcileError, step+": no")
		NewWithT(t).Expect(todo).NotTo(Equal(otherwise), step)
	}
}

// TestWhatToDoAboutABox: with the whole command where a right is missing, and nothing where it is well.
func TestWhatToDoAboutABox(t *testing.T) {
	g := NewWithT(t)
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	box.Spec.ServiceAccountRef = &v1alpha1.ServiceAccountReference{Namespace: "team", Name: "acts"}
	out := &api.BoxDetail{Box: api.Box{Reason: v1alpha1.ReasonForbidden, Message: "ServiceAccount team/acts may not get pods; …"}}
	advise(out, box)
	const command = `Grant the rights that are missing: show what grants it with "kubectl get operatorbox shop -o yaml | orkestra rbac -f - --cluster", read that, and apply it.`
	g.Expect(out).To(And(HaveField("Todo", command), HaveField("Page", HaveSuffix("operations.md#rights"))))
	out.Message = `the manager may not impersonate serviceaccounts "acts" in namespace "team"; …`
	advise(out, box)
	g.Expect(out.Todo).To(And(HavePrefix("Grant the rights that are named, as the message says"), Not(ContainSubstring("orkestra rbac"))), "the roles of the account grant the manager nothing")
	alone := box.DeepCopy()
	alone.Spec.ServiceAccountRef = nil
	advise(out, alone)
	g.Expect(out.Todo).To(HavePrefix("Grant the rights that are missing: name an account for the box in spec.serviceAccountRef: "))

	unmet := api.BoxDetail{DependsOn: []api.Dependency{{Box: "a", Met: true}, {Box: "b"}}}
	out = &unmet
	out.Message = "new resources wait"
	advise(out, box)
	g.Expect(out.Todo).To(HavePrefix("New resources wait"))
	out.Message, out.Todo = "", ""
	advise(out, box)
	g.Expect(out.Todo+out.Page).To(BeEmpty(), "no resource waits for it")
	out = &api.BoxDetail{Box: api.Box{Message: "m"}, DependsOn: []api.Dependency{{Box: "a", Met: true}}}
	advise(out, box)
	g.Expect(out.Todo + out.Page).To(BeEmpty())
}
