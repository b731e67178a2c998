package declare

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/suggest"
)

// wanted says what a default is taken from.
type wanted struct {
	what   string // for messages
	ref    string // the field that names it by its id
	fields string // those that get the default
	fits   func(*Declaration) bool
}

// defaultSources finds the workload and the Service that defaults are taken from. Where there are several, or none, the
// author must say which.
func (c *compiler) defaultSources(live, all []*Declaration) {
	isWorkload := func(o *Declaration) bool { return o.Kind.IsWorkload() }
	isScalable := func(o *Declaration) bool { return o.Kind.IsScalable() }
	isService := func(o *Declaration) bool { return o.Kind.Key == "services" }
	for _, d := range all {
		if fields, scalable, needs := d.Kind.NeedsWorkload(d.takes.written, d.takes.overlay); needs {
			named, only := wanted{"Deployment, StatefulSet or DaemonSet", kinds.WorkloadRef, fields, isWorkload}, "workload"
			if scalable {
				named, only = wanted{"Deployment or StatefulSet", kinds.WorkloadRef, fields, isScalable}, "scalable workload"
			}
			d.takes.workload = c.source(d, live, all, named, only)
		}
		if fields, needs := d.Kind.NeedsService(d.takes.written, d.takes.overlay); needs {
			d.takes.service = c.source(d, live, all, wanted{"Service", kinds.ServiceRef, fields, isService}, "Service")
		}
	}
	for _, d := range all {
		d.UsesSecrets = d.UsesSecrets || d.takesSecrets()
	}
}

// source finds what a default is taken from: the declaration that is named, or else the only one that fits. only is what that is called.
func (c *compiler) source(d *Declaration, live, all []*Declaration, w wanted, only string) *Declaration {
	if d.takes.written[w.ref] != nil {
		return c.named(d, all, w)
	}
	w.what = only
	return c.onlyOne(d, slices.DeleteFunc(slices.Clone(live), func(o *Declaration) bool { return !w.fits(o) }), w)
}

// takesSecrets says whether a default may come from a Secret, through the declaration that it is taken from.
func (d *Declaration) takesSecrets() bool {
	s, w := d.takes.service, d.takes.workload
	return s != nil && (s.UsesSecrets || s.takesSecrets()) || w != nil && w.UsesSecrets
}

// named finds the declaration that a field of another one names by its id. One of the same group comes first; what
// onCreate and onReconcile declare is there for all.
func (c *compiler) named(d *Declaration, all []*Declaration, w wanted) *Declaration {
	id, _ := d.takes.written[w.ref].(string)
	at := field.NewPath(d.Where).Child(w.ref)
	var found *Declaration
	var ids []string
	for _, other := range all {
		if other.Phase != d.Phase && other.Phase != OnCreate && other.Phase != OnReconcile {
			continue
		}
		if other.ID == id && (found == nil || other.Phase == d.Phase) {
			found = other
		}
		if w.fits(other) {
			ids = append(ids, other.ID)
		}
	}
	switch {
	case found == nil && expr.IsTemplate(id):
		c.Fail(field.Invalid(at, id, "wanted the id of a declaration, which no template can give"))
	case found == nil:
		c.Fail(field.Invalid(at, id, "no declaration has this id"+suggest.DidYouMean(id, ids)))
	case !w.fits(found):
		c.Fail(field.Invalid(at, id, fmt.Sprintf("this is the id of a %s declared in %s; wanted that of a %s", found.Kinds, found.Where, w.what)))
	case found.Loop != nil && !sameLoop(d.Loop, found.Loop):
		c.Fail(field.Invalid(at, id, "this declaration stands for several objects: go over the same items with the same forEach"))
	default:
		return found
	}
	return nil
}

// onlyOne gives the only candidate.
func (c *compiler) onlyOne(d *Declaration, candidates []*Declaration, w wanted) *Declaration {
	var detail string
	switch {
	case len(candidates) == 1 && (candidates[0].Loop == nil || sameLoop(d.Loop, candidates[0].Loop)):
		return candidates[0]
	case len(candidates) == 1:
		detail = fmt.Sprintf("the %s %q stands for several objects: go over the same items with the same forEach, or set %s", w.what, candidates[0].ID, w.fields)
	case len(candidates) > 1:
		ids := make([]string, 0, len(candidates))
		for _, other := range candidates {
			ids = append(ids, fmt.Sprintf("%q", other.ID))
		}
		detail = fmt.Sprintf("this box declares several %ss (%s); set %s to the id of one, or set %s", w.what, strings.Join(ids, ", "), w.ref, w.fields)
	default:
		detail = fmt.Sprintf("this box declares no %s that %s could be taken from; set it", w.what, w.fields)
	}
	c.Fail(&field.Error{Type: field.ErrorTypeRequired, Field: d.Where, BadValue: "", Detail: detail})
	return nil
}
