package center

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/web/api"
)

// requiring is a box that needs one right for each name.
func requiring(account string, names ...string) *v1alpha1.OperatorBox {
	b := box("web")
	b.Status.RequiredRules = access.Everywhere(rbacv1.PolicyRule{APIGroups: []string{"g"}, Resources: names, Verbs: []string{"get"}})
	if account != "" {
		b.Spec.ServiceAccountRef = &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: account}
	}
	return b
}

func TestMissingRightsAreAskedFor(t *testing.T) {
	g := NewWithT(t)
	var asked []access.Right
	var as identity.Account
	var failing error
	c := &Center{Ports: Ports{Granted: func(_ context.Context, account identity.Account, name string, right access.Right) (bool, error) {
		g.Expect(name).To(Equal("web"))
		asked, as = append(asked, right), account
		return right.Resource != "b", failing
	}}}
	c.Own = objects(t, false, requiring("acts", "a", "b"))
	rights, err := c.NeededRights(t.Context(), "web")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rights).To(And(HaveField("Account", "shop/acts"), HaveField("Missing", 1), HaveField("Notes", ConsistOf(`show what grants it with "kubectl get operatorbox web -o yaml | orkestra rbac -f - --cluster", read that, and apply it`))))
	g.Expect(rights.Rights).To(HaveExactElements(HaveField("Resource", "b"), HaveField("Resource", "a")))
	g.Expect(asked).To(HaveLen(2))
	g.Expect(as.Name).To(Equal("acts"))

	failing = errors.New("no answer")
	asked = nil
	rights, err = c.NeededRights(t.Context(), "web")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked).To(HaveLen(1), "who does not answer is not asked again and again")
	g.Expect(rights.Notes).To(Equal([]string{"What is missing is not known: no answer"}))
	g.Expect(rights.Rights).To(HaveEach(And(HaveField("Unknown", true), HaveField("Missing", BeEmpty()))))

	failing, asked = nil, nil
	names := make([]string, maxReviews+1)
	for i := range names {
		names[i] = "r" + string(rune('0'+i%10)) + string(rune('a'+i/10%26)) + string(rune('a'+i/260))
	}
	c.Own = objects(t, false, requiring("", names...))
	rights, err = c.NeededRights(t.Context(), "web")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked).To(HaveLen(maxReviews))
	g.Expect(rights.Account).To(BeEmpty())
	g.Expect(rights.Notes).To(ContainElement("Only the first 400 rights were asked for, of 401"))
	g.Expect(rights.Rights[0].Unknown).To(BeTrue())
	_, err = c.NeededRights(t.Context(), "gone")
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
}

func TestRevisionsAreCompared(t *testing.T) {
	g := NewWithT(t)
	b := box("web")
	b.Spec.Suspend = true
	kept := func(name, data string) appsv1.ControllerRevision {
		return appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: runtime.RawExtension{Raw: []byte(data)}}
	}
	var refused error
	c := &Center{Ports: Ports{Own: objects(t, false, b), Revisions: func(context.Context, string) ([]appsv1.ControllerRevision, error) {
		return []appsv1.ControllerRevision{kept("web-2", `{"crd":{},"workers":2}`), kept("web-1", `{"crd":{},"workers":1}`)}, refused
	}}}
	difference, err := c.Difference(t.Context(), "web", "web-1", "web-2")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(difference).To(And(HaveField("From", "web-1"), HaveField("To", "web-2")))
	g.Expect(difference.Changes).To(HaveExactElements(HaveField("Field", "workers")))
	difference, err = c.Difference(t.Context(), "web", "web-1", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(difference.Changes).To(ContainElement(And(HaveField("Field", "suspend"), HaveField("After", HaveValue(Equal("true"))))))
	for _, pair := range [][2]string{{"web-9", "web-1"}, {"web-1", "web-9"}} {
		_, err = c.Difference(t.Context(), "web", pair[0], pair[1])
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
		g.Expect(err).To(MatchError(ContainSubstring("web-9")))
	}
	refused = errors.New("you may not")
	_, err = c.Difference(t.Context(), "web", "web-1", "web-2")
	g.Expect(err).To(MatchError("you may not"))
}

// TestDependenciesAreThoseThatMayBeSeen: and a note says so where it is not known how they fare.
func TestDependenciesAreThoseThatMayBeSeen(t *testing.T) {
	g := NewWithT(t)
	web := box("web")
	web.Spec.DependsOn = []v1alpha1.Dependency{{Name: "db"}}
	c := &Center{Ports: Ports{Own: objects(t, true, web)}}
	d, err := c.Dependencies(t.Context(), "web")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Nodes).To(Equal([]api.DependencyNode{{Box: "web", State: api.Unknown, IsBox: true}, {Box: "db", State: api.Unknown}}))
	g.Expect(d.Notes).To(HaveExactElements(HavePrefix("How boxes fare is not known: ")))
	_, err = c.Dependencies(t.Context(), "gone")
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
}

// unplanned are the plans of boxes none of which compiles.
type unplanned struct{}

var errUnplanned = errors.New("spec.onReconcile: no")

func (unplanned) KindOf(context.Context, string) schema.GroupVersionKind {
	return schema.GroupVersionKind{}
}

func (unplanned) PlanOf(context.Context, *v1alpha1.OperatorBox, revision.Ref) (*pipeline.Plan, error) {
	return nil, errUnplanned
}

// TestAPlanThatFailsIsSaid: all else of the box is shown, and its graph is an empty one that says why.
func TestAPlanThatFailsIsSaid(t *testing.T) {
	g := NewWithT(t)
	broken := box("web")
	broken.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCompileFailed, Message: "no"}}
	own := objects(t, false, broken)
	c := &Center{Ports: Ports{
		Own: own, Clock: clocktesting.NewFakePassiveClock(beginning), Inspecting: inspect.NewSession(inspect.Ports{Own: own, Plans: unplanned{}}),
		Revisions: func(context.Context, string) ([]appsv1.ControllerRevision, error) { return nil, nil },
	}}
	const why = "What the box declares is not known: spec.onReconcile: no"
	graph, err := c.Graph(t.Context(), "web")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(graph).To(Equal(&api.Graph{Nodes: []api.GraphNode{}, Edges: []api.GraphEdge{}, Notes: []string{why}}))
	detail, err := c.Box(t.Context(), "web")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(detail.Notes).To(Equal([]string{why}))
	g.Expect(detail.YAML).To(ContainSubstring("name: web"))
	g.Expect(detail.Todo).To(HavePrefix("Mend the mistakes"))
	_, err = c.Graph(t.Context(), "gone")
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
}
