package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// recorder watches the Jobs and Secrets that are made for resources, at the API server and not through the proxy.
type recorder struct {
	mu      sync.Mutex
	jobs    map[string]map[types.UID]bool // by owner, declaration and what the Job runs with; guarded by mu
	secrets map[types.UID]any             // what each held at first; guarded by mu
	wrong   []error                       // guarded by mu

	cancel context.CancelFunc
	ends   []func()
}

func newRecorder(config *rest.Config, w *world) (*recorder, error) {
	requests, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &recorder{jobs: map[string]map[types.UID]bool{}, secrets: map[types.UID]any{}, cancel: cancel}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(requests, 0, w.near,
		func(o *metav1.ListOptions) { o.LabelSelector = v1alpha1.LabelOwnerUID })
	for resource, see := range map[string]func(*unstructured.Unstructured){"jobs": r.job, "secrets": r.secret} {
		group := map[string]string{"jobs": "batch"}[resource]
		informer := factory.ForResource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}).Informer()
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { see(obj.(*unstructured.Unstructured)) },
			UpdateFunc: func(_, obj any) { see(obj.(*unstructured.Unstructured)) },
		})
		if err != nil {
			cancel()
			return nil, err
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	r.ends = append(r.ends, factory.Shutdown)
	return r, nil
}

func (r *recorder) stop() {
	r.cancel()
	for _, end := range r.ends {
		end()
	}
}

func (r *recorder) job(obj *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := fmt.Sprintf("Job %q, declaration %q of owner %s with hash %q", obj.GetName(), obj.GetAnnotations()[v1alpha1.AnnotationDeclaration],
		obj.GetLabels()[v1alpha1.LabelOwnerUID], obj.GetAnnotations()[v1alpha1.AnnotationRun])
	if r.jobs[key] == nil {
		r.jobs[key] = map[types.UID]bool{}
	}
	r.jobs[key][obj.GetUID()] = true
}

func (r *recorder) secret(obj *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.secrets[obj.GetUID()]
	if !known {
		r.secrets[obj.GetUID()] = obj.Object["data"]
	} else if !reflect.DeepEqual(before, obj.Object["data"]) {
		r.wrong = append(r.wrong, fmt.Errorf("the Secret %q changed what was drawn once", obj.GetName()))
	}
}

// check says which Jobs ran twice with one hash, and which Secrets changed.
func (r *recorder) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := slices.Clone(r.wrong)
	for _, key := range slices.Sorted(maps.Keys(r.jobs)) {
		if n := len(r.jobs[key]); n != 1 {
			errs = append(errs, fmt.Errorf("%s was made %d times", key, n))
		}
	}
	return errors.Join(errs...)
}

func (r *recorder) seen() (jobs, secrets int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.jobs), len(r.secrets)
}
