package pipeline

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/apply"
)

// commonMarks checks the labels and annotations that all children have in common, also where a box declares no child yet.
func (c *compiler) commonMarks() {
	at := field.NewPath("spec")
	reserved(c, c.box.Spec.CommonLabels, apply.OwnershipLabels, at.Child("commonLabels"))
	reserved(c, c.box.Spec.CommonAnnotations, apply.OwnershipAnnotations, at.Child("commonAnnotations"))
	checkLabels(c, c.box.Spec.CommonLabels, at.Child("commonLabels"))
	checkAnnotations(c, c.box.Spec.CommonAnnotations, at.Child("commonAnnotations"))
	for k, v := range c.box.Spec.CommonLabels {
		c.template(c.scope, string(v), at.Child("commonLabels").Key(k))
	}
	for k, v := range c.box.Spec.CommonAnnotations {
		c.template(c.scope, string(v), at.Child("commonAnnotations").Key(k))
	}
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
