package apply

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// A child that the cache does not have is made by one request; only where there is something in its place is that read.
func TestAChildIsMadeByOneRequest(t *testing.T) {
	const (
		made     = `{"kind":"Widget","apiVersion":"v1","metadata":{"namespace":"ns","name":"web","uid":"c1","resourceVersion":"8"}}`
		foreign  = made
		conflict = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`
		notFound = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"web","kind":"widgets"}}`
		quota    = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"exceeded quota"}`
	)
	type answer struct {
		code int
		body string
	}
	known := func(schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps {
		return &apiextensionsv1.JSONSchemaProps{Type: "object"}
	}
	unknown := func(schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps { return nil }
	for name, tc := range map[string]struct {
		schemas   drift.ListSchema
		put, read answer
		want      []string
		err       func(error) bool
	}{
		"nothing is there":               {known, answer{http.StatusCreated, made}, answer{}, []string{"PATCH"}, nil},
		"somebody's is there":            {known, answer{http.StatusConflict, conflict}, answer{http.StatusOK, foreign}, []string{"PATCH", "GET"}, refusedAs(v1alpha1.ReasonNotOwned)},
		"it goes each time":              {known, answer{http.StatusConflict, conflict}, answer{http.StatusNotFound, notFound}, []string{"PATCH", "GET", "PATCH", "GET"}, apierrors.IsConflict},
		"it is refused":                  {known, answer{http.StatusForbidden, quota}, answer{}, []string{"PATCH"}, apierrors.IsForbidden},
		"a server that heeds no version": {unknown, answer{http.StatusCreated, made}, answer{http.StatusNotFound, notFound}, []string{"GET", "PATCH"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var sent []string
			client := answering(t, func(w http.ResponseWriter, r *http.Request) {
				sent = append(sent, r.Method)
				body, err := io.ReadAll(r.Body)
				g.Expect(err).NotTo(HaveOccurred())
				a := tc.read
				if r.Method == http.MethodPatch {
					a = tc.put
					g.Expect(string(body)).To(ContainSubstring(fmt.Sprintf(`"resourceVersion":%q`, noVersion)))
					g.Expect(strings.Contains(r.URL.RawQuery, "force=true")).To(BeFalse())
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(a.code)
				_, _ = io.WriteString(w, a.body)
			})
			owner := Owner{Resource: live("ns"), Box: "website", Label: "web"}
			out, err := NewWriter(client, &writeRecorder{}, drift.NewComparer(tc.schemas)).Apply(t.Context(), owner, Child{Object: widget("web"), ID: "web"})
			g.Expect(sent).To(Equal(tc.want))
			if tc.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(out.Action).To(Equal(Created))
				return
			}
			g.Expect(tc.err(err)).To(BeTrue(), "%v", err)
		})
	}
}

func refusedAs(reason string) func(error) bool {
	return func(err error) bool {
		refused, ok := errors.AsType[*RefusedError](err)
		return ok && refused.Reason == reason
	}
}
