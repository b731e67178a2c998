package web

import (
	"context"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/web/api"
)

func (c *canned) Graph(_ context.Context, box string) (*api.Graph, error) {
	return &api.Graph{Revision: box}, c.err
}

func (c *canned) Dependencies(_ context.Context, box string) (*api.Dependencies, error) {
	return &api.Dependencies{Nodes: []api.DependencyNode{{Box: box}}}, c.err
}

func (c *canned) NeededRights(_ context.Context, box string) (*api.Rights, error) {
	return &api.Rights{Account: box}, c.err
}

func (c *canned) Difference(_ context.Context, box, from, to string) (*api.Difference, error) {
	return &api.Difference{From: box + " " + from, To: to}, c.err
}

func TestTheDetailsOfABoxAreServed(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/boxes/web/graph":                           `{"revision":"web"`,
		"/api/v1/boxes/web/dependencies":                    `{"nodes":[{"box":"web"`,
		"/api/v1/boxes/web/rights":                          `{"account":"web"`,
		"/api/v1/boxes/web/difference?from=web-1":           `{"from":"web web-1"`,
		"/api/v1/boxes/web/difference?from=web-1&to=web%2F": `{"from":"web web-1","to":"web/"`,
	} {
		NewWithT(t).Expect(ask(serverOf(&canned{}), http.MethodGet, path).Body.String()).To(HavePrefix(want), path)
	}
}

func TestWhatIsComparedHasToBeNamed(t *testing.T) {
	for path, why := range map[string]string{
		"/api/v1/boxes/web/difference":               `parameter from: wanted the name of a revision, got \"\"`,
		"/api/v1/boxes/web/difference?to=web-1":      "parameter from: wanted the name of a revision",
		"/api/v1/boxes/web/difference?from=a&with=b": "parameter with is not known: wanted from or to",
	} {
		g, answer := NewWithT(t), ask(serverOf(&canned{}), http.MethodGet, path)
		g.Expect(answer.Code).To(Equal(http.StatusBadRequest), path)
		g.Expect(answer.Body.String()).To(ContainSubstring(why), path)
	}
}
