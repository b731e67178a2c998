package pipeline

import (
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestWhatReadySaysOfSwitchesThatAreNotUnderstood(t *testing.T) {
	const (
		paused  = `; annotation orkestra.orkspace.io/paused is "yes" and has no effect: only "true" has one`
		cleanup = `; annotation orkestra.orkspace.io/skip-cleanup is "1" and has no effect: only "true" has one`
	)
	for name, tc := range map[string]struct {
		status      metav1.ConditionStatus
		message     string
		annotations map[string]string
		want        string
	}{
		"nothing where there are none":             {metav1.ConditionTrue, "done", nil, "done"},
		"which is not understood":                  {metav1.ConditionTrue, "done", map[string]string{v1alpha1.AnnotationPaused: "yes"}, "done" + paused},
		"the same once, however often":             {metav1.ConditionTrue, "done" + paused, map[string]string{v1alpha1.AnnotationPaused: "yes"}, "done" + paused},
		"no more what is understood now":           {metav1.ConditionTrue, "done" + paused, map[string]string{v1alpha1.AnnotationPaused: v1alpha1.True}, "done"},
		"the one that still is not":                {metav1.ConditionTrue, "done" + paused, map[string]string{v1alpha1.AnnotationPaused: v1alpha1.True, v1alpha1.AnnotationSkipCleanup: "1"}, "done" + cleanup},
		"nothing where the resource is not Ready":  {metav1.ConditionFalse, "no", map[string]string{v1alpha1.AnnotationPaused: "yes"}, "no"},
		"nothing that speaks of a child's message": {metav1.ConditionTrue, "the annotation x is odd", nil, "the annotation x is odd"},
	} {
		t.Run(name, func(t *testing.T) {
			ready := metav1.Condition{Status: tc.status, Message: tc.message}
			ShowMisread(&ready, tc.annotations)
			gomega.NewWithT(t).Expect(ready.Message).To(gomega.Equal(tc.want))
		})
	}
}
