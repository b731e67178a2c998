// Package refusal says of a child that the API server refuses, in the words of those who declare it, what is wrong, and what to do about it.
package refusal

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

// maxFixedFields is how many fields a message names that can't be changed.
const maxFixedFields = 3

// Explain says in place of what the API server answers to the object of a declaration what is wrong with it. Where the object may hold what a Secret
// holds, no value is quoted.
func Explain(d *declare.Declaration, obj *unstructured.Unstructured, err error) error {
	err = explainImmutable(d, obj, err)
	if err == nil {
		return nil
	}
	if !d.Quoted {
		// The API server's message may quote a value that came from a Secret.
		err = stage.WithoutValues(err, d.Called(obj))
	}
	return cannotGrow(obj, err)
}

// explainImmutable says which fields of a child can't be changed in place, from what to what, and what to do.
func explainImmutable(d *declare.Declaration, obj *unstructured.Unstructured, err error) error {
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
		clauses = append(clauses, f.Path+" can't be changed"+d.Disclosure().FromTo(f))
	}
	return &apply.RefusedError{Reason: v1alpha1.ReasonInvalidChild, Message: fmt.Sprintf("applying %s %q: %s; %s",
		obj.GetKind(), obj.GetName(), strings.Join(clauses, ", "), advice(d, obj, fixed))}
}

// advice says what to do about fields that can't be changed.
func advice(d *declare.Declaration, obj *unstructured.Unstructured, fixed *apply.ImmutableError) string {
	why := declare.Irreplaceable(obj.GroupVersionKind())
	switch {
	case fixed.Kept != nil:
		kept := fixed.Kept
		if !d.Quoted {
			kept = stage.WithoutValues(kept, d.Called(obj))
		}
		return "it is not replaced: " + kept.Error()
	case isClaim(obj):
		return claimAdvice(fixed)
	case why != "":
		return why + ": give it another name"
	default:
		return fmt.Sprintf("set replace: true to delete the %s and make it again, or give it another name", obj.GetKind())
	}
}

func isClaim(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().GroupKind() == declare.ClaimKind
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
	phase, _, _ := unstructured.NestedString(fixed.Live.Object, "status", "phase")
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
func cannotGrow(obj *unstructured.Unstructured, err error) error {
	name := obj.GetName()
	if !isClaim(obj) || !apierrors.IsForbidden(err) || stage.MessageOf(err) != fmt.Sprintf(notExpandable, name) {
		return err
	}
	return stage.Redacted(err, fmt.Sprintf("applying %s %q: it can't grow: "+
		"set allowVolumeExpansion: true on its StorageClass, or give the claim another name", obj.GetKind(), name))
}
