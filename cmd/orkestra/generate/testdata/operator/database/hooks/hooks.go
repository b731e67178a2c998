// Package hooks has the hooks of databases.
package hooks

import (
	"context"

	"github.com/orkspace/orkestra/engine/hook"

	v1 "example.com/operator/api/v1"
)

func Database() hook.Hooks[*v1.Database] {
	return hook.Hooks[*v1.Database]{OnDelete: func(context.Context, *hook.Call[*v1.Database]) error { return nil }}
}
