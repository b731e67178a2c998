package engine

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestOnlyWhatWasHeldAndNotDeletedHasVanished(t *testing.T) {
	g := NewWithT(t)
	key := types.NamespacedName{Namespace: "team-a", Name: "web"}
	last := func(uid types.UID, deleted bool, finalizers ...string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetNamespace(key.Namespace)
		obj.SetName(key.Name)
		obj.SetUID(uid)
		obj.SetFinalizers(finalizers)
		if deleted {
			obj.SetDeletionTimestamp(new(metav1.Now()))
		}
		return obj
	}
	var v vanished
	v.note(last("cleaned up", true, v1alpha1.Finalizer))
	v.note(last("released", false))
	v.note(last("held by others", false, "example.com/other"))
	g.Expect(v.of(key)).To(BeEmpty())

	v.note(last("first", false, v1alpha1.Finalizer))
	v.note(last("second", false, v1alpha1.Finalizer, "example.com/other"))
	g.Expect(v.of(types.NamespacedName{Namespace: "team-b", Name: "web"})).To(BeEmpty())
	g.Expect(v.of(key)).To(HaveLen(2), "one that was made again may vanish too")
	v.done(key, "first")
	g.Expect(v.of(key)).To(ConsistOf(HaveField("GetUID()", types.UID("second"))))
	v.done(key, "second")
	v.done(key, "second")
	g.Expect(v.all).To(BeEmpty(), "nothing is kept of what is cleaned up")
}
