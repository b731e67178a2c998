package pipeline

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

// identify gives the declaration its id, which does not depend on its position.
func (c *compiler) identify(d *declaration, in *v1alpha1.Declaration, short map[string]any, at *field.Path) {
	if in.ID != "" {
		d.id, d.explicit = in.ID, true
		if kinds.IsName(in.ID) {
			c.Fail(field.Invalid(at.Child("id"), in.ID, "the name of a kind can't be an id: templates would mistake one for the other"))
		}
		return
	}
	d.id = d.kind.Key
	if name := nameAsWritten(in, short); name != "" {
		d.id += "/" + name
	}
}

func nameAsWritten(in *v1alpha1.Declaration, short map[string]any) string {
	if in.Name != "" {
		return in.Name
	}
	m, _ := short["manifest"].(map[string]any)
	meta, _ := m["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if kind, ok := m["kind"].(string); ok {
		// Manifests of all kinds share one key, so the kind is part of what tells them apart.
		return kind + "/" + name
	}
	return name
}

// uniqueIDs reports declarations that could not be told apart.
func (c *compiler) uniqueIDs(group []*declaration) {
	first := map[string]*declaration{}
	for _, d := range group {
		if other := first[d.id]; other != nil {
			c.Fail(&field.Error{Type: field.ErrorTypeDuplicate, Field: d.where, BadValue: d.id,
				Detail: fmt.Sprintf("%s has the same id; give each an `id`, or names that differ", other.where)})
			continue
		}
		first[d.id] = d
	}
}
