package engine

import (
	"cmp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
)

// wentWell is the event of a resource that has become Ready.
func (b *box) wentWell(before metav1.Condition, result status.Result) (reason, note string) {
	reason, note = v1alpha1.ReasonReconciled, "everything that box "+b.name+" declares is so"
	if before.Reason == v1alpha1.ReasonReconcileError {
		reason = v1alpha1.ReasonRecovered
	}
	if result.Reconciling.Status == metav1.ConditionTrue {
		note = "reconciled by box " + b.name + "; " + result.Reconciling.Message
	}
	return reason, strings.ToValidUTF8(note[:min(len(note), maxNote)], "")
}

// readyBefore is Ready before this cycle. Where no status shows it, it is what this process found before; and at its first look,
// what CRDHealth and the marks of the resource tell of the process that was there before.
func (b *box) readyBefore(run *pipeline.Run, st *state) metav1.Condition {
	before := st.readyBefore(run.Stored)
	known := b.known.Load()
	if before.Type != "" || !st.looked.IsZero() || known == nil {
		return before
	}
	key := keyOf(run.Stored)
	for _, f := range known.Failing {
		if f.Namespace == key.Namespace && f.Name == key.Name {
			message := strings.TrimPrefix(f.Step+": "+f.Message, ": ")
			return status.NotReady(cmp.Or(f.Reason, v1alpha1.ReasonReconcileError), message)
		}
	}
	if since := run.Stored.GetAnnotations()[v1alpha1.AnnotationActiveSince]; since != "" && since != run.Now.UTC().Format(time.RFC3339) {
		return status.Succeeded()
	}
	return before
}
