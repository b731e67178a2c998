package pipeline

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// notYet reports a field that the API has and that this version does not act on. Nothing that a user writes is ignored.
func (c *compiler) notYet(at *field.Path) {
	c.fail(field.Forbidden(at, "not supported yet by this version of Orkestra; remove it"))
}

// unsupported reports every such field of the box.
func (c *compiler) unsupported() {
	s, at := &c.box.Spec, field.NewPath("spec")
	for name, set := range map[string]bool{
		"serviceAccountRef":    s.ServiceAccountRef != nil,
		"dependsOn":            len(s.DependsOn) > 0,
		"autoscale":            s.Autoscale != nil,
		"apiTypes":             s.APITypes != nil,
		"cross":                len(s.Cross) > 0,
		"external":             len(s.External) > 0,
		"providers":            s.Providers != nil,
		"rollBackOnError":      s.RollBackOnError,
		"rollback":             s.Rollback != nil,
		"revisionHistoryLimit": s.RevisionHistoryLimit != nil && *s.RevisionHistoryLimit != defaultRevisionHistory,
	} {
		if set {
			c.notYet(at.Child(name))
		}
	}
	if s.Queue.MaxDepth > 0 {
		c.notYet(at.Child("queue", "maxDepth"))
	}
	if s.Status != nil && len(s.Status.ReadyWhen) > 0 {
		c.notYet(at.Child("status", "readyWhen"))
	}
	c.unsupportedCode(s.Reconciler, at.Child("reconciler"))
}

func (c *compiler) unsupportedCode(r *v1alpha1.ReconcilerSpec, at *field.Path) {
	if r == nil {
		return
	}
	if r.Hooks != nil {
		c.notYet(at.Child("hooks"))
	}
	if r.Constructor != nil {
		c.notYet(at.Child("constructor"))
	}
	if r.Default != nil && !*r.Default && r.Constructor == nil {
		c.fail(field.Invalid(at.Child("default"), false, "false needs a constructor, which is not supported yet by this version of Orkestra; remove it"))
	}
}

// unsupportedIn reports the fields of a declaration that this version does not act on.
func (c *compiler) unsupportedIn(d *v1alpha1.Declaration, at *field.Path) {
	if d.ForEach != nil {
		c.notYet(at.Child("forEach"))
	}
	if len(d.InitialFields) > 0 {
		c.notYet(at.Child("initialFields"))
	}
	if len(d.ReadyWhen) > 0 {
		c.notYet(at.Child("readyWhen"))
	}
}

// unknownKey reports a key of a group that no kind has.
func unknownKey(at *field.Path, key string, planned bool, hint string) *field.Error {
	if planned {
		return field.Forbidden(at, fmt.Sprintf("%s are not supported yet by this version of Orkestra; write them under `resources` as a manifest", key))
	}
	return field.Invalid(at, key, "unknown key"+hint)
}
