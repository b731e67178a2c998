package pipeline

import (
	"slices"

	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

// Declared gives what a resource has while it lives: the declarations of onCreate and onReconcile in their order, and the patches.
func (p *Plan) Declared() []*declare.Declaration {
	return slices.Concat(p.declared.Live, p.declared.Patches)
}
