package validation

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/input"
)

// inCluster are the boxes of the cluster, which are asked for once.
type inCluster struct {
	asked bool
	boxes []v1alpha1.OperatorBox // the oldest first
	err   error
}

// clusterBoxes gives the boxes of the cluster. Where it has no such kind, there are none.
func (v *Validator) clusterBoxes(ctx context.Context) ([]v1alpha1.OperatorBox, error) {
	if v.cluster.asked || v.ClusterBoxes == nil {
		return v.cluster.boxes, v.cluster.err
	}
	v.cluster.asked = true
	v.cluster.boxes, v.cluster.err = v.ClusterBoxes(ctx)
	if meta.IsNoMatchError(v.cluster.err) {
		v.cluster.err = nil
	}
	slices.SortFunc(v.cluster.boxes, func(a, b v1alpha1.OperatorBox) int { return crds.Older(&a, &b) })
	return v.cluster.boxes, v.cluster.err
}

// claimed says of a box that another one of the cluster has its CRD, which the manager would have it wait for.
func (v *Validator) claimed(ctx context.Context, doc input.Document, box *v1alpha1.OperatorBox, r *Result) {
	crd := crds.NameOf(box)
	if crd == "" {
		return // what is wrong there is told already
	}
	boxes, err := v.clusterBoxes(ctx)
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("it is not known whether another box of the cluster serves %s: %v", crd, err))
		return
	}
	own := &v1alpha1.OperatorBox{}
	if at := slices.IndexFunc(boxes, func(b v1alpha1.OperatorBox) bool { return b.Name == box.Name }); at >= 0 {
		own = &boxes[at]
	}
	for i := range boxes {
		if other := &boxes[i]; v.keeps(other, crd) && !isShared(box, other) && !isBefore(own, other, crd) {
			path, _ := served(doc.Content)
			if crds.OthersName(box) != "" {
				path = "spec.crd.kind"
			}
			r.add(doc.Mistake(path, fmt.Sprintf("OperatorBox %q of the cluster serves %s already; only one box can: delete that one, or name another CRD", other.Name, crd)))
			return
		}
	}
}

// keeps says whether a box of the cluster serves a CRD, and goes on with that once the documents are applied. What a document says of it counts
// instead: it is compared with the other documents.
func (v *Validator) keeps(other *v1alpha1.OperatorBox, crd string) bool {
	if crds.NameOf(other) != crd || other.DeletionTimestamp != nil {
		return false
	}
	return !slices.ContainsFunc(v.Docs, func(doc input.Document) bool { return doc.Kind() == kindBox && doc.Name() == other.Name })
}

// isShared says whether two boxes may serve the same kind, as those over objects of others do.
func isShared(a, b *v1alpha1.OperatorBox) bool {
	return crds.OthersName(a) != "" && crds.OthersName(b) != ""
}

// isBefore says whether a box that is in the cluster already has the CRD, and the other waits for it.
func isBefore(own, other *v1alpha1.OperatorBox, crd string) bool {
	if own.Name == "" || crds.NameOf(own) != crd {
		return false
	}
	if isWaiting(own) != isWaiting(other) {
		return isWaiting(other)
	}
	return crds.Older(own, other) < 0
}

// isWaiting says whether a box has been told that another one has its CRD.
func isWaiting(box *v1alpha1.OperatorBox) bool {
	ready := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason == v1alpha1.ReasonCRDClaimed
}
