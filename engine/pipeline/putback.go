package pipeline

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// maxPutBack is how many fields of a child an event names.
const maxPutBack = 5

// tellPutBack tells people of a child that others had changed, since they may wonder where the change went. What our own declaration
// changes is no such thing.
func (r *Run) tellPutBack(w *pending) {
	if w.outcome.Action != apply.Corrected || len(w.outcome.Drift) == 0 {
		return
	}
	child := w.outcome.Object
	r.Events = append(r.Events, stage.Event{
		Reason:  v1alpha1.ReasonPutBack,
		Message: fmt.Sprintf("put back %s/%s %s", child.GetKind(), r.ChildName(child), putBack(w.of.Declaration, w.outcome.Drift)),
		Related: corev1.ObjectReference{
			APIVersion: child.GetAPIVersion(), Kind: child.GetKind(), Namespace: child.GetNamespace(), Name: child.GetName(), UID: child.GetUID(),
		},
	})
}

// putBack says which fields were put back, from what to what, and who had set them: "spec.replicas 5→2, set by kubectl".
func putBack(d *declare.Declaration, all []apply.Correction) string {
	var b strings.Builder
	for i, c := range all {
		if i == maxPutBack {
			fmt.Fprintf(&b, ", and %d more", len(all)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Path)
		b.WriteString(change(d, c))
		if last := i+1 == len(all) || i+1 == maxPutBack; c.SetBy != "" && (last || all[i+1].SetBy != c.SetBy) {
			b.WriteString(", set by " + c.SetBy)
		}
	}
	return b.String()
}

// change gives the values of a field before and after, where people may read them. Annotations hold what anybody likes.
func change(d *declare.Declaration, c apply.Correction) string {
	if d.GVK == compile.SecretKind || drift.IsBelow(c.Path, "metadata.annotations") {
		return ""
	}
	from, to := valuesOf(d, c.Difference)
	from, to = value.Shorten(from), value.Shorten(to)
	switch {
	case from != "" && to != "":
		return " " + from + "→" + to
	case to != "":
		return " to " + to
	case from != "":
		return " from " + from
	default:
		return ""
	}
}
