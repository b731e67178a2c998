package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

func TestMayHaveBeenDone(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a connection that broke":       {fmt.Errorf("patch: %w", io.ErrUnexpectedEOF), true},
		"an answer that can't be read":  {errors.New("decoding the API server's answer: unexpected end of JSON input"), true},
		"a timeout of the API server":   {apierrors.NewTimeoutError("too slow", 1), true},
		"an internal error":             {apierrors.NewInternalError(errors.New("broken")), true},
		"a conflict":                    {apierrors.NewConflict(configMaps, "web", errors.New("changed")), false},
		"a refusal":                     {apierrors.NewForbidden(configMaps, "web", errors.New("no")), false},
		"too many requests":             {apierrors.NewTooManyRequests("later", 1), false},
		"a refusal of our own":          {fmt.Errorf("applying: %w", &RefusedError{Reason: v1alpha1.ReasonNotOwned, Message: "no"}), false},
		"a kind that is not installed":  {&meta.NoKindMatchError{}, false},
		"a rejection with its own code": {apierrors.NewInvalid(schema.GroupKind{Kind: "Widget"}, "web", nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(MayHaveBeenDone(tc.err)).To(Equal(tc.want))
		})
	}
}

// writeRecorder is a cache that keeps what it is told was written.
type writeRecorder struct {
	Cache

	written []string
	status  map[string]any
}

// Get shows nothing: no event has come.
func (*writeRecorder) Get(schema.GroupVersionKind, string, string) (*unstructured.Unstructured, bool) {
	return nil, false
}

func (c *writeRecorder) Wrote(_ schema.GroupVersionKind, obj *unstructured.Unstructured) {
	c.written = append(c.written, obj.GetNamespace()+"/"+obj.GetName())
	c.status, _, _ = unstructured.NestedMap(obj.Object, "status")
}

func TestResolveFindsWhatWasMadeWithoutAnAnswer(t *testing.T) {
	g := NewWithT(t)
	asked, broken := []string{}, false
	client := answering(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, path.Base(r.URL.Path))
		w.Header().Set("Content-Type", "application/json")
		owner := map[string]string{"made": "uid", "foreign": "other"}[path.Base(r.URL.Path)]
		switch {
		case broken:
			w.WriteHeader(http.StatusServiceUnavailable)
		case owner == "":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		default:
			status := `,"status":{"succeeded":1}`
			if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
				status = ""
			}
			_, _ = fmt.Fprintf(w, `{"kind":"Widget","apiVersion":"v1","metadata":{"namespace":"ns","name":%q,"labels":{%q:%q}}%s}`,
				path.Base(r.URL.Path), v1alpha1.LabelOwnerUID, owner, status)
		}
	})
	cache := &writeRecorder{}
	w := NewWriter(client, cache, nil)
	for _, name := range []string{"made", "never", "foreign", "sure"} {
		w.unconfirmed.record("uid", target{kind: widgets, namespace: "ns", name: name}, io.ErrUnexpectedEOF, false)
	}
	w.unconfirmed.record("uid", target{kind: widgets, namespace: "ns", name: "sure"}, nil, true)
	w.unconfirmed.record("uid", target{kind: widgets, namespace: "ns", name: "made"}, apierrors.NewConflict(schema.GroupResource{}, "made", errors.New("it is there")), false)

	broken = true
	g.Expect(w.ResolveUnconfirmed(t.Context(), "uid")).To(MatchError(ContainSubstring(`Widget "foreign", of which it is not known whether it was made`)))
	broken, asked = false, nil
	g.Expect(w.ResolveUnconfirmed(t.Context(), "uid")).To(Succeed())
	g.Expect(asked).To(Equal([]string{"foreign", "made", "never"}))
	g.Expect(cache.written).To(Equal([]string{"ns/made"}), "only what is the owner's")
	g.Expect(cache.status).To(HaveKey("succeeded"), "whole: an event of the same version would change nothing")
	g.Expect(w.ResolveUnconfirmed(t.Context(), "uid")).To(Succeed())
	g.Expect(asked).To(HaveLen(3), "nothing is unconfirmed any more")
	g.Expect(w.ResolveUnconfirmed(t.Context(), "nobody")).To(Succeed())
	g.Expect(w.unconfirmed.all).To(BeEmpty())
}

func TestAChildThatTheCacheDoesNotShowIsUnconfirmed(t *testing.T) {
	g := NewWithT(t)
	owner := Owner{Resource: live("ns"), Box: "website", Label: "web"}
	owner.Resource.SetUID("uid")
	gets := 0
	client := answering(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409}`)
			return
		}
		gets++
		labels, err := json.Marshal(owner.Claimed(Child{Object: nothing(widget("token")), ID: "token"}).Object["metadata"])
		g.Expect(err).NotTo(HaveOccurred())
		managed := strings.Replace(string(labels), "{", fmt.Sprintf(`{"managedFields":[{"manager":%q}],`, v1alpha1.FieldManager), 1)
		_, _ = fmt.Fprintf(w, `{"kind":"Widget","apiVersion":"v1","metadata":%s}`, managed)
	})
	cache := &writeRecorder{}
	w := NewWriter(client, cache, &drift.Comparer{})
	out, err := w.Apply(t.Context(), owner, Child{Object: widget("token"), ID: "token", Once: true})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Action).To(Equal(None), "a former try has made it")
	g.Expect(cache.written).To(BeEmpty())
	g.Expect(w.ResolveUnconfirmed(t.Context(), "uid")).To(Succeed())
	g.Expect(cache.written).To(Equal([]string{"ns/token"}))
	g.Expect(gets).To(Equal(2))
}

func widget(name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(widgets)
	obj.SetNamespace("ns")
	obj.SetName(name)
	return obj
}
