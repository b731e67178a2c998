package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/apply/taken"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/patches"
)

// patcher notes what is patched and taken back, in its order.
type patcher struct {
	*ports

	sent     []string
	refuses  map[string]error // by the name of the target
	takes    *taken.Fields    // what each patch takes
	forced   bool             // the last patch was
	returned *taken.Fields    // by the last that was taken back
	named    func(manager string) string
}

func newPatcher(others ...*unstructured.Unstructured) *patcher {
	p := &patcher{ports: newPorts(), refuses: map[string]error{}}
	p.others = others
	return p
}

func (p *patcher) Patch(ctx context.Context, patch apply.Patch, live *unstructured.Unstructured) (apply.Outcome, error) {
	if err := p.refuses[live.GetName()]; err != nil {
		return apply.Outcome{}, err
	}
	p.forced, p.named = patch.Force, patch.Named
	if p.takes != nil {
		if err := patch.Keep(ctx, p.takes); err != nil {
			return apply.Outcome{}, err
		}
	}
	p.sent = append(p.sent, fmt.Sprintf("%s %s %v %v", patch.Manager, live.GetName(), patch.Object.Object["data"], patch.Object.GetLabels()))
	return apply.Outcome{Action: apply.Changed, Object: live}, nil
}

func (p *patcher) Withdraw(_ context.Context, manager string, target *unstructured.Unstructured, former *taken.Fields) (apply.Withdrawn, error) {
	p.returned = former
	p.sent = append(p.sent, fmt.Sprintf("%s %s taken back", manager, target.GetName()))
	return apply.Withdrawn{}, p.refuses[target.GetName()]
}

func (p *patcher) run(plan *Plan, stored *unstructured.Unstructured) (*Run, error) {
	in := p.ports.ports()
	in.Patcher = p
	r := plan.NewRun(stored, now, in)
	return r, plan.Execute(context.Background(), r)
}

// taken gives what was sent since it was last asked.
func (p *patcher) taken() []string {
	sent := p.sent
	p.sent = nil
	return sent
}

func byPatch(id string) string { return v1alpha1.PatchManager("u1", id) }

func theirConfig(name string) *unstructured.Unstructured {
	return other(configMapKind, "team-a", name, nil)
}

func TestPatchesAreNotedBeforeTheyAreSet(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPatcher(theirConfig("one"), theirConfig("two"))
	plan := planOf(t, `
onReconcile:
  configmaps: [{id: made, name: made, data: {v: x}}]
  patches:
  - {id: one, target: {apiVersion: v1, kind: ConfigMap, name: one}, patch: {metadata: {labels: {a: "{{ .spec.host }}"}}, data: {v: "{{ .children.made.data.v }}"}}}
  - {target: {apiVersion: v1, kind: ConfigMap, name: "{{ .item }}"}, forEach: {field: spec.tags}, patch: {data: {k: "{{ .index }}"}}}
`)
	marked := -1
	p.mark = func(ctx context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
		if marks.Annotations[v1alpha1.AnnotationPatches] != "" && marked < 0 {
			marked = len(p.sent)
		}
		return p.markResource(ctx, resource, marks)
	}
	r, err := p.run(plan, website(t, `{host: h, tags: [two, one]}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(marked).To(gomega.BeZero())
	loop := "patches/ConfigMap/{{ .item }}#"
	g.Expect(p.taken()).To(gomega.Equal([]string{
		byPatch("one") + " one map[v:x] map[a:h]", byPatch(loop+"two") + " two map[k:0] map[]", byPatch(loop+"one") + " one map[k:1] map[]",
	}))

	again := r.Stored.DeepCopy()
	p.mark = func(_ context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
		g.Expect(marks.On(resource) && !marks.Fewer).To(gomega.BeTrue(), "nothing is to be marked: %v", marks)
		return resource, nil
	}
	_, err = p.run(plan, again)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p.taken()
	p.mark = p.markResource

	setTags(g, r.Stored, "one")
	r, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.taken()).To(gomega.ContainElement(byPatch(loop+"two") + " two taken back"))
	g.Expect(r.Stored.GetAnnotations()[v1alpha1.AnnotationPatches]).NotTo(gomega.ContainSubstring("#two"))

	var last apply.Marks
	p.mark = func(ctx context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
		last = marks
		return p.markResource(ctx, resource, marks)
	}
	_, err = p.run(planOf(t, `{onReconcile: {configmaps: [{data: {a: b}}]}}`), r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.taken()).To(gomega.ConsistOf(byPatch("one")+" one taken back", byPatch(loop+"one")+" one taken back"))
	g.Expect(last.Annotations).NotTo(gomega.HaveKey(v1alpha1.AnnotationPatches))
	g.Expect(last.Fewer).To(gomega.BeTrue(), "the mark is taken off although all others are there")
}

func setTags(g gomega.Gomega, resource *unstructured.Unstructured, tags ...string) {
	g.Expect(unstructured.SetNestedStringSlice(resource.Object, tags, "spec", "tags")).To(gomega.Succeed())
	resource.SetGeneration(resource.GetGeneration() + 1)
}

// What can't be evaluated is not taken for what is not wanted.
func TestPatchesThatCantBeToldStay(t *testing.T) {
	const other = "  - {id: other, target: {apiVersion: v1, kind: ConfigMap, name: two}, patch: {data: {o: p}}}\n"
	for name, tc := range map[string]struct{ patch, wants string }{
		"a template fails":      {`{id: one, target: {apiVersion: v1, kind: ConfigMap, name: one}, patch: {data: {v: '{{ fail "no" }}'}}}`, "one: "},
		"a gate waits":          {`{id: one, target: {apiVersion: v1, kind: ConfigMap, name: one}, when: [{field: children.made.data.w, equals: x}], patch: {data: {v: x}}}`, "WaitingForGate"},
		"a child has no field":  {`{id: one, target: {apiVersion: v1, kind: ConfigMap, name: one}, patch: {data: {v: "{{ .children.made.data.w }}"}}}`, "WaitingForGate"},
		"a false gate may keep": {`{id: one, target: {apiVersion: v1, kind: ConfigMap, name: one}, whenFalse: Keep, when: [{field: spec.host, equals: y}], patch: {data: {v: x}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPatcher(theirConfig("one"), theirConfig("two"))
			stored := website(t, `{host: h}`)
			stored.SetAnnotations(map[string]string{v1alpha1.AnnotationPatches: `[{"id":"one","apiVersion":"v1","kind":"ConfigMap","namespace":"team-a","name":"one"}]`})
			r, err := p.run(planOf(t, "onReconcile:\n  configmaps: [{id: made, name: made, data: {v: x}}]\n  patches:\n  - "+tc.patch+"\n"+other), stored)
			said := fmt.Sprint(err, r.Waits)
			g.Expect(said).To(gomega.ContainSubstring(tc.wants))
			g.Expect(p.taken()).To(gomega.Equal([]string{byPatch("other") + " two map[o:p] map[]"}), "one is held, and holds up no other")
			g.Expect(r.Stored.GetAnnotations()[v1alpha1.AnnotationPatches]).To(gomega.ContainSubstring(`"id":"one"`))
		})
	}
}

// Who writes resources may write the mark, too.
func TestAForgedNoteTakesBackNothingOfOthers(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPatcher()
	stored := website(t, `{}`)
	stored.SetAnnotations(map[string]string{v1alpha1.AnnotationPatches: `[{"id":"x","manager":"orkestra","apiVersion":"v1","kind":"ConfigMap","namespace":"kube-system","name":"theirs"}]`})
	_, err := p.run(planOf(t, `{}`), stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.taken()).To(gomega.Equal([]string{byPatch("x") + " theirs taken back"}), "under the manager of this resource, which manages nothing there")
	for _, forged := range []string{"{", "[1]", `[{"id":"x"}]`, `"x"`} {
		stored.SetAnnotations(map[string]string{v1alpha1.AnnotationPatches: forged})
		_, err := p.run(planOf(t, `{}`), stored)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(p.taken()).To(gomega.BeEmpty())
	}
	managers := []string{v1alpha1.FieldManager, v1alpha1.FieldManagerInitial, v1alpha1.FieldManagerMarks, v1alpha1.FieldManagerRepair, v1alpha1.FieldManagerStatus}
	g.Expect(slices.ContainsFunc(managers, v1alpha1.IsPatchManager)).To(gomega.BeFalse())
	g.Expect(v1alpha1.IsPatchManager(byPatch("x"))).To(gomega.BeTrue())
	g.Expect(v1alpha1.PatchManager("u2", "x")).NotTo(gomega.Equal(byPatch("x")))
}

func TestADeletedResourceTakesItsPatchesBack(t *testing.T) {
	for name, tc := range map[string]struct {
		fails, skip bool
		released    bool
	}{
		"all of them":       {released: true},
		"or stays":          {fails: true},
		"unless told to go": {fails: true, skip: true, released: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPatcher()
			stored := website(t, `{}`)
			at := metav1.NewTime(now)
			stored.SetDeletionTimestamp(&at)
			stored.SetFinalizers([]string{v1alpha1.Finalizer})
			annotations := map[string]string{v1alpha1.AnnotationPatches: `[{"id":"x","apiVersion":"v1","kind":"ConfigMap","namespace":"team-a","name":"a"},{"id":"y","apiVersion":"v1","kind":"ConfigMap","namespace":"team-a","name":"b"}]`}
			if tc.skip {
				annotations[v1alpha1.AnnotationSkipCleanup] = v1alpha1.True
			}
			if tc.fails {
				p.refuses["a"] = fmt.Errorf("not now")
			}
			stored.SetAnnotations(annotations)
			r, err := p.run(planOf(t, `{}`), stored)
			g.Expect(err != nil).To(gomega.Equal(!tc.released), "%v", err)
			g.Expect(p.taken()).To(gomega.Equal([]string{byPatch("x") + " a taken back", byPatch("y") + " b taken back"}))
			g.Expect(r.Released).To(gomega.Equal(tc.released))
		})
	}
}

func TestPatchesHaveLimits(t *testing.T) {
	g := gomega.NewWithT(t)
	full, almost := theirConfig("full"), theirConfig("almost")
	var entries []metav1.ManagedFieldsEntry
	for i := range 50 {
		entries = append(entries, metav1.ManagedFieldsEntry{Manager: v1alpha1.PatchManager("other", fmt.Sprint(i)), Operation: metav1.ManagedFieldsOperationApply})
	}
	full.SetManagedFields(entries)
	almost.SetManagedFields(append(entries[:49:49], metav1.ManagedFieldsEntry{Manager: byPatch("almost")}))
	const patch = `{onReconcile: {patches: [{id: %[1]s, target: {apiVersion: v1, kind: ConfigMap, name: %[1]s}, patch: {data: {a: b}}}]}}`
	p := newPatcher(full, almost)
	_, err := p.run(planOf(t, fmt.Sprintf(patch, "full")), website(t, `{}`))
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(`full: ConfigMap "team-a/full" has 50 patches of Orkestra, which is as many as an object may have`)))
	g.Expect(p.taken()).To(gomega.BeEmpty())
	_, err = p.run(planOf(t, fmt.Sprintf(patch, "almost")), website(t, `{}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())

	var tags []string
	for i := range 101 {
		tags = append(tags, fmt.Sprintf("c%d", i))
		p.others = append(p.others, theirConfig(tags[i]))
	}
	p.taken()
	_, err = p.run(planOf(t, `{onReconcile: {patches: [{target: {apiVersion: v1, kind: ConfigMap, name: "{{ .item }}"}, forEach: {field: spec.tags}, patch: {data: {a: b}}}]}}`),
		website(t, `{tags: [`+strings.Join(tags, ",")+`]}`))
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("101 objects are to be patched; one resource may patch 100")))
	g.Expect(p.taken()).To(gomega.BeEmpty())
}

// What a forced patch takes is noted before it is taken, and is given to who takes it back.
func TestWhatAForcedPatchTakesIsKept(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPatcher(theirConfig("one"))
	field := taken.Field{Holder: taken.Holder{Manager: "helm", Operation: "Update", APIVersion: "v1"}, Path: []string{"f:data", "f:a"}, Value: []byte(`"former"`)}
	p.takes = &taken.Fields{UID: "t1", Fields: []taken.Field{field}}
	plan := planOf(t, `{onReconcile: {patches: [{id: one, force: true, target: {apiVersion: v1, kind: ConfigMap, name: one}, patch: {data: {a: b}}}]}}`)
	r, err := p.run(plan, website(t, `{}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.forced).To(gomega.BeTrue())
	g.Expect(r.Stored.GetAnnotations()[v1alpha1.AnnotationPatches]).To(gomega.Equal(
		`[{"id":"one","apiVersion":"v1","kind":"ConfigMap","namespace":"team-a","name":"one","taken":{"uid":"t1","fields":[` +
			`{"manager":"helm","operation":"Update","apiVersion":"v1","path":["f:data","f:a"],"value":"former"}]},"of":"u1"}]`))
	marked := r.Stored.DeepCopy()
	p.returned = nil
	_, err = p.run(planOf(t, `{}`), r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.returned).To(gomega.Equal(p.takes))

	p.takes.Fields[0].Value = []byte(`"` + strings.Repeat("x", 70000) + `"`)
	p.taken()
	r, err = p.run(plan, website(t, `{}`))
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(`"helm" manages data.a, whose value has 70002 bytes`)))
	g.Expect(err.Error()).NotTo(gomega.ContainSubstring("xxx"))
	g.Expect(p.taken()).To(gomega.BeEmpty())
	g.Expect(r.Stored.GetAnnotations()[v1alpha1.AnnotationPatches]).NotTo(gomega.ContainSubstring("xxx"))

	g.Expect(patches.Marks(marked)).To(gomega.HaveLen(1), "a resource that is let go keeps it")
	g.Expect(patches.Marks(website(t, `{}`))).To(gomega.BeEmpty())
}

// Who forges what was taken must not make the manager grant rights, or write marks.
func TestAForgedFormerValueGrantsNothing(t *testing.T) {
	const note = `[{"id":"x","apiVersion":"v1","kind":"Namespace","name":"n","taken":{"uid":"t1","fields":[{"manager":"m","operation":"Update","apiVersion":"v1","path":["f:metadata","f:labels","f:%s"],"value":"%s"}]}}]`
	for label, value := range map[string]string{"pod-security.kubernetes.io/enforce": "privileged", "orkestra.orkspace.io/box": "other"} {
		g := gomega.NewWithT(t)
		p := newPatcher()
		stored := website(t, `{}`)
		stored.SetAnnotations(map[string]string{v1alpha1.AnnotationPatches: fmt.Sprintf(note, label, value)})
		r, err := p.run(planOf(t, `{}`), stored)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(p.taken()).To(gomega.BeEmpty())
		g.Expect(fmt.Sprint(r.Events)).To(gomega.ContainSubstring("what was taken of it is not given back"))
	}

	g := gomega.NewWithT(t)
	p := newPatcher()
	stored := website(t, `{}`)
	stored.SetAnnotations(map[string]string{v1alpha1.AnnotationPatches: fmt.Sprintf(note, "pod-security.kubernetes.io/enforce", "privileged")})
	allowed, errs := Compile(boxOf(t, `{}`), Env{CRD: websites(t), AllowGrantingKinds: true})
	g.Expect(errs).To(gomega.BeEmpty())
	_, err := p.run(allowed, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.taken()).To(gomega.HaveLen(1), "where boxes may grant, they may give back what grants")
}

// What was forged of a patch that stands is not noted on, and not given back when the patch leaves a field alone: nothing is sent while it is there.
func TestAForgedFormerValueOfAPatchThatStands(t *testing.T) {
	const note = `[{"id":"x","apiVersion":"v1","kind":"ConfigMap","namespace":"team-a","name":"theirs","taken":{"uid":"t1","fields":[{"manager":"m","operation":"Update","apiVersion":"v1","path":%s,"value":"other"}]}}]`
	for name, path := range map[string]string{"a mark": `["f:metadata","f:labels","f:orkestra.orkspace.io/box"]`, "no path": `["f:metadata","x"]`} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPatcher(theirConfig("theirs"))
			stored := website(t, `{}`)
			stored.SetAnnotations(map[string]string{v1alpha1.AnnotationPatches: fmt.Sprintf(note, path)})
			_, err := p.run(planOf(t, `onReconcile: {patches: [{id: x, force: true, target: {apiVersion: v1, kind: ConfigMap, name: theirs}, patch: {data: {a: b}}}]}`), stored)
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("what the patch has taken can't be given back")))
			g.Expect(p.taken()).To(gomega.BeEmpty())
		})
	}
}

// What is patched is told apart by the fields that are read of it: what is refused is not sent.
func TestWhatIsNotPatched(t *testing.T) {
	child := theirConfig("child")
	child.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "u2", v1alpha1.LabelOwner: "shop", v1alpha1.LabelBox: "shops"})
	token := other(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "team-a", "token", map[string]any{"type": "kubernetes.io/service-account-token"})
	going := theirConfig("going")
	at := metav1.NewTime(now)
	going.SetDeletionTimestamp(&at)
	for name, tc := range map[string]struct{ patch, want string }{
		"a child":           {`{target: {apiVersion: v1, kind: ConfigMap, name: child}, patch: {data: {a: b}}}`, `ConfigMap "team-a/child" is a child of "shop", which box "shops" makes`},
		"a token":           {`{target: {apiVersion: v1, kind: Secret, name: token}, patch: {data: {a: Yg==}}}`, "a Secret of type kubernetes.io/service-account-token grants rights"},
		"what goes":         {`{target: {apiVersion: v1, kind: ConfigMap, name: going}, patch: {data: {a: b}}}`, `ConfigMap "team-a/going" is being deleted`},
		"what is absent":    {`{target: {apiVersion: v1, kind: ConfigMap, name: absent}, patch: {data: {a: b}}}`, `ConfigMap "team-a/absent" does not exist`},
		"another's":         {`{target: {apiVersion: v1, kind: ConfigMap, name: child, namespace: "{{ .spec.host }}"}, patch: {data: {a: b}}}`, `does not let resources of "team-a" in`},
		"no name":           {`{target: {apiVersion: v1, kind: ConfigMap, name: "{{ .spec.image }}"}, patch: {data: {a: b}}}`, "yields an empty name"},
		"a path":            {`{target: {apiVersion: v1, kind: ConfigMap, name: "{{ .spec.host }}/x"}, patch: {data: {a: b}}}`, "target.name"},
		"marks":             {`{target: {apiVersion: v1, kind: ConfigMap, name: child}, patch: {metadata: {labels: '{{ dict "orkestra.orkspace.io/box" "x" }}'}}}`, "this is a mark of Orkestra"},
		"hidden finalizers": {`{target: {apiVersion: v1, kind: ConfigMap, name: child}, patch: {metadata: '{{ dict "finalizers" (list "a/b") }}'}}`, "patch.metadata.finalizers: not for a patch to set"},
		"no text":           {`{target: {apiVersion: v1, kind: ConfigMap, name: child}, patch: {data: '{{ dict "a" (list 1) }}'}}`, "patch.data[a]: want string"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPatcher(child, token, going)
			r, err := p.run(planOf(t, `{onReconcile: {patches: [`+tc.patch+`]}}`), website(t, `{host: team-b, image: ""}`))
			g.Expect(fmt.Sprint(err, r.Waits)).To(gomega.ContainSubstring(tc.want))
			g.Expect(p.taken()).To(gomega.BeEmpty())
			g.Expect(r.Inputs.Observed()).To(gomega.BeNumerically("<=", 1))
		})
	}
}

func TestMistakesOfPatches(t *testing.T) {
	const head = "target: {apiVersion: v1, kind: ConfigMap, name: a}, "
	for patch, want := range map[string]string{
		head + "patch: {}": "patch: Required value: the fields to set",
		head + "patch: {data: {a: b}}, force: '{{ .spec.host }}'":                             "force",
		head + "patch: {data: {a: b}}, force: sometimes":                                      "force",
		"target: {apiVersion: v1, kind: Secret, name: a}, patch: {data: {a: b}}, force: true": "force: Forbidden: the former values of what is taken are kept in an annotation",
		"patch: {data: {a: b}}": "target.name: Required value: the object to patch",
		"target: {apiVersion: v1, kind: '{{ .spec.host }}', name: a}, patch: {a: b}":                                                        "target.kind",
		"target: {apiVersion: v1, kind: ConfigMpa, name: a}, patch: {data: {a: b}}":                                                         `v1 has no such kind, did you mean "ConfigMap"?`,
		"target: {apiVersion: v1, kind: ConfigMap}, patch: {data: {a: b}}":                                                                  "target.name: Required value",
		head + "patch: {data: {a: b}, kind: Secret}":                                                                                        "patch.kind: Forbidden: not for a patch to set: target says it",
		head + "patch: {metadata: {name: b, ownerReferences: []}}":                                                                          "patch.metadata.name",
		head + "patch: {metadata: {annotations: {orkestra.orkspace.io/allow-from: a}}}":                                                     "patch.metadata.annotations",
		head + "patch: {data: {a: '{{ .spec.hots }}'}}":                                                                                     `patch.data.a: Invalid value: "{{ .spec.hots }}": column 4: spec.hots: no such field`,
		head + "patch: {data: {a: b}}, name: c":                                                                                             "name: Forbidden: the object is named in target",
		head + "patch: {data: {a: b}}, labels: {c: d}":                                                                                      "labels: Forbidden: what is set of the object stands in patch",
		head + "patch: {data: {a: b}}, adopt: IfUnowned":                                                                                    "adopt: Forbidden: it says how a child is made",
		"target: {apiVersion: v1, kind: Secret, name: a}, patch: {stringData: {a: b}}":                                                      "patch.stringData: Forbidden: not for a patch to set, because the API server keeps none",
		"target: {apiVersion: v1, kind: Namespace, name: '{{ .spec.host }}'}, patch: {metadata: {labels: {a: b}}}":                          "Namespace is cluster-scoped and the resources are not",
		"target: {apiVersion: v1, kind: Namespace, name: a}, patch: {metadata: {labels: {pod-security.kubernetes.io/enforce: privileged}}}": "grants rights",
		"target: {apiVersion: v1, kind: Node, name: a}, patch: {metadata: {labels: {a: b}}}":                                                "Node grants rights",
		"target: {apiVersion: demo.example.com/v1, kind: Website, name: a}, patch: {spec: {host: b}}":                                       "a box can't patch the kind that it serves, nor Orkestra's own (Website); to set fields of what others own, serve a kind of your own, and read them by cross: docs/how-to/coming-from-metacontroller.md#fields-of-objects-with-an-annotation",
		"target: {apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox, name: a}, patch: {spec: {workers: 1}}":                      "nor Orkestra's own (OperatorBox)",
		"target: {apiVersion: demo.example.com/v1, kind: Region, name: '{{ .metadata.name }}'}, patch: {spec: {a: b}}":                      "Region is cluster-scoped",
		head + "patch: {data: {a: '{{ .children.secret.data.a }}'}}":                                                                        "what a Secret holds can be read only by",
	} {
		t.Run(patch, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, "{onReconcile: {secrets: [{data: {a: b}}], patches: [{"+patch+"}]}}"), Env{CRD: websites(t), Mapper: stubMapper()})
			g.Expect(messages(errs)).To(gomega.ContainElement(gomega.ContainSubstring(want)))
		})
	}
}

func TestRightsOfPatches(t *testing.T) {
	g := gomega.NewWithT(t)
	const spec = `{serviceAccountRef: {name: team, namespace: team-a}, namespaces: {include: [team-a]}, onReconcile: {patches: [
		{target: {apiVersion: apps/v1, kind: Deployment, name: web}, patch: {spec: {replicas: 2}}},
		{target: {apiVersion: v1, kind: ConfigMap, name: "{{ .spec.host }}"}, patch: {data: {a: b}}}]}}`
	own := planOf(t, spec).Required()
	g.Expect(own).To(gomega.ContainElement(gomega.And(gomega.HaveField("Resources", []string{"deployments"}), gomega.HaveField("ResourceNames", []string{"web"}),
		gomega.HaveField("Verbs", []string{"get", "patch"}), gomega.HaveField("Namespaces", []string{"team-a"}))))
	g.Expect(own).To(gomega.ContainElement(gomega.And(gomega.HaveField("Resources", []string{"configmaps"}), gomega.HaveField("Verbs", []string{"get", "patch"}))))
	g.Expect(planOf(t, strings.Replace(spec, "serviceAccountRef: {name: team, namespace: team-a}, ", "", 1)).Required()).To(gomega.ContainElement(gomega.And(
		gomega.HaveField("Resources", []string{"deployments"}), gomega.HaveField("Verbs", []string{"get", "list", "watch", "patch"}))))
}

// TestPatchesThatCantStandTogether: what is known before there is a resource is said when the box is applied.
func TestPatchesThatCantStandTogether(t *testing.T) {
	const target = "target: {apiVersion: v1, kind: ConfigMap, name: %s}, patch: {data: %s}"
	patch := func(id, name, data string) string { return "{id: " + id + ", " + fmt.Sprintf(target, name, data) + "}" }
	gated := func(patch string) string { return "{when: [{field: spec.tls, equals: true}], " + patch[1:] }
	const (
		put     = `its own declaration would put it back; write the fields there`
		another = `spec.onReconcile.patches[1].patch: Forbidden: spec.onReconcile.patches[0] sets data.k of this ConfigMap to another value: one of the two would always be in conflict`
	)
	for name, tc := range map[string]struct{ box, want string }{
		"two values of one field":          {`patches: [` + patch("a", "x", "{k: v}") + `, ` + patch("b", "x", "{k: w}") + `]`, another},
		"of one object by a template":      {`patches: [` + patch("a", `"{{ .spec.host }}"`, "{k: v}") + `, ` + patch("b", `"{{ .spec.host }}"`, "{k: w}") + `]`, another},
		"one of them has a gate":           {`patches: [` + patch("a", "x", "{k: v}") + `, ` + gated(patch("b", "x", "{k: w}")) + `]`, another},
		"both have gates":                  {`patches: [` + gated(patch("a", "x", "{k: v}")) + `, ` + gated(patch("b", "x", "{k: w}")) + `]`, ""},
		"one value":                        {`patches: [` + patch("a", "x", "{k: v}") + `, ` + patch("b", "x", "{k: v}") + `]`, ""},
		"several fields":                   {`patches: [` + patch("a", "x", "{k: v}") + `, ` + patch("b", "x", "{l: w}") + `]`, ""},
		"several objects":                  {`patches: [` + patch("a", "x", "{k: v}") + `, ` + patch("b", "z", "{k: w}") + `]`, ""},
		"a template may give the same":     {`patches: [` + patch("a", "x", "{k: v}") + `, ` + patch("b", "x", `{k: "{{ .spec.host }}"}`) + `]`, ""},
		"a child by its name":              {`{configmaps: [{name: x, data: {a: b}}], patches: [` + patch("a", "x", "{k: v}") + `]}`, `patches[0].target: Forbidden: ConfigMap is a child of this box (spec.onReconcile.configmaps[0]), and ` + put},
		"a child by the name of all":       {`{configmaps: [{data: {a: b}}], patches: [` + patch("a", `"{{ .metadata.name }}"`, "{k: v}") + `]}`, put},
		"a child that may not be there":    {`{configmaps: [{name: x, data: {a: b}, when: [{field: spec.tls, equals: true}]}], patches: [` + patch("a", "x", "{k: v}") + `]}`, ""},
		"another kind with a child's name": {`{services: [{name: x, port: 80, selector: {a: b}}], patches: [` + patch("a", "x", "{k: v}") + `]}`, ""},
		"an object in a namespace by name": {`{configmaps: [{name: x, data: {a: b}}], patches: [` + strings.Replace(patch("a", "x", "{k: v}"), "name: x", "name: x, namespace: other", 1) + `]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, "onReconcile: "+bracesOf(tc.box)), Env{CRD: websites(t), Mapper: stubMapper()})
			if tc.want == "" {
				g.Expect(messages(errs)).To(gomega.BeEmpty())
				return
			}
			g.Expect(messages(errs)).To(gomega.ConsistOf(gomega.ContainSubstring(tc.want)))
		})
	}
}

func bracesOf(group string) string {
	return "{" + strings.TrimSuffix(strings.TrimPrefix(group, "{"), "}") + "}"
}

// TestItemsThatPatchOneObject would be one manager, and undo each other in turns: nothing of them is set, and what was set stays.
func TestItemsThatPatchOneObject(t *testing.T) {
	const loop = `{onReconcile: {patches: [{id: all, forEach: {field: spec.tags%s}, target: {apiVersion: v1, kind: ConfigMap, name: one}, patch: {data: {"k": "{{ .item }}"}}%s}]}}`
	for name, tc := range map[string]struct {
		key, gate, tags string
		sent            int
		fails           bool
	}{
		"without keys":                       {tags: "[a, b]", fails: true},
		"with keys they are two":             {key: `, key: "{{ .item }}"`, tags: "[a, b]", sent: 2},
		"one alone":                          {tags: "[a]", sent: 1},
		"a gate that leaves one of them out": {gate: `, when: [{field: item, notEquals: b}]`, tags: "[a, b]", sent: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPatcher(theirConfig("one"))
			stored := website(t, `{tags: `+tc.tags+`}`)
			const note = `[{"id":"all#one","apiVersion":"v1","kind":"ConfigMap","namespace":"team-a","name":"one"}]`
			stored.SetAnnotations(map[string]string{v1alpha1.AnnotationPatches: note})
			r, err := p.run(planOf(t, fmt.Sprintf(loop, tc.key, tc.gate)), stored)
			sent := slices.DeleteFunc(p.taken(), func(s string) bool { return strings.HasSuffix(s, "taken back") })
			g.Expect(sent).To(gomega.HaveLen(tc.sent))
			if !tc.fails {
				g.Expect(err).NotTo(gomega.HaveOccurred())
				return
			}
			expectStep(g, err, "patches", Refused, v1alpha1.ReasonDuplicateChild)
			g.Expect(err.Error()).To(gomega.ContainSubstring(`all: forEach: "all#0" and "all#1" both patch one ConfigMap; give each its target, or give `))
			g.Expect(r.Stored.GetAnnotations()[v1alpha1.AnnotationPatches]).To(gomega.Equal(note))
		})
	}
}

// All that is wrong with a patch is said at once, whatever else is wrong with it.
func TestMistakesOfAPatchAreSaidInOneRound(t *testing.T) {
	for name, tc := range map[string]struct {
		patch string
		want  []string
	}{
		"what is not its to set": {
			`{target: {apiVersion: v1, kind: ConfigMap, name: a}, once: true, force: certainly, patch: {dat: {a: b}, status: {a: b}, metadata: {finalizers: [a/b], labels: 5}}}`,
			[]string{"force", "once", "patch.dat", "patch.metadata.finalizers", "patch.metadata.labels", "patch.status"},
		},
		"no target": {
			`{patch: {data: {a: "{{ .spec.nope }}"}, status: {}}, when: [{field: spec.no, equals: 1}], adopt: Never, force: "{{ .spec.host }}"}`,
			[]string{"adopt", "force", "patch.data.a", "patch.status", "target.apiVersion", "target.kind", "target.name", "when[0].field"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, "{onReconcile: {patches: ["+tc.patch+"]}}"), Env{CRD: websites(t), Mapper: stubMapper()})
			var found []string
			for _, err := range errs {
				found = append(found, strings.TrimPrefix(err.Field, "spec.onReconcile.patches[0]."))
			}
			slices.Sort(found)
			g.Expect(found).To(gomega.Equal(tc.want), "%v", errs)
		})
	}
}

// A patch takes just the common fields that are explained for it.
func TestAPatchTakesTheCommonFieldsThatAreExplained(t *testing.T) {
	g := gomega.NewWithT(t)
	kind, _ := kinds.Lookup("patches")
	var explained []string
	for _, f := range kind.CommonFields() {
		explained = append(explained, f.Name)
		g.Expect(f.Fields()).NotTo(gomega.ContainElement(gomega.HaveField("Name", "rollout")))
	}
	const each = `id: own
name: a
namespace: team-a
labels: {a: b}
annotations: {a: b}
reconcile: true
once: true
when: [{field: spec.host, exists: true}]
anyOf: [{field: spec.host, exists: true}]
whenFalse: Keep, when: [{field: spec.host, exists: true}]
after: [own]
optional: true
forEach: {field: spec.tags}
adopt: Never
deletionPolicy: Delete
replace: true
initialFields: [data]
readyWhen: [{field: object.data.a, exists: true}]
spec: {a: b}`
	samples := map[string]string{}
	for line := range strings.SplitSeq(each, "\n") {
		name, sample, _ := strings.Cut(line, ": ")
		samples[name] = sample
	}
	for _, name := range v1alpha1.CommonFieldNames() {
		g.Expect(samples).To(gomega.HaveKey(name))
		patch := fmt.Sprintf(`{target: {apiVersion: v1, kind: ConfigMap, name: "a{{ .spec.host }}"}, patch: {data: {a: b}}, %s: %s}`, name, samples[name])
		_, errs := Compile(boxOf(t, "{onReconcile: {patches: ["+patch+"]}}"), Env{CRD: websites(t), Mapper: stubMapper()})
		if slices.Contains(explained, name) {
			g.Expect(errs).To(gomega.BeEmpty(), name)
		} else {
			g.Expect(errs).To(gomega.ConsistOf(gomega.HaveField("Field", "spec.onReconcile.patches[0]."+name)), name)
		}
	}
}

// A patch that stands in the way of another is named by the resource that makes it: the resource itself, or another one that this process serves.
func TestAnotherPatchIsNamed(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPatcher(theirConfig("one"))
	plan := planOf(t, `{onReconcile: {patches: [{id: a, target: {apiVersion: v1, kind: ConfigMap, name: one}, patch: {data: {a: b}}}, {id: b, target: {apiVersion: v1, kind: ConfigMap, name: one}, patch: {data: {c: d}}}]}}`)
	in := p.ports.ports()
	in.Patcher, in.PatchOf = p, func(manager string) string { return "elsewhere " + manager }
	_ = plan.Execute(t.Context(), plan.NewRun(website(t, `{}`), now, in))
	g.Expect(p.named(byPatch("b"))).To(gomega.Equal(`the patch "b" of Website "team-a/shop" (box "website")`))
	g.Expect(p.named("orkestra-0123456789abcdef")).To(gomega.Equal("elsewhere orkestra-0123456789abcdef"))
	_, err := p.run(plan, website(t, `{}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.named("orkestra-0123456789abcdef")).To(gomega.BeEmpty(), "nobody knows of others")
}
