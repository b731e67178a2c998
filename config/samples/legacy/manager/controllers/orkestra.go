package controllers

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewProxyReconciler is the one function that the box needs: it gives the reconciler what it has elsewhere from its main.go.
func NewProxyReconciler(c client.Client, scheme *runtime.Scheme) *ProxyReconciler {
	return &ProxyReconciler{Client: c, Scheme: scheme}
}
