package apply

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// widgets is the kind that API servers of these tests serve.
var widgets = schema.GroupVersionKind{Version: "v1", Kind: "Widget"}

// answering gives a client of an API server that answers as a function does.
func answering(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(widgets, meta.RESTScopeNamespace)
	client, err := NewClient(&rest.Config{Host: server.URL}, server.Client(), mapper)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Whatever a caller forgets to check: no request goes anywhere but to the object that is named.
func TestNoRequestLeavesItsPath(t *testing.T) {
	for _, where := range []target{
		{namespace: "a", name: "../../b/secrets/x"}, {namespace: "a/../b", name: "x"}, {namespace: "a", name: ".."}, {namespace: "a", name: "%2e%2e"},
	} {
		g := NewWithT(t)
		_, err := (&Client{}).path(where)
		g.Expect(err).To(MatchError(ContainSubstring("can't be a part of a path")), "%v", where)
		g.Expect(err).To(HaveField("Reason", v1alpha1.ReasonInvalidChild))
	}
}

// unserved is a mapper that notes which kinds it is told of.
type unserved struct {
	meta.RESTMapper

	kinds []schema.GroupVersionKind
}

func (u *unserved) Unserved(kind schema.GroupVersionKind) { u.kinds = append(u.kinds, kind) }

// The mapper is told where the API server does not know a path, and not where it does not have an object.
func TestTheMapperHearsOfPathsThatAreNotServed(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		want   []schema.GroupVersionKind
	}{
		"no such path":      {"404 page not found\n", []schema.GroupVersionKind{widgets}},
		"no such object":    {`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"a","kind":"widgets"}}`, nil},
		"no such namespace": {`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"b","kind":"namespaces"}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				if strings.HasPrefix(tc.answer, "{") {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(tc.answer)) // the client notices
			})
			mapper := &unserved{RESTMapper: c.mapper}
			c.mapper = mapper
			obj := &unstructured.Unstructured{Object: map[string]any{}}
			obj.SetGroupVersionKind(widgets)
			obj.SetNamespace("b")
			obj.SetName("a")
			_, _, err := c.apply(t.Context(), obj, true)
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
			g.Expect(mapper.kinds).To(Equal(tc.want))
		})
	}
}

// A client that only deletes sends nothing else, whatever is asked of it: a box that can't act as its account writes nothing.
func TestAClientThatOnlyDeletes(t *testing.T) {
	var sent []string
	full := answering(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Widget","metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"2","finalizers":["x"]}}`)) // the client notices
	})
	refusal := &RefusedError{Reason: v1alpha1.ReasonAccountMissing, Message: "the account is gone"}
	only := full.OnlyDeletes(refusal)
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(widgets)
	obj.SetNamespace("b")
	obj.SetName("a")
	obj.SetUID("u")
	obj.SetFinalizers([]string{v1alpha1.Finalizer, "x"})
	ctx := t.Context()
	for name, write := range map[string]func(c *Client) error{
		"apply":    func(c *Client) error { _, _, err := c.apply(ctx, obj, true); return err },
		"create":   func(c *Client) error { _, err := c.Create(ctx, obj); return err },
		"patch":    func(c *Client) error { _, err := c.mergePatch(ctx, targetOf(obj), "m", []byte(`{}`)); return err },
		"JSON":     func(c *Client) error { _, err := c.jsonPatch(ctx, targetOf(obj), "m", []byte(`[]`)); return err },
		"status":   func(c *Client) error { _, err := c.WriteStatus(ctx, obj, []byte(`{}`)); return err },
		"resource": func(c *Client) error { return c.DeleteResource(ctx, obj) },
		"marks":    func(c *Client) error { _, err := NewMarker(c).Mark(ctx, obj, Marks{Fewer: true}); return err },
		"release":  func(c *Client) error { return NewMarker(c).Release(ctx, obj, obj.GetFinalizers(), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			sent = nil
			g.Expect(write(full)).To(Succeed())
			g.Expect(sent).NotTo(BeEmpty(), "it would be sent otherwise")
			sent = nil
			g.Expect(write(only)).To(MatchError(refusal))
			g.Expect(sent).To(BeEmpty())
		})
	}
	g := NewWithT(t)
	_, err := only.delete(ctx, obj, metav1.DeletePropagationBackground)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(NewMarker(only).Finish(ctx, obj, []string{v1alpha1.Finalizer})).To(Succeed())
	_, err = only.get(ctx, targetOf(obj))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sent).To(Equal([]string{"DELETE /api/v1/namespaces/b/widgets/a", "PATCH /api/v1/namespaces/b/widgets/a", "GET /api/v1/namespaces/b/widgets/a"}))
}
