package crdhealth

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
)

func websiteBox() *v1alpha1.OperatorBox {
	return &v1alpha1.OperatorBox{
		ObjectMeta: metav1.ObjectMeta{Name: "website", UID: "box-uid"},
		Spec:       v1alpha1.OperatorBoxSpec{CRD: v1alpha1.CRDReference{Name: "websites.demo.example.com"}},
	}
}

func TestDesiredHealth(t *testing.T) {
	scheme := testScheme(t)
	spec := v1alpha1.CRDHealthSpec{
		OperatorBoxRef: &v1alpha1.OperatorBoxReference{Name: "website"},
		CRD:            v1alpha1.CRDName{Name: "websites.demo.example.com"},
	}
	ours := boxOwner("website", "box-uid")
	foreign := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "foreign", UID: "foreign-uid"}
	foreignController := foreign
	foreignController.Controller = new(true)
	for name, tc := range map[string]struct {
		current *v1alpha1.CRDHealth
		owners  []metav1.OwnerReference
	}{
		"made new": {nil, []metav1.OwnerReference{ours}},
		"right already": {
			&v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ours}}, Spec: spec},
			[]metav1.OwnerReference{ours},
		},
		"made by a person before": {
			&v1alpha1.CRDHealth{Spec: v1alpha1.CRDHealthSpec{
				CRD: v1alpha1.CRDName{Name: "others.example.com"}, HealthyWhen: make([]v1alpha1.Condition, 1),
			}},
			[]metav1.OwnerReference{ours},
		},
		"of another box": {
			&v1alpha1.CRDHealth{Spec: v1alpha1.CRDHealthSpec{OperatorBoxRef: &v1alpha1.OperatorBoxReference{Name: "other"}}},
			[]metav1.OwnerReference{ours},
		},
		"of a former box of that name": {
			&v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{
				OwnerReferences: []metav1.OwnerReference{boxOwner("website", "former-uid")},
			}, Spec: spec},
			[]metav1.OwnerReference{ours},
		},
		"with an owner of its own": {
			&v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{foreign}}},
			[]metav1.OwnerReference{foreign, ours},
		},
		"with another controller": {
			&v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{foreignController}}},
			[]metav1.OwnerReference{ours},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.current != nil {
				tc.current.Name = "website"
				tc.current.Status.SuccessCount = 7
			}
			untouched := tc.current.DeepCopy()
			wanted, err := desiredHealth(websiteBox(), tc.current, "", scheme)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(wanted.Name).To(Equal("website"))
			g.Expect(wanted.Spec).To(Equal(spec))
			g.Expect(wanted.OwnerReferences).To(Equal(tc.owners))
			g.Expect(tc.current).To(Equal(untouched), "what the cache holds is not changed")
			if tc.current != nil {
				g.Expect(wanted.Status).To(Equal(tc.current.Status))
			}
			again, err := desiredHealth(websiteBox(), wanted, "", scheme)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(Equal(wanted))
		})
	}
}

func TestABoxTakesFinalizersOffItsHealth(t *testing.T) {
	g := NewWithT(t)
	made := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: "website", Finalizers: []string{"example.com/held", "foregroundDeletion", "example.com/more"}}}
	wanted, err := desiredHealth(websiteBox(), made, "", testScheme(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(wanted.Finalizers).To(Equal([]string{"foregroundDeletion"}))
	g.Expect(made.Finalizers).To(HaveLen(3), "what the cache holds is not changed")
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func boxOwner(name, uid string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "OperatorBox", Name: name, UID: types.UID(uid),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
}

func TestDesiredCRD(t *testing.T) {
	const byName = "websites.demo.example.com"
	for name, tc := range map[string]struct {
		spec, reported, status, current string
		want                            string
	}{
		"the spec's name wins":      {byName, "reported.example.com", "status.example.com", "current.example.com", byName},
		"reported":                  {"", "reported.example.com", "status.example.com", "current.example.com", "reported.example.com"},
		"before there is a report":  {"", "", "status.example.com", "current.example.com", "status.example.com"},
		"nobody knows: as it was":   {"", "", "", "current.example.com", "current.example.com"},
		"nobody knows: not for now": {"", "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			box := websiteBox()
			box.Spec.CRD.Name, box.Status.CRD.Name = tc.spec, tc.status
			var current *v1alpha1.CRDHealth
			if tc.current != "" {
				current = &v1alpha1.CRDHealth{Spec: v1alpha1.CRDHealthSpec{CRD: v1alpha1.CRDName{Name: tc.current}}}
			}
			wanted, err := desiredHealth(box, current, tc.reported, testScheme(t))
			g.Expect(err).NotTo(HaveOccurred())
			if tc.want == "" {
				g.Expect(wanted).To(BeNil())
				return
			}
			g.Expect(wanted.Spec.CRD.Name).To(Equal(tc.want))
		})
	}
}

func TestStandsAlone(t *testing.T) {
	own := v1alpha1.CRDHealth{Spec: v1alpha1.CRDHealthSpec{CRD: v1alpha1.CRDName{Name: "a.b.c"}}}
	referring, owned, controlled := own, own, own
	referring.Spec.OperatorBoxRef = &v1alpha1.OperatorBoxReference{Name: "website"}
	owned.OwnerReferences = []metav1.OwnerReference{{Name: "x"}}
	controlled.OwnerReferences = []metav1.OwnerReference{boxOwner("website", "box-uid")}
	for name, tc := range map[string]struct {
		h    *v1alpha1.CRDHealth
		want bool
	}{
		"nothing is there":               {nil, false},
		"made by a person":               {&own, true},
		"made by a person for a box":     {&referring, false},
		"owned by others":                {&owned, true},
		"of a box that was just deleted": {&controlled, false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(standsAlone(tc.h)).To(Equal(tc.want))
		})
	}
}

func TestWithoutBox(t *testing.T) {
	standalone := func(ref string, owners ...metav1.OwnerReference) *v1alpha1.CRDHealth {
		h := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: "website", OwnerReferences: owners}}
		if ref != "" {
			h.Spec.OperatorBoxRef = &v1alpha1.OperatorBoxReference{Name: ref}
		}
		return h
	}
	for name, tc := range map[string]struct {
		current *v1alpha1.CRDHealth
		phase   health.Phase
		reason  string
		message string
	}{
		"nothing is there":              {nil, "", "", ""},
		"its box has just been deleted": {standalone("website", boxOwner("website", "box-uid")), "", "", ""},
		"left behind by a box":          {standalone("website"), health.Stopped, "", `there is no OperatorBox "website"`},
		"named otherwise than its box":  {standalone("other"), health.Stopped, v1alpha1.ReasonNotSupported, `names "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			report, ok := withoutBox(tc.current)
			g.Expect(ok).To(Equal(tc.phase != ""))
			g.Expect(report.Phase).To(Equal(tc.phase))
			g.Expect(report.Reason).To(Equal(tc.reason))
			g.Expect(report.Message).To(ContainSubstring(tc.message))
		})
	}
}
