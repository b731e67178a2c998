package controllers

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/orkspace/orkestra/engine/watch"
)

// NewCache makes the manager's cache, for ctrl.Options.NewCache. It never begins with less than what a former process has seen: a
// box as it was before its last edit would run for a moment, and do again what had been done.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	options.NewInformer = newInformer
	return cache.New(config, options)
}

func newInformer(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	asked := toolscache.ToListerWatcherWithContext(lw)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return asked.ListWithContext(ctx, watch.Consistent(options))
		},
		WatchFuncWithContext: asked.WatchWithContext,
	}, obj, resync, indexers)
}
