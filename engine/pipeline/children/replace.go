package children

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// awaitsReplaced notes that a child was deleted to be made again.
func (in Instance) awaitsReplaced(c *Cycle, kind, name string) {
	c.applied.unmade[in.ID] = true
	c.Wait(in.ID, v1alpha1.ReasonChildTerminating, fmt.Sprintf("%s %q is deleted, to be made again with what is declared now", kind, name))
	c.Incomplete = c.Incomplete || in.Phase == declare.OnCreate
}

// maxFixedFields is how many fields a message names that can't be changed.
const maxFixedFields = 3

// explainImmutable says in place of a refusal which fields of a child can't be changed in place, from what to what, and what to do.
func explainImmutable(w *pending, err error) error {
	fixed, ok := errors.AsType[*apply.ImmutableError](err)
	if !ok {
		return err
	}
	var clauses []string
	for i, f := range fixed.Fields {
		if i == maxFixedFields {
			clauses = append(clauses, fmt.Sprintf("and %d more", len(fixed.Fields)-i))
			break
		}
		clauses = append(clauses, f.Path+" can't be changed"+w.in.Disclosure().FromTo(f))
	}
	kind := w.child.Object.GetKind()
	return &apply.RefusedError{Reason: v1alpha1.ReasonInvalidChild, Message: fmt.Sprintf("applying %s %q: %s; %s",
		kind, w.child.Object.GetName(), strings.Join(clauses, ", "), w.advice(fixed, kind))}
}

// advice says what to do about fields that can't be changed.
func (w *pending) advice(fixed *apply.ImmutableError, kind string) string {
	why := declare.Irreplaceable(w.in.GVK)
	switch {
	case fixed.Kept != nil:
		kept := fixed.Kept
		if !w.in.Quoted {
			kept = stage.WithoutValues(kept, w.in.Called(w.child.Object))
		}
		return "it is not replaced: " + kept.Error()
	case w.in.GVK.GroupKind() == declare.ClaimKind:
		return claimAdvice(fixed)
	case why != "":
		return why + ": give it another name"
	default:
		return fmt.Sprintf("set replace: true to delete the %s and make it again, or give it another name", kind)
	}
}

const (
	// claimSize is the one field of its spec that the API server changes: of a claim that is bound, to a larger one, where its StorageClass
	// allows that.
	claimSize = "spec.resources.requests.storage"
	// notExpandable is what the API server's admission says where the StorageClass of a claim does not let it grow.
	notExpandable = `persistentvolumeclaims %q is forbidden: only dynamically provisioned pvc can be resized and ` +
		`the storageclass that provisions the pvc must support resize`
)

// claimAdvice says what to do about fields of a volume claim that can't be changed, which depends on whether it has a volume.
func claimAdvice(fixed *apply.ImmutableError) string {
	ofSize := slices.ContainsFunc(fixed.Fields, func(f drift.Difference) bool { return f.Path == claimSize })
	phase, _, _ := unstructured.NestedString(fixed.Live.Object, fieldStatus, "phase")
	switch {
	case phase == string(corev1.ClaimPending) && ofSize:
		return "the claim is Pending and holds no data yet: delete it to have it made again, or wait until it is Bound to let it grow"
	case phase == string(corev1.ClaimPending):
		return "the claim is Pending and holds no data yet: delete it to have it made again, or give it another name"
	case phase == string(corev1.ClaimBound) && ofSize:
		return "a volume never gets smaller: declare at least the size that it has, or give the claim another name"
	default:
		return declare.ClaimHoldsData + ": give it another name"
	}
}

// cannotGrow says in place of a refusal what to do where a claim may not grow. The API server says only that the StorageClass must support
// it. Its message is still known where the error no longer shows it.
func (w *pending) cannotGrow(err error) error {
	name := w.child.Object.GetName()
	if w.in.GVK.GroupKind() != declare.ClaimKind || !apierrors.IsForbidden(err) || stage.MessageOf(err) != fmt.Sprintf(notExpandable, name) {
		return err
	}
	return stage.Redacted(err, fmt.Sprintf("applying %s %q: it can't grow: "+
		"set allowVolumeExpansion: true on its StorageClass, or give the claim another name", w.child.Object.GetKind(), name))
}
