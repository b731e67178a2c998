package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// A name that holds a path would lead the manager to another object, of any kind and in any namespace.
func TestNamesThatArePathsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ box, host, want string }{
		"a way out": {
			`onReconcile: {secrets: [{name: "x-{{ .spec.host }}"}]}`, "x/../../../kube-system/secrets/y",
			`onReconcile: secrets/x-x/../../../kube-system/secrets/y: name: "x-x/../../../kube-system/secrets/y" can't name an object: it may not contain '/'`,
		},
		"dots alone":     {`onReconcile: {secrets: [{name: "{{ .spec.host }}"}]}`, "..", `name: ".." can't name an object: it may not be '..'`},
		"an escape":      {`onReconcile: {secrets: [{name: "{{ .spec.host }}"}]}`, "a%2Fb", `can't name an object: it may not contain '%'`},
		"a long one":     {`onReconcile: {secrets: [{name: "{{ .spec.host }}"}]}`, strings.Repeat("/", 1000), `name: "` + strings.Repeat("/", 64) + `…" can't`},
		"a manifest's":   {`onReconcile: {resources: [{manifest: {apiVersion: v1, kind: Secret, metadata: {name: "{{ .spec.host }}"}}}]}`, "a/b", `may not contain '/'`},
		"a namespace":    {`onReconcile: {secrets: [{namespace: "{{ .spec.host }}"}]}`, "a/../b", `namespace: "a/../b" can't name a namespace`},
		"made only once": {`onCreate: {secrets: [{name: "{{ .spec.host }}"}]}`, "a/b", `may not contain '/'`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			r, err := p.run(planOf(t, tc.box), website(t, `{host: "`+tc.host+`"}`))
			expectStep(g, err, string(r.Plan.declared.Live[0].Phase), Permanent, v1alpha1.ReasonInvalidChild)
			g.Expect(err.Error()).To(gomega.ContainSubstring(tc.want))
			g.Expect(p.children).To(gomega.BeEmpty())
		})
	}
}

func TestADeclarationWaitsForTheChildThatItReads(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `
onReconcile:
  configmaps:
  - {id: reader, name: reader, data: {v: "{{ .children.source.data.v }}"}}
  - {id: source, name: source, data: {v: x}, when: [{field: spec.image, equals: there}]}
  - {name: maybe, optional: true, data: {v: "{{ .children.later.metadata.name }}"}}
  - {id: later, name: later, when: [{field: spec.tls, equals: true}]}
`)
	r, err := p.run(plan, website(t, `{tls: false}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(made(p)).To(gomega.BeEmpty())
	g.Expect(r.Waits).To(gomega.Equal([]stage.Wait{{Reason: v1alpha1.ReasonWaitingForGate, Message: "reader: children.source.data.v is not there: source is switched off: spec.image: wanted equals there, actual absent", Of: "reader"}}))
	_, err = p.run(plan, website(t, `{tls: false, image: there}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(made(p)).To(gomega.Equal([]string{"reader=x reader", "source=x source"}), "the one that is read comes first")
}

func TestAnOptionalSourceMayBeOutOfReach(t *testing.T) {
	const box = `
cross: [{name: db, box: database, selector: {name: main, namespace: "{{ .spec.host }}"}, optional: %s}]
onReconcile: {configmaps: [{name: made}]}
`
	for name, tc := range map[string]struct {
		optional, spec string
		fails          string
	}{
		"optional, no such namespace": {"true", `{host: nowhere}`, ""},
		"optional, nothing named":     {"true", `{}`, ""},
		"required, no such namespace": {"false", `{host: nowhere}`, `cross: db: selector.namespace: namespace "nowhere" does not let resources of "team-a" in`},
		"required, nothing named":     {"false", `{}`, "spec.host: no such field"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := withDatabase()
			_, err := p.run(planOf(t, strings.ReplaceAll(box, "%s", tc.optional)), website(t, tc.spec))
			switch {
			case tc.fails != "":
				g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(tc.fails)))
			default:
				g.Expect(err).NotTo(gomega.HaveOccurred())
				g.Expect(made(p)).To(gomega.HaveLen(1))
			}
		})
	}
}

func TestAChildThatChangedSinceItWasReadIsPrunedByTheNextCycle(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	stale := p.put(configMapKind, "old", "configmaps/old")
	p.delete = func(context.Context, *unstructured.Unstructured) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "old", errors.New("the resourceVersion does not match"))
	}
	plan := planOf(t, `onReconcile: {configmaps: [{name: new}]}`)
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred(), "nothing has failed")
	g.Expect(r.Inputs.Expires()).To(gomega.Equal(now.Add(time.Second)), "should nothing be on the way")
	p.edit(stale.GetName(), func(*unstructured.Unstructured) {})
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeFalse(), "the change that was on the way is seen")
	p.delete = p.deleteChild
	p.done()
	_, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"delete ConfigMap/old"}))
}

// A name that changed with each cycle would be another child each time. So it is refused also where the content may be drawn.
func TestNamesAreNotDrawn(t *testing.T) {
	const drawn = `function "randAlpha" gives another result each time; a child is found by its name and namespace, also with ` + "`once: true`: use `hash`"
	for where, box := range map[string]string{
		"spec.onReconcile.configmaps[0].name":                       `onReconcile: {configmaps: [{once: true, name: "a-{{ randAlpha 5 }}"}]}`,
		"spec.onReconcile.configmaps[0].namespace":                  `onReconcile: {configmaps: [{name: a, namespace: "a-{{ randAlpha 5 }}"}]}`,
		"spec.onCreate.configmaps[0].name":                          `onCreate: {configmaps: [{name: "a-{{ randAlpha 5 }}"}]}`,
		"spec.onReconcile.resources[0].manifest.metadata.name":      `onReconcile: {resources: [{once: true, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ randAlpha 5 }}"}}}]}`,
		"spec.onReconcile.resources[0].manifest.metadata.namespace": `onReconcile: {resources: [{once: true, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: "{{ randAlpha 5 }}"}}}]}`,
	} {
		t.Run(where, func(t *testing.T) {
			_, errs := Compile(boxOf(t, box), Env{CRD: websites(t), Mapper: stubMapper()})
			gomega.NewWithT(t).Expect(messages(errs)).To(gomega.ContainElement(gomega.And(gomega.HavePrefix(where+": "), gomega.ContainSubstring(drawn))))
		})
	}
}

// What is drawn once stands in a child, where names read it.
func TestANameReadsWhatWasDrawnOnce(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `
onReconcile:
  configmaps:
  - {id: drawn, name: drawn, once: true, data: {suffix: "{{ randAlpha 5 | lower }}"}}
  - {id: named, name: "{{ .metadata.name }}-{{ .children.drawn.data.suffix }}"}
`)
	names := func() []string {
		_, err := p.run(plan, website(t, `{}`))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		return made(p)
	}
	names()
	first := names()
	g.Expect(first).To(gomega.HaveLen(2))
	g.Expect(first).To(gomega.ContainElement(gomega.MatchRegexp(`^shop-[a-z]{5}= named$`)))
	g.Expect(names()).To(gomega.Equal(first))
}

// The only child of a kind may be called as templates call it in any case.
func TestAnIDThatIsTheKindOfTheOnlyChild(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `onReconcile: {deployments: [{id: deployment, image: x}], resources: [{id: pod, manifest: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: x}]}}}],
		configmaps: [{name: b, data: {a: "{{ .children.pod.metadata.name }}", b: "{{ .children.deployment.metadata.name }}"}}]}`)
	p := newPorts()
	p.kinds = func() []schema.GroupVersionKind { return plan.ChildKinds }
	_, err := p.run(plan, website(t, `{}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.data("b")).To(gomega.Equal(map[string]string{"a": "a", "b": "shop"}))
}
