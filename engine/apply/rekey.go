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

// Somebody may change the key of a list's entry, such as the number of a Service's port. To server-side apply that is an
// entry of theirs; ours is made anew beside it, and where the two can't stand beside each other, the API server refuses
// both. An apply can't take away what others own, so the entry gets its key back by a patch, whose manager is at once
// united with ours: otherwise it would hold the entry after the declaration drops it.

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

// unite makes the fields of the repairing manager our own.
func (c *Client) unite(ctx context.Context, live *unstructured.Unstructured) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(v1alpha1.FieldManagerRepair), v1alpha1.FieldManager)
	if err != nil || patch == nil {
		return err
	}
	_, err = c.jsonPatch(ctx, targetOf(live), v1alpha1.FieldManager, patch)
	return err
}
