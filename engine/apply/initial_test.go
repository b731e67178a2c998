package apply

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestWhatIsHeldIsReadBackAsWritten(t *testing.T) {
	g := gomega.NewWithT(t)
	held := []drift.FieldPath{{"spec", "replicas"}, {"metadata", "annotations", "a.b/c~d"}}
	leaving := []drift.FieldPath{{"data", "-x"}}
	text, err := initialText(held, leaving)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(text).To(gomega.Equal(`["/spec/replicas","/metadata/annotations/a.b~1c~0d","-/data/-x"]`))
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAnnotations(map[string]string{v1alpha1.AnnotationInitial: text})
	gotHeld, gotLeaving := initialOn(obj)
	g.Expect(gotHeld).To(gomega.Equal(held))
	g.Expect(gotLeaving).To(gomega.Equal(leaving))
	for _, broken := range []string{"", "x", `[1]`, `["spec"]`, `["-spec"]`, `{}`} {
		obj.SetAnnotations(map[string]string{v1alpha1.AnnotationInitial: broken})
		gotHeld, gotLeaving = initialOn(obj)
		g.Expect(gotHeld).To(gomega.BeEmpty(), broken)
		g.Expect(gotLeaving).To(gomega.BeEmpty(), broken)
	}
}

func TestInitialPartHasTheLiveValues(t *testing.T) {
	g := gomega.NewWithT(t)
	live := objectOf(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, uid: c, labels: {x: y}}, data: {k: live, other: o}}`)
	obj, err := initialPart(live, []drift.FieldPath{{"data", "k"}, {"data", "absent"}}, []drift.FieldPath{{"metadata", "labels", "x"}})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(obj.Object).To(gomega.Equal(objectOf(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, uid: c, labels: {x: y},
  annotations: {orkestra.orkspace.io/initial: '["/data/k","/data/absent","-/metadata/labels/x"]'}}, data: {k: live}}`).Object))
	obj, err = initialPart(live, nil, nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(obj.Object).To(gomega.Equal(nothing(live).Object), "which releases all")
	_, err = initialPart(live, []drift.FieldPath{{"data", "k", "deeper"}}, nil)
	g.Expect(err).To(gomega.MatchError("initialFields: data.k.deeper of a ConfigMap can't be left alone: it leads through something that is not an object"))
}

func TestWithoutInitialHasAHashOfItsOwn(t *testing.T) {
	g := gomega.NewWithT(t)
	obj := objectOf(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {orkestra.orkspace.io/applied: full}}, spec: {replicas: 3, paused: true}}`)
	rest := withoutInitial(obj, []drift.FieldPath{{"spec", "replicas"}})
	g.Expect(rest.Object["spec"]).To(gomega.Equal(map[string]any{"paused": true}))
	g.Expect(rest.GetAnnotations()).To(gomega.HaveKeyWithValue(v1alpha1.AnnotationApplied, drift.Hash(rest)))
	g.Expect(obj.Object["spec"]).To(gomega.HaveKey("replicas"), "what was given stays as it is")
	g.Expect(withoutInitial(obj, nil)).To(gomega.BeIdenticalTo(obj))

	secret := objectOf(t, `{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {orkestra.orkspace.io/applied: full}}, stringData: {p: x, q: "y"}}`)
	rest = withoutInitial(secret, []drift.FieldPath{{"data", "p"}})
	g.Expect(rest.Object).NotTo(gomega.HaveKey("stringData"))
	g.Expect(rest.Object["data"]).To(gomega.Equal(map[string]any{"q": "eQ=="}))
}

func TestInitialFieldsThatCannotBeHandedOver(t *testing.T) {
	comparer := drift.NewComparer(nil)
	deployment := `{apiVersion: apps/v1, kind: Deployment}`
	cases := map[string]struct {
		object string
		path   drift.FieldPath
		want   string
	}{
		"a field":                        {deployment, drift.FieldPath{"spec", "replicas"}, ""},
		"an entry of a map":              {`{apiVersion: v1, kind: ConfigMap}`, drift.FieldPath{"data", "x"}, ""},
		"a label":                        {deployment, drift.FieldPath{"metadata", "labels", "x"}, ""},
		"a list as a whole":              {deployment, drift.FieldPath{"spec", "template", "spec", "containers"}, ""},
		"a whole with one owner":         {deployment, drift.FieldPath{"spec", "selector"}, ""},
		"part of a whole with one owner": {deployment, drift.FieldPath{"spec", "selector", "matchLabels"}, "initialFields: spec.selector.matchLabels of a Deployment can't be left alone: spec.selector has one owner as a whole; name that instead"},
		"what is in a list":              {deployment, drift.FieldPath{"spec", "template", "spec", "containers", "image"}, "initialFields: spec.template.spec.containers.image of a Deployment can't be left alone: spec.template.spec.containers is a list; name that instead"},
		"a kind that is not known":       {`{apiVersion: a.b/v1, kind: C}`, drift.FieldPath{"spec", "x"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			err := checkInitial(comparer, Child{Object: objectOf(t, tc.object), Initial: []drift.FieldPath{tc.path}})
			if tc.want == "" {
				g.Expect(err).NotTo(gomega.HaveOccurred())
			} else {
				g.Expect(err).To(gomega.MatchError(tc.want))
			}
		})
	}
}
