package engine

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
)

// shelf holds snapshots.
type shelf struct{ all []*unstructured.Unstructured }

func (s *shelf) Create(_ context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return obj, nil
}
func (*shelf) Remove(context.Context, *unstructured.Unstructured) error { return nil }
func (s *shelf) Owned(schema.GroupVersionKind, types.UID) []*unstructured.Unstructured {
	return s.all
}
func (s *shelf) Wrote(_ schema.GroupVersionKind, obj *unstructured.Unstructured) {
	s.all = append(s.all, obj)
}
func (*shelf) Gone(schema.GroupVersionKind, *unstructured.Unstructured) {}

func TestTheSnapshotThatAMarkNames(t *testing.T) {
	resource := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "demo.example.com/v1", "kind": "Website", "spec": map[string]any{"image": "good"}}}
	resource.SetNamespace("team-a")
	resource.SetName("shop")
	resource.SetUID("u1")
	s := &shelf{}
	b := &box{snapshots: &rollback.Store{Client: s, Cache: s, Ours: func(*unstructured.Unstructured) bool { return true }}}
	NewWithT(t).Expect(b.snapshots.Save(t.Context(), resource, rollback.Take(resource, "website", "website-1", func(string) bool { return false }))).To(Succeed())
	newest := b.snapshots.Newest("u1")
	for name, tc := range map[string]struct {
		hash    string
		refused bool
	}{
		"by its whole hash":                    {hash: newest.Snapshot.Hash()},
		"by its name, as former versions did":  {hash: ""},
		"whose content has the same name only": {hash: newest.Snapshot.Hash()[:10] + "00", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found, err := b.snapshotOf(resource, &pipeline.RolledBack{Snapshot: newest.Object.GetName(), SnapshotHash: tc.hash})
			if tc.refused {
				g.Expect(err).To(MatchError(ContainSubstring("somebody has replaced it")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Spec).To(Equal(map[string]any{"image": "good"}))
		})
	}
}
