package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/mcp"
	"github.com/orkspace/orkestra/engine/web/person"
)

// Tools are what language models may use, by the Model Context Protocol (engine/web/mcp).
type Tools struct {
	// Actions says that one of them changes something, where the server has an Actor.
	Actions bool
	// Version of this program, which clients are told.
	Version string
}

// ToolsPath is where language models call tools, by a POST.
const ToolsPath = "/mcp"

// sessionHeader names a session of the protocol.
const sessionHeader = "Mcp-Session-Id"

const (
	noTools     = "No tools for language models are offered here: the chart's web.mcp.enabled has a manager offer them, and orkestra mcp does on a laptop"
	noSessions  = "There are no sessions here, since each request says who asks: leave out the header " + sessionHeader + ", and begin anew"
	toolsByPost = "Tools are called by POST, with one message of JSON-RPC in each"
	oneMessage  = "wanted one message of JSON-RPC, as an object"
)

// offer adds the path of tools.
func offer(s *Server) {
	if s.Tools == nil {
		s.mux.HandleFunc(ToolsPath, func(w http.ResponseWriter, _ *http.Request) {
			turnAway(w, s.Clock, &refusal{status: http.StatusNotFound, why: noTools})
		})
		return
	}
	c := mcp.Config{Source: inTurn{s.Source, s}, Version: s.Tools.Version}
	if s.Tools.Actions && s.Actor != nil {
		c.Actor = toolOrders{s}
	}
	answers := mcp.NewHandler(c, s.Log)
	s.mux.HandleFunc(ToolsPath, func(w http.ResponseWriter, r *http.Request) {
		if refused := readMessage(w, r, s.Clock); refused != nil {
			turnAway(w, s.Clock, refused)
			return
		}
		answers.ServeHTTP(w, r)
	})
}

// readMessage reads the one message of a request, and hands it on in its place. Several at once would count as one question, and what nests deeper than
// encoding/json reads would take the stack of whom it is handed to.
func readMessage(w http.ResponseWriter, r *http.Request, c clock.PassiveClock) *refusal {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &refusal{status: http.StatusMethodNotAllowed, why: toolsByPost}
	}
	if len(r.Header.Values(sessionHeader)) > 0 {
		return &refusal{status: http.StatusNotFound, why: noSessions}
	}
	var message map[string]json.RawMessage
	if refused := readAs(w, r, c, oneMessage, &message); refused != nil {
		return refused
	}
	text, err := json.Marshal(message)
	if err != nil {
		return &refusal{status: http.StatusBadRequest, why: err.Error()}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	r.Header.Set("Content-Type", "application/json") // without parameters
	return nil
}

// inTurn is a source whose compilers are asked in turn, as they are by the page.
type inTurn struct {
	Source

	server *Server
}

// Compile implements mcp.Source.
func (t inTurn) Compile(ctx context.Context, q api.CompileQuestion) (*api.Compiled, error) {
	leave := t.server.work.arrive(ctx)
	if leave == nil {
		return nil, apierrors.NewTooManyRequests(busy, 5)
	}
	defer leave()
	done := t.server.work.begin(ctx)
	if done == nil {
		return nil, apierrors.NewTooManyRequests(busy, 5)
	}
	defer done()
	return inTime(ctx, q, t.Source.Compile)
}

// toolOrders has orders done as those of the page are.
type toolOrders struct{ server *Server }

// ActOnResource implements mcp.Actor.
func (o toolOrders) ActOnResource(ctx context.Context, box, namespace, name string, action api.ActionName, order api.Order) (*api.Done, error) {
	who, _ := person.From(ctx)
	if refused := o.server.refuseOrder(who); refused != nil {
		return nil, errors.New(refused.why)
	}
	about := orderOf{who: who, action: action, box: box, namespace: namespace, name: name, order: order, by: "mcp"}
	return about.noted(o.server.Log, func() (*api.Done, error) {
		return o.server.Actor.ActOnResource(ctx, box, namespace, name, action, order)
	})
}
