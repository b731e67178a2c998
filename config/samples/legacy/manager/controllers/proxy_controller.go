// Package controllers has a controller as projects of kubebuilder have it. Nothing of it is written for Orkestra.
package controllers

import (
	"context"
	"crypto/sha256"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "example.com/legacy/api/v1"
)

const finalizer = "samples.orkspace.io/drain"

// ProxyReconciler keeps a Deployment of nginx, its configuration and a Service for each Proxy.
type ProxyReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// Reconcile brings the children of a Proxy to what its spec says.
func (r *ProxyReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	proxy := &v1.Proxy{}
	if err := r.Get(ctx, req.NamespacedName, proxy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !proxy.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.drain(ctx, proxy)
	}
	if controllerutil.AddFinalizer(proxy, finalizer) {
		return ctrl.Result{}, r.Update(ctx, proxy)
	}
	config, err := r.config(ctx, proxy)
	if err != nil {
		return ctrl.Result{}, err
	}
	deployment, err := r.deployment(ctx, proxy, config)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.service(ctx, proxy); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.show(ctx, proxy, deployment)
}

// drain lets the pods end what they do before the Proxy goes.
func (r *ProxyReconciler) drain(ctx context.Context, proxy *v1.Proxy) error {
	if !controllerutil.ContainsFinalizer(proxy, finalizer) {
		return nil
	}
	deployment := &appsv1.Deployment{}
	err := r.Get(ctx, client.ObjectKeyFromObject(proxy), deployment)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	case deployment.Spec.Replicas == nil || *deployment.Spec.Replicas > 0:
		none := int32(0)
		deployment.Spec.Replicas = &none
		return r.Update(ctx, deployment)
	case deployment.Status.Replicas > 0:
		log.FromContext(ctx).Info("Pods are ending", "replicas", deployment.Status.Replicas)
		return nil // the Deployment is watched
	}
	controllerutil.RemoveFinalizer(proxy, finalizer)
	return client.IgnoreNotFound(r.Update(ctx, proxy))
}

func (r *ProxyReconciler) config(ctx context.Context, proxy *v1.Proxy) (string, error) {
	text := fmt.Sprintf("server {\n  listen 8080;\n  location / {\n    proxy_pass %s;\n  }\n}\n", proxy.Spec.Upstream)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: proxy.Name, Namespace: proxy.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, cm, func() error {
		cm.Data = map[string]string{"default.conf": text}
		return controllerutil.SetControllerReference(proxy, cm, r.Scheme)
	})
	return text, err
}

func (r *ProxyReconciler) deployment(ctx context.Context, proxy *v1.Proxy, config string) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: proxy.Name, Namespace: proxy.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, d, func() error {
		labels := map[string]string{"proxy": proxy.Name}
		if d.CreationTimestamp.IsZero() {
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		}
		d.Spec.Replicas = &proxy.Spec.Replicas
		d.Spec.Template.Labels = labels
		d.Spec.Template.Annotations = map[string]string{"samples.orkspace.io/config": fmt.Sprintf("%x", sha256.Sum256([]byte(config)))}
		if len(d.Spec.Template.Spec.Containers) != 1 {
			d.Spec.Template.Spec.Containers = make([]corev1.Container, 1)
		}
		c := &d.Spec.Template.Spec.Containers[0]
		c.Name, c.Image = "nginx", "nginx:1.29-alpine"
		c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/nginx/conf.d"}}
		mode := corev1.ConfigMapVolumeSourceDefaultMode
		d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: proxy.Name}, DefaultMode: &mode,
		}}}}
		return controllerutil.SetControllerReference(proxy, d, r.Scheme)
	})
	return d, err
}

func (r *ProxyReconciler) service(ctx context.Context, proxy *v1.Proxy) error {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: proxy.Name, Namespace: proxy.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, s, func() error {
		s.Spec.Selector = map[string]string{"proxy": proxy.Name}
		s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http")}}
		return controllerutil.SetControllerReference(proxy, s, r.Scheme)
	})
	return err
}

// show writes the status where it differs.
func (r *ProxyReconciler) show(ctx context.Context, proxy *v1.Proxy, d *appsv1.Deployment) error {
	before := proxy.DeepCopyObject()
	available := metav1.Condition{Type: "Available", Status: metav1.ConditionFalse, Reason: "Starting", Message: "not all pods are ready", ObservedGeneration: proxy.Generation}
	if d.Status.ObservedGeneration == d.Generation && d.Status.ReadyReplicas >= proxy.Spec.Replicas {
		available.Status, available.Reason, available.Message = metav1.ConditionTrue, "Serving", "all pods are ready"
	}
	meta.SetStatusCondition(&proxy.Status.Conditions, available)
	proxy.Status.ReadyReplicas, proxy.Status.ObservedGeneration = d.Status.ReadyReplicas, proxy.Generation
	if equality.Semantic.DeepEqual(before, proxy) {
		return nil
	}
	return r.Status().Update(ctx, proxy)
}

// SetupWithManager is for a manager of its own. In a box, spec.reconciler.constructor says what it says.
func (r *ProxyReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&v1.Proxy{}).Owns(&appsv1.Deployment{}).Owns(&corev1.ConfigMap{}).Owns(&corev1.Service{}).Complete(r)
}
