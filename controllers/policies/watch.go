// Package policies knows whether the admission policies are in force that the manager was told to rely on.
package policies

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,verbs=get;list;watch

// The resources that are watched.
const (
	policiesResource = "validatingadmissionpolicies"
	bindingsResource = "validatingadmissionpolicybindings"
)

// Gauge is told whether each policy is in force.
type Gauge interface {
	Policy(name string, installed bool)
}

// Watch follows the policies by a watch of those that carry LabelPolicy. It is safe for concurrent use.
type Watch struct {
	wanted   map[string]*admissionregistrationv1.ValidatingAdmissionPolicySpec
	names    []string
	gauge    Gauge
	changed  func(context.Context) error
	policies cache.SharedIndexInformer
	bindings cache.SharedIndexInformer
	look     chan struct{} // something may have changed

	mu      sync.Mutex       // guards all below
	refused map[string]error // why policies or bindings may not be watched, by their resource
	shown   *metav1.Condition
}

// NewWatch makes one for the policies of these names, which knows nothing until it is started. namespace is the manager's. changed is called
// when something else is so than before, by the goroutine of Start. NewWatch fails where a name is not known.
func NewWatch(restConfig *rest.Config, names []string, namespace string, gauge Gauge, changed func(context.Context) error) (*Watch, error) {
	w := &Watch{
		wanted: map[string]*admissionregistrationv1.ValidatingAdmissionPolicySpec{}, names: slices.Compact(slices.Sorted(slices.Values(names))),
		gauge: gauge, changed: changed, look: make(chan struct{}, 1), refused: map[string]error{},
	}
	for _, name := range w.names {
		want, err := wanted(name, namespace)
		if err != nil {
			return nil, fmt.Errorf("--require-policies: %w", err)
		}
		w.wanted[name] = want
	}
	watching := rest.CopyConfig(restConfig)
	watching.QPS = -1
	client, err := admissionclient.NewForConfig(watching)
	if err != nil {
		return nil, fmt.Errorf("making a client for policies: %w", err)
	}
	policies, bindings := client.ValidatingAdmissionPolicies(), client.ValidatingAdmissionPolicyBindings()
	w.policies = w.informer(policiesResource, &admissionregistrationv1.ValidatingAdmissionPolicy{},
		func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return policies.List(ctx, o) }, policies.Watch)
	w.bindings = w.informer(bindingsResource, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
		func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return bindings.List(ctx, o) }, bindings.Watch)
	return w, nil
}

// informer gives one of the objects that carry LabelPolicy.
func (w *Watch) informer(
	resource string, of runtime.Object, list func(context.Context, metav1.ListOptions) (runtime.Object, error), follow func(context.Context, metav1.ListOptions) (watch.Interface, error),
) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = v1alpha1.LabelPolicy
			return list(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = v1alpha1.LabelPolicy
			answer, err := follow(ctx, o)
			if err == nil {
				w.note(resource, nil) // a list comes before: without this right, it would say again and again that all is well
			}
			return answer, err
		},
	}, of, 0, cache.Indexers{})
	// Both only fail on an informer that was started.
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			w.note(resource, err)
			return
		}
		ctrl.LoggerFrom(ctx).V(1).Info("Policies can't be watched", "reason", err.Error())
	})
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { w.signal() }, UpdateFunc: func(_, _ any) { w.signal() }, DeleteFunc: func(any) { w.signal() },
	})
	return informer
}

func (w *Watch) signal() {
	select {
	case w.look <- struct{}{}:
	default: // the next look sees this, too
	}
}

// note remembers whether policies, or bindings, may be watched.
func (w *Watch) note(resource string, refused error) {
	w.mu.Lock()
	changed := (w.refused[resource] == nil) != (refused == nil)
	w.refused[resource] = refused
	w.mu.Unlock()
	if changed {
		w.signal()
	}
}

// refusal says why policies or bindings may not be watched; nil: they may.
func (w *Watch) refusal() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(w.refused[policiesResource], w.refused[bindingsResource])
}

// Start watches until ctx ends. It implements manager.Runnable.
func (w *Watch) Start(ctx context.Context) error {
	if len(w.names) == 0 {
		return nil
	}
	// What the reflector says of cut watches is not for V(0).
	quiet := klog.NewContext(ctx, ctrl.LoggerFrom(ctx).V(1))
	var informers sync.WaitGroup
	for _, informer := range []cache.SharedIndexInformer{w.policies, w.bindings} {
		informers.Go(func() { informer.RunWithContext(quiet) })
	}
	informers.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), w.policies.HasSynced, w.bindings.HasSynced) {
			w.signal()
		}
	})
	defer informers.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.look:
			w.see(ctx)
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a leader must know before it writes what it knows.
func (*Watch) NeedLeaderElection() bool { return false }

// Shown is the condition that boxes show. known is false while nothing is known yet: boxes then show what they did. A manager that relies on
// no policies has none to show.
func (w *Watch) Shown() (condition *metav1.Condition, known bool) {
	if len(w.names) == 0 {
		return nil, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown.DeepCopy(), w.shown != nil
}

// see looks at the policies as they are now, and tells where something is else than before.
func (w *Watch) see(ctx context.Context) {
	next := w.judge()
	if next == nil {
		return
	}
	w.mu.Lock()
	before := w.shown
	w.shown = next
	w.mu.Unlock()
	if before != nil && *before == *next {
		return
	}
	announce(ctrl.LoggerFrom(ctx), next)
	if err := w.changed(ctx); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Boxes show the policies at their next reconcile")
	}
}

func announce(log logr.Logger, c *metav1.Condition) {
	if c.Status == metav1.ConditionTrue {
		log.Info("Policies are in force", "message", c.Message)
		return
	}
	log.Error(nil, "Policies that the manager relies on are not in force", "reason", c.Reason, "message", c.Message)
}

// judge gives the condition; nil while nothing is known.
func (w *Watch) judge() *metav1.Condition {
	refused := w.refusal()
	c := &metav1.Condition{Type: v1alpha1.ConditionPoliciesInstalled}
	if refused != nil {
		c.Status, c.Reason = metav1.ConditionUnknown, v1alpha1.ReasonForbidden
		c.Message = "the manager may not watch policies, and can't say whether those are in force that it relies on: " + refused.Error()
		w.measure(nil)
		return c
	}
	if !w.policies.HasSynced() || !w.bindings.HasSynced() {
		return nil
	}
	wrong, reason := w.compare(w.current())
	w.measure(wrong)
	if len(wrong) == 0 {
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonInstalled
		c.Message = fmt.Sprintf("the %d policies that the manager relies on are in force", len(w.names))
		return c
	}
	texts := make([]string, 0, len(wrong))
	for _, name := range w.names {
		if text := wrong[name]; text != "" {
			texts = append(texts, text)
		}
	}
	c.Status, c.Reason, c.Message = metav1.ConditionFalse, reason, sentence(texts)
	return c
}

// current are the policies and bindings in the caches, in the order of their names.
func (w *Watch) current() found {
	var f found
	for _, obj := range w.policies.GetStore().List() {
		if p, ok := obj.(*admissionregistrationv1.ValidatingAdmissionPolicy); ok {
			f.policies = append(f.policies, p)
		}
	}
	for _, obj := range w.bindings.GetStore().List() {
		if b, ok := obj.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding); ok {
			f.bindings = append(f.bindings, b)
		}
	}
	slices.SortFunc(f.policies, func(a, b *admissionregistrationv1.ValidatingAdmissionPolicy) int {
		return strings.Compare(a.Name, b.Name)
	})
	return f
}

// compare gives what is wrong with each policy that is not in force as wanted, and the reason: missing before changed.
func (w *Watch) compare(f found) (wrong map[string]string, reason string) {
	wrong, reason = map[string]string{}, v1alpha1.ReasonPoliciesChanged
	for _, name := range w.names {
		text, there := f.judge(name, w.wanted[name])
		if text == "" {
			continue
		}
		wrong[name] = text
		if !there {
			reason = v1alpha1.ReasonPoliciesMissing
		}
	}
	return wrong, reason
}

// measure sets the series of each policy. A nil map says that nothing is known: then none counts as in force.
func (w *Watch) measure(wrong map[string]string) {
	for _, name := range w.names {
		w.gauge.Policy(name, wrong != nil && wrong[name] == "")
	}
}
