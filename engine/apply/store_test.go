package apply

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// heard is a cache that keeps what it is told.
type heard struct {
	Cache

	wrote, gone []string
}

func (c *heard) Wrote(_ schema.GroupVersionKind, obj *unstructured.Unstructured) {
	c.wrote = append(c.wrote, string(obj.GetUID())+"@"+obj.GetResourceVersion())
}

func (c *heard) Gone(_ schema.GroupVersionKind, obj *unstructured.Unstructured) {
	c.gone = append(c.gone, string(obj.GetUID())+"@"+obj.GetResourceVersion())
}

func TestWhatHasChangedIsReadAgain(t *testing.T) {
	const conflict = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`
	object := func(uid, version string) string {
		return fmt.Sprintf(`{"kind":"Widget","apiVersion":"v1","metadata":{"namespace":"ns","name":"web","uid":%q,"resourceVersion":%q}}`, uid, version)
	}
	for name, tc := range map[string]struct {
		code        int
		live        string
		deleted     bool
		wrote, gone []string
	}{
		"by somebody":              {http.StatusOK, object("u1", "8"), false, []string{"u1@8"}, nil},
		"into another of its name": {http.StatusOK, object("u2", "9"), true, []string{"u2@9"}, []string{"u1@7"}},
		"and is gone": {http.StatusNotFound,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"web","kind":"widgets"}}`, true, nil, []string{"u1@7"}},
		"and can't be read": {http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, false, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			client := answering(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.Method == http.MethodGet {
					w.WriteHeader(tc.code)
					_, _ = io.WriteString(w, tc.live)
					return
				}
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, conflict)
			})
			child := &unstructured.Unstructured{}
			g.Expect(child.UnmarshalJSON([]byte(object("u1", "7")))).To(Succeed())
			for _, write := range []func(*Writer) error{
				func(w *Writer) error { return w.Delete(t.Context(), child) },
				func(w *Writer) error { return w.Orphan(t.Context(), Owner{Resource: child}, child) },
			} {
				cache := &heard{}
				err := write(NewWriter(client, cache, nil))
				if tc.deleted {
					g.Expect(err).NotTo(HaveOccurred())
				} else {
					g.Expect(err).To(MatchError(ContainSubstring("has been modified")))
				}
				g.Expect(cache.wrote).To(Equal(tc.wrote))
				g.Expect(cache.gone).To(Equal(tc.gone))
			}
		})
	}
}
