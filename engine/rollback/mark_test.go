package rollback

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func marked(m *Mark) *unstructured.Unstructured {
	resource := &unstructured.Unstructured{Object: map[string]any{}}
	resource.SetGeneration(m.Generation)
	return resource
}

func TestMarkStandsUntilSomethingChanges(t *testing.T) {
	g := gomega.NewWithT(t)
	m := &Mark{Generation: 4, Revision: "a", ReconcileAt: "x", Snapshot: "s"}
	resource := marked(m)
	resource.SetAnnotations(map[string]string{v1alpha1.AnnotationReconcileAt: "x"})
	g.Expect(m.Stands("a", resource)).To(gomega.BeTrue())
	g.Expect(m.Stands("b", resource)).To(gomega.BeFalse())
	resource.SetAnnotations(nil)
	g.Expect(m.Stands("a", resource)).To(gomega.BeFalse())
	resource.SetAnnotations(map[string]string{v1alpha1.AnnotationReconcileAt: "x"})
	resource.SetGeneration(5)
	g.Expect(m.Stands("a", resource)).To(gomega.BeFalse())
	g.Expect((*Mark)(nil).Stands("a", resource)).To(gomega.BeFalse(), "there is no mark")
}

func TestRetriesBecomeRare(t *testing.T) {
	g := gomega.NewWithT(t)
	since := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for name, tc := range map[string]struct {
		class  stage.Class
		count  int
		resync time.Duration
		want   time.Duration
	}{
		"refused, first":                  {stage.Refused, 1, time.Minute, time.Minute},
		"refused, second":                 {stage.Refused, 2, time.Minute, 2 * time.Minute},
		"permanent, fourth":               {stage.Permanent, 4, time.Minute, 8 * time.Minute},
		"refused, at most":                {stage.Refused, 1000, time.Minute, maxRetryDelay},
		"refused, a longer resync":        {stage.Refused, 1000, time.Hour, time.Hour},
		"transient, first":                {stage.Transient, 1, 24 * time.Hour, 10 * time.Second},
		"transient, third":                {stage.Transient, 3, 24 * time.Hour, 40 * time.Second},
		"transient, at most":              {stage.Transient, 1000, 24 * time.Hour, maxRetryDelay},
		"transient, a shorter resync":     {stage.Transient, 1, time.Second, time.Second},
		"permission, what may be granted": {stage.Permission, 1, time.Hour, 10 * time.Second},
		"panic":                           {stage.Panic, 2, time.Hour, 20 * time.Second},
	} {
		mark := &Mark{Since: since, Count: tc.count, Class: tc.class}
		g.Expect(mark.Retry(tc.resync).Sub(since.Time)).To(gomega.Equal(tc.want), name)
	}
	g.Expect((&Mark{Since: since, Held: true}).Retry(time.Minute)).To(gomega.BeZero())

	mark := &Mark{Since: since, Count: 1, Class: stage.Refused}
	g.Expect(mark.MustRetry(time.Minute, since.Add(59*time.Second))).To(gomega.BeFalse())
	g.Expect(mark.MustRetry(time.Minute, since.Add(time.Minute))).To(gomega.BeTrue())
	g.Expect(mark.MustRetry(time.Minute, since.Add(-time.Hour))).To(gomega.BeTrue(), "the clock was set back")
	g.Expect((&Mark{Since: since, Held: true}).MustRetry(time.Minute, since.Add(-time.Hour))).To(gomega.BeFalse())
}

func TestBrokenMarksAreIgnored(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `"x"`, "{}", `{"snapshot": "a"}`, `{"generation": "4", "snapshot": "a", "revision": "b"}`} {
		resource := &unstructured.Unstructured{Object: map[string]any{}}
		resource.SetAnnotations(map[string]string{v1alpha1.AnnotationRolledBack: text})
		gomega.NewWithT(t).Expect(MarkOf(resource)).To(gomega.BeNil(), text)
		gomega.NewWithT(t).Expect(MarkOf(resource).Why()).To(gomega.BeEmpty())
	}
}

func TestWordsOfAnotherRevision(t *testing.T) {
	g := gomega.NewWithT(t)
	m := &Mark{Generation: 3, ToGeneration: 3, Revision: "b", ToRevision: "a", Step: "dryRun"}
	g.Expect(m.String()).To(gomega.Equal("generation 3 under box revision b failed in dryRun; the children are those of generation 3 under a"))
	m.OwnGroups = true
	g.Expect(m.String()).To(gomega.Equal("generation 3 under box revision b failed in dryRun; onRollback has run, with generation 3 under a as .previous"))
}
