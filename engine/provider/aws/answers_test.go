package aws

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/orkspace/orkestra/engine/provider"
)

// answering is an HTTP client that always gives one answer.
type answering struct {
	status int
	body   string
	header http.Header
}

func (a answering) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

// What somebody in between says is no answer of a service: one without a mark would say that a bucket is somebody else's, and it would stay for ever.
func TestPagesAreNoAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		answering
		refused bool
	}{
		"a login page":                  {http.MethodGet, answering{status: 200, body: "\n<HTML><body>log in</body></html>"}, true},
		"a page with a type":            {http.MethodPost, answering{status: 200, body: "<!DOCTYPE html><html>"}, true},
		"a long page":                   {http.MethodPut, answering{status: 200, body: "<html>" + strings.Repeat("x", 10*sniffed)}, true},
		"nothing, where one reads":      {http.MethodGet, answering{status: 200, body: ""}, true},
		"nothing, after a change":       {http.MethodPut, answering{status: 200, body: ""}, false},
		"no content":                    {http.MethodDelete, answering{status: 204, body: ""}, false},
		"a head":                        {http.MethodHead, answering{status: 200, body: ""}, false},
		"XML":                           {http.MethodGet, answering{status: 200, body: "<?xml version='1.0'?><Tagging><TagSet/></Tagging>"}, false},
		"long XML":                      {http.MethodGet, answering{status: 200, body: "<Tagging>" + strings.Repeat("x", 10*sniffed)}, false},
		"an error, which the SDK reads": {http.MethodGet, answering{status: 404, body: "<html>"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), c.method, "https://s3.example.com", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := answers{c.answering}.Do(request)
			if c.refused {
				if !provider.IsClass(err, provider.Transient) || !strings.Contains(err.Error(), "none of this service") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil || string(body) != c.body {
				t.Errorf("got %q, %v: the whole answer is for the SDK", body, err)
			}
			if err := response.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
