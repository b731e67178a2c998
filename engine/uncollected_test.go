package engine

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhatTheCollectorHasLeftIsLookedAtOnce(t *testing.T) {
	g := NewWithT(t)
	key := types.NamespacedName{Namespace: "team-a", Name: "web"}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	last := func(uid types.UID, deleted bool) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"big": "text"}}}
		obj.SetAPIVersion("demo.example.com/v1")
		obj.SetKind("Website")
		obj.SetNamespace(key.Namespace)
		obj.SetName(key.Name)
		obj.SetUID(uid)
		if deleted {
			obj.SetDeletionTimestamp(new(metav1.Now()))
		}
		return obj
	}
	var u uncollected
	over, next := u.due(key, now)
	g.Expect(over).To(BeEmpty())
	g.Expect(next).To(BeZero())
	u.note(last("vanished", false), now.Add(collectDelay)) // others clean up after it
	u.note(last("first", true), now.Add(collectDelay))
	u.note(last("second", true), now.Add(collectDelay+time.Second)) // one that was made again
	over, next = u.due(key, now.Add(time.Second))
	g.Expect(over).To(BeEmpty())
	g.Expect(next).To(Equal(collectDelay - time.Second))
	over, next = u.due(key, now.Add(collectDelay))
	g.Expect(over).To(HaveLen(1))
	g.Expect(next).To(Equal(time.Second))
	g.Expect(over[0].Object).To(Equal(map[string]any{
		"apiVersion": "demo.example.com/v1", "kind": "Website",
		"metadata": map[string]any{"namespace": "team-a", "name": "web", "uid": "first"},
	}), "nothing else is kept")
	over, _ = u.due(key, now.Add(-time.Hour))
	g.Expect(over).To(HaveLen(1), "the clock was set back")
	g.Expect(u.all).To(BeEmpty())
}
