package pipeline

import (
	"context"
	"net/http"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

const readsTheirs = `
cross: [{name: c, apiVersion: v1, kind: ConfigMap, selector: {name: theirs}}]
`

func withTheirs(t *testing.T) *ports {
	t.Helper()
	p := withGadgets(t)
	p.others = append(p.others, other(configMapKind, "team-a", "theirs", map[string]any{"data": map[string]any{
		"word": "Hunter 2/..", "name": "Hunter 2", "place": "hunter2", "pod-security.kubernetes.io/enforce": "Hunter",
	}}))
	p.namespaced = func(k schema.GroupVersionKind) (bool, error) { return k != stage.NamespaceKind, nil }
	return p
}

// A value is shown where all that its own template reads is the resource's.
func TestValuesOfOthersAreNotShown(t *testing.T) {
	for name, tc := range map[string]struct {
		box   string
		want  string
		shows bool
	}{
		"a field of a child":                {`onReconcile: {resources: [{manifest: {apiVersion: test.example.com/v1, kind: Gadget, spec: {size: "{{ .cross.c.data.word }}"}}}]}`, "manifest.spec.size: does not fit", false},
		"a field of a child, of both":       {`onReconcile: {resources: [{manifest: {apiVersion: test.example.com/v1, kind: Gadget, spec: {size: "{{ .spec.host }}{{ .cross.c.data.word }}"}}}]}`, "manifest.spec.size: does not fit", false},
		"the resource's own":                {`onReconcile: {resources: [{manifest: {apiVersion: test.example.com/v1, kind: Gadget, spec: {size: "{{ .spec.host }}"}}}]}`, "manifest.spec.size: wanted integer", true},
		"the resource's own, beside theirs": {`onReconcile: {resources: [{manifest: {apiVersion: test.example.com/v1, kind: Gadget, spec: {name: "{{ .cross.c.data.word }}", size: "{{ .spec.host }}"}}}]}`, "manifest.spec.size: wanted integer", true},
		"an item of the resource's own":     {`onReconcile: {resources: [{forEach: {field: spec.tags}, manifest: {apiVersion: test.example.com/v1, kind: Gadget, metadata: {name: "{{ .index }}"}, spec: {size: "{{ .item }}"}}}]}`, "manifest.spec.size: wanted integer", true},
		"an item of theirs":                 {`onReconcile: {resources: [{forEach: {field: cross.c.data}, manifest: {apiVersion: test.example.com/v1, kind: Gadget, metadata: {name: "{{ .index }}"}, spec: {size: "{{ .item }}"}}}]}`, "manifest.spec.size: does not fit", false},
		"a name":                            {`onReconcile: {configmaps: [{name: "{{ .cross.c.data.word }}"}]}`, "name: what the template yields can't name an object", false},
		"a name of the resource's own":      {`onReconcile: {configmaps: [{name: "{{ .metadata.name }}-{{ .spec.host }}"}]}`, `name: "shop-Hunter 2/.." can't name an object`, true},
		"a namespace":                       {`onReconcile: {configmaps: [{namespace: "{{ .cross.c.data.word }}"}]}`, "namespace: what the template yields can't name a namespace", false},
		"a namespace that does not let in":  {`onReconcile: {configmaps: [{namespace: "{{ .cross.c.data.place }}"}]}`, "namespace: what the template yields does not let resources of \"team-a\" in", false},
		"what a name stands for":            {`onReconcile: {configmaps: [{name: "{{ .cross.c.data.name }}", data: {a: "{{ .spec.image }}"}}]}`, "configmaps[0]: data.a: ", false},
		"the key of an item":                {`onReconcile: {configmaps: [{name: "{{ .index }}", forEach: {field: cross.c.data, key: "{{ trunc 6 .item | lower }}"}}]}`, "of cross.c.data both have the same key; give `key` a template", false},
		"the id of an item":                 {`onReconcile: {configmaps: [{id: each, name: "{{ .index }}", forEach: {field: cross.c.data, key: "{{ .item }}"}, data: {a: "{{ .spec.image }}"}}]}`, "each#0: data.a: ", false},
		"items that make one child":         {`onReconcile: {configmaps: [{name: same, forEach: {field: cross.c.data, key: "{{ .item }}"}}]}`, `"configmaps/same#0" and "configmaps/same#1" both render`, false},
		"a label that grants rights":        {`onReconcile: {resources: [{manifest: {apiVersion: v1, kind: Namespace, metadata: {name: "{{ .metadata.namespace }}", labels: "{{ .cross.c.data }}"}}}]}`, "enforce is not the strictest", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, err := withTheirs(t).run(planOf(t, readsTheirs+tc.box), website(t, `{host: "Hunter 2/..", tags: ["Hunter 2/.."]}`))
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(tc.want)))
			if !tc.shows {
				g.Expect(err.Error()).NotTo(gomega.MatchRegexp("(?i)hunter"))
				return
			}
			g.Expect(err.Error()).To(gomega.ContainSubstring("Hunter"))
		})
	}
}

// The API server quotes what it refuses.
func TestAnAnswerAboutWhatOthersHoldIsNotQuoted(t *testing.T) {
	for name, tc := range map[string]struct {
		box   string
		shows bool
	}{
		"cross":              {`onReconcile: {services: [{port: "{{ .cross.c.data.word }}", selector: {a: b}}]}`, false},
		"cross, by name":     {`onReconcile: {services: [{name: "{{ .cross.c.data.word }}", port: 80, selector: {a: b}}]}`, false},
		"the resource's own": {`onReconcile: {services: [{port: "{{ .spec.host }}", selector: {a: b}, when: [{field: cross.c.data.word, operator: exists}]}]}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.others = append(p.others, other(configMapKind, "team-a", "theirs", map[string]any{"data": map[string]any{"word": "70000"}}))
			p.apply = func(_ context.Context, _ apply.Owner, _ apply.Child) (apply.Outcome, error) {
				return apply.Outcome{}, answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.ports[0].port: Invalid value: 70000",
					metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.ports[0].port"})
			}
			_, err := p.run(planOf(t, readsTheirs+tc.box), website(t, `{host: "70000"}`))
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("spec.ports[0].port")))
			if !tc.shows {
				g.Expect(err.Error()).NotTo(gomega.ContainSubstring("70000"))
				return
			}
			g.Expect(err.Error()).To(gomega.ContainSubstring("70000"))
		})
	}
}

// What a Secret holds is not for all to read, wherever it comes from: the box, a resource, or a drawn value.
func TestAnAnswerAboutASecretIsNotQuoted(t *testing.T) {
	for said, refuser := range map[string]string{
		`admission webhook "deny.example.com" denied the request: hunter2`:                                                                          `the admission webhook "deny.example.com"`,
		`secrets "shop" is forbidden: ValidatingAdmissionPolicy 'no-words' with binding 'all' denied request: exceeded quota: hunter2`:              `the ValidatingAdmissionPolicy "no-words"`,
		`secrets "a\" is forbidden: exceeded quota: " is forbidden: ValidatingAdmissionPolicy 'quoted' with binding 'all' denied request: hunter2`:  `the ValidatingAdmissionPolicy "quoted"`,
		`secrets "shop" is forbidden: hunter2 ValidatingAdmissionPolicy 'another' with binding 'all' denied request: admission webhook "w" hunter2`: "the API server",
	} {
		t.Run(refuser, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.apply = func(_ context.Context, _ apply.Owner, _ apply.Child) (apply.Outcome, error) {
				return apply.Outcome{}, answer(http.StatusForbidden, metav1.StatusReasonForbidden, said)
			}
			_, err := p.run(planOf(t, `onReconcile: {secrets: [{data: {word: hunter2}}]}`), website(t, ""))
			g.Expect(err).To(gomega.MatchError(gomega.HaveSuffix(`Secret "shop": ` + refuser + ` refuses it; its words are not shown, because they may quote what is not the resource's own`)))
			g.Expect(err.Error()).NotTo(gomega.ContainSubstring("hunter2"))
		})
	}
}

func TestASecretOfOnRollbackIsReadByItsID(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `
rollback:
  onRollback:
    secrets: [{id: s, name: kept, data: {word: x}, when: [{field: spec.host, operator: exists}]}]
    configmaps: [{name: copy, data: {a: "{{ .children.s.data.word }}"}}]
`)
	p.kinds = func() []schema.GroupVersionKind { return []schema.GroupVersionKind{compile.SecretKind, configMapKind} }
	p.put(compile.SecretKind, "kept", "s", func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"word": "hunter2"} })
	stored := website(t, "image: x")
	r := plan.NewRun(stored, now, p.ports())
	g.Expect(plan.RunOnRollback(context.Background(), r, snapshotOf(stored))).To(gomega.Succeed())
	g.Expect(r.Waits).To(gomega.BeEmpty())
	copies := p.owned(configMapKind, "u1")
	g.Expect(copies).To(gomega.HaveLen(1))
	g.Expect(copies[0].Object["data"]).To(gomega.Equal(map[string]any{"a": "hunter2"}))
}
