package release

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// listed is what the API server has with the label of the box.
type listed []*unstructured.Unstructured

func (l listed) ServedBy(context.Context, string, schema.GroupVersionKind, schema.GroupVersionResource, []string) ([]*unstructured.Unstructured, error) {
	return l, nil
}

func TestABoxOverObjectsOfOthersIsNotLetGoBeforeItsMarksAreFound(t *testing.T) {
	g := NewWithT(t)
	object := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "website"}}
	object.Spec.CRD = v1alpha1.CRDReference{APIVersion: "apps/v1", Kind: "Deployment"}
	object.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"serve": "yes"}}
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	plan, errs := pipeline.Compile(object, pipeline.Env{CRD: pipeline.CRD{Name: "deployments.apps", Namespaced: true, Kind: kind, Schema: kinds.Schema(kind)}})
	g.Expect(errs).To(BeEmpty())
	marked := func(uid string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetGroupVersionKind(kind)
		obj.SetNamespace("team-a")
		obj.SetName(uid)
		obj.SetUID(types.UID(uid))
		obj.SetLabels(map[string]string{v1alpha1.LabelServedBy: "website"})
		return obj
	}
	e, written := box(t, nil)
	e.Releaser.Plan = func() *pipeline.Plan { return plan }
	e.Owners.Plan = e.Releaser.Plan
	changed := 0
	e.Finder = &Finder{Marker: listed{marked("left"), marked("watched")}, Lives: func(uid types.UID) bool { return uid == "watched" }, Changed: func() { changed++ }}
	_, err := e.All(t.Context(), Marks, BoxDeleted("website", Marks))
	g.Expect(err).To(MatchError(ErrFilling))
	var queued []types.NamespacedName
	e.Find(t.Context(), logr.Discard(), func(_ time.Duration, keys ...types.NamespacedName) { queued = append(queued, keys...) })
	left := types.NamespacedName{Namespace: "team-a", Name: "left"}
	g.Expect(queued).To(ConsistOf(left))
	g.Expect(changed).To(Equal(1))
	waits, err := e.All(t.Context(), Marks, BoxDeleted("website", Marks))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(waits).To(ConsistOf(left), "a cycle finishes it")
	g.Expect(written()).To(BeEmpty())

	unread := marked("unread")
	unread.SetLabels(nil)
	e.Cache = &cache{unread: []*unstructured.Unstructured{unread}}
	waits, err = e.All(t.Context(), Marks, BoxDeleted("website", Marks))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(waits).To(ConsistOf(left), "one without marks is not waited for")
	waits, err = e.All(t.Context(), Children, BoxDeleted("website", Children))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(waits).To(ConsistOf(left, types.NamespacedName{Namespace: "team-a", Name: "unread"}), "it may have children, which are deleted")
}
