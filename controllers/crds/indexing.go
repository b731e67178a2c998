package crds

import (
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// NewIndexing gives a client whose cache gets the index of boxes by their CRDs with the first question that needs it. To make it when the process is
// set up would need the API server, and the process is to begin without one.
func NewIndexing(c client.Client, indexes client.FieldIndexer) client.Client {
	return &indexing{Client: c, indexes: indexes}
}

// indexing makes the index once.
type indexing struct {
	client.Client

	indexes client.FieldIndexer

	mu   sync.Mutex
	made bool // guarded by mu
}

// List implements client.Client.
func (i *indexing) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	if asked.FieldSelector != nil {
		if _, byCRD := asked.FieldSelector.RequiresExactMatch(Index); byCRD {
			if err := i.index(ctx); err != nil {
				return err
			}
		}
	}
	return i.Client.List(ctx, list, options...)
}

func (i *indexing) index(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.made {
		return nil
	}
	if err := i.indexes.IndexField(ctx, &v1alpha1.OperatorBox{}, Index, Indexed); err != nil {
		return fmt.Errorf("indexing boxes by their CRDs: %w", err)
	}
	i.made = true
	return nil
}
