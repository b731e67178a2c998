package claims

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
)

const (
	websitesCRD = "websites.demo.example.com"
	othersCRD   = "others.demo.example.com"
)

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// claimant is a box for the websites that was made at a minute, and whose CRDHealth says since which minute it holds the
// CRD; negative: it does not.
func claimant(name string, made, claimed int) []client.Object {
	at := func(minute int) metav1.Time { return metav1.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	box := &v1alpha1.OperatorBox{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: at(made)},
		Spec:       v1alpha1.OperatorBoxSpec{CRD: v1alpha1.CRDReference{Name: websitesCRD}},
	}
	if claimed < 0 {
		return []client.Object{box}
	}
	h := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: name}}
	h.Spec.CRD.Name = websitesCRD
	h.Status.ClaimedAt = new(at(claimed))
	return []client.Object{box, h}
}

func TestWhoClaims(t *testing.T) {
	letting := claimant("aa", 0, 0)
	letting[0].SetFinalizers([]string{v1alpha1.Finalizer})
	letting[0].SetDeletionTimestamp(new(metav1.Now()))
	terminating := claimant("aa", 0, -1)
	terminating[0].SetFinalizers([]string{v1alpha1.Finalizer})
	terminating[0].SetDeletionTimestamp(new(metav1.Now()))
	other := claimant("aa", 0, 0)
	other[0].(*v1alpha1.OperatorBox).Spec.CRD.Name = othersCRD
	moved := claimant("a", 6, 1)
	moved[1].(*v1alpha1.CRDHealth).Spec.CRD.Name = othersCRD
	cases := map[string]struct {
		objects [][]client.Object
		want    string
	}{
		"the only one":                       {[][]client.Object{claimant("b", 5, -1)}, "b"},
		"the oldest":                         {[][]client.Object{claimant("a", 6, -1), claimant("b", 5, -1)}, "b"},
		"of equally old ones, by name":       {[][]client.Object{claimant("b", 5, -1), claimant("a", 5, -1)}, "a"},
		"who held it before, though younger": {[][]client.Object{claimant("a", 1, -1), claimant("b", 5, 7)}, "b"},
		"of two who held it, the first":      {[][]client.Object{claimant("a", 1, 9), claimant("b", 5, 7)}, "b"},
		"not one that is being deleted":      {[][]client.Object{terminating, claimant("b", 5, -1)}, "b"},
		"who still lets go of it":            {[][]client.Object{letting, claimant("b", 5, -1)}, "aa"},
		"not one of another CRD":             {[][]client.Object{other, claimant("b", 5, -1)}, "b"},
		"not who held another one":           {[][]client.Object{moved, claimant("b", 5, -1)}, "b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			builder := fake.NewClientBuilder().WithScheme(testScheme(t)).WithIndex(&v1alpha1.OperatorBox{}, crds.Index, crds.Indexed)
			for _, objects := range tc.objects {
				builder = builder.WithObjects(objects...)
			}
			now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
			c := NewStore(builder.Build(), testclock.NewFakePassiveClock(now))
			asker, ok := claimant("b", 5, -1)[0].(*v1alpha1.OperatorBox)
			g.Expect(ok).To(BeTrue())
			holder, err := c.Take(context.Background(), asker, websitesCRD)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(holder).To(Equal(tc.want))
			g.Expect(c.Holder(websitesCRD)).To(Equal(tc.want))
			g.Expect(c.Since(tc.want).IsZero()).To(BeFalse())
		})
	}
}

func TestAClaimIsKeptUntilItIsReleased(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	boxes := fake.NewClientBuilder().WithScheme(testScheme(t)).WithIndex(&v1alpha1.OperatorBox{}, crds.Index, crds.Indexed).WithObjects(claimant("b", 5, -1)...).Build()
	c := NewStore(boxes, testclock.NewFakePassiveClock(now))
	box, ok := claimant("b", 5, -1)[0].(*v1alpha1.OperatorBox)
	g.Expect(ok).To(BeTrue())
	_, err := c.Take(ctx, box, websitesCRD)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Since("b")).To(Equal(now))

	g.Expect(boxes.Create(ctx, claimant("a", 1, -1)[0])).To(Succeed())
	holder, err := c.Take(ctx, box, websitesCRD)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(holder).To(Equal("b"), "an older box does not take what is held")

	g.Expect(c.Release("a")).To(BeEmpty())
	g.Expect(c.Release("b")).To(Equal([]string{websitesCRD}))
	g.Expect(c.Since("b").IsZero()).To(BeTrue())
	holder, err = c.Take(ctx, box, websitesCRD)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(holder).To(Equal("a"))
}

func TestAClaimIsGivenUpForAnother(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	clk := testclock.NewFakePassiveClock(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	first, second := claimant("a", 1, 7), claimant("b", 5, -1)
	boxes := fake.NewClientBuilder().WithScheme(testScheme(t)).WithIndex(&v1alpha1.OperatorBox{}, crds.Index, crds.Indexed).WithObjects(append(first, second...)...).Build()
	c := NewStore(boxes, clk)
	box, ok := first[0].(*v1alpha1.OperatorBox)
	g.Expect(ok).To(BeTrue())
	_, err := c.Take(ctx, box, websitesCRD)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Since("a")).To(BeTemporally("==", time.Date(2026, 1, 1, 0, 7, 0, 0, time.UTC)), "as the former process knew")
	g.Expect(c.Keep("a", websitesCRD)).To(BeEmpty(), "it still names that one")

	box.Spec.CRD.Name = othersCRD
	g.Expect(boxes.Update(ctx, box)).To(Succeed())
	_, err = c.Take(ctx, box, othersCRD)
	g.Expect(err).NotTo(HaveOccurred())
	for range 100 { // the order of a map is another each time
		g.Expect(c.Since("a")).To(Equal(clk.Now()), "it holds that one from now on")
	}
	g.Expect(c.Keep("b", othersCRD)).To(BeEmpty(), "it holds nothing")
	g.Expect(c.Keep("a", othersCRD)).To(Equal([]string{websitesCRD}))
	g.Expect(c.Holder(othersCRD)).To(Equal("a"))
	holder, err := c.Take(ctx, box, websitesCRD)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(holder).To(Equal("b"), "who waited for it")
}

// sharing is a box over the kind of the websites as one of others.
func sharing(name string, made, claimed int) []client.Object {
	objects := claimant(name, made, claimed)
	objects[0].(*v1alpha1.OperatorBox).Spec.CRD = v1alpha1.CRDReference{APIVersion: "demo.example.com/v1", Kind: "Website"}
	return objects
}

func TestBoxesShareAKindOfOthersAndNotWithItsOperator(t *testing.T) {
	for name, tc := range map[string]struct {
		objects [][]client.Object
		want    map[string]string // the holder, by who asks
	}{
		"two that share":                        {[][]client.Object{sharing("a", 1, -1), sharing("b", 2, -1)}, map[string]string{"a": "a", "b": "b"}},
		"an older operator":                     {[][]client.Object{claimant("a", 1, -1), sharing("b", 2, -1)}, map[string]string{"a": "a", "b": "a"}},
		"a younger operator":                    {[][]client.Object{sharing("a", 1, -1), sharing("b", 2, -1), claimant("c", 3, -1)}, map[string]string{"a": "a", "b": "b", "c": "a"}},
		"a younger operator, which held it":     {[][]client.Object{sharing("a", 1, -1), claimant("c", 3, 4)}, map[string]string{"a": "c", "c": "c"}},
		"an older operator, which did not hold": {[][]client.Object{claimant("a", 1, -1), sharing("b", 2, 3)}, map[string]string{"a": "b", "b": "b"}},
	} {
		for _, backward := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				g := NewWithT(t)
				builder := fake.NewClientBuilder().WithScheme(testScheme(t)).WithIndex(&v1alpha1.OperatorBox{}, crds.Index, crds.Indexed)
				for _, objects := range tc.objects {
					builder = builder.WithObjects(objects...)
				}
				c := NewStore(builder.Build(), testclock.NewFakePassiveClock(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)))
				if backward {
					slices.Reverse(tc.objects)
				}
				for _, objects := range tc.objects {
					box, ok := objects[0].(*v1alpha1.OperatorBox)
					g.Expect(ok).To(BeTrue())
					holder, err := c.Take(t.Context(), box, websitesCRD)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(holder).To(Equal(tc.want[box.Name]), "%s asks", box.Name)
					g.Expect(c.Holds(box.Name, websitesCRD)).To(Equal(holder == box.Name))
				}
			})
		}
	}
}

func TestAShareIsGivenUpWithItsBox(t *testing.T) {
	g := NewWithT(t)
	shares, whole := sharing("a", 1, 3), claimant("b", 2, -1)
	kube := fake.NewClientBuilder().WithScheme(testScheme(t)).WithIndex(&v1alpha1.OperatorBox{}, crds.Index, crds.Indexed).WithObjects(append(shares, whole...)...).Build()
	c := NewStore(kube, testclock.NewFakePassiveClock(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)))
	take := func(of client.Object) string {
		box, ok := of.(*v1alpha1.OperatorBox)
		g.Expect(ok).To(BeTrue())
		holder, err := c.Take(t.Context(), box, websitesCRD)
		g.Expect(err).NotTo(HaveOccurred())
		return holder
	}
	g.Expect(take(shares[0])).To(Equal("a"))
	g.Expect(c.Since("a").Year()).To(Equal(2026))
	g.Expect(c.Since("a").Month()).To(Equal(time.January), "a restart does not change it")
	g.Expect(c.Keep("a", websitesCRD)).To(BeEmpty())
	g.Expect(kube.Delete(t.Context(), shares[0])).To(Succeed())
	g.Expect(c.Release("a")).To(Equal([]string{websitesCRD}))
	g.Expect(take(whole[0])).To(Equal("b"))
}

// A box that runs is not ousted by one that seems to be older, as after a restore from a backup.
func TestWhoHoldsAKindKeepsItFromThoseWhoComeLater(t *testing.T) {
	for name, boxes := range map[string][2][]client.Object{
		"its operator": {claimant("b", 5, -1), sharing("a", 1, -1)},
		"a share":      {sharing("b", 5, -1), claimant("a", 1, -1)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			kube := fake.NewClientBuilder().WithScheme(testScheme(t)).WithIndex(&v1alpha1.OperatorBox{}, crds.Index, crds.Indexed).Build()
			c := NewStore(kube, testclock.NewFakePassiveClock(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)))
			for _, objects := range boxes {
				box, ok := objects[0].(*v1alpha1.OperatorBox)
				g.Expect(ok).To(BeTrue())
				g.Expect(kube.Create(t.Context(), box)).To(Succeed())
				holder, err := c.Take(t.Context(), box, websitesCRD)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(holder).To(Equal("b"))
			}
		})
	}
}
