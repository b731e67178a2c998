// Package hooks has the hooks of caches.
package hooks

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/hook"
)

func Cache() hook.Hooks[*unstructured.Unstructured] {
	return hook.Hooks[*unstructured.Unstructured]{OnDelete: func(context.Context, *hook.Call[*unstructured.Unstructured]) error { return nil }}
}
