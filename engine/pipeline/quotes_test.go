package pipeline

import (
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// withConditions gives a child conditions, each as type, status, reason and message.
func withConditions(all ...[4]string) func(*unstructured.Unstructured) {
	return func(c *unstructured.Unstructured) {
		var list []any
		for _, one := range all {
			list = append(list, map[string]any{"type": one[0], "status": one[1], "reason": one[2], "message": one[3]})
		}
		c.Object["status"] = map[string]any{"conditions": list}
	}
}

func TestAChildsOwnWords(t *testing.T) {
	const quota = `pods "shop-7d-x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`
	deployment := `onReconcile: {deployments: [{image: a}]}`
	thing := `onReconcile: {resources: [{manifest: {apiVersion: a.example.com/v1, kind: Thing, spec: {a: b}}}]}`
	refused := [4]string{"ReplicaFailure", "True", "FailedCreate", quota}
	late := [4]string{"Progressing", "False", "ProgressDeadlineExceeded", `ReplicaSet "shop-7d" has timed out progressing.`}
	cases := map[string]struct {
		box    string
		change func(*unstructured.Unstructured)
		failed bool
		want   string
	}{
		"Pods that are refused": {
			deployment, withConditions(refused), false,
			`Deployment "shop": FailedCreate: pods "shop-7d-x" is forbidden: exceeded quota: q, requested: pods=1, limited: pods=1`,
		},
		"and what came of it": {
			deployment, withConditions(late, refused), true,
			`Deployment "shop": FailedCreate: pods "shop-7d-x" is forbidden: exceeded quota: q, requested: pods=1, limited: pods=1`,
		},
		"a deadline": {deployment, withConditions(late), true, `Deployment "shop": ProgressDeadlineExceeded: ReplicaSet "shop-7d" has timed out progressing.`},
		"of a former spec": {
			deployment, func(c *unstructured.Unstructured) {
				withConditions(refused)(c)
				c.SetGeneration(2)
				c.Object["status"].(map[string]any)["observedGeneration"] = int64(1)
			}, false, `Deployment "shop": Deployment generation is 2, but latest observed generation is 1`,
		},
		"of another kind": {thing, withConditions([4]string{"Stalled", "True", "Broken", "no disk"}), true, `Thing "shop": Broken: no disk`},
		"of another kind that is on its way": {
			thing, withConditions([4]string{"Ready", "False", "Waiting", "for a disk"}), false, `Thing "shop": Waiting: for a disk`,
		},
		"a Pod that finds no node": {
			`onReconcile: {resources: [{manifest: {apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: a}]}}}]}`,
			func(c *unstructured.Unstructured) {
				c.SetCreationTimestamp(metav1.Now())
				withConditions([4]string{"PodScheduled", "False", "Unschedulable", "0/3 nodes are available"})(c)
				c.Object["status"].(map[string]any)["phase"] = "Pending"
			}, false, `Pod "shop": Unschedulable: 0/3 nodes are available`,
		},
		"made of a Secret": {
			`onReconcile: {deployments: [{image: "{{ .children.secret.data.a }}"}], secrets: [{data: {a: b}}]}`, withConditions(refused), false,
			`Deployment "shop": FailedCreate (see its status.conditions[ReplicaFailure])`,
		},
		"made of a ConfigMap of others": {
			`{cross: [{name: db, apiVersion: v1, kind: ConfigMap, optional: true, selector: {name: x}}], onReconcile: {deployments: [{image: '{{ default "a" .cross.db.data.a }}'}]}}`,
			withConditions(refused), false, `Deployment "shop": FailedCreate (see its status.conditions[ReplicaFailure])`,
		},
		"of another kind, made of a ConfigMap of others": {
			`{cross: [{name: db, apiVersion: v1, kind: ConfigMap, optional: true, selector: {name: x}}],
			onReconcile: {resources: [{manifest: {apiVersion: a.example.com/v1, kind: Thing, spec: {a: '{{ default "a" .cross.db.data.a }}'}}}]}}`,
			withConditions([4]string{"Ready", "False", "Waiting", "for a"}), false, `Thing "shop": Waiting (see its status.conditions[Ready])`,
		},
		"made of a child that is": {
			`{cross: [{name: db, apiVersion: v1, kind: ConfigMap, optional: true, selector: {name: x}}], onReconcile: {
			configmaps: [{id: copy, name: copy, data: {a: '{{ default "a" .cross.db.data.a }}'}}], deployments: [{image: "{{ .children.copy.data.a }}"}]}}`,
			withConditions(refused), false, `Deployment "shop": FailedCreate (see its status.conditions[ReplicaFailure])`,
		},
		"that waits for a ConfigMap of others": {
			`{cross: [{name: db, apiVersion: v1, kind: ConfigMap, optional: true, selector: {name: x}}],
			onReconcile: {deployments: [{image: a, when: [{field: cross.db.data.a, operator: notExists}]}]}}`, withConditions(refused), false, `Deployment "shop": FailedCreate: pods `,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.kinds = func() []schema.GroupVersionKind {
				return append(p.allKinds(), compile.SecretKind, schema.GroupVersionKind{Group: "a.example.com", Version: "v1", Kind: "Thing"}, schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
			}
			plan := planOf(t, tc.box)
			r, _ := shownBy(g, p, plan, website(t, ""))
			p.edit("shop", tc.change)
			_, res := shownBy(g, p, plan, r.Stored)
			if tc.failed {
				g.Expect(res.Stalled.Reason).To(gomega.Equal(v1alpha1.ReasonChildFailed))
				g.Expect(res.Stalled.Message).To(gomega.HavePrefix(tc.want))
				return
			}
			g.Expect(res.Reconciling.Reason).To(gomega.Equal(v1alpha1.ReasonChildrenNotCurrent))
			g.Expect(res.Reconciling.Message).To(gomega.HavePrefix(tc.want))
		})
	}
}

func TestAFinalizerThatHoldsAChildIsNamed(t *testing.T) {
	const again = `ConfigMap "shop" is being deleted; it is made again when it is gone`
	for name, tc := range map[string]struct {
		finalizers []string
		want       string
	}{
		"none":                          {nil, again},
		"one":                           {[]string{"example.com/hold"}, again + `; the finalizer "example.com/hold" holds it`},
		"two":                           {[]string{"example.com/a", "example.com/b"}, again + `; the finalizers "example.com/a", "example.com/b" hold it`},
		"that of the garbage collector": {[]string{"foregroundDeletion"}, again},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, `onReconcile: {configmaps: [{}]}`)
			r, _ := shownBy(g, p, plan, website(t, ""))
			p.edit("shop", func(c *unstructured.Unstructured) {
				now := metav1.Now()
				c.SetDeletionTimestamp(&now)
				c.SetFinalizers(tc.finalizers)
			})
			_, res := shownBy(g, p, plan, r.Stored)
			g.Expect(res.Reconciling.Message).To(gomega.Equal(tc.want))
		})
	}
}
