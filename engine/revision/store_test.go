package revision

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
)

const ourNamespace = "our-system"

// history is a store of revisions, and what its process has asked for.
type history struct {
	*Store
	asked []string
	fails error // of lists
}

func newHistory(t *testing.T) *history {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(appsv1.AddToScheme(scheme)).To(Succeed())
	h := &history{}
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			h.asked = append(h.asked, "get")
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			h.asked = append(h.asked, "list")
			if h.fails != nil {
				return h.fails
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	h.Store = NewStore(c, c, ourNamespace)
	return h
}

// restart forgets what the process knew.
func (h *history) restart() {
	h.Store, h.asked = NewStore(h.client, h.live, h.namespace), nil
}

// saying is a box whose spec says one thing, and whose status names the revision that ran before.
func saying(what, before string) *v1alpha1.OperatorBox {
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "box"}}
	box.Spec.CRD.Name = what
	box.Spec.RevisionHistoryLimit = new(int32(2))
	if before != "" {
		box.Status.Revision = revisionOf(before)
	}
	return box
}

func revisionOf(what string) string { return boxspec.Revision(saying(what, "")) }

// keeps expects that the store keeps what boxes said, with these numbers.
func (h *history) keeps(t *testing.T, want map[string]int64) {
	t.Helper()
	g := NewWithT(t)
	all, err := h.List(t.Context(), "shop")
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]int64{}
	for i := range all {
		found[all[i].Name] = all[i].Revision
		g.Expect(i == 0 || all[i].Revision < all[i-1].Revision).To(BeTrue(), "the newest is the first")
	}
	wanted := map[string]int64{}
	for what, number := range want {
		wanted[revisionOf(what)] = number
	}
	g.Expect(found).To(Equal(wanted))
}

// says stores what a box says after it ran something else.
func (h *history) says(t *testing.T, what, before string, spare ...string) {
	t.Helper()
	NewWithT(t).Expect(h.Keep(t.Context(), saying(what, before), sparing(spare...))).To(Succeed())
}

func sparing(names ...string) Spare {
	return func(context.Context) ([]string, bool, error) { return names, true, nil }
}

func (h *history) object(t *testing.T, what string) *appsv1.ControllerRevision {
	t.Helper()
	found := &appsv1.ControllerRevision{}
	NewWithT(t).Expect(h.live.Get(t.Context(), types.NamespacedName{Namespace: ourNamespace, Name: revisionOf(what)}, found)).To(Succeed())
	return found
}

func TestRevisionsAreKept(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t)
	h.says(t, "a", "")
	h.keeps(t, map[string]int64{"a": 1})
	stored := h.object(t, "a")
	g.Expect(stored.Labels).To(Equal(map[string]string{v1alpha1.LabelRevisionOf: "shop", v1alpha1.LabelManagedBy: "orkestra"}))
	g.Expect(stored.OwnerReferences).To(BeEmpty())
	spec, err := h.Read(t.Context(), "shop", Ref{Name: revisionOf("a")})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*spec).To(Equal(saying("a", "").Spec))

	h.says(t, "b", "a")
	h.says(t, "c", "b")
	h.says(t, "d", "c")
	h.keeps(t, map[string]int64{"b": 2, "c": 3, "d": 4})
	h.says(t, "b", "d")
	h.keeps(t, map[string]int64{"c": 3, "d": 4, "b": 5})
}

// What is to be spared may take a look at all resources of a box, and a box is reconciled once a second while its resources change.
func TestNobodyIsAskedWhatToSpareWhereNothingIsPruned(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t)
	asked := 0
	keep := func(what, before string) error {
		return h.Keep(t.Context(), saying(what, before), func(context.Context) ([]string, bool, error) {
			asked++
			return []string{revisionOf("a")}, true, nil
		})
	}
	for i, what := range []string{"a", "b", "c"} { // one that runs, and two that are kept
		g.Expect(keep(what, []string{"", "a", "b"}[i])).To(Succeed())
		g.Expect(keep(what, what)).To(Succeed())
	}
	g.Expect(asked).To(BeZero())
	g.Expect(keep("d", "c")).To(Succeed())
	g.Expect(keep("d", "d")).To(Succeed())
	g.Expect(asked).To(Equal(1))
	h.keeps(t, map[string]int64{"a": 1, "b": 2, "c": 3, "d": 4})
}

func TestNothingIsPrunedWhileItIsNotKnownWhatToSpare(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t)
	h.says(t, "a", "")
	h.says(t, "b", "a")
	h.says(t, "c", "b")
	g.Expect(h.Keep(t.Context(), saying("d", "c"), func(context.Context) ([]string, bool, error) { return nil, false, nil })).To(Succeed())
	h.keeps(t, map[string]int64{"a": 1, "b": 2, "c": 3, "d": 4})
	h.says(t, "e", "d", revisionOf("a"))
	h.keeps(t, map[string]int64{"a": 1, "c": 3, "d": 4, "e": 5})
}

func TestWhatRunsAndWhatIsSparedIsNotPruned(t *testing.T) {
	h := newHistory(t)
	h.says(t, "a", "")
	good := revisionOf("a")
	h.says(t, "b", "a", good)
	h.says(t, "c", "b", good)
	h.says(t, "d", "c", good)
	h.says(t, "e", "d", good)
	h.keeps(t, map[string]int64{"a": 1, "c": 3, "d": 4, "e": 5})

	box := saying("f", "c") // it did not come to run d and e
	box.Spec.RevisionHistoryLimit = new(int32(1))
	NewWithT(t).Expect(h.Keep(t.Context(), box, sparing())).To(Succeed())
	all, err := h.List(t.Context(), "shop")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	names := []string{}
	for i := range all {
		names = append(names, all[i].Name)
	}
	NewWithT(t).Expect(names).To(Equal([]string{boxspec.Revision(box), revisionOf("e"), revisionOf("c")}))
}

func TestARevisionThatIsStoredCostsLittle(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t)
	h.says(t, "a", "")
	h.asked = nil
	h.says(t, "a", "a")
	g.Expect(h.asked).To(BeEmpty(), "this process has stored it")
	h.restart()
	h.says(t, "a", "a")
	g.Expect(h.asked).To(Equal([]string{"get"}), "a former process has stored it")
	h.says(t, "a", "a")
	g.Expect(h.asked).To(HaveLen(1))
}

func TestARevisionThatIsLostIsPutBack(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t)
	h.says(t, "a", "")
	h.says(t, "b", "a")
	g.Expect(h.client.Delete(t.Context(), h.object(t, "b"))).To(Succeed())
	h.restart()
	h.says(t, "b", "b")
	h.keeps(t, map[string]int64{"a": 1, "b": 2})

	lost := h.object(t, "a")
	lost.Labels = nil
	g.Expect(h.client.Update(t.Context(), lost)).To(Succeed())
	h.keeps(t, map[string]int64{"b": 2})
	h.says(t, "a", "b")
	h.keeps(t, map[string]int64{"b": 2, "a": 3})
}

// replaced puts other data in the place of a revision.
func (h *history) replaced(t *testing.T, what, data string) {
	t.Helper()
	g := NewWithT(t)
	stored := h.object(t, what)
	g.Expect(h.client.Delete(t.Context(), stored)).To(Succeed())
	stored.ResourceVersion, stored.UID, stored.Data.Raw = "", "", []byte(data)
	g.Expect(h.client.Create(t.Context(), stored)).To(Succeed())
}

func TestARevisionThatWasReplacedIsRefused(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t)
	h.says(t, "a", "")
	sound := h.object(t, "a").Data.Raw
	h.replaced(t, "a", `{"crd":{"name":"other"}}`)
	_, err := h.Read(t.Context(), "shop", Ref{Name: revisionOf("a")})
	g.Expect(err).To(MatchError(And(ContainSubstring("was replaced by hand"), ContainSubstring("our-system/"+revisionOf("a")))))

	h.restart()
	h.says(t, "a", "a")
	g.Expect(h.object(t, "a").Data.Raw).To(MatchJSON(sound), "it is put right")
}

// Two specs whose hashes begin with the same 40 bits: of three million, two do.
const twin, otherTwin = "n527125", "n2234222"

func TestARevisionOfTheSameNameThatHoldsSomethingElse(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t)
	g.Expect(revisionOf(twin)).To(Equal(revisionOf(otherTwin)))
	h.says(t, twin, "")
	sound := h.object(t, twin).Data.Raw
	box := &v1alpha1.OperatorBox{}
	box.Name, box.Status.Revision, box.Status.RevisionHash = "shop", revisionOf(twin), boxspec.HashOf(sound)
	of, err := h.Last(t.Context(), box)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = h.Read(t.Context(), "shop", of)
	g.Expect(err).NotTo(HaveOccurred())

	h.replaced(t, twin, strings.Replace(string(sound), twin, otherTwin, 1))
	_, err = h.Read(t.Context(), "shop", of)
	g.Expect(err).To(MatchError(ContainSubstring("was replaced by hand")))

	h.restart()
	h.says(t, twin, twin)
	g.Expect(h.object(t, twin).Data.Raw).To(MatchJSON(sound), "it is put right")

	box.Status.RevisionHash = ""
	of, err = h.Last(t.Context(), box)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = h.Read(t.Context(), "shop", of)
	g.Expect(err).NotTo(HaveOccurred(), "a status of a former version knows the name alone")
}

func TestARevisionsKeysMayBeInAnyOrder(t *testing.T) {
	h := newHistory(t)
	h.says(t, "a", "")
	first, limit := `{`, `"revisionHistoryLimit":2,`
	sorted := string(h.object(t, "a").Data.Raw)
	other := first + limit + strings.TrimPrefix(strings.Replace(sorted, limit, "", 1), first)
	NewWithT(t).Expect(other).NotTo(Equal(sorted))
	h.replaced(t, "a", other)
	_, err := h.Read(t.Context(), "shop", Ref{Name: revisionOf("a")})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

func TestARevisionThatCanNotBeRead(t *testing.T) {
	h := newHistory(t)
	h.says(t, "a", "")
	unknown := `{"crd":{"name":"a"},"fromTheFuture":true}`
	future := h.object(t, "a")
	future.Name, future.ResourceVersion, future.Data.Raw = boxspec.RevisionOf("shop", []byte(unknown)), "", []byte(unknown)
	NewWithT(t).Expect(h.client.Create(t.Context(), future)).To(Succeed())
	for name, c := range map[string]struct{ revision, want string }{
		"that is no longer kept":    {revisionOf("b"), `of box "shop" is no longer kept: there is no ControllerRevision our-system/` + revisionOf("b")},
		"of another box":            {"cart-0123456789", `revision "cart-0123456789" is none of box "shop"`},
		"that has an unknown field": {future.Name, `of box "shop" does not decode: ControllerRevision our-system/` + future.Name + `: reading a spec: json: unknown field "fromTheFuture"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := h.Read(t.Context(), "shop", Ref{Name: c.revision})
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
			_, refused := errors.AsType[Error](err)
			g.Expect(refused).To(BeTrue(), "asking again does not help")
		})
	}
}

func TestRevisionsGoWithTheirBox(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t)
	h.says(t, "a", "")
	h.says(t, "b", "a")
	cart := saying("a", "")
	cart.Name = "cart"
	g.Expect(h.Keep(t.Context(), cart, sparing())).To(Succeed())
	g.Expect(h.Boxes(t.Context())).To(ConsistOf("shop", "shop", "cart"))
	g.Expect(h.Forget(t.Context(), "shop")).To(Succeed())
	g.Expect(h.Boxes(t.Context())).To(ConsistOf("cart"))
	h.says(t, "b", "")
	h.keeps(t, map[string]int64{"b": 1})
}
