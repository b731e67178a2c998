package controllers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/controllers/accounts"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/watch"
)

// NewClient makes the manager's client, for ctrl.Options.NewClient. Its requests end in time: the last write of a process that
// no longer leads must end before its lease does.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	bounded := rest.CopyConfig(config)
	bounded.Timeout = engine.RequestTimeout
	options.HTTPClient = nil // the one that the manager has made has no timeout, because watches share it
	return client.New(bounded, options)
}

// identities gives the accounts as which boxes may act, and what makes clients that act as one. changed is told of accounts.
func identities(mgr ctrl.Manager, o Options, changed accounts.Changed) (*accounts.Store, func(identity.Account, string) (client.Client, error), error) {
	known, err := accounts.NewStore(mgr.GetConfig(), o.BoxNamespaces, changed)
	if err != nil {
		return nil, nil, err
	}
	transport, err := rest.TransportFor(mgr.GetConfig())
	if err != nil {
		return nil, nil, fmt.Errorf("making a transport: %w", err)
	}
	as := func(account identity.Account, box string) (client.Client, error) {
		return client.New(mgr.GetConfig(), client.Options{
			HTTPClient: &http.Client{Transport: identity.NewTransport(account, box, transport), Timeout: engine.RequestTimeout},
			Scheme:     mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		})
	}
	return known, as, nil
}

// NewCache makes the manager's cache, for ctrl.Options.NewCache. Its lists are consistent: one that an API server answers from its watch
// cache may be older than what the former process has seen, and a box would run for a moment as it was before its last edit.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	options.NewInformer = newInformer
	return cache.New(config, options)
}

func newInformer(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	lists := toolscache.ToListerWatcherWithContext(lw)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return lists.ListWithContext(ctx, watch.Consistent(options))
		},
		WatchFuncWithContext: lists.WatchWithContext,
	}, obj, resync, indexers)
}
