package center

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/rows"
)

// objects of Orkestra's own kinds, as somebody may read them who is refused the health of boxes, or not.
func objects(t *testing.T, refused bool, all ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, healths := list.(*v1alpha1.CRDHealthList); healths && refused {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "crdhealths"}, "", errors.New("no"))
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
}

func box(name string) *v1alpha1.OperatorBox {
	b := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Status.CRD.Name, b.Status.CRD.Version, b.Status.CRD.Kind = name+".demo.example.com", "v1", "Kind"
	return b
}

// TestTheHourIsForThoseWhoMayReadHowABoxFares: the fleet has the curve of failures alone.
func TestTheHourIsForThoseWhoMayReadHowABoxFares(t *testing.T) {
	for _, refused := range []bool{false, true} {
		g := NewWithT(t)
		c := &Center{Ports: Ports{
			Own:     objects(t, refused, box("web"), &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, box("new")),
			Manager: func(context.Context) api.Manager { return api.Manager{State: api.ManagerRunning} },
			Hour:    func(string) *api.Hour { return &api.Hour{Failing: []int32{1}, Waiting: []int32{2}, Queue: []int32{3}} },
		}}
		fleet, err := c.Fleet(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		hours := map[string]*api.Hour{}
		for _, b := range fleet.Boxes {
			hours[b.Name] = b.Hour
		}
		g.Expect(hours).To(HaveKeyWithValue("new", BeNil()), "nobody has said yet how it fares")
		if refused {
			g.Expect(hours).To(HaveKeyWithValue("web", BeNil()))
			continue
		}
		g.Expect(hours).To(HaveKeyWithValue("web", Equal(&api.Hour{Failing: []int32{1}})))
	}
}

// TestTheFleetSaysThatAPolicyIsMissing, since when the first box has said so.
func TestTheFleetSaysThatAPolicyIsMissing(t *testing.T) {
	g := NewWithT(t)
	at := metav1.NewTime(beginning)
	says := func(name string, status metav1.ConditionStatus, since metav1.Time) *v1alpha1.OperatorBox {
		b := box(name)
		b.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionPoliciesInstalled, Status: status, Reason: v1alpha1.ReasonPoliciesMissing, Message: "orkestra-marks is\n not there", LastTransitionTime: since,
		}}
		return b
	}
	fleet := func(all ...client.Object) *api.Fleet {
		c := &Center{Ports: Ports{Own: objects(t, false, all...), Manager: func(context.Context) api.Manager { return api.Manager{State: api.ManagerRunning} }}}
		f, err := c.Fleet(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return f
	}
	missing := fleet(says("a", metav1.ConditionFalse, metav1.NewTime(at.Add(time.Hour))), says("b", metav1.ConditionFalse, at), box("c")).Policies
	g.Expect(missing).NotTo(BeNil())
	g.Expect(missing.Since.Equal(at.Time)).To(BeTrue())
	missing.Since = nil
	g.Expect(missing).To(Equal(&api.Policies{Reason: "PoliciesMissing", Message: "orkestra-marks is not there", Alert: api.Alert{
		Name: "OrkestraPoliciesMissing", Runbook: "https://github.com/orkspace/orkestra/blob/main/docs/operations/alerts/policies-missing.md",
	}}))
	g.Expect(fleet(says("a", metav1.ConditionTrue, at), says("b", metav1.ConditionUnknown, at), box("c")).Policies).To(BeNil(), "nobody relies on any, or all are there")
}

// TestASearchGoesThroughAllBoxes: those that can't be searched are named, and one without a kind is none.
func TestASearchGoesThroughAllBoxes(t *testing.T) {
	g := NewWithT(t)
	pending := box("pending")
	pending.Status.CRD.Kind = ""
	var asked []string
	found := rows.New()
	found.Set(api.Row{Reference: api.Reference{Name: "Shop"}})
	stopped := map[string]bool{"stopped": true}
	c := &Center{Ports: Ports{
		Own: objects(t, true, box("web"), box("mail"), box("stopped"), pending),
		Find: func(_ context.Context, b *v1alpha1.OperatorBox, text string) ([]rows.Match, []string, error) {
			asked = append(asked, b.Name+" "+text)
			if stopped[b.Name] {
				return nil, nil, errors.New("it does not run")
			}
			return found.Find(b.Name, text, nil), []string{"a note of all"}, nil
		},
	}}
	out, err := c.Search(t.Context(), rows.Search{Text: "SHOP", Limit: 1})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked).To(ConsistOf("web shop", "mail shop", "stopped shop"))
	g.Expect(out.Matching).To(Equal(2))
	g.Expect(out.Rows).To(HaveExactElements(HaveField("Box", "mail")))
	g.Expect(out.Notes).To(Equal([]string{"a note of all", "The resources of one box are not searched, stopped: it does not run"}))
	stopped["mail"] = true
	out, err = c.Search(t.Context(), rows.Search{Text: "shop", Limit: 1})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Notes).To(ContainElement("The resources of 2 boxes are not searched; the first one is mail: it does not run"))
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = c.Search(ended, rows.Search{Text: "shop", Limit: 1})
	g.Expect(err).To(MatchError(context.Canceled))
}

// A box that serves nothing is there: it is not said that it can't be found, but why it serves nothing.
func TestABoxThatServesNothingSaysWhy(t *testing.T) {
	claimed := func(status metav1.ConditionStatus, reason, message string) *v1alpha1.OperatorBox {
		return &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Status: v1alpha1.OperatorBoxStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message}},
		}}
	}
	for name, tc := range map[string]struct {
		box  *v1alpha1.OperatorBox
		want string
	}{
		"new":             {&v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, `OperatorBox "shop" serves no resources: no manager has looked for its CRD yet`},
		"behind another":  {claimed(metav1.ConditionFalse, v1alpha1.ReasonCRDClaimed, "another one runs it"), `OperatorBox "shop" serves no resources: CRDClaimed: another one runs it`},
		"it says nothing": {claimed(metav1.ConditionTrue, "Running", ""), `OperatorBox "shop" serves no resources: no manager has looked for its CRD yet`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := KindOf(tc.box)
			g.Expect(err).To(MatchError(tc.want))
			g.Expect(apierrors.IsConflict(err)).To(BeTrue())
			g.Expect(apierrors.IsNotFound(err)).To(BeFalse())
			g.Expect(err.(apierrors.APIStatus).Status().Code).To(BeEquivalentTo(http.StatusConflict))
		})
	}
	g := NewWithT(t)
	known := claimed(metav1.ConditionFalse, v1alpha1.ReasonCRDClaimed, "")
	known.Status.CRD.Name, known.Status.CRD.Kind, known.Status.CRD.Version = "shops.example.com", "Shop", "v1"
	g.Expect(KindOf(known)).To(Equal(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"}))
}
