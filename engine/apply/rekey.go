package apply

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Somebody may change the key of a list's entry, such as the number of a Service's port. For server-side apply that is a new
// entry of theirs, and ours is added beside it. Where both can't exist together (two ports of one name), the API server refuses the apply.
// An apply can't remove what others own, so a merge patch gives the entry its key back. The fields of the patch's manager are then moved to
// ours: otherwise that manager would keep the entry alive after the declaration drops it.

// rekeyAndApply gives entries their keys back and applies once more. refusal is what the API server said of the first try,
// and is given back where no entry has lost its key.
func (w *Writer) rekeyAndApply(ctx context.Context, obj, live *unstructured.Unstructured, refusal error) (*unstructured.Unstructured, error) {
	if !apierrors.IsInvalid(refusal) {
		return nil, refusal
	}
	patch := w.comparer.Rekeyed(obj, live)
	if len(patch) == 0 {
		return nil, refusal
	}
	patch[keyMetadata] = map[string]any{"uid": string(live.GetUID()), keyVersion: live.GetResourceVersion()}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	restored, err := w.client.mergePatch(ctx, targetOf(live), v1alpha1.FieldManagerRepair, body)
	if err != nil || w.client.isDry() {
		return restored, err // what is not stored can't be applied to
	}
	if err := w.client.unite(ctx, restored); err != nil {
		return nil, err
	}
	answer, _, err := w.client.apply(ctx, obj, true)
	return answer, err
}

// unite moves the fields of the repairing manager to ours.
func (c *Client) unite(ctx context.Context, live *unstructured.Unstructured) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(v1alpha1.FieldManagerRepair), v1alpha1.FieldManager)
	if err != nil || patch == nil {
		return err
	}
	_, err = c.jsonPatch(ctx, targetOf(live), v1alpha1.FieldManager, patch)
	return err
}
