package upgrade

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/test/plane"
)

// loaded is the box whose resources come and go.
const loaded = "loaded"

// serving is that box. It has what a manager that misses something would leave undone: a finalizer, and children that follow the resource.
const serving = `
apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: loaded}
spec:
  crd: {name: things.load.example.com}
  onReconcile:
    configmaps: [{data: {value: "{{ .spec.value }}"}}]
    secrets: [{once: true, data: {password: "{{ randAlphaNum 16 }}"}}]
`

// load makes a resource, changes the one before it, and deletes every other one, again and again.
type load struct {
	kube client.Client
	stop context.CancelFunc
	done sync.WaitGroup

	mu    sync.Mutex
	made  int               // how many were made; guarded by mu
	value map[string]string // what each resource that is left says; guarded by mu
	gone  []string          // those that were deleted; guarded by mu
	wrong error             // the first write that failed; guarded by mu
}

func (w *world) load(t *testing.T) *load {
	t.Helper()
	w.Kinds(t, "load.example.com", "thing")
	w.Apply(t, serving)
	ctx, stop := context.WithCancel(t.Context())
	l := &load{kube: w.kube, stop: stop, value: map[string]string{}}
	l.done.Go(func() { l.run(ctx) })
	t.Cleanup(func() {
		stop()
		l.done.Wait()
	})
	return l
}

func (l *load) run(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := l.once(context.WithoutCancel(ctx), i); err != nil {
			l.mu.Lock()
			l.wrong = err
			l.mu.Unlock()
			return
		}
	}
}

func name(i int) string { return fmt.Sprintf("thing-%04d", i) }

func (l *load) once(ctx context.Context, i int) error {
	if err := l.kube.Create(ctx, thing(name(i), "first")); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made++
	l.value[name(i)] = "first"
	if i < 2 {
		return nil
	}
	changed := thing(name(i-1), "second")
	if err := l.kube.Patch(ctx, changed, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"value":"second"}}`))); err != nil {
		return err
	}
	l.value[name(i-1)] = "second"
	if i%2 == 1 {
		return nil
	}
	delete(l.value, name(i-2))
	l.gone = append(l.gone, name(i-2))
	return l.kube.Delete(ctx, thing(name(i-2), ""))
}

func thing(name, value string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"value": value}}}
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: "load.example.com", Version: "v1", Kind: "Thing"})
	out.SetNamespace("default")
	out.SetName(name)
	return out
}

// goesOn waits until resources that are made from now on have their children.
func (l *load) goesOn(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	from := l.made
	l.mu.Unlock()
	plane.Eventually(t, "new resources are served", func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.wrong != nil {
			return l.wrong
		}
		served := 0
		for i := from; i < l.made; i++ {
			if want, stays := l.value[name(i)]; stays && l.follows(t.Context(), name(i), want) == nil {
				served++
			}
		}
		if served < 10 {
			return fmt.Errorf("%d resources of %d are served", served, l.made-from)
		}
		return nil
	})
}

// follows says what is wrong with the child of a resource.
func (l *load) follows(ctx context.Context, name, want string) error {
	child := &corev1.ConfigMap{}
	if err := l.kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, child); err != nil {
		return err
	}
	if found := child.Data["value"]; found != want {
		return fmt.Errorf("the child of %s says %q, and the resource %q", name, found, want)
	}
	return nil
}

// end makes an end of it, and waits until each resource has its child as it should be, and those that were deleted are gone.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.stop()
	l.done.Wait()
	if l.wrong != nil {
		t.Fatal(l.wrong)
	}
	plane.Eventually(t, "nothing was missed", func() error {
		for name, want := range l.value {
			if err := l.follows(t.Context(), name, want); err != nil {
				return err
			}
		}
		for _, name := range l.gone {
			left := thing(name, "")
			if err := l.kube.Get(t.Context(), client.ObjectKeyFromObject(left), left); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s is still there: %w", name, err)
			}
		}
		return nil
	})
	t.Logf("%d resources made, of which %d were deleted", l.made, len(l.gone))
}
