package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// requestTimeout is how long the API server may take for one answer.
const requestTimeout = 30 * time.Second

// cluster reads CRDs, and what boxes read, from an API server.
type cluster struct {
	client client.Client
}

// newCluster finds the API server as kubectl does. It fails when that can't be reached: kinds are looked up silently later.
func newCluster(kubeconfig, context string) (*cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	config.UserAgent = "orkestra/" + version
	config.Timeout = requestTimeout
	config.WarningHandler = rest.NoWarnings{}
	log.SetLogger(logr.Discard())
	c, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	gvk := apiextensionsv1.SchemeGroupVersion.WithKind(kindCRD)
	if _, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
		return nil, fmt.Errorf("asking %s for its kinds: %w", config.Host, err)
	}
	return &cluster{client: c}, nil
}

// get gives an object, or nil where there is none of this name.
func (c *cluster) get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	err := c.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, obj)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // No object is a legal answer.
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, strings.TrimPrefix(namespace+"/"+name, "/"), err)
	}
	return obj, nil
}

// list gives the objects of a namespace, or of all, that the labels select.
func (c *cluster) list(ctx context.Context, kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, err)
	}
	out := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// crd gives a CRD, or nil where there is none of this name.
func (c *cluster) crd(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := c.client.Get(ctx, types.NamespacedName{Name: name}, crd)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // No CRD is a legal answer.
	}
	if err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
	}
	return crd, nil
}
