package boxspec

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func annotationsOf(tb testing.TB, text string) (Annotations, []string) {
	tb.Helper()
	var s v1alpha1.AnnotationSelector
	if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
		tb.Fatal(err)
	}
	a, errs := AnnotationsOf(&s, field.NewPath("s"))
	var texts []string
	for _, e := range errs {
		texts = append(texts, e.Error())
	}
	return a, texts
}

func TestAnnotations_Matches(t *testing.T) {
	none, empty, a, b := map[string]string(nil), map[string]string{"k": ""}, map[string]string{"k": "a"}, map[string]string{"k": "b", "l": "c"}
	for text, want := range map[string][]bool{ // of none, empty, a, b
		`{}`:                               {true, true, true, true},
		`{matchAnnotations: {k: a}}`:       {false, false, true, false},
		`{matchAnnotations: {k: ''}}`:      {false, true, false, false},
		`{matchAnnotations: {k: b, l: c}}`: {false, false, false, true},
		`{matchAnnotations: {k: a, l: c}}`: {false, false, false, false},
		`{matchExpressions: [{key: k, operator: In, values: [a, b]}]}`:                           {false, false, true, true},
		`{matchExpressions: [{key: k, operator: In, values: ['', b]}]}`:                          {false, true, false, true},
		`{matchExpressions: [{key: k, operator: NotIn, values: [a]}]}`:                           {true, true, false, true},
		`{matchExpressions: [{key: k, operator: NotIn, values: ['']}]}`:                          {true, false, true, true},
		`{matchExpressions: [{key: k, operator: Exists}]}`:                                       {false, true, true, true},
		`{matchExpressions: [{key: k, operator: DoesNotExist}]}`:                                 {true, false, false, false},
		`{matchAnnotations: {k: b}, matchExpressions: [{key: l, operator: NotIn, values: [c]}]}`: {false, false, false, false},
	} {
		g := gomega.NewWithT(t)
		selects, errs := annotationsOf(t, text)
		g.Expect(errs).To(gomega.BeEmpty(), text)
		g.Expect(selects.Empty()).To(gomega.Equal(text == `{}`), text)
		for i, annotations := range []map[string]string{none, empty, a, b} {
			g.Expect(selects.Matches(annotations)).To(gomega.Equal(want[i]), "%s of %v", text, annotations)
		}
	}
}

func TestWhatIsWrongWithAnAnnotationSelector(t *testing.T) {
	const name = "name part must consist of alphanumeric characters"
	for text, want := range map[string]string{
		`{matchAnnotations: {'a b': c}}`:                                            `s.matchAnnotations[a b]: Invalid value: "a b": ` + name,
		`{matchExpressions: [{key: 'a b', operator: Exists}]}`:                      `s.matchExpressions[0].key: Invalid value: "a b": ` + name,
		`{matchAnnotations: {kubectl.kubernetes.io/last-applied-configuration: c}}`: `s.matchAnnotations[kubectl.kubernetes.io/last-applied-configuration]: Invalid value: "kubectl.kubernetes.io/last-applied-configuration": it is kubectl's own copy`,
		`{matchExpressions: [{key: a, operator: Like, values: [b]}]}`:               `s.matchExpressions[0].operator: Unsupported value: "Like"`,
		`{matchExpressions: [{key: a, operator: Exists}, {key: a, operator: In}]}`:  `s.matchExpressions[1].values: Required value: In compares with values`,
		`{matchExpressions: [{key: a, operator: NotIn, values: []}]}`:               `s.matchExpressions[0].values: Required value: NotIn compares with values`,
		`{matchExpressions: [{key: a, operator: Exists, values: [b]}]}`:             `s.matchExpressions[0].values: Forbidden: Exists compares with no value`,
		`{matchExpressions: [{key: a, operator: DoesNotExist, values: [b]}]}`:       `s.matchExpressions[0].values: Forbidden: DoesNotExist compares with no value`,
	} {
		_, errs := annotationsOf(t, text)
		gomega.NewWithT(t).Expect(errs).To(gomega.ConsistOf(gomega.HavePrefix(want)), text)
	}
	_, errs := annotationsOf(t, `{matchAnnotations: {Example.com/Key: c}}`)
	gomega.NewWithT(t).Expect(errs).To(gomega.BeEmpty(), "the API server takes capital letters in the domain of an annotation")
	none, mistakes := AnnotationsOf(nil, nil)
	gomega.NewWithT(t).Expect(mistakes).To(gomega.BeEmpty())
	gomega.NewWithT(t).Expect(none.Matches(nil)).To(gomega.BeTrue())
}

func TestAnnotations_Same(t *testing.T) {
	g := gomega.NewWithT(t)
	a, _ := annotationsOf(t, `{matchExpressions: [{key: k, operator: In, values: [a, b]}]}`)
	for text, same := range map[string]bool{
		`{matchExpressions: [{key: k, operator: In, values: [a, b]}]}`:    true,
		`{matchExpressions: [{key: l, operator: In, values: [a, b]}]}`:    false,
		`{matchExpressions: [{key: k, operator: NotIn, values: [a, b]}]}`: false,
		`{matchExpressions: [{key: k, operator: In, values: [a]}]}`:       false,
		`{}`: false,
	} {
		b, _ := annotationsOf(t, text)
		g.Expect(a.Same(b)).To(gomega.Equal(same), text)
	}
	for operator, asks := range map[string]bool{"In, values: [a]": true, "Exists": true, "NotIn, values: [a]": false, "DoesNotExist": false} {
		one, _ := annotationsOf(t, `{matchExpressions: [{key: k, operator: `+operator+`}]}`)
		g.Expect(one.AsksForPresence()).To(gomega.Equal(asks), operator)
	}
}
