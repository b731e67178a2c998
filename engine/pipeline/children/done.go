package children

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// DoneMarks reads which Jobs of a resource have completed, by declaration and hash, and what of its clean-up is finished. A mark that someone broke is no mark.
func DoneMarks(resource *unstructured.Unstructured) map[string]string {
	marks := map[string]string{}
	if err := json.Unmarshal([]byte(resource.GetAnnotations()[v1alpha1.AnnotationDone]), &marks); err != nil {
		return map[string]string{}
	}
	return marks
}

// Remember marks on the resource what a restart must not forget: what has finished, and that its children are to stay.
func (c *Cycle) Remember(ctx context.Context, finished map[string]string) error {
	if !maps.Equal(finished, DoneMarks(c.Stored)) {
		b, err := json.Marshal(finished)
		if err != nil {
			return fmt.Errorf("encoding marks: %w", err)
		}
		c.Marks.Annotate(v1alpha1.AnnotationDone, string(b))
	}
	if c.Orphans() {
		c.Marks.Annotate(v1alpha1.AnnotationOrphan, v1alpha1.True)
	}
	if !c.Marks.New() {
		return nil
	}
	return c.Mark(ctx)
}

// Orphans says whether the children are to stay (kubectl delete --cascade=orphan). The garbage collector takes its finalizer
// off as soon as it has done its part, so it is enough to have seen it once.
func (c *Cycle) Orphans() bool {
	return c.Orphan || slices.Contains(c.Stored.GetFinalizers(), metav1.FinalizerOrphanDependents) ||
		c.Stored.GetAnnotations()[v1alpha1.AnnotationOrphan] == v1alpha1.True
}
