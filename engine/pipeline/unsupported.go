package pipeline

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// unsupported reports every field of the box that the API has and that this version does not act on.
func (c *compiler) unsupported() {
	s, at := &c.Spec, field.NewPath("spec")
	for name, set := range map[string]bool{
		"serviceAccountRef": s.ServiceAccountRef != nil,
		"autoscale":         s.Autoscale != nil,
		"apiTypes":          s.APITypes != nil,
		"providers":         s.Providers != nil,
	} {
		if set {
			c.NotYet(at.Child(name))
		}
	}
	if s.Queue.MaxDepth > 0 {
		c.NotYet(at.Child("queue", "maxDepth"))
	}
	c.unsupportedCode(s.Reconciler, at.Child("reconciler"))
}

func (c *compiler) unsupportedCode(r *v1alpha1.ReconcilerSpec, at *field.Path) {
	if r == nil {
		return
	}
	if r.Hooks != nil {
		c.NotYet(at.Child("hooks"))
	}
	if r.Constructor != nil {
		c.NotYet(at.Child("constructor"))
	}
	if r.Default != nil && !*r.Default && r.Constructor == nil {
		c.Fail(field.Invalid(at.Child("default"), false, "false needs a constructor, which is not supported yet by this version of Orkestra; remove it"))
	}
}
