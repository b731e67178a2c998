package web

import (
	"context"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/rows"
)

// Source answers what the API asks. An error that is one of the API server (k8s.io/apimachinery/pkg/api/errors) becomes its status; what is not there
// is such a "not found". All answers are the caller's own.
type Source interface {
	// Fleet gives all boxes.
	Fleet(ctx context.Context) (*api.Fleet, error)
	// Box gives one box.
	Box(ctx context.Context, name string) (*api.BoxDetail, error)
	// Rows gives a page of the resources of a box.
	Rows(ctx context.Context, box string, q rows.Query) (*api.Rows, error)
	// Resource gives one resource of a box. The namespace is empty for a kind that has none.
	Resource(ctx context.Context, box, namespace, name string) (*api.Resource, error)
	// Subscribe calls back for each change, until the context ends. It does not wait for the callback's own work: that has to be short.
	Subscribe(ctx context.Context, changed func(api.Change))
}
