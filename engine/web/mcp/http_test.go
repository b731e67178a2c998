package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/web/api"
)

// broken has mistakes, and questions that end with who asks.
type broken struct {
	source

	begun chan struct{}
	ended chan error
}

func (*broken) Fleet(context.Context) (*api.Fleet, error) { panic("a mistake in the program") }

func (b *broken) Box(ctx context.Context, _ string) (*api.BoxDetail, error) {
	close(b.begun)
	<-ctx.Done()
	b.ended <- ctx.Err()
	return nil, ctx.Err()
}

// send sends one message.
func send(ctx context.Context, handler http.Handler, message string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(message))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// TestAMistakeEndsNothing: the library calls tools in goroutines of its own, where a panic would end the manager.
func TestAMistakeEndsNothing(t *testing.T) {
	g := NewWithT(t)
	var said []string
	handler := NewHandler(Config{Source: &broken{}}, funcr.New(func(_, args string) { said = append(said, args) }, funcr.Options{}))
	r := send(t.Context(), handler, `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_boxes"}}`)
	g.Expect(r.Body.String()).To(ContainSubstring(errFailed.Error()))
	g.Expect(r.Body.String()).NotTo(ContainSubstring("a mistake in the program"))
	g.Expect(said).To(HaveExactElements(And(ContainSubstring("a mistake in the program"), ContainSubstring(`"method"="tools/call"`), ContainSubstring("http_test.go"))))
}

// TestAQuestionEndsWithItsRequest: whoever has gone is not worked for.
func TestAQuestionEndsWithItsRequest(t *testing.T) {
	g := NewWithT(t)
	b := &broken{begun: make(chan struct{}), ended: make(chan error, 1)}
	handler := NewHandler(Config{Source: b}, funcr.New(func(string, string) {}, funcr.Options{}))
	ctx, leave := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		send(ctx, handler, `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_box", "arguments": {"box": "a"}}}`)
	}()
	g.Eventually(b.begun).Should(BeClosed())
	leave()
	g.Eventually(b.ended).Should(Receive(MatchError(context.Canceled)))
	g.Eventually(answered).Should(BeClosed())
}
