package inventory

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/watch"
)

// TestVersionsAreThoseOfTheChildren: what is compared without unpacking is what is read, whatever objects carry our label: copies that we never
// applied, snapshots, and those in places where the box makes none. Also what was just written, and the watch has not shown yet.
func TestVersionsAreThoseOfTheChildren(t *testing.T) {
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(3, 4))
	kinds := []schema.GroupVersionKind{configMaps, rollback.Kind}
	var objects []runtime.Object
	for n := range 200 {
		objects = append(objects, randomChild(random, kinds[random.IntN(2)], n))
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	lists := map[schema.GroupVersionResource]string{}
	for _, kind := range kinds {
		mapper.Add(kind, meta.RESTScopeNamespace)
		mapped, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		g.Expect(err).NotTo(HaveOccurred())
		lists[mapped.Resource] = kind.Kind + "List"
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)
	children := watch.NewChildren(watch.Config{Client: client, Mapper: mapper}, func(types.UID, string, schema.GroupVersionKind) {})
	var running sync.WaitGroup
	running.Go(func() { _ = children.Run(t.Context()) }) // it ends with the test
	t.Cleanup(running.Wait)
	plan := &pipeline.Plan{}
	plan.ChildKinds, plan.Places.Literal = kinds, []string{"shared"}
	i := New("website", func() *pipeline.Plan { return plan }, children, unlearned{}, time.Minute)
	i.Set(plan, nil)
	i.Fill(t.Context())
	g.Expect(i.Known()).To(BeTrue())
	written := randomChild(random, configMaps, 1000)
	written.SetNamespace("team")
	written.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: v1alpha1.FieldManager}})
	written.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "owner-1"})
	children.Wrote(configMaps, written)

	seen := 0
	for owner := range 4 {
		resource := &unstructured.Unstructured{}
		resource.SetNamespace("team")
		resource.SetUID(types.UID(fmt.Sprint("owner-", owner)))
		for _, kind := range kinds {
			want := map[types.UID]string{}
			for _, child := range i.Owned(kind, resource) {
				want[child.GetUID()] = child.GetResourceVersion()
			}
			got := maps.Collect(i.Versions(kind, resource))
			g.Expect(got).To(Equal(want))
			seen += len(got)
		}
	}
	g.Expect(seen).To(BeNumerically(">", 10), "the test has something to compare")
}

// randomChild is an object with our label, and with what may keep it from counting as a child.
func randomChild(random *rand.Rand, kind schema.GroupVersionKind, n int) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace([]string{"team", "shared", "elsewhere"}[random.IntN(3)])
	obj.SetName(fmt.Sprint("child-", n))
	obj.SetUID(types.UID(fmt.Sprint("uid-", n)))
	obj.SetResourceVersion(fmt.Sprint(n + 1))
	labels := map[string]string{v1alpha1.LabelOwnerUID: fmt.Sprint("owner-", random.IntN(4))}
	if random.IntN(3) == 0 {
		labels[v1alpha1.LabelSnapshot] = []string{v1alpha1.True, "false"}[random.IntN(2)]
	}
	obj.SetLabels(labels)
	var managers []metav1.ManagedFieldsEntry
	for _, manager := range []string{"kubectl", v1alpha1.FieldManager, "kubectl-edit"} {
		if random.IntN(2) == 0 {
			managers = append(managers, metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{}}`)}})
		}
	}
	obj.SetManagedFields(managers)
	return obj
}
