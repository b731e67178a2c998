package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/test/fixtures"
)

const (
	group  = "shop.example.com"
	broken = "onReconcile: {configmaps: [{data: {a: '{{ .spec.imge }}'}}]}"
	said   = `spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ .spec.imge }}": column 4: spec.imge: no such field in the CRD's schema, did you mean "image"?`
)

// box is a box as the API server sends it. Metadata and status are given as YAML, too.
func box(t *testing.T, spec string, more ...string) runtime.RawExtension {
	t.Helper()
	content := map[string]any{"apiVersion": "orkestra.orkspace.io/v1alpha1", "kind": "OperatorBox", "metadata": map[string]any{"name": "shop"}}
	text := "spec: {" + spec + "}"
	if !strings.Contains(spec, "crd: ") {
		text = "spec: {crd: {name: websites." + group + "}, " + spec + "}"
	}
	for _, part := range append(more, text) {
		NewWithT(t).Expect(yaml.Unmarshal([]byte(part), &content)).To(Succeed())
	}
	raw, err := json.Marshal(content)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return runtime.RawExtension{Raw: raw}
}

// cluster has the CRD of websites, and these boxes. fails is the error of all reads of CRDs.
func cluster(t *testing.T, fails error, boxes ...runtime.RawExtension) *Judge {
	t.Helper()
	objects := []client.Object{fixtures.Website(group).CRD()}
	for _, b := range boxes {
		other := &v1alpha1.OperatorBox{}
		NewWithT(t).Expect(json.Unmarshal(b.Raw, other)).To(Succeed())
		objects = append(objects, other)
	}
	reader := fake.NewClientBuilder().WithScheme(fixtures.Scheme()).WithObjects(objects...).Build()
	live := interceptor.NewClient(reader, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if fails != nil {
				return fails
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	return &Judge{Boxes: reader, Live: live, Mapper: mapper}
}

func request(operation admissionv1.Operation, now, before runtime.RawExtension) *admissionv1.AdmissionRequest {
	return &admissionv1.AdmissionRequest{UID: "1", Name: "shop", Kind: metav1.GroupVersionKind{Kind: "OperatorBox"}, Operation: operation, Object: now, OldObject: before}
}

func TestWhatIsRefused(t *testing.T) {
	none := runtime.RawExtension{}
	definition := "crd: {definition: {group: " + group + ", scope: Namespaced, names: {kind: Shop, plural: %s}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}"
	for name, tc := range map[string]struct {
		request  *admissionv1.AdmissionRequest
		refused  string // in the message
		warnings []string
	}{
		"one that compiles":              {request: request("CREATE", box(t, "workers: 2"), none)},
		"a mistake":                      {request: request("CREATE", box(t, broken), none), refused: said},
		"a change with a mistake":        {request: request("UPDATE", box(t, broken), box(t, "workers: 2")), refused: said},
		"no change of the spec":          {request: request("UPDATE", box(t, broken, "metadata: {name: shop, labels: {a: b}}"), box(t, broken))},
		"one that is being deleted":      {request: request("UPDATE", box(t, broken, "metadata: {name: shop, deletionTimestamp: '2026-01-01T00:00:00Z'}"), box(t, "workers: 2"))},
		"a deletion":                     {request: request("DELETE", none, box(t, broken))},
		"a CRD that is not there":        {request: request("CREATE", box(t, "crd: {name: a.b}"), none), warnings: []string{`CustomResourceDefinition "a.b" does not exist; it is picked up when it is created`, pathsUnchecked}},
		"a mistake and no CRD":           {request: request("CREATE", box(t, "crd: {name: a.b}, finalizers: [a]"), none), refused: "spec.finalizers[0]", warnings: []string{`CustomResourceDefinition "a.b" does not exist; it is picked up when it is created`, pathsUnchecked}},
		"a version that is not served":   {request: request("CREATE", box(t, "crd: {name: websites."+group+", version: v9}"), none), warnings: []string{`CustomResourceDefinition "websites.` + group + `" does not serve version "v9"; it serves v1`, pathsUnchecked}},
		"a CRD of its own":               {request: request("CREATE", box(t, strings.ReplaceAll(definition, "%s", "shops")), none)},
		"one that the server refuses":    {request: request("CREATE", box(t, strings.ReplaceAll(definition, "%s", "Shops")), none), refused: "spec.crd.definition.names.plural"},
		"a ring of dependencies":         {request: request("CREATE", box(t, "dependsOn: [{name: other}]"), none), refused: "spec.dependsOn"},
		"one that the manager refused":   {request: request("CREATE", box(t, "dependsOn: [{name: refused}]"), none)},
		"two mistakes, in their order":   {request: request("CREATE", box(t, "finalizers: [a], "+broken), none), refused: "2 mistakes: spec.finalizers[0]"},
		"a kind that is not there (yet)": {request: request("CREATE", box(t, "onReconcile: {resources: [{manifest: {apiVersion: a.b/v1, kind: Thing}}]}"), none), warnings: []string{"a.b/v1 has no kind Thing on this API server yet: its children are made when it is installed"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			refusedBefore := "status: {conditions: [{type: Compiled, status: 'False', reason: CompileFailed, message: wrong, lastTransitionTime: '2026-01-01T00:00:00Z'}]}"
			j := cluster(t, nil, box(t, "dependsOn: [{name: shop}]", "metadata: {name: other}"), box(t, "dependsOn: [{name: shop}]", "metadata: {name: refused}", refusedBefore))
			answer, err := j.Answer(t.Context(), tc.request)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer.UID).To(BeEquivalentTo("1"))
			g.Expect(answer.Warnings).To(Equal(tc.warnings))
			g.Expect(answer.Allowed).To(Equal(tc.refused == ""), "%v", answer.Result)
			if tc.refused != "" {
				g.Expect(answer.Result.Message).To(ContainSubstring(tc.refused))
				g.Expect(answer.Result.Reason).To(Equal(metav1.StatusReasonInvalid))
				g.Expect(answer.Result.Details.Causes).NotTo(BeEmpty())
			}
		})
	}
}

// panics is a reader with a mistake of ours.
type panics struct{ client.Reader }

func (panics) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	panic("a mistake of ours")
}

// What is wrong with the webhook itself is no refusal: the failure policy of the configuration decides.
func TestTroubleIsNoRefusal(t *testing.T) {
	sound := cluster(t, nil)
	review := func(r *admissionv1.AdmissionRequest) string {
		content, err := json.Marshal(admissionv1.AdmissionReview{Request: r})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return string(content)
	}
	asks := review(request("CREATE", box(t, broken), runtime.RawExtension{}))
	for name, tc := range map[string]struct {
		judge *Judge
		body  string
		code  int
	}{
		"an answer":                        {sound, asks, http.StatusOK},
		"an API server that is away":       {cluster(t, errors.New("away")), asks, http.StatusInternalServerError},
		"a panic":                          {&Judge{Boxes: sound.Boxes, Live: panics{}, Mapper: sound.Mapper}, asks, http.StatusInternalServerError},
		"a box that can't be read":         {sound, review(request("CREATE", runtime.RawExtension{Raw: []byte(`{"spec":1}`)}, runtime.RawExtension{})), http.StatusInternalServerError},
		"a former box that can't be read":  {sound, review(request("UPDATE", box(t, broken), runtime.RawExtension{Raw: []byte(`{"spec":1}`)})), http.StatusInternalServerError},
		"nothing":                          {sound, "", http.StatusBadRequest},
		"a review that asks nothing":       {sound, "{}", http.StatusBadRequest},
		"more than an API server may send": {sound, `{"more":"` + strings.Repeat("a", maxReview) + `",` + asks[1:], http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			answer := httptest.NewRecorder()
			NewHandler(tc.judge).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, Path, bytes.NewBufferString(tc.body)))
			g.Expect(answer.Code).To(Equal(tc.code), answer.Body.String())
			if tc.code == http.StatusOK {
				said := admissionv1.AdmissionReview{}
				g.Expect(json.Unmarshal(answer.Body.Bytes(), &said)).To(Succeed())
				g.Expect(said.APIVersion).To(Equal("admission.k8s.io/v1"))
				g.Expect(said.Response.Allowed).To(BeFalse())
			}
		})
	}
}

// A request that nobody waits for any more is not worked on.
func TestTooManyReviews(t *testing.T) {
	g := NewWithT(t)
	full := &handler{judge: cluster(t, nil), slots: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer := httptest.NewRecorder()
	full.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodPost, Path, http.NoBody))
	g.Expect(answer.Code).To(Equal(http.StatusServiceUnavailable))
}
