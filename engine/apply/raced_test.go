package apply

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// shelf is a cache that has one object until it hears that it is gone.
type shelf struct {
	heard
	has *unstructured.Unstructured
}

func (s *shelf) Get(schema.GroupVersionKind, string, string) (*unstructured.Unstructured, bool) {
	return s.has, s.has != nil
}

func (s *shelf) Gone(kind schema.GroupVersionKind, obj *unstructured.Unstructured) {
	s.heard.Gone(kind, obj)
	s.has = nil
}

// What somebody deletes while we correct it is made again at once: a failure would have boxes rolled back that go back on the first one.
func TestAChildThatGoesWhileItIsCorrectedIsMadeAgain(t *testing.T) {
	const (
		made     = `{"kind":"Widget","apiVersion":"example.org/v1","metadata":{"namespace":"ns","name":"web","uid":"c2","resourceVersion":"9"}}`
		conflict = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"uid mismatch"}`
		notFound = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"web","kind":"widgets"}}`
	)
	g := NewWithT(t)
	var sent []string
	answers := []struct {
		code int
		body string
	}{{http.StatusConflict, conflict}, {http.StatusNotFound, notFound}, {http.StatusCreated, made}}
	client := answering(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		a := answers[min(len(sent), len(answers)-1)]
		sent = append(sent, r.Method)
		w.WriteHeader(a.code)
		_, _ = w.Write([]byte(a.body))
	})
	owner := Owner{Resource: live("ns"), Box: "website", Label: "web"}
	wanted := Child{Object: widget("web"), ID: "web"}
	cache := &shelf{has: owner.Claimed(wanted)}
	cache.has.SetUID("c1")
	cache.has.SetResourceVersion("7")
	cache.has.SetAnnotations(map[string]string{v1alpha1.AnnotationApplied: "another"})
	cache.has.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: v1alpha1.FieldManager, Operation: metav1.ManagedFieldsOperationApply}})
	schemas := func(schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps {
		return &apiextensionsv1.JSONSchemaProps{Type: "object"}
	}

	out, err := NewWriter(client, cache, drift.NewComparer(schemas)).Apply(t.Context(), owner, wanted)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Action).To(Equal(Created))
	g.Expect(sent).To(Equal([]string{http.MethodPatch, http.MethodGet, http.MethodPatch}))
	g.Expect(cache.gone).To(Equal([]string{"c1@7"}))
}
