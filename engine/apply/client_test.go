package apply

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
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
