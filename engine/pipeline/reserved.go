package pipeline

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/apply"
)

// commonMarks checks the labels and annotations that all children have in common.
func (c *compiler) commonMarks() {
	at := field.NewPath("spec")
	reserved(c, c.box.Spec.CommonLabels, apply.OwnershipLabels, at.Child("commonLabels"))
	reserved(c, c.box.Spec.CommonAnnotations, apply.OwnershipAnnotations, at.Child("commonAnnotations"))
}

// reserved reports labels or annotations that Orkestra itself sets on every child: what a user writes there would be
// overwritten.
func reserved[V any](c *compiler, written map[string]V, own []string, at *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(written)) {
		if slices.Contains(own, key) {
			c.fail(field.Forbidden(at.Key(key), "Orkestra sets this itself; remove it"))
		}
	}
}
