package e2e_test

import (
	"context"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// turns are what happens to the items of a loop, as a watch of the API server tells it: every state that an item was in, in the order in which
// the API server stored them.
type turns struct {
	kind    schema.GroupVersionKind
	current func(*unstructured.Unstructured) bool

	mu    sync.Mutex
	items map[string]*unstructured.Unstructured // guarded by mu: those that are there
	taken []string                              // guarded by mu: what was made, changed and deleted
	worst []string                              // guarded by mu: the most items that were there and not current at a time
}

// turnsOf follows the children of a kind in the world's namespace.
func (w *world) turnsOf(ctx context.Context, kind schema.GroupVersionKind, current func(*unstructured.Unstructured) bool) *turns {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	stream, err := watcher.Watch(ctx, listOf(kind), client.InNamespace(w.namespace), client.HasLabels{v1alpha1.LabelManaged})
	Expect(err).NotTo(HaveOccurred())
	t := &turns{kind: kind, current: current, items: map[string]*unstructured.Unstructured{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range stream.ResultChan() {
			if o, ok := event.Object.(*unstructured.Unstructured); ok {
				t.sees(event.Type, o)
			}
		}
	}()
	DeferCleanup(func() {
		stream.Stop()
		<-done
	})
	return t
}

func (t *turns) sees(kind watch.EventType, o *unstructured.Unstructured) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name, applied := o.GetName(), o.GetAnnotations()[v1alpha1.AnnotationApplied]
	before := t.items[name]
	wasGoing, going := before != nil && before.GetDeletionTimestamp() != nil, kind == watch.Deleted || o.GetDeletionTimestamp() != nil
	switch {
	case before == nil:
		t.taken = append(t.taken, "make "+name)
	case going && !wasGoing:
		t.taken = append(t.taken, "delete "+name)
	case before.GetAnnotations()[v1alpha1.AnnotationApplied] != applied:
		t.taken = append(t.taken, "change "+name)
	default:
	}
	if t.items[name] = o; kind == watch.Deleted {
		delete(t.items, name)
	}
	var out []string
	for name, o := range t.items {
		if !t.inService(o) {
			out = append(out, name)
		}
	}
	if len(out) > len(t.worst) {
		t.worst = out
	}
}

func (t *turns) inService(o *unstructured.Unstructured) bool {
	return o.GetDeletionTimestamp() == nil && t.current(o)
}

// take gives what was made, changed and deleted since the last time that it was asked for.
func (t *turns) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.taken
	t.taken = nil
	return taken
}

// taking is take for one Eventually, which may ask while only the first of several things has happened.
func (t *turns) taking() func() []string {
	var all []string
	return func() []string {
		all = append(all, t.take()...)
		return all
	}
}

// out are the items that are there and not current now.
func (t *turns) out() []*unstructured.Unstructured {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*unstructured.Unstructured
	for _, o := range t.items {
		if !t.inService(o) {
			out = append(out, o.DeepCopy())
		}
	}
	return out
}

// worstOf gives the most items that were out of service at a time, when the watch has told all that has happened so far.
func (t *turns) worstOf(ctx context.Context, w *world) []string {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		live := listOf(t.kind)
		g.Expect(kube.List(ctx, live, client.InNamespace(w.namespace), client.HasLabels{v1alpha1.LabelManaged})).To(Succeed())
		stored := map[string]string{}
		for _, o := range live.Items {
			stored[o.GetName()] = o.GetResourceVersion()
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		seen := map[string]string{}
		for name, o := range t.items {
			seen[name] = o.GetResourceVersion()
		}
		g.Expect(seen).To(Equal(stored))
	}).WithContext(ctx).Should(Succeed())
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.worst
}

// rolledOut says that a Deployment has all of its Pods, and no others, and that they are of its newest template.
func rolledOut(o *unstructured.Unstructured) bool {
	wanted := at(o.Object, "spec.replicas")
	return at(o.Object, "status.observedGeneration") == o.GetGeneration() && at(o.Object, "status.replicas") == wanted &&
		at(o.Object, "status.updatedReplicas") == wanted && at(o.Object, "status.availableReplicas") == wanted
}

// upToDate says that the ConfigMap of a box that is called upToDateBox is current.
func upToDate(o *unstructured.Unstructured) bool {
	image := at(o.Object, "data.image")
	return image != nil && o.GetAnnotations()["phase"] == image
}

// rollingOut waits until the status of a resource says that items wait, and what for.
func (w *world) rollingOut(ctx context.Context, name, text string) {
	GinkgoHelper()
	w.shows(ctx, name, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRollingOut, text)
}
