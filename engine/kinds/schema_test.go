package kinds

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

func typeAt(s *apiextensionsv1.JSONSchemaProps, path string) string {
	for name := range strings.FieldsSeq(path) {
		switch {
		case name == "[]":
			s = s.Items.Schema
		case s.AdditionalProperties != nil:
			s = s.AdditionalProperties.Schema
		default:
			p, ok := s.Properties[name]
			if !ok {
				return "absent"
			}
			s = &p
		}
	}
	if s.XPreserveUnknownFields != nil {
		return "anything"
	}
	return s.Type
}

func TestSchema(t *testing.T) {
	deployment := Schema(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	secret := Schema(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	for path, want := range map[string]string{
		"apiVersion": "string", "kind": "string", "metadata name": "string", "metadata labels x": "string", "metadata creationTimestamp": "string",
		"metadata managedFields [] fieldsV1": "anything", "spec replicas": "integer", "spec paused": "boolean", "spec selector matchLabels x": "string",
		"spec template spec containers [] image": "string", "spec template spec containers [] resources limits cpu": "anything",
		"spec template spec containers [] ports [] containerPort":                "integer",
		"spec template spec containers [] livenessProbe httpGet port":            "anything",
		"spec strategy rollingUpdate maxSurge":                                   "anything",
		"status readyReplicas":                                                   "integer",
		"status readyReplica":                                                    "absent",
		"status conditions [] lastTransitionTime":                                "string",
		"spec template spec volumes [] configMap items [] mode":                  "integer",
		"spec template spec affinity nodeAffinity":                               "object",
		"spec template metadata annotations a.b/c":                               "string",
		"spec template spec initContainers [] env [] valueFrom secretKeyRef key": "string",
	} {
		if got := typeAt(deployment, path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	g := NewWithT(t)
	labels := deployment.Properties["metadata"].Properties["labels"]
	g.Expect(labels.AdditionalProperties.Allows).To(BeTrue(), "as in a schema that is read from JSON")
	g.Expect(typeAt(secret, "data x")).To(Equal("string"))
	crd := Schema(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	g.Expect(typeAt(crd, "spec names plural")).To(Equal("string"))
	g.Expect(typeAt(crd, "spec versions [] served")).To(Equal("boolean"))
	g.Expect(Schema(schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"})).To(BeNil())
}

// Every kind that a key stands for has a schema with the parts that all objects have, and asking for all of them ends.
func TestSchema_allKinds(t *testing.T) {
	g := NewWithT(t)
	for _, k := range table {
		if k.GVK.Empty() {
			continue
		}
		s := Schema(k.GVK)
		g.Expect(s).NotTo(BeNil(), k.Key)
		g.Expect(typeAt(s, "metadata uid")).To(Equal("string"), k.Key)
		for _, counter := range counters[k.GVK.GroupKind()] {
			g.Expect(typeAt(s, "status "+counter)).To(Equal("integer"), "%s: %s", k.Key, counter)
		}
	}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		g.Expect(Schema(gvk)).NotTo(BeNil())
	}
}
