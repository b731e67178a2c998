package pipeline

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

const (
	wholeBox = `onReconcile: {resources: [{manifest: "{{ .spec.any }}", kinds: [v1/ConfigMap, v1/Service]}]}`
	eachBox  = `onReconcile: {resources: [{id: all, forEach: {field: spec.any}, manifest: "{{ .item }}", kinds: [v1/ConfigMap, v1/Service, test.example.com/v1/Gadget]}]}`
)

// called are the kinds and names of children.
func called(all []*unstructured.Unstructured) []string {
	out := []string{}
	for _, c := range all {
		out = append(out, c.GetKind()+" "+c.GetName())
	}
	return out
}

// TestWhatADeclarationMadeStaysUntilItsSuccessorIsMade, whatever keeps that from being made.
func TestWhatADeclarationMadeStaysUntilItsSuccessorIsMade(t *testing.T) {
	const (
		configMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: own}}`
		service   = `{apiVersion: v1, kind: Service, metadata: {name: own}}`
	)
	refused := answer(422, metav1.StatusReasonInvalid, "spec.ports: Required value")
	for name, tc := range map[string]struct {
		with    string // of the declaration
		from    string
		outcome apply.Action
		err     error
	}{
		"it is refused":                     {from: configMap, err: refused},
		"one of its name is being deleted":  {from: configMap, outcome: apply.Terminating},
		"it is deleted to be made again":    {from: configMap, outcome: apply.Replaced, with: ", replace: true"},
		"its name has changed":              {from: `{apiVersion: v1, kind: Service, metadata: {name: old}}`, outcome: apply.Terminating},
		"it is an item of a loop":           {from: configMap, outcome: apply.Terminating, with: `, forEach: {field: "{{ list .spec.any }}"}`},
		"it is an item that is rolled out":  {from: configMap, outcome: apply.Terminating, with: `, forEach: {field: "{{ list .spec.any }}", rollout: {}}`},
		"it is an item, and another leaves": {from: `{apiVersion: v1, kind: Service, metadata: {name: old}}`, outcome: apply.Terminating, with: `, forEach: {field: "{{ list .spec.any }}", rollout: {}}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, `onReconcile: {resources: [{id: it, manifest: "{{ .spec.any }}", kinds: [v1/ConfigMap, v1/Service]`+tc.with+`}]}`)
			r, err := p.run(plan, website(t, `{any: `+tc.from+`}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			p.done()
			p.apply = func(_ context.Context, _ apply.Owner, child apply.Child) (apply.Outcome, error) {
				return apply.Outcome{Action: tc.outcome, Object: child.Object}, tc.err
			}
			r.Stored = withSpec(t, r.Stored, `{any: `+service+`}`)
			for range 2 {
				_, err := p.run(plan, r.Stored)
				g.Expect(err != nil).To(gomega.Equal(tc.err != nil))
				g.Expect(p.done()).To(gomega.BeEmpty())
			}
			p.apply = p.applyChild
			_, err = p.run(plan, r.Stored)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.done()).To(gomega.HaveExactElements("create Service/own", gomega.HavePrefix("delete ")))
		})
	}
}

func TestAWholeObjectIsKnownByWhatItSays(t *testing.T) {
	for name, tc := range map[string]struct {
		box, spec string
		want      []string
	}{
		"its own name":             {wholeBox, `{any: {apiVersion: v1, kind: ConfigMap, metadata: {name: own}, data: {a: b}}}`, []string{"ConfigMap own"}},
		"the resource's name":      {wholeBox, `{any: {apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}}`, []string{"Service shop"}},
		"a name beside it wins":    {`onReconcile: {resources: [{name: beside, manifest: "{{ .spec.any }}", kinds: [v1/ConfigMap]}]}`, `{any: {apiVersion: v1, kind: ConfigMap, metadata: {name: own}}}`, []string{"ConfigMap beside"}},
		"functions give it":        {`onReconcile: {resources: [{manifest: '{{ merge (dict "metadata" (dict "name" "m")) .spec.any }}', kinds: [v1/ConfigMap]}]}`, `{any: {apiVersion: v1, kind: ConfigMap}}`, []string{"ConfigMap m"}},
		"cel gives it":             {"values: [{name: want, cel: \"{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': self.spec.host}}\"}]\nonReconcile: {resources: [{manifest: '{{ .values.want }}', kinds: [v1/ConfigMap]}]}", `{host: c}`, []string{"ConfigMap c"}},
		"each item of a list":      {eachBox, `{any: [{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 1}]}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {apiVersion: test.example.com/v1, kind: Gadget, metadata: {name: g}}]}`, []string{"ConfigMap a", "Service a", "Gadget g"}},
		"a closed gate of an item": {`onReconcile: {resources: [{forEach: {field: spec.any}, when: [{field: item.metadata.name, notEquals: b}], manifest: "{{ .item }}", kinds: [v1/ConfigMap]}]}`, `{any: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]}`, []string{"ConfigMap a"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			_, err := p.run(planOf(t, tc.box), website(t, tc.spec))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(called(p.children)).To(gomega.ConsistOf(tc.want))
		})
	}
}

func TestWhatAWholeObjectMayNotBe(t *testing.T) {
	const secret = "cross: [{name: s, apiVersion: v1, kind: Secret, selector: {name: creds}}]\n"
	for name, tc := range map[string]struct{ box, spec, reason, want string }{
		"of another kind": {wholeBox, `{any: {apiVersion: v1, kind: Secret}}`, v1alpha1.ReasonInvalidChild,
			"resources: manifest: the template gives v1/Secret, and kinds allows v1/ConfigMap, v1/Service; list it there, or give one of these"},
		"of another version": {wholeBox, `{any: {apiVersion: v2, kind: ConfigMap}}`, v1alpha1.ReasonInvalidChild, "gives v2/ConfigMap"},
		"a text": {wholeBox, `{any: "apiVersion: v1\nkind: ConfigMap"}`, v1alpha1.ReasonTemplateError,
			"manifest: want object, got string; a text is never read as YAML: give a map, by one action"},
		"without a kind":   {wholeBox, `{any: {apiVersion: v1}}`, v1alpha1.ReasonTemplateError, "manifest.kind: want string"},
		"with a status":    {wholeBox, `{any: {apiVersion: v1, kind: Service, status: {a: 1}}}`, v1alpha1.ReasonTemplateError, "manifest.status: not for a declaration to set"},
		"owned by others":  {wholeBox, `{any: {apiVersion: v1, kind: ConfigMap, metadata: {ownerReferences: [{name: a}]}}}`, v1alpha1.ReasonTemplateError, "manifest.metadata.ownerReferences: not for a declaration"},
		"marked":           {wholeBox, `{any: {apiVersion: v1, kind: ConfigMap, metadata: {labels: {orkestra.orkspace.io/owner-uid: x}}}}`, v1alpha1.ReasonInvalidChild, "this is a mark of Orkestra"},
		"a name of a path": {wholeBox, `{any: {apiVersion: v1, kind: ConfigMap, metadata: {name: a/b}}}`, v1alpha1.ReasonInvalidChild, `name: "a/b" can't name an object`},
		"a wrong field":    {wholeBox, `{any: {apiVersion: v1, kind: ConfigMap, date: {}}}`, v1alpha1.ReasonTemplateError, `manifest.date: unknown field`},
		"in another namespace": {wholeBox, `{any: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: team-b}}}`, v1alpha1.ReasonInvalidChild,
			`manifest.metadata.namespace: the object says "team-b", and goes into the namespace of the resource; write namespace beside manifest`},
		"in one that lets nobody in": {`onReconcile: {resources: [{namespace: "{{ .spec.any.metadata.namespace }}", manifest: "{{ .spec.any }}", kinds: [v1/ConfigMap]}]}`,
			`{any: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: team-b}}}`, "", `namespace "team-b"`},
		"named by a Secret": {secret + `onReconcile: {resources: [{manifest: '{{ dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" (dict "name" (b64dec .cross.s.data.word)) }}', kinds: [v1/ConfigMap]}]}`, `{}`, v1alpha1.ReasonTemplateError,
			"manifest.metadata.name: the template reads a Secret, and no name is made of one; write name beside manifest"},
		"of a kind that a Secret says": {secret + `onReconcile: {resources: [{manifest: '{{ dict "apiVersion" "v1" "kind" (b64dec .cross.s.data.word) }}', kinds: [v1/ConfigMap]}]}`, `{}`, v1alpha1.ReasonInvalidChild,
			"the template gives a kind that is not shown, and kinds allows v1/ConfigMap"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.others = []*unstructured.Unstructured{other(compile.SecretKind, "team-a", "creds", map[string]any{"data": map[string]any{"word": "aHVudGVyMg=="}})}
			_, err := p.run(planOf(t, tc.box), website(t, tc.spec))
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(tc.want)))
			g.Expect(err.Error()).NotTo(gomega.ContainSubstring("hunter2"))
			if tc.reason != "" {
				expectStep(g, err, stage.StepOnReconcile, Permanent, tc.reason)
			}
			g.Expect(p.children).To(gomega.BeEmpty())
		})
	}
}

func TestAKindThatIsNotListedLeavesWhatWasThere(t *testing.T) {
	g := gomega.NewWithT(t)
	p, plan := newPorts(), planOf(t, wholeBox)
	_, err := p.run(plan, website(t, `{any: {apiVersion: v1, kind: ConfigMap}}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = p.run(plan, website(t, `{any: {apiVersion: v1, kind: Secret}}`))
	g.Expect(err).To(gomega.HaveOccurred())
	g.Expect(called(p.children)).To(gomega.ConsistOf("ConfigMap shop"))
}

func TestTwoKindsThatAlternateLeaveNothingOver(t *testing.T) {
	g := gomega.NewWithT(t)
	p, plan := newPorts(), planOf(t, wholeBox)
	for range 2 {
		for kind, spec := range map[string]string{
			"ConfigMap": `{any: {apiVersion: v1, kind: ConfigMap}}`, "Service": `{any: {apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}}`,
		} {
			_, err := p.run(plan, website(t, spec))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(called(p.children)).To(gomega.ConsistOf(kind + " shop"))
		}
	}
}

func TestKindsOfAWholeObjectAreChecked(t *testing.T) {
	for name, tc := range map[string]struct{ declaration, want string }{
		"none":                 {`manifest: "{{ .spec.any }}"`, "resources[0].kinds: Required value: the kinds that the template may give"},
		"with one written out": {`manifest: {apiVersion: v1, kind: ConfigMap}, kinds: [v1/ConfigMap]`, "resources[0].kinds: Forbidden: the manifest is written out"},
		"a wildcard":           {`manifest: "{{ .spec.any }}", kinds: ["v1/*"]`, `resources[0].kinds[0]: Invalid value: "v1/*": a wildcard would be a right over everything`},
		"malformed":            {`manifest: "{{ .spec.any }}", kinds: [ConfigMap]`, "wanted group/version/Kind, or version/Kind for those of the core group: v1/ConfigMap, apps/v1/Deployment"},
		"a plural":             {`manifest: "{{ .spec.any }}", kinds: [v1/configmaps]`, "wanted group/version/Kind"},
		"without its kind":     {`manifest: "{{ .spec.any }}", kinds: [v1/]`, "wanted group/version/Kind"},
		"a template":           {`manifest: "{{ .spec.any }}", kinds: ["{{ .spec.host }}"]`, "no template may stand here"},
		"two versions":         {`manifest: "{{ .spec.any }}", kinds: [example.com/v1/A, example.com/v2/A]`, "kinds[1]: Invalid value: \"example.com/v2/A\": A is in this list already"},
		"a typing error":       {`manifest: "{{ .spec.any }}", kinds: [v1/ConfigMapp]`, `kinds[0]: Invalid value: "v1/ConfigMapp": v1 has no such kind, did you mean "ConfigMap"?`},
		"a list of a kind":     {`manifest: "{{ .spec.any }}", kinds: [v1/ConfigMapList]`, "kinds[0]"},
		"what grants rights":   {`manifest: "{{ .spec.any }}", kinds: [v1/ConfigMap, rbac.authorization.k8s.io/v1/Role]`, "kinds[1]: Forbidden: Role grants rights"},
		"Orkestra's own":       {`manifest: "{{ .spec.any }}", kinds: [orkestra.orkspace.io/v1alpha1/OperatorBox]`, "kinds[0]: Forbidden: OperatorBox grants rights"},
		"the kind it serves":   {`manifest: "{{ .spec.any }}", kinds: [demo.example.com/v1/Website]`, "kinds[0]: Forbidden: a box can't make children of the kind that it serves"},
		"a Job among others":   {`manifest: "{{ .spec.any }}", kinds: [v1/ConfigMap, batch/v1/Job]`, "kinds[1]: Forbidden: a Job runs to its end"},
		"a shared name":        {`name: web, manifest: "{{ .spec.any }}", kinds: [v1/ConfigMap, scheduling.k8s.io/v1/PriorityClass]`, "name: Invalid value: \"web\": PriorityClass is cluster-scoped"},
		"a text of actions":    {`manifest: "{{ .spec.any }}{{ .spec.host }}", kinds: [v1/ConfigMap]`, "manifest: Invalid value"},
		"no template":          {`manifest: "apiVersion: v1", kinds: [v1/ConfigMap]`, "manifest"},
		"a value that is drawn": {`once: true, manifest: '{{ dict "apiVersion" "v1" "kind" "Secret" "stringData" (dict "a" (randAlphaNum 8)) }}', kinds: [v1/Secret]`,
			"a child is found by its name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := Compile(boxOf(t, `onReconcile: {resources: [{`+tc.declaration+`}]}`), Env{CRD: websites(t)})
			gomega.NewWithT(t).Expect(errs.ToAggregate()).To(gomega.MatchError(gomega.ContainSubstring(tc.want)))
		})
	}
}

func TestListedKindsAreThoseOfThePlan(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, eachBox)
	g.Expect(plan.ChildKinds).To(gomega.ConsistOf(configMapKind, serviceKind, gadgetKind))
}

// It is not known which object a template gives, so nothing is said of a patch of one.
func TestAWholeObjectIsNoRivalThatIsKnown(t *testing.T) {
	planOf(t, `onReconcile: {
  resources: [{manifest: "{{ .spec.any }}", kinds: [v1/ConfigMap]}],
  patches: [{target: {apiVersion: v1, kind: ConfigMap, name: "{{ .metadata.name }}"}, patch: {data: {a: b}}}]}`)
}
