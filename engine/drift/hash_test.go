package drift

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestHashSame(t *testing.T) {
	for name, pair := range map[string][2]string{
		"MapOrder":    {"spec: {a: 1, b: {c: 2, d: 3}}", "spec: {b: {d: 3, c: 2}, a: 1}"},
		"NullList":    {"spec: {a: 1, b: null}", "spec: {a: 1}"},
		"EmptyList":   {"spec: {a: 1, b: []}", "spec: {a: 1}"},
		"DeepList":    {"spec: {a: [{b: [], c: 1}]}", "spec: {a: [{b: null, c: 1}]}"},
		"ListInList":  {"spec: {a: [[], 1]}", "spec: {a: [null, 1]}"},
		"WholeNumber": {"spec: {a: 1.0}", "spec: {a: 1}"},
		"Annotation":  {"metadata: {annotations: {orkestra.orkspace.io/applied: x, a: b}}", "metadata: {annotations: {a: b}}"},
		"Annotation2": {"metadata: {name: n, annotations: {orkestra.orkspace.io/applied: x}}", "metadata: {name: n}"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Hash(object(t, custom, pair[0]))).To(Equal(Hash(object(t, custom, pair[1]))))
		})
	}
}

func TestHashOther(t *testing.T) {
	for name, pair := range map[string][2]string{
		"Value":       {"spec: {a: 1}", "spec: {a: 2}"},
		"Type":        {"spec: {a: 1}", "spec: {a: '1'}"},
		"Fraction":    {"spec: {a: 1.5}", "spec: {a: 1}"},
		"Bool":        {"spec: {a: true}", "spec: {a: 'true'}"},
		"Order":       {"spec: {a: [1, 2]}", "spec: {a: [2, 1]}"},
		"Nesting":     {"spec: {a: {b: 1}}", "spec: {a: {}, b: 1}"},
		"Length":      {"spec: {a: [null]}", "spec: {a: [null, null]}"},
		"EmptyMap":    {"spec: {a: {}}", "spec: {}"},
		"EmptyText":   {"spec: {a: ''}", "spec: {}"},
		"False":       {"spec: {a: false}", "spec: {}"},
		"Annotation":  {"metadata: {annotations: {a: b}}", "metadata: {annotations: {a: c}}"},
		"Quotes":      {`spec: {a: 'b","c":"d'}`, "spec: {a: b, c: d}"},
		"AppliedElse": {"metadata: {labels: {orkestra.orkspace.io/applied: x}}", "metadata: {labels: {orkestra.orkspace.io/applied: y}}"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Hash(object(t, custom, pair[0]))).NotTo(Equal(Hash(object(t, custom, pair[1]))))
		})
	}
}

func TestHashIsStable(t *testing.T) {
	g := NewWithT(t)
	obj := object(t, deployment, containers("{name: a, image: b}"))
	// Every child that was ever applied carries a hash: another one for the same object applies them all again.
	g.Expect(Hash(obj)).To(Equal("bcf8507640a948cc"))
	long := map[string]any{}
	for i := range 200 {
		long[fmt.Sprint("k", i)] = strings.Repeat("x", 13*i)
	}
	g.Expect(Hash(&unstructured.Unstructured{Object: map[string]any{"data": long}})).To(Equal("bc5fd04bc585fd2e"), "more than is hashed at once")
	before := obj.DeepCopy()
	obj.SetAnnotations(map[string]string{v1alpha1.AnnotationApplied: Hash(obj)})
	g.Expect(Hash(obj)).To(Equal(Hash(before)))
	g.Expect(obj.GetAnnotations()).To(HaveKey(v1alpha1.AnnotationApplied))
}

func TestHashOfOddObjects(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Hash(nil)).To(HaveLen(16))
	g.Expect(Hash(&unstructured.Unstructured{})).To(HaveLen(16))
	g.Expect(Hash(&unstructured.Unstructured{Object: map[string]any{"metadata": "x", "a": func() {}, "b": []string{"c"}}})).To(HaveLen(16))
}
