package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("A child that reads itself", func() {
	It("is slowed down and named while it never rests, and heals at an edit", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
onReconcile:
  configmaps:
  - {id: c, name: c, when: [{field: spec.mode, equals: count}], data: {count: '{{ default "0" .children.c.data.count | atoi | add 1 }}'}}
  - {id: r, name: r, data: {kept: '{{ default "first" .children.r.data.kept }}'}}
`))
		w.website(ctx, "web", `{mode: count}`)
		w.settled(ctx, "web")
		w.patch(ctx, w.get(ctx, Default, "web"), `{"metadata":{"annotations":{"look":"now"}}}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRetrying,
			`ConfigMap "c" gets new content in every cycle, so that cycles are slowed down: do its templates read what they write?`)
		w.website(ctx, "web", `{mode: rest}`)
		w.settled(ctx, "web")
		w.hasData(ctx, "r", map[string]string{"kept": "first"})
		nothingSent(ctx, w, "web")
	})

	It("is slowed down as well where it gets another name each time", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
onReconcile:
  configmaps:
  - {id: c, name: '{{ if hasKey (default dict .children.configmaps) "one" }}two{{ else }}one{{ end }}'}
`))
		w.website(ctx, "web", "")
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRetrying,
			"is deleted, as others were, in every cycle, so that cycles are slowed down: do names, gates or loops read what they make?")
	})
})
