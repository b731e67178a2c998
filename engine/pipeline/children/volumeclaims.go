package children

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

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
