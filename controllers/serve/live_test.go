package serve

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/engine/history"
	"github.com/orkspace/orkestra/engine/web/api"
)

// countingLists has a world read from an API server that counts its lists.
func countingLists(t *testing.T, objects ...client.Object) (w *world, lists *int) {
	t.Helper()
	w, lists = newWorld(t), new(int)
	live := fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			*lists++
			return c.List(ctx, list, opts...)
		},
	}).Build()
	ports := w.source.Ports
	ports.Live, ports.Namespace = live, "orkestra-system"
	w.source = NewSource(ports)
	w.reader.source = w.source
	return w, lists
}

// TestWhatIsListedIsForThoseWhoMay: nobody else causes a list, and all who may share one for ten seconds.
func TestWhatIsListedIsForThoseWhoMay(t *testing.T) {
	g := NewWithT(t)
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "orkestra-system", Name: "web-1", Labels: map[string]string{v1alpha1.LabelRevisionOf: "web"}}, Revision: 1}
	elsewhere := revision.DeepCopy()
	elsewhere.Namespace = "shop"
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e"}, InvolvedObject: corev1.ObjectReference{Kind: "Website", Name: "web", UID: "mine"}}
	w, lists := countingLists(t, revision, elsewhere, event)
	mine := center.About{UIDs: map[types.UID]bool{"mine": true}}
	w.reviews.may = func(string) bool { return false }
	_, err := w.revisions(t.Context(), "web")
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue())
	g.Expect(err).To(MatchError(ContainSubstring(`cannot list resource "controllerrevisions" in API group "apps" in the namespace "orkestra-system"`)))
	events, _, err := w.events(t.Context(), "shop", mine)
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue())
	g.Expect(err).To(MatchError(ContainSubstring(`cannot list resource "events" in API group "" in the namespace "shop"`)))
	g.Expect(events).To(And(BeEmpty(), Not(BeNil())))
	_, _, err = w.events(t.Context(), "", mine)
	g.Expect(err).To(MatchError(ContainSubstring(`in the namespace "default"`)))
	g.Expect(*lists).To(BeZero())

	w.clock.SetTime(beginning.Add(time.Minute)) // refusals are not believed any more
	w.reviews.may = func(namespace string) bool { return namespace != "" }
	for range 3 {
		kept, err := w.revisions(t.Context(), "web")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kept).To(HaveExactElements(HaveField("Namespace", "orkestra-system")))
		events, _, err := w.events(t.Context(), "shop", mine)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(events).To(HaveExactElements(HaveField("Object", "Website/web")))
	}
	g.Expect(*lists).To(Equal(2))
	w.clock.SetTime(beginning.Add(time.Minute + 10*time.Second))
	_, err = w.revisions(t.Context(), "web")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*lists).To(Equal(3))
}

func TestStepsAreThoseOfTheManagerThatLeads(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	g.Expect(w.source.steps("web")).To(Equal(api.Steps{Note: follows, Steps: []api.Step{}}))
	w.remembering(t)
	w.source.History.Note("web", types.NamespacedName{Namespace: "a", Name: "shop"}, &history.Cycle{
		At: beginning, Outcome: "Transient", Stage: "validation", Message: "m", Stages: []history.Stage{{Name: "gather", Took: time.Second}, {Name: "validation", Took: 3 * time.Second}},
	})
	since := beginning
	g.Expect(w.source.steps("web")).To(Equal(api.Steps{Since: &since, Steps: []api.Step{
		{Name: "gather", Runs: 1, Mean: 1, Longest: 1},
		{Name: "validation", Runs: 1, Failures: 1, Mean: 3, Longest: 3, LastFailure: &api.StepFailure{Time: beginning, Resource: api.Reference{Namespace: "a", Name: "shop"}, Message: "m"}},
	}}))
	g.Expect(w.source.steps("nothing")).To(Equal(api.Steps{Since: &since, Steps: []api.Step{}}))
}
