package watch

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
)

// slowReads counts how many reads are under way at the same time at most.
type slowReads struct {
	*dynamicfake.FakeDynamicClient

	mu        sync.Mutex
	now, most int
}

func (s *slowReads) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return slowResource{NamespaceableResourceInterface: s.FakeDynamicClient.Resource(resource), reads: s}
}

type slowResource struct {
	dynamic.NamespaceableResourceInterface

	reads *slowReads
}

func (s slowResource) Namespace(namespace string) dynamic.ResourceInterface {
	return slowNamespace{ResourceInterface: s.NamespaceableResourceInterface.Namespace(namespace), reads: s.reads}
}

type slowNamespace struct {
	dynamic.ResourceInterface

	reads *slowReads
}

func (s slowNamespace) Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error) {
	s.reads.add(1)
	defer s.reads.add(-1)
	time.Sleep(time.Second)
	return s.ResourceInterface.Get(ctx, name, options, subresources...)
}

func (s *slowReads) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now += n
	s.most = max(s.most, s.now)
}
