package pipeline

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func comparer() *drift.Comparer { return drift.NewComparer(nil) }

// rows gives what an overview says, one line for each declaration.
func (p *ports) rows(t *testing.T, box string, stored *unstructured.Unstructured, hidden map[schema.GroupVersionKind]overview.Hidden) []string {
	t.Helper()
	plan, all := planOf(t, box), p.ports()
	all.Applier, all.Marker, all.Caller = nil, nil, nil // an overview only reads
	var rows []string
	for _, s := range plan.Overview(t.Context(), plan.NewRun(stored, now, all), hidden, comparer) {
		rows = append(rows, fmt.Sprintf("%s %s %s: %s", s.Declaration, s.Name, s.State, s.Reason))
	}
	return rows
}

func TestOverviewSaysHowEachDeclarationStands(t *testing.T) {
	ready := func(obj *unstructured.Unstructured) {
		obj.Object["status"] = map[string]any{"loadBalancer": map[string]any{}}
	}
	complete := func(kind string) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			obj.Object["status"] = map[string]any{"conditions": []any{map[string]any{
				"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}}}
		}
	}
	for name, tc := range map[string]struct {
		box, spec string
		mark      map[string]string // annotations of the resource
		world     func(*ports)
		hidden    map[schema.GroupVersionKind]overview.Hidden
		want      []string
	}{
		"a child that is well, and one that is missing": {
			box:   `onReconcile: {configmaps: [{id: a, name: x}], serviceaccounts: [{name: b}]}`,
			world: func(p *ports) { p.put(configMapKind, "x", "a", ready) },
			want:  []string{`serviceaccounts/b  Missing: nothing keeps it from being made, and there is no ServiceAccount "b"`, "a x Ready: "},
		},
		"a gate that waits for a child": {
			box:  `onReconcile: {configmaps: [{name: a, when: [{field: children.deployment.status.readyReplicas, greaterThanOrEqual: 1}]}], deployments: [{image: a}]}`,
			want: []string{`configmaps/a  Waiting: children.deployment.status.readyReplicas: wanted at least 1, actual absent`, `deployments  Missing: nothing keeps it from being made, and there is no Deployment "shop"`},
		},
		"a gate that the resource does not open": {
			box: `onReconcile: {configmaps: [{name: a, when: [{field: spec.tls, equals: true}]}]}`, spec: `{tls: false}`,
			want: []string{`configmaps/a  Off: spec.tls: wanted equals true, actual false`},
		},
		"a child that a closed gate leaves": {
			box: `onReconcile: {configmaps: [{id: a, whenFalse: Keep, when: [{field: spec.tls, equals: true}]}]}`, spec: `{tls: false}`,
			world: func(p *ports) { p.put(configMapKind, "shop", "a", ready) },
			want:  []string{`a shop Ready: spec.tls: wanted equals true, actual false; it is left as it is`},
		},
		"a child that a choice deletes": {
			box: `onReconcile: {configmaps: [{id: a, when: [{field: spec.tls, equals: true}]}]}`, spec: `{tls: false}`,
			world: func(p *ports) { p.put(configMapKind, "shop", "a", ready) },
			want:  []string{`a shop Ready: spec.tls: wanted equals true, actual false; it is to be deleted`},
		},
		"a child that a wait deletes": {
			box:   `onReconcile: {deployments: [{image: a}], configmaps: [{id: a, whenFalse: Delete, when: [{field: children.deployment.status.readyReplicas, greaterThan: 0}]}]}`,
			world: func(p *ports) { p.put(configMapKind, "shop", "a", ready) },
			want: []string{`a shop Ready: children.deployment.status.readyReplicas: wanted more than 0, actual absent; it is to be deleted`,
				`deployments  Missing: nothing keeps it from being made, and there is no Deployment "shop"`},
		},
		"a child whose gate is not known": {
			box:   `{external: [{name: quota, url: "https://a.example.com"}], onReconcile: {configmaps: [{id: a, when: [{field: external.quota.limit, exists: true}]}]}}`,
			world: func(p *ports) { p.put(configMapKind, "shop", "a", ready) },
			want:  []string{`a shop Ready: depends on external.quota, and no calls are made here`},
		},
		"a template that reads a child that is not there": {
			box:  `onReconcile: {configmaps: [{name: "{{ .children.serviceaccount.metadata.name }}-x"}], serviceaccounts: [{}]}`,
			want: []string{`serviceaccounts  Missing: nothing keeps it from being made, and there is no ServiceAccount "shop"`, `configmaps[0]  Waiting: children.serviceaccount.metadata.name is not there yet`},
		},
		"a name that can't be rendered": {
			box:  `onReconcile: {configmaps: [{name: "{{ .spec.host }}"}]}`,
			want: []string{`configmaps[0]  Error: name: evaluating {{ .spec.host }}: spec.host: no such field in this resource; where it may be absent, use default or if`},
		},
		"items": {
			box: `onReconcile: {configmaps: [{id: each, name: "{{ .item }}", forEach: {field: spec.tags}}]}`, spec: `{tags: [a, b]}`,
			world: func(p *ports) { p.put(configMapKind, "b", "each#b", ready) },
			want:  []string{`each#a  Missing: nothing keeps it from being made, and there is no ConfigMap "a"`, `each#b b Ready: `},
		},
		"children of items that are gone": {
			box: `onReconcile: {configmaps: [{id: each, name: "{{ .item }}", forEach: {field: spec.tags}}]}`, spec: `{tags: [b]}`,
			world: func(p *ports) {
				for _, item := range []string{"a", "b"} {
					p.put(configMapKind, item, "each#"+item, ready)
				}
				p.put(configMapKind, "c", "each#c", func(c *unstructured.Unstructured) {
					c.SetDeletionTimestamp(&metav1.Time{Time: now})
					c.SetFinalizers([]string{"example.com/hold"})
				})
			},
			want: []string{`each#b b Ready: `, `each#a a Undeclared: no item of spec.tags stands for it`, `each#c c Terminating: the finalizer "example.com/hold" holds it`},
		},
		"a child of an item that is gone, of a declaration that has no id": {
			box: `onReconcile: {configmaps: [{name: "{{ .item }}", forEach: {field: spec.tags}}]}`, spec: `{tags: [b]}`,
			world: func(p *ports) { p.put(configMapKind, "a", "configmaps/{{ .item }}#a", ready) },
			want: []string{`configmaps/b  Missing: nothing keeps it from being made, and there is no ConfigMap "b"`,
				`configmaps[0]#a a Undeclared: no item of spec.tags stands for it`},
		},
		"no items": {
			box: `onReconcile: {configmaps: [{name: "{{ .item }}", forEach: {field: spec.tags}}]}`, spec: `{tags: []}`,
			want: []string{`configmaps[0]  Off: forEach: spec.tags has no items`},
		},
		"a Job that failed, and one that is done": {
			box: `onReconcile: {jobs: [{id: a, name: x, image: i}, {id: b, image: i}]}`, mark: map[string]string{v1alpha1.AnnotationDone: `{"b": "hash shop"}`},
			world: func(p *ports) { p.put(jobKind, "x", "a", complete("Failed")) },
			want:  []string{`a x Failed: BackoffLimitExceeded: Job has reached the specified backoff limit`, `b  Completed: `},
		},
		"what is made once": {
			box: `onCreate: {configmaps: [{name: a, once: true}]}`, mark: map[string]string{v1alpha1.AnnotationActiveSince: "2026-01-01T00:00:00Z"},
			want: []string{`configmaps/a  Completed: made once, before the resource became active`},
		},
		"an absent source": {
			box:  `{cross: [{name: db, apiVersion: v1, kind: ConfigMap, selector: {name: db}}], onReconcile: {serviceaccounts: [{}], configmaps: [{data: {a: "{{ .cross.db.data.a }}"}}]}}`,
			want: []string{`serviceaccounts  Missing: nothing keeps it from being made, and there is no ServiceAccount "shop"`, `configmaps  Waiting: cross db: ConfigMap "team-a/db" does not exist`},
		},
		"a source whose kind may not be read": {
			box:   `{cross: [{name: db, apiVersion: v1, kind: ConfigMap, selector: {name: db}}], onReconcile: {serviceaccounts: [{}], configmaps: [{data: {a: "{{ .cross.db.data.a }}"}}]}}`,
			world: func(p *ports) { p.missing = []string{"ConfigMap"} },
			want:  []string{`serviceaccounts  Missing: nothing keeps it from being made, and there is no ServiceAccount "shop"`, `configmaps  Unknown: cross: db: no matches for kind "ConfigMap" in version "v1"`},
		},
		"the answer of a call": {
			box:  `{external: [{name: quota, url: "https://a.example.com", onError: Continue}], onReconcile: {configmaps: [{when: [{field: external.quota.limit, exists: true}]}]}}`,
			want: []string{`configmaps  Unknown: depends on external.quota, and no calls are made here`},
		},
		"the answer of a call that is read twice": {
			box: `{external: [{name: quota, url: "https://a.example.com", onError: Continue}],
				onReconcile: {configmaps: [{data: {a: "{{ .external.quota.called }}"}, when: [{field: external.quota.called, equals: true}]}]}}`,
			want: []string{`configmaps  Unknown: depends on external.quota, and no calls are made here`},
		},
		"a kind whose objects may not be read": {
			box:    `onReconcile: {configmaps: [{name: a, when: [{field: children.deployment.status.readyReplicas, greaterThanOrEqual: 1}]}], deployments: [{image: a}]}`,
			hidden: map[schema.GroupVersionKind]overview.Hidden{deploymentKind: {Why: "no right"}},
			want:   []string{`configmaps/a  Unknown: depends on children of kind Deployment: no right`, `deployments  Unknown: no right`},
		},
		"a kind whose objects may not be read in another namespace": {
			box:    `onReconcile: {configmaps: [{id: a, name: x}, {id: b, name: other}, {id: far, name: z, namespace: far}, {id: late, name: w, when: [{field: children.far.data.a, exists: true}]}]}`,
			world:  func(p *ports) { p.put(configMapKind, "x", "a", ready) },
			hidden: map[schema.GroupVersionKind]overview.Hidden{configMapKind: {Why: "no right", In: []string{"far"}}},
			want: []string{"a x Ready: ", `b  Missing: nothing keeps it from being made, and there is no ConfigMap "other"`, "far  Unknown: no right",
				"late  Unknown: depends on children of kind ConfigMap: no right"},
		},
		"children of no declaration": {
			box: `onReconcile: {serviceaccounts: [{}]}`,
			world: func(p *ports) {
				p.put(configMapKind, "a", "gone", ready)
				p.put(configMapKind, "b", "gone", func(c *unstructured.Unstructured) {
					c.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "u1", v1alpha1.LabelBox: "former"})
				})
			},
			want: []string{`serviceaccounts  Missing: nothing keeps it from being made, and there is no ServiceAccount "shop"`,
				`gone a Undeclared: no declaration stands for it`, `gone b Undeclared: made by the box "former", and kept`},
		},
		"a spec that can't be normalized": {
			box: `{normalize: {spec: {host: "{{ .spec.image }}"}}, onReconcile: {serviceaccounts: [{}]}}`,
			want: []string{`serviceaccounts  Unknown: normalize: spec.host: evaluating {{ .spec.image }}: ` +
				`spec.image: no such field in this resource; where it may be absent, use default or if`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, stored := newPorts(), website(t, tc.spec)
			stored.SetAnnotations(tc.mark)
			if tc.world != nil {
				tc.world(p)
			}
			gomega.NewWithT(t).Expect(p.rows(t, tc.box, stored, tc.hidden)).To(gomega.Equal(tc.want))
		})
	}
}

// What could not be read may be there: nobody knows what a gate that reads it says, also where the source is optional.
func TestOverviewOfWhatCouldNotBeRead(t *testing.T) {
	for name, selector := range map[string]string{"an object": "name: db", "objects": "matchLabels: {a: b}"} {
		t.Run(name, func(t *testing.T) {
			plan := planOf(t, `{cross: [{name: db, apiVersion: v1, kind: ConfigMap, optional: true, selector: {`+selector+`}}],
				onReconcile: {configmaps: [{when: [{field: cross.db, exists: true}]}]}}`)
			p := newPorts().ports()
			p.Unread = "could not be read: no right"
			all := plan.Overview(t.Context(), plan.NewRun(website(t, ""), now, p), nil, comparer)
			gomega.NewWithT(t).Expect(all).To(gomega.ConsistOf(gomega.And(
				gomega.HaveField("State", overview.StateUnknown), gomega.HaveField("Reason", "depends on cross.db, which could not be read: no right"))))
		})
	}
}

// What is being deleted gets nothing any more: only what is left counts.
func TestOverviewOfWhatIsBeingDeleted(t *testing.T) {
	g := gomega.NewWithT(t)
	p, stored, gone := newPorts(), website(t, ""), metav1.NewTime(now.Add(-time.Minute))
	stored.SetDeletionTimestamp(&gone)
	p.put(configMapKind, "x", "a", func(c *unstructured.Unstructured) {
		c.SetDeletionTimestamp(&gone)
		c.SetFinalizers([]string{"example.com/hold"})
	})
	g.Expect(p.rows(t, `onReconcile: {configmaps: [{id: a, name: x}], serviceaccounts: [{}]}`, stored, nil)).To(gomega.Equal(
		[]string{`a x Terminating: the finalizer "example.com/hold" holds it`}))
}

// The first condition that does not hold is told with what was wanted and what is.
func TestOverviewTellsTheGate(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `onReconcile: {configmaps: [{when: [{field: spec.replicas, greaterThan: 3}]}], serviceaccounts: [{}]}`)
	all := plan.Overview(t.Context(), plan.NewRun(website(t, `{replicas: 2}`), now, newPorts().ports()), nil, comparer)
	at := slices.IndexFunc(all, func(s overview.Status) bool { return s.Kind == configMapKind })
	g.Expect(all[at].Gate).To(gomega.Equal(overview.Gate{Known: true, Field: "spec.replicas", Wanted: "more than 3", Actual: "2"}))
	g.Expect(all[at].Path).To(gomega.Equal("spec.onReconcile.configmaps[0]"))
	g.Expect(all[at].Group).To(gomega.Equal(stage.StepOnReconcile))
	g.Expect(all[1-at].Gate).To(gomega.Equal(overview.Gate{Open: true, Known: true}))
}

// A patch is shown as a declaration, by what its target is: whether that has what the patch sets, and has it of the patch.
func TestOverviewSaysHowPatchesStand(t *testing.T) {
	const set = `target: {apiVersion: v1, kind: ConfigMap, name: theirs}, patch: {data: {a: "{{ .spec.host }}"}}`
	managed := func(value, by string) *unstructured.Unstructured {
		obj := other(configMapKind, "team-a", "theirs", map[string]any{"data": map[string]any{"a": value}})
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: by, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{"f:a":{}}}`)}}})
		return obj
	}
	ours := v1alpha1.PatchManager(website(t, "").GetUID(), "x")
	going := managed("h", ours)
	going.SetDeletionTimestamp(&metav1.Time{Time: now})
	const withheldFrom = "the account"
	for name, tc := range map[string]struct {
		patch  string
		target *unstructured.Unstructured
		unread string
		want   string
	}{
		"one that stands":            {`{id: x, ` + set + `}`, managed("h", ours), "", `x theirs Ready: `},
		"one of another value":       {`{id: x, ` + set + `}`, managed("old", ours), "", `x theirs Missing: nothing seen here keeps it from being set, and it is not`},
		"the value of somebody else": {`{id: x, ` + set + `}`, managed("h", "kubectl"), "", `x theirs Missing: nothing seen here keeps it from being set, and it is not`},
		"an absent target":           {`{id: x, ` + set + `}`, nil, "", `x theirs Waiting: ConfigMap "team-a/theirs" does not exist`},
		"one that may be absent":     {`{id: x, optional: true, ` + set + `}`, nil, "", `x theirs Off: ConfigMap "team-a/theirs" does not exist`},
		"one that is not read":       {`{id: x, ` + set + `}`, nil, "could not be read: no right", `x theirs Unknown: ConfigMap "team-a/theirs" could not be read: no right`},
		"a gate":                     {`{id: x, when: [{field: spec.tls, equals: true}], ` + set + `}`, managed("h", ours), "", `x  Off: spec.tls: wanted equals true, actual false`},
		"a child of a box": {`{id: x, ` + set + `}`, func() *unstructured.Unstructured {
			obj := managed("h", ours)
			obj.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "u2", v1alpha1.LabelOwner: "shop", v1alpha1.LabelBox: "shops"})
			return obj
		}(), "", `x  Error: ConfigMap "team-a/theirs" is a child of "shop", which box "shops" makes: a patch would be put back; change its declaration`},
		"one that may be absent, and goes":        {`{id: x, optional: true, ` + set + `}`, going, "", `x theirs Waiting: ConfigMap "team-a/theirs" is being deleted`},
		"one that may be absent, and not be read": {`{id: x, optional: true, ` + set + `}`, nil, withheldFrom, `x theirs Waiting: ServiceAccount team/ann may not read ConfigMap "team-a/theirs"; the box's condition PermissionsGranted names the right`},
		"one of a loop":                           {`{id: x, forEach: {field: spec.tags, key: "{{ .item }}"}, ` + set + `}`, managed("h", v1alpha1.PatchManager(website(t, "").GetUID(), "x#k")), "", `x#k theirs Ready: `},
		"one of a loop that another item has set": {`{id: x, forEach: {field: spec.tags, key: "{{ .item }}"}, ` + set + `}`, managed("h", v1alpha1.PatchManager(website(t, "").GetUID(), "x#l")), "", `x#k theirs Missing: nothing seen here keeps it from being set, and it is not`},
		"a template that can't be evaluated":      {`{id: x, target: {apiVersion: v1, kind: ConfigMap, name: theirs}, patch: {data: {a: "{{ .spec.image }}"}}}`, nil, "", `x  Error: patch.data.a: evaluating {{ .spec.image }}: spec.image: no such field in this resource; where it may be absent, use default or if`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPorts()
			if tc.target != nil {
				p.others = append(p.others, tc.target)
			}
			plan, all := planOf(t, `onReconcile: {patches: [`+tc.patch+`]}`), p.ports()
			all.Patcher, all.Marker, all.Unread = nil, nil, tc.unread // an overview only reads
			if tc.unread == withheldFrom {
				all.Access, all.Unread = withholding{}, ""
			}
			rows := plan.Overview(t.Context(), plan.NewRun(website(t, `{host: h, tls: false, tags: [k]}`), now, all), nil, comparer)
			g := gomega.NewWithT(t)
			g.Expect(rows).To(gomega.HaveLen(1))
			g.Expect(fmt.Sprintf("%s %s %s: %s", rows[0].Declaration, rows[0].Name, rows[0].State, rows[0].Reason)).To(gomega.Equal(tc.want))
			g.Expect(rows[0].Patch).To(gomega.Equal(rows[0].Declaration))
		})
	}
}

// withholding is the access of an account that may read nothing.
type withholding struct{}

func (withholding) Reads(_ context.Context, kind schema.GroupVersionKind, namespace, name string) (time.Time, error) {
	return now, &stage.WithheldError{Account: identity.Account{Namespace: "team", Name: "ann"}, What: stage.Describe(kind, namespace, name)}
}
