package apply

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Expire lets a Job that is made once, and that has completed, go this many seconds after it finished.
func (w *Writer) Expire(ctx context.Context, job *unstructured.Unstructured, seconds int64) (Outcome, error) {
	patch, err := json.Marshal(map[string]any{
		keyMetadata: map[string]any{"uid": job.GetUID()},
		"spec":      map[string]any{"ttlSecondsAfterFinished": seconds},
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("encoding a life time: %w", err)
	}
	answer, err := w.client.mergePatch(ctx, targetOf(job), v1alpha1.FieldManager, patch)
	if err != nil {
		return Outcome{}, fmt.Errorf("giving %s %q its life time: %w", job.GetKind(), job.GetName(), err)
	}
	w.cache.Wrote(job.GroupVersionKind(), answer)
	return Outcome{Action: Changed, Object: answer}, nil
}
