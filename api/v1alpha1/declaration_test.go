package v1alpha1_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestDeclarationRoundTrip(t *testing.T) {
	cases := map[string]string{
		"empty":        `{}`,
		"common":       `{"id":"web","name":"a","namespace":"b","labels":{"x":"y"},"annotations":{"x":"y"},"reconcile":false,"once":true,"when":[{"field":"spec.tls","operator":"exists"}],"anyOf":[{"cel":"true"}],"whenFalse":"Keep","optional":true,"forEach":{"field":"spec.tags","as":"tag","key":"{{ .tag }}","rollout":{"maxUnavailable":"25%","order":"Descending"}},"adopt":"IfUnowned","deletionPolicy":"Orphan","initialFields":["spec.replicas"],"readyWhen":[{"field":"a","equals":1}],"spec":{"a":{"b":[1,null]}}}`,
		"short":        `{"image":"nginx","replicas":"{{ .spec.replicas }}","env":[{"name":"A","value":"1"}]}`,
		"both":         `{"id":"web","image":"nginx"}`,
		"odd values":   `{"a":null,"b":1.5,"c":12345678901234567890,"d":[],"e":{},"f":"<&>"}`,
		"unknown keys": `{"imge":"x","whenn":"y"}`,
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var d v1alpha1.Declaration
			g.Expect(json.Unmarshal([]byte(text), &d)).To(Succeed())
			out, err := json.Marshal(d)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out).To(MatchJSON(text))

			var again v1alpha1.Declaration
			g.Expect(json.Unmarshal(out, &again)).To(Succeed())
			second, err := json.Marshal(again)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(second).To(Equal(out), "it is written the same twice")
			g.Expect(*d.DeepCopy()).To(Equal(d))
		})
	}
}

func TestShortHoldsWhatIsNotCommon(t *testing.T) {
	g := NewWithT(t)
	var d v1alpha1.Declaration
	g.Expect(json.Unmarshal([]byte(`{"id":"web","when":[],"image":"nginx","port":80}`), &d)).To(Succeed())
	g.Expect(d.ID).To(Equal("web"))
	g.Expect(d.Short).To(Equal(map[string]apiextensionsv1.JSON{"image": {Raw: []byte(`"nginx"`)}, "port": {Raw: []byte("80")}}))

	g.Expect(json.Unmarshal([]byte(`{"id":"web"}`), &d)).To(Succeed())
	g.Expect(d.Short).To(BeNil(), "what was read before is gone")
}

func TestDeclarationsThatAreWrong(t *testing.T) {
	for name, text := range map[string]string{
		"no object":          `[]`,
		"common field":       `{"id":7}`,
		"common nested":      `{"when":{"field":"a"}}`,
		"not even JSON":      `{"id"`,
		"unknown short type": `{"forEach":"a"}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var d v1alpha1.Declaration
			g.Expect(json.Unmarshal([]byte(text), &d)).NotTo(Succeed())
		})
	}
}

func TestCommonFieldNames(t *testing.T) {
	g := NewWithT(t)
	g.Expect(v1alpha1.CommonFieldNames()).To(Equal([]string{
		"id", "name", "namespace", "labels", "annotations", "reconcile", "once", "when", "anyOf", "whenFalse", "after", "optional", "forEach",
		"adopt", "deletionPolicy", "replace", "initialFields", "readyWhen", "spec",
	}))
}
