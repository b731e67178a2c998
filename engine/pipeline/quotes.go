package pipeline

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
)

// quotable finds out of which objects messages may quote what they say of themselves. Admission and controllers may put parts of an object
// into its conditions, so nothing in it may come from a Secret, a ConfigMap that others made, or an external call; nor from a child that
// holds such things.
func (c *compiler) quotable(all []*declaration) {
	for _, d := range all {
		d.quoted = !d.usesSecrets && !slices.ContainsFunc(d.contentPaths(), c.leadsToOthersConfig)
	}
	for changed := true; changed; {
		changed = false
		for _, d := range all {
			if d.quoted && d.holdsUnquotable(all) {
				d.quoted, changed = false, true
			}
		}
	}
}

// leadsToOthersConfig says whether a path may lead to a ConfigMap that is no child, or to what a call has answered.
func (c *compiler) leadsToOthersConfig(p expr.Path) bool {
	if len(p) == 0 || p[0] == rootExternal {
		return true
	}
	return p[0] == rootCross && slices.ContainsFunc(c.box.Spec.Cross, func(s v1alpha1.CrossSource) bool {
		return (len(p) == 1 || s.Name == p[1]) && s.Kind == "ConfigMap" && s.APIVersion == corev1.SchemeGroupVersion.Version
	})
}

// holdsUnquotable says whether the object is made of another one that may not be quoted.
func (d *declaration) holdsUnquotable(all []*declaration) bool {
	if d.workload != nil && !d.workload.quoted || d.service != nil && !d.service.quoted {
		return true
	}
	return slices.ContainsFunc(d.contentPaths(), func(p expr.Path) bool {
		return len(p) > 0 && p[0] == rootChildren && slices.ContainsFunc(all, func(o *declaration) bool {
			return !o.quoted && (len(p) == 1 || o.id == p[1] || kinds.SingularOf(o.gvk) == p[1] || kinds.PluralOf(o.gvk) == p[1])
		})
	})
}
