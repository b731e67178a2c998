package pipeline

import (
	"slices"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// quotable finds out of which objects messages may quote what they, or the API server, say of them. Admission and controllers may put
// parts of an object into their words, so it may be no Secret, and nothing in it may come from a Secret, from another object, or from an external call; nor from
// a child that holds such things. What a message of ours may show of one value is another question: mayShow.
func (c *compiler) quotable(all []*declaration) {
	holders := holdersOf(all)
	var unquotable []*declaration
	for _, d := range all {
		d.quoted = d.gvk.GroupKind() != compile.SecretKind.GroupKind() && !d.usesSecrets && !slices.ContainsFunc(d.contentPaths(), leadsToOthers)
		if !d.quoted {
			unquotable = append(unquotable, d)
		}
	}
	for len(unquotable) > 0 {
		held := unquotable[0]
		unquotable = unquotable[1:]
		for _, d := range holders[held] {
			if d.quoted {
				d.quoted = false
				unquotable = append(unquotable, d)
			}
		}
	}
}

// leadsToOthers says whether a path leads to what neither the resource nor its children hold: another object, or an answer.
func leadsToOthers(p expr.Path) bool {
	return len(p) == 0 || p[0] == compile.RootCross || p[0] == compile.RootExternal
}

// holdersOf gives, for each declaration, those whose objects may be made of its own: they take a default from it, or read it by what it
// may be called in any group.
func holdersOf(all []*declaration) map[*declaration][]*declaration {
	byName := map[string][]*declaration{}
	for _, d := range all {
		for _, name := range []string{d.id, kinds.SingularOf(d.gvk), kinds.PluralOf(d.gvk)} {
			byName[name] = append(byName[name], d)
		}
	}
	holders := map[*declaration][]*declaration{}
	for _, d := range all {
		held := []*declaration{d.workload, d.service}
		if slices.ContainsFunc(d.contentPaths(), func(p expr.Path) bool { return len(p) == 1 && p[0] == compile.RootChildren }) {
			held = append(held, all...)
		}
		for name := range childNamesIn(d.contentPaths()) {
			held = append(held, byName[name]...)
		}
		for _, of := range held {
			holders[of] = append(holders[of], d)
		}
	}
	return holders
}
