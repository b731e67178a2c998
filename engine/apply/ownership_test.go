package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// testOwner is the resource that the children of these tests belong to.
func testOwner(namespace string) Owner {
	r := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "demo.example.com/v1", "kind": "Website"}}
	r.SetNamespace(namespace)
	r.SetName("shop")
	r.SetUID("u1")
	return Owner{Resource: r, Box: "website", Label: "shop"}
}

// live is an object in the cluster.
func live(namespace string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	obj.SetNamespace(namespace)
	obj.SetName("web")
	for _, f := range change {
		f(obj)
	}
	return obj
}

func labeled(pairs ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		labels := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			labels[pairs[i]] = pairs[i+1]
		}
		o.SetLabels(labels)
	}
}

func writtenBy(managers ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		var entries []metav1.ManagedFieldsEntry
		for _, m := range managers {
			entries = append(entries, metav1.ManagedFieldsEntry{Manager: m})
		}
		o.SetManagedFields(entries)
	}
}

func controlledBy(kind, name, uid string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "demo.example.com/v1", Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true)}})
	}
}

func TestClaim(t *testing.T) {
	g := NewWithT(t)
	given := live("team-a", labeled("a", "b"))
	given.Object["metadata"].(map[string]any)["labels"].(map[string]any)["null"] = nil
	before := given.DeepCopy()
	got := testOwner("team-a").Claimed(Child{Object: given, ID: "configmaps/web", Orphan: true, OwnerReference: true})
	g.Expect(given).To(Equal(before), "what is rendered is not changed")
	g.Expect(got.GetLabels()).To(Equal(map[string]string{
		"a": "b", "null": "", v1alpha1.LabelManaged: "true", v1alpha1.LabelOwner: "shop", v1alpha1.LabelOwnerUID: "u1",
		v1alpha1.LabelBox: "website", v1alpha1.LabelManagedBy: "orkestra",
	}))
	g.Expect(got.Object["metadata"].(map[string]any)["labels"]).To(HaveKeyWithValue("null", ""), "as it is sent")
	g.Expect(got.GetAnnotations()).To(Equal(map[string]string{
		v1alpha1.AnnotationDeclaration: "configmaps/web", v1alpha1.AnnotationDeletionPolicy: "Orphan", v1alpha1.AnnotationApplied: drift.Hash(got),
	}))
	g.Expect(got.GetOwnerReferences()).To(Equal([]metav1.OwnerReference{{
		APIVersion: "demo.example.com/v1", Kind: "Website", Name: "shop", UID: "u1", Controller: new(true), BlockOwnerDeletion: new(true),
	}}))
}

func TestOwnerReferencesWhereKubernetesAllowsThem(t *testing.T) {
	cases := map[string]struct {
		owner, child string
		asked, want  bool
	}{
		"same namespace":                    {"team-a", "team-a", true, true},
		"not asked for":                     {"team-a", "team-a", false, false},
		"other namespace":                   {"team-a", "team-b", true, false},
		"cluster-scoped child":              {"team-a", "", true, false},
		"cluster-scoped resource":           {"", "team-b", true, true},
		"cluster-scoped resource and child": {"", "", true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := testOwner(tc.owner).Claimed(Child{Object: live(tc.child), OwnerReference: tc.asked})
			if tc.want {
				g.Expect(got.GetOwnerReferences()).To(HaveLen(1))
			} else {
				g.Expect(got.GetOwnerReferences()).To(BeEmpty())
			}
		})
	}
}

func TestTheHashCoversTheClaim(t *testing.T) {
	g := NewWithT(t)
	hash := func(o Owner, c Child) string {
		c.Object = live("team-a")
		return o.Claimed(c).GetAnnotations()[v1alpha1.AnnotationApplied]
	}
	base := hash(testOwner("team-a"), Child{ID: "a"})
	other := testOwner("team-a")
	other.Box = "other"
	g.Expect(hash(testOwner("team-a"), Child{ID: "a"})).To(Equal(base))
	for what, h := range map[string]string{
		"id": hash(testOwner("team-a"), Child{ID: "b"}), "box": hash(other, Child{ID: "a"}),
		"orphan": hash(testOwner("team-a"), Child{ID: "a", Orphan: true}), "reference": hash(testOwner("team-a"), Child{ID: "a", OwnerReference: true}),
	} {
		g.Expect(h).NotTo(Equal(base), what)
	}
}

func TestOwns(t *testing.T) {
	mine := labeled(v1alpha1.LabelOwnerUID, "u1")
	cases := map[string]struct {
		live *unstructured.Unstructured
		want bool
	}{
		"label and manager":                      {live("team-a", mine, writtenBy("kubectl", "orkestra")), true},
		"a copy with our label":                  {live("team-a", mine, writtenBy("kubectl")), false},
		"a copy with our label and reference":    {live("team-a", mine, writtenBy("kubectl"), controlledBy("Website", "shop", "u1")), false},
		"another manager with a like name":       {live("team-a", mine, writtenBy("orkestra-initial", "orkestra-status")), false},
		"the label was removed":                  {live("team-a", controlledBy("Website", "shop", "u1")), true},
		"the label was changed":                  {live("team-a", labeled(v1alpha1.LabelOwnerUID, "x"), controlledBy("Website", "shop", "u1")), true},
		"neither label nor reference":            {live("team-a", writtenBy("orkestra")), false},
		"of another resource":                    {live("team-a", labeled(v1alpha1.LabelOwnerUID, "u2"), writtenBy("orkestra")), false},
		"controlled by another":                  {live("team-a", controlledBy("Website", "shop", "u2")), false},
		"a reference that is no controller's":    {live("team-a", func(o *unstructured.Unstructured) { o.SetOwnerReferences([]metav1.OwnerReference{{UID: "u1"}}) }), false},
		"nothing at all":                         {live("team-a"), false},
		"an object without labels, and no owner": {&unstructured.Unstructured{Object: map[string]any{}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(testOwner("team-a").owns(tc.live)).To(Equal(tc.want))
		})
	}
}

func TestLost(t *testing.T) {
	former := labeled(v1alpha1.LabelOwnerUID, "u0", v1alpha1.LabelBox, "website", v1alpha1.LabelOwner, "shop")
	nameless := labeled(v1alpha1.LabelBox, "website", v1alpha1.LabelOwner, "shop")
	lives := func(uid types.UID) bool { return uid == "alive" }
	cases := map[string]struct {
		owner string
		live  *unstructured.Unstructured
		want  bool
	}{
		"of a former resource":              {"team-a", live("team-a", former), true},
		"with the former's reference":       {"team-a", live("team-a", former, controlledBy("Website", "shop", "u0")), true},
		"of a cluster-scoped resource":      {"", live("team-b", former), true},
		"in another namespace":              {"team-a", live("team-b", former), false},
		"controlled by another kind":        {"team-a", live("team-a", former, controlledBy("Other", "shop", "u0")), false},
		"controlled by another name":        {"team-a", live("team-a", former, controlledBy("Website", "blog", "u0")), false},
		"without the owner's UID":           {"team-a", live("team-a", nameless, writtenBy("orkestra")), true},
		"a copy without the owner's UID":    {"team-a", live("team-a", nameless, writtenBy("kubectl")), false},
		"ours":                              {"team-a", live("team-a", labeled(v1alpha1.LabelOwnerUID, "u1", v1alpha1.LabelBox, "website", v1alpha1.LabelOwner, "shop")), false},
		"of a resource that lives":          {"team-a", live("team-a", labeled(v1alpha1.LabelOwnerUID, "alive", v1alpha1.LabelBox, "website", v1alpha1.LabelOwner, "shop")), false},
		"of another box":                    {"team-a", live("team-a", labeled(v1alpha1.LabelOwnerUID, "u0", v1alpha1.LabelBox, "other", v1alpha1.LabelOwner, "shop")), false},
		"of a resource with another name":   {"team-a", live("team-a", labeled(v1alpha1.LabelOwnerUID, "u0", v1alpha1.LabelBox, "website", v1alpha1.LabelOwner, "blog")), false},
		"never a child":                     {"team-a", live("team-a"), false},
		"with a reference that is no group": {"team-a", live("team-a", former, func(o *unstructured.Unstructured) { controlledBy("Website", "shop", "u0")(o); breakGroup(o) }), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(testOwner(tc.owner).lost(tc.live, lives)).To(Equal(tc.want))
		})
	}
	g := NewWithT(t)
	g.Expect(testOwner("team-a").lost(live("team-a", former), nil)).To(BeTrue(), "nothing is known of other resources")
}

func breakGroup(o *unstructured.Unstructured) {
	refs := o.GetOwnerReferences()
	refs[0].APIVersion = "a/b/c"
	o.SetOwnerReferences(refs)
}

func TestFree(t *testing.T) {
	g := NewWithT(t)
	g.Expect(free(live("team-a", labeled("a", "b"), writtenBy("kubectl")))).To(BeTrue())
	g.Expect(free(live("team-a", controlledBy("ReplicaSet", "x", "u9")))).To(BeFalse())
	g.Expect(free(live("team-a", labeled(v1alpha1.LabelOwnerUID, "u9")))).To(BeFalse())
}

func TestNotOwned(t *testing.T) {
	cases := map[string]struct {
		live *unstructured.Unstructured
		want string
	}{
		"made by hand":    {live("team-a"), `ConfigMap "web" exists and was not made by Orkestra: delete it, declare another name, or set adopt: IfUnowned`},
		"controlled":      {live("team-a", controlledBy("ReplicaSet", "x", "u9")), `ConfigMap "web" exists and is controlled by ReplicaSet "x": delete it, or declare another name`},
		"of another box":  {live("team-a", labeled(v1alpha1.LabelOwner, "blog", v1alpha1.LabelBox, "other")), `ConfigMap "web" exists and says that it was made for "blog" by box "other": delete it, take its labels off, or declare another name`},
		"both: who holds": {live("team-a", labeled(v1alpha1.LabelOwner, "blog"), controlledBy("Website", "blog", "u9")), `ConfigMap "web" exists and is controlled by Website "blog": delete it, or declare another name`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var err error = notOwned(Child{}, live("team-a"), tc.live)
			g.Expect(err).To(MatchError(tc.want))
			refused, ok := errors.AsType[*RefusedError](err)
			g.Expect(ok).To(BeTrue())
			g.Expect(refused.Reason).To(Equal(v1alpha1.ReasonNotOwned))
			g.Expect(strings.Contains(err.Error(), "\n")).To(BeFalse())
		})
	}
}

func TestACleanUpIsToldWhatItCanDo(t *testing.T) {
	NewWithT(t).Expect(notOwned(Child{CleanUp: true}, live("team-a"), live("team-a"))).To(MatchError(
		`ConfigMap "web" exists and was not made by Orkestra for this resource: delete it, declare a name that is never used again ` +
			`(with .metadata.uid), or set the annotation orkestra.orkspace.io/skip-cleanup: "true"`))
}

func TestFinalizersThatSomeRevisionNames(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation string
		on         []string
		former     []string
		err        error
		want       []string
		asked      bool
	}{
		"those of the plan":                       {annotation: "", on: []string{"a/b"}, want: []string{"a/b"}},
		"one that a former revision names":        {annotation: "a/b,old/x", on: []string{"a/b", "old/x"}, former: []string{"old/x"}, want: []string{"a/b", "old/x"}, asked: true},
		"one that only the author names":          {annotation: "a/b,foreign/x", on: []string{"a/b", "foreign/x"}, former: []string{"old/x"}, want: []string{"a/b"}, asked: true},
		"a former one that is not ours":           {annotation: "a/b", on: []string{"a/b", "old/x"}, former: []string{"old/x"}, want: []string{"a/b"}},
		"nobody is asked for what is not there":   {annotation: "a/b,old/x", on: []string{"a/b"}, former: []string{"old/x"}, want: []string{"a/b"}},
		"nothing is let go while nobody can tell": {annotation: "old/x", on: []string{"old/x"}, err: errors.New("no answer"), asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			obj := &unstructured.Unstructured{Object: map[string]any{}}
			obj.SetFinalizers(tc.on)
			obj.SetAnnotations(map[string]string{v1alpha1.AnnotationFinalizers: tc.annotation})
			asked := false
			got, err := Finalizers(t.Context(), obj, []string{"a/b"}, func(context.Context) ([]string, error) {
				asked = true
				return tc.former, tc.err
			})
			g.Expect(asked).To(Equal(tc.asked))
			if tc.err != nil {
				g.Expect(err).To(MatchError(tc.err))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tc.want))
		})
	}
}

func TestMarksOn(t *testing.T) {
	marks := Marks{Finalizers: []string{"a/b", v1alpha1.Finalizer}, Labels: map[string]string{v1alpha1.LabelManaged: "true"}, Annotations: map[string]string{v1alpha1.AnnotationManagedBy: "website"}}
	full := func(o *unstructured.Unstructured) {
		o.SetFinalizers([]string{v1alpha1.Finalizer, "other/x", "a/b"})
		o.SetAnnotations(map[string]string{v1alpha1.AnnotationManagedBy: "website", "x": "y"})
		o.SetLabels(map[string]string{v1alpha1.LabelManaged: "true"})
	}
	cases := map[string]struct {
		change func(*unstructured.Unstructured)
		want   bool
	}{
		"all":                 {func(*unstructured.Unstructured) {}, true},
		"without a finalizer": {func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1alpha1.Finalizer}) }, false},
		"another annotation": {func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{v1alpha1.AnnotationManagedBy: "other"})
		}, false},
		"without the label":      {func(o *unstructured.Unstructured) { o.SetLabels(nil) }, false},
		"another managed label":  {func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{v1alpha1.LabelManaged: "false"}) }, false},
		"without any annotation": {func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(marks.On(live("team-a", full, tc.change))).To(Equal(tc.want))
		})
	}
}

func TestDiffering(t *testing.T) {
	g := NewWithT(t)
	got := differing([]string{"same", "other", "new", "gone", "none"},
		map[string]string{"same": "1", "other": "1", "new": "", "foreign": "1"},
		map[string]string{"same": "1", "other": "2", "gone": "1", "theirs": "1"})
	g.Expect(got).To(Equal(map[string]any{"other": "1", "new": "", "gone": nil}))
}

func TestReferencesKeepThoseOfOthers(t *testing.T) {
	g := NewWithT(t)
	wanted := testOwner("team-a").Claimed(Child{Object: live("team-a"), OwnerReference: true})
	theirs := metav1.OwnerReference{Kind: "Other", UID: "u7"}
	now := live("team-a", func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{theirs, {Kind: "Website", UID: "u0", Controller: new(true)}})
	})
	refs, same := references(wanted, now)
	g.Expect(same).To(BeFalse())
	g.Expect(refs).To(HaveLen(2))
	g.Expect(refs[0]).To(Equal(theirs))
	g.Expect(refs[1].UID).To(Equal(types.UID("u1")))

	now.SetOwnerReferences(refs)
	_, same = references(wanted, now)
	g.Expect(same).To(BeTrue())
}

func TestNothingNamesTheObjectAlone(t *testing.T) {
	g := NewWithT(t)
	obj := live("team-a", labeled("a", "b"), func(o *unstructured.Unstructured) { o.SetUID("c1"); o.Object["data"] = map[string]any{"a": "b"} })
	g.Expect(nothing(obj).Object).To(Equal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "team-a", "name": "web", "uid": "c1"},
	}))
}

func TestWithoutNormalForm(t *testing.T) {
	g := NewWithT(t)
	w := NewWriter(nil, nil, nil)
	obj := live("team-a", func(o *unstructured.Unstructured) { o.SetUID("c1") })
	known, fresh := drift.Difference{Path: "spec.a"}, drift.Difference{Path: "spec.b"}
	g.Expect(w.normal.without(obj, "h", []drift.Difference{known})).To(HaveLen(1), "nothing was learned yet")
	w.normal.byUID.Add(types.UID("c1"), normalForm{hash: "h", differences: []drift.Difference{known}})
	g.Expect(w.normal.without(obj, "h", []drift.Difference{known})).To(BeEmpty())
	g.Expect(drift.Paths(w.normal.without(obj, "h", []drift.Difference{known, fresh}))).To(Equal([]string{"spec.b"}))
	g.Expect(w.normal.without(obj, "other", []drift.Difference{known})).To(HaveLen(1), "another configuration has another normal form")
}
