package baseline

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// WebsiteKind is that of config/samples/website.
var WebsiteKind = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}

// Cached is what a manager's cache holds of the kinds of children: those that a selector finds.
func Cached(selector labels.Selector) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Label: selector}, &appsv1.Deployment{}: {Label: selector}, &corev1.Service{}: {Label: selector},
		&networkingv1.Ingress{}: {Label: selector}, &policyv1.PodDisruptionBudget{}: {Label: selector}, &autoscalingv2.HorizontalPodAutoscaler{}: {Label: selector},
	}
}

// Websites makes what Websites stand for: a Deployment, a Service, an Ingress, a disruption budget, and an autoscaler where the resource asks
// for one. Whether something is to be applied is known from the fields that it owns of the object in the cache: a field that somebody
// else has changed is not among them any more.
type Websites struct {
	// Client reads from the cache of a manager and writes.
	Client client.Client
	// Holder holds the resources; nil: nobody does.
	Holder *Holder
}

// website is the part of a resource that says what there is to be.
type website struct {
	Spec struct {
		Image       string `json:"image"`
		Host        string `json:"host"`
		Replicas    *int32 `json:"replicas"`
		Autoscaling *struct {
			MaxReplicas int32 `json:"maxReplicas"`
			CPU         int32 `json:"cpu"`
		} `json:"autoscaling"`
	} `json:"spec"`
	Status websiteStatus `json:"status"`
}

type websiteStatus struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	Replicas           int32              `json:"replicas"`
	URL                string             `json:"url"`
	Conditions         []metav1.Condition `json:"conditions"`
}

// SetupWithManager makes the controller, with a number of workers.
func (w *Websites) SetupWithManager(mgr ctrl.Manager, workers int) error {
	resource := &unstructured.Unstructured{}
	resource.SetGroupVersionKind(WebsiteKind)
	err := ctrl.NewControllerManagedBy(mgr).
		Named("baseline-website").
		For(resource).
		Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).Owns(&networkingv1.Ingress{}).Owns(&policyv1.PodDisruptionBudget{}).Owns(&autoscalingv2.HorizontalPodAutoscaler{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(w)
	if err != nil {
		return fmt.Errorf("setting up the baseline: %w", err)
	}
	return nil
}

// Reconcile brings the children of one Website to what they should be, and says in its status how they are.
func (w *Websites) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	resource := &unstructured.Unstructured{}
	resource.SetGroupVersionKind(WebsiteKind)
	if err := w.Client.Get(ctx, req.NamespacedName, resource); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if deleted, err := w.Holder.hold(ctx, resource); deleted || err != nil {
		return ctrl.Result{}, err
	}
	site := &website{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(resource.Object, site); err != nil {
		return ctrl.Result{}, fmt.Errorf("reading Website %q: %w", req.Name, err)
	}
	if site.Spec.Replicas == nil {
		site.Spec.Replicas = new(int32(2))
	}
	deployment, err := w.children(ctx, resource, site)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, w.tell(ctx, resource, site, deployment)
}

// children applies what differs, and gives the Deployment as it was before.
func (w *Websites) children(ctx context.Context, owner *unstructured.Unstructured, site *website) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	if err := ensure(ctx, w.Client, owner, deployment, deploymentOf(owner, site), appsv1ac.ExtractDeployment); err != nil {
		return nil, err
	}
	if err := ensure(ctx, w.Client, owner, &corev1.Service{}, serviceOf(owner), corev1ac.ExtractService); err != nil {
		return nil, err
	}
	if err := ensure(ctx, w.Client, owner, &networkingv1.Ingress{}, ingressOf(owner, site), networkingv1ac.ExtractIngress); err != nil {
		return nil, err
	}
	if err := ensure(ctx, w.Client, owner, &policyv1.PodDisruptionBudget{}, budgetOf(owner), policyv1ac.ExtractPodDisruptionBudget); err != nil {
		return nil, err
	}
	return deployment, w.autoscaler(ctx, owner, site)
}

// autoscaler applies the autoscaler, or removes the one that is there and not wanted.
func (w *Websites) autoscaler(ctx context.Context, owner *unstructured.Unstructured, site *website) error {
	if site.Spec.Autoscaling != nil {
		return ensure(ctx, w.Client, owner, &autoscalingv2.HorizontalPodAutoscaler{}, autoscalerOf(owner, site), autoscalingv2ac.ExtractHorizontalPodAutoscaler)
	}
	live := &autoscalingv2.HorizontalPodAutoscaler{}
	err := w.Client.Get(ctx, client.ObjectKeyFromObject(owner), live)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(live, owner) {
		return nil
	}
	if err == nil {
		err = client.IgnoreNotFound(w.Client.Delete(ctx, live, client.Preconditions{UID: &live.UID}))
	}
	if err != nil {
		return fmt.Errorf("removing the autoscaler of %q: %w", owner.GetName(), err)
	}
	return nil
}

// ensure applies a child unless the fields that it owns of the one in the cache, which it leaves in live, are those that it wants.
func ensure[L client.Object, W runtime.ApplyConfiguration](ctx context.Context, c client.Client, owner client.Object, live L, wanted W, extract func(L, string) (W, error)) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(owner), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %T %q: %w", live, owner.GetName(), err)
	}
	if err == nil {
		owned, err := extract(live, manager)
		if err != nil {
			return fmt.Errorf("reading what is owned of %T %q: %w", live, owner.GetName(), err)
		}
		if equality.Semantic.DeepEqual(owned, wanted) {
			return nil
		}
	}
	if err := c.Apply(ctx, wanted, client.FieldOwner(manager), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %T %q: %w", live, owner.GetName(), err)
	}
	return nil
}

// tell writes the status, unless it says so already. A Website is Ready when its Deployment is available, as it is with Orkestra.
func (w *Websites) tell(ctx context.Context, resource *unstructured.Unstructured, site *website, deployment *appsv1.Deployment) error {
	url, replicas := "http://"+site.Spec.Host+"/", deployment.Status.ReadyReplicas
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Progressing", LastTransitionTime: metav1.Now()}
	if isAvailable(deployment, *site.Spec.Replicas) {
		ready.Status, ready.Reason = metav1.ConditionTrue, "Available"
	}
	if s := site.Status; s.ObservedGeneration == resource.GetGeneration() && s.Replicas == replicas && s.URL == url &&
		apimeta.IsStatusConditionPresentAndEqual(s.Conditions, ready.Type, ready.Status) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": websiteStatus{
		ObservedGeneration: resource.GetGeneration(), Replicas: replicas, URL: url, Conditions: []metav1.Condition{ready},
	}})
	if err != nil {
		return fmt.Errorf("encoding the status of %q: %w", resource.GetName(), err)
	}
	err = w.Client.Status().Patch(ctx, resource, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(manager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status of %q: %w", resource.GetName(), err)
	}
	if ready.Status == metav1.ConditionTrue {
		w.Holder.ready(resource)
	}
	return nil
}

// isAvailable says whether a Deployment is what was last asked of it.
func isAvailable(d *appsv1.Deployment, replicas int32) bool {
	s := d.Status
	return d.Generation > 0 && s.ObservedGeneration == d.Generation && s.UpdatedReplicas == replicas && s.AvailableReplicas == replicas && s.Replicas == replicas
}
