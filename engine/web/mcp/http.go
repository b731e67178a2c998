package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewHandler makes what answers by HTTP, one message for each POST. It keeps no sessions: who asks is in the context of each request, and nothing of
// one request counts for another. Who may ask, how often, and how long a message may be, is for a handler in front of it to say.
func NewHandler(c Config, log logr.Logger) http.Handler {
	server := NewServer(c)
	server.AddReceivingMiddleware(within(log))
	answers := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		CrossOriginProtection:      &http.CrossOriginProtection{}, // of who sends a token, too: the protocol asks for it
		DisableLocalhostProtection: true,                          // each request says who asks; a proxy beside this process has its own name for it
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, r.Context())))
	})
}

// requestKey is that of the context of a request: the library hands on its values, and not its end.
type requestKey struct{}

// errFailed is what a client is told of a mistake in this program.
var errFailed = errors.New("this could not be answered because of a mistake in Orkestra: the log of the manager has it")

// within has a method end with its request, and keeps a mistake in it from ending the process: net/http would, but the library calls methods in
// goroutines of its own.
func within(log logr.Logger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		//nolint:contextcheck // the context of the request is in that of the library
		return func(ctx context.Context, method string, r mcp.Request) (result mcp.Result, err error) {
			defer func() {
				if mistake := recover(); mistake != nil {
					log.Error(fmt.Errorf("%v", mistake), "A question of a language model could not be answered", "method", method, "stack", string(debug.Stack()))
					result, err = nil, errFailed
				}
			}()
			request, ok := ctx.Value(requestKey{}).(context.Context)
			if !ok {
				return next(ctx, method, r)
			}
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			//nolint:contextcheck // as above
			defer context.AfterFunc(request, func() { cancel(context.Cause(request)) })()
			return next(ctx, method, r)
		}
	}
}
