package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// Actor does what people ask for, as far as they may. Errors are those of a Source.
type Actor interface {
	Offers
	// ActOnBox and ActOnResource do something.
	ActOnBox(ctx context.Context, box string, action api.ActionName, order api.Order) (*api.Done, error)
	ActOnResource(ctx context.Context, box, namespace, name string, action api.ActionName, order api.Order) (*api.Done, error)
}

// Offers are what can be done.
type Offers interface {
	// BoxActions and ResourceActions say what can be done, and what of that who asks may do.
	BoxActions(ctx context.Context, box string) (*api.BoxActions, error)
	ResourceActions(ctx context.Context, box, namespace, name string) (*api.ResourceActions, error)
	// FormerSpecs gives the revisions of a box, and Return what going back to one would write.
	FormerSpecs(ctx context.Context, box string) (*api.FormerSpecs, error)
	Return(ctx context.Context, box, revision string) (*api.Return, error)
}

const (
	// maxOrder is how long the body of an order may be, in bytes.
	maxOrder = 4 << 10
	// orderTimeout is how long it may take to come.
	orderTimeout = 5 * time.Second
	// rateOrders and burstOrders are how many orders somebody may give per second, and at once.
	rateOrders, burstOrders = 1, 10
)

// act adds the paths of actions.
func (s *Server) act() {
	s.mux.HandleFunc("GET /api/v1/boxes/{box}/actions", func(w http.ResponseWriter, r *http.Request) {
		answer(s, w, r, func(ctx context.Context) (*api.BoxActions, error) { return s.Actor.BoxActions(ctx, r.PathValue("box")) })
	})
	s.mux.HandleFunc("GET /api/v1/boxes/{box}/revisions", func(w http.ResponseWriter, r *http.Request) {
		answer(s, w, r, func(ctx context.Context) (*api.FormerSpecs, error) {
			return s.Actor.FormerSpecs(ctx, r.PathValue("box"))
		})
	})
	s.mux.HandleFunc("GET /api/v1/boxes/{box}/revisions/{revision}", func(w http.ResponseWriter, r *http.Request) {
		answer(s, w, r, func(ctx context.Context) (*api.Return, error) {
			return s.Actor.Return(ctx, r.PathValue("box"), r.PathValue("revision"))
		})
	})
	s.mux.HandleFunc("GET /api/v1/boxes/{box}/resources/{namespace}/{name}/actions", func(w http.ResponseWriter, r *http.Request) {
		answer(s, w, r, func(ctx context.Context) (*api.ResourceActions, error) {
			return s.Actor.ResourceActions(ctx, r.PathValue("box"), namespaceOf(r), r.PathValue("name"))
		})
	})
	s.mux.HandleFunc("POST /api/v1/boxes/{box}/actions/{action}", s.ordered(func(ctx context.Context, r *http.Request, action api.ActionName, order api.Order) (*api.Done, error) {
		return s.Actor.ActOnBox(ctx, r.PathValue("box"), action, order)
	}))
	s.mux.HandleFunc("POST /api/v1/boxes/{box}/resources/{namespace}/{name}/actions/{action}", s.ordered(func(ctx context.Context, r *http.Request, action api.ActionName, order api.Order) (*api.Done, error) {
		return s.Actor.ActOnResource(ctx, r.PathValue("box"), namespaceOf(r), r.PathValue("name"), action, order)
	}))
}

// ordered reads an order, has it done, and logs who has given it and what came of it.
func (s *Server) ordered(do func(ctx context.Context, r *http.Request, action api.ActionName, order api.Order) (*api.Done, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, _ := person.From(r.Context()) // on loopback there is one person
		if refused := s.refuseOrder(r, who); refused != nil {
			refuseOrder(w, refused)
			return
		}
		order, refused := s.readOrder(w, r)
		if refused != nil {
			refuseOrder(w, refused)
			return
		}
		action := api.ActionName(r.PathValue("action"))
		answer(s, w, r, func(ctx context.Context) (*api.Done, error) {
			done, err := do(ctx, r, action, order)
			said := []any{
				"person", who.Name, "action", string(action), "box", r.PathValue("box"), "namespace", namespaceOf(r), "name", r.PathValue("name"),
				"uid", order.UID, "revision", order.Revision,
			}
			if err != nil {
				s.Log.Info("An action was refused, or has failed", append(said, "status", statusOf(err), "why", err.Error())...)
				return nil, err
			}
			s.Log.Info("An action was done", said...)
			return done, nil
		})
	}
}

// isOrder says whether a request may have a body: that of what somebody wants to be done.
func isOrder(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/api/v1/boxes/") && strings.Contains(r.URL.Path, "/actions/")
}

// fits says whether the body of an order has a length that is known, and is read.
func fits(r *http.Request) bool { return r.ContentLength >= 0 && r.ContentLength <= maxOrder }

// tooLong is why a body that does not fit is refused.
var tooLong = fmt.Sprintf("An order has at most %d bytes, and says by Content-Length how many", maxOrder)

// waitForBody bounds how long the body of an order may take to come, until what is returned is called: a deadline that stays would end the request.
func waitForBody(w http.ResponseWriter, c clock.PassiveClock) (done func()) {
	out := http.NewResponseController(w) // a recorder of a test has no deadlines
	_ = out.SetReadDeadline(c.Now().Add(orderTimeout))
	return func() { _ = out.SetReadDeadline(time.Time{}) }
}

func refuseOrder(w http.ResponseWriter, why *refusal) {
	if why.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Connection", "close") // the body may not have been read
	Problem(w, why.status, why.why)
}

// unsaid says that a request does not say where it comes from. A browser does, of each request that changes something.
func unsaid(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == ""
}

// refuseOrder says why an order is not read; nil: it is.
func (s *Server) refuseOrder(r *http.Request, who person.Person) *refusal {
	e, guarded := r.Context().Value(entryKey{}).(*entry)
	byItself := !guarded || e.byItself // on loopback a cookie lets in
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case byItself && (unsaid(r) || isFromElsewhere(r)):
		return &refusal{status: http.StatusForbidden, why: elsewhere}
	case who.Shared:
		return &refusal{status: http.StatusForbidden, why: Nameless}
	case err != nil || kind != "application/json":
		return &refusal{status: http.StatusUnsupportedMediaType, why: "Send the order as JSON, with the header Content-Type: application/json"}
	case !fits(r):
		return &refusal{status: http.StatusRequestEntityTooLarge, why: tooLong}
	case !s.orders.accept(who):
		return &refusal{status: http.StatusTooManyRequests, why: "You act more often than people do: try again in a moment"}
	default:
		return nil
	}
}

// Nameless is why somebody does nothing who has not said who they are: an action names who has asked for it.
const Nameless = "Who has not said who they are reads only, since each action names who has asked for it: sign in, or send the token of a Kubernetes user"

// readOrder reads the body. A field that is not known is a mistake: it may be the one that limits what is done.
func (s *Server) readOrder(w http.ResponseWriter, r *http.Request) (order api.Order, why *refusal) {
	defer waitForBody(w, s.Clock)()
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&order)
	if err == nil && decoder.Decode(&struct{}{}) != io.EOF {
		err = errors.New("more follows after it")
	}
	if err != nil {
		return order, &refusal{status: http.StatusBadRequest, why: fmt.Sprintf(`The order can't be read: wanted JSON such as {"uid": "…"}: %s`, strings.TrimPrefix(err.Error(), "json: "))}
	}
	if order.UID == "" {
		return order, &refusal{status: http.StatusBadRequest, why: "The order has no uid: send that of the object that is meant, as GET …/actions gives it"}
	}
	return order, nil
}
