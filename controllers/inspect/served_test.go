package inspect

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// TestWhyNobodyHasLookedAtAResource: its box says so, unless that runs, or has taken it up.
func TestWhyNobodyHasLookedAtAResource(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, takenBy string
		noPlan          bool
		want, message   string
	}{
		"a box that may not":           {v1alpha1.ReasonForbidden, "", false, reasonNotRunning, `OperatorBox "shop" is not ready: Forbidden: it may not`},
		"a box that does not compile":  {v1alpha1.ReasonCompileFailed, "", true, reasonNotRunning, `OperatorBox "shop" does not run: CompileFailed: it may not`},
		"a box that fails elsewhere":   {v1alpha1.ReasonDegraded, "", false, reasonUnseen, "no manager has looked at it yet"},
		"a box that has taken it up":   {v1alpha1.ReasonStuck, "shop", false, reasonUnseen, "no manager has looked at it yet"},
		"a box after another one":      {v1alpha1.ReasonForbidden, "other", false, reasonNotRunning, `OperatorBox "shop" is not ready: Forbidden: it may not`},
		"nothing runs that took it up": {v1alpha1.ReasonCompileFailed, "shop", true, reasonNotRunning, `OperatorBox "shop" does not run: CompileFailed: it may not`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			live := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}}}
			if tc.takenBy != "" {
				live.SetAnnotations(map[string]string{v1alpha1.AnnotationManagedBy: tc.takenBy})
			}
			box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
			res := resourceOf(live, box.Name)
			res.notServed(box, &metav1.Condition{Reason: tc.reason, Message: "it may not"}, tc.noPlan)
			g.Expect([]string{res.Reason, res.Message}).To(Equal([]string{tc.want, tc.message}))
		})
	}
}
