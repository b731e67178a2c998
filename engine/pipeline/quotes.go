package pipeline

import (
	"slices"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
)

// quotable finds out of which objects messages may quote what they, or the API server, say of them. Admission and controllers may put
// parts of an object into their words, so it may be no Secret, and nothing in it may come from a Secret, from another object, or from an external call; nor from
// a child that holds such things. What a message of ours may show of one value is another question: mayShow.
func (c *compiler) quotable(all []*declaration) {
	for _, d := range all {
		d.quoted = d.gvk.GroupKind() != secretKind.GroupKind() && !d.usesSecrets && !slices.ContainsFunc(d.contentPaths(), leadsToOthers)
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

// leadsToOthers says whether a path leads to what neither the resource nor its children hold: another object, or an answer.
func leadsToOthers(p expr.Path) bool {
	return len(p) == 0 || p[0] == rootCross || p[0] == rootExternal
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
