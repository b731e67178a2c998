package web

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
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

// rateOrders and burstOrders are how many orders somebody may give per second, and at once.
const rateOrders, burstOrders = 1, 10

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
		if refused := s.refuseOrder(who); refused != nil {
			turnAway(w, s.Clock, refused)
			return
		}
		var order api.Order
		if refused := readOrder(w, r, s.Clock, &order); refused != nil {
			turnAway(w, s.Clock, refused)
			return
		}
		about := orderOf{
			who: who, action: api.ActionName(r.PathValue("action")), box: r.PathValue("box"), namespace: namespaceOf(r), name: r.PathValue("name"), order: order, by: "api",
		}
		answer(s, w, r, func(ctx context.Context) (*api.Done, error) {
			return about.noted(s.Log, func() (*api.Done, error) { return do(ctx, r, about.action, order) })
		})
	}
}

// orderOf is an order, who has given it, and by what.
type orderOf struct {
	who                  person.Person
	action               api.ActionName
	box, namespace, name string
	order                api.Order
	by                   string // api or mcp
}

// noted has an order done, and logs what came of it.
func (o orderOf) noted(log logr.Logger, do func() (*api.Done, error)) (*api.Done, error) {
	done, err := do()
	said := []any{
		"person", o.who.Name, "by", o.by, "action", string(o.action), "box", o.box, "namespace", o.namespace, "name", o.name,
		"uid", o.order.UID, "revision", o.order.Revision,
	}
	if err != nil {
		log.Info("An action was refused, or has failed", append(said, "status", statusOf(err), "why", err.Error())...)
		return nil, err
	}
	log.Info("An action was done", said...)
	return done, nil
}

// refuseOrder says why an order is not read; nil: it is.
func (s *Server) refuseOrder(who person.Person) *refusal {
	switch {
	case who.Shared:
		return &refusal{status: http.StatusForbidden, why: Nameless}
	case !s.orders.accept(who):
		return &refusal{status: http.StatusTooManyRequests, why: "You act more often than people do: try again in a moment"}
	default:
		return nil
	}
}

// Nameless is why somebody does nothing who has not said who they are: an action names who has asked for it.
const Nameless = "Who has not said who they are reads only, since each action names who has asked for it: sign in, or send the token of a Kubernetes user"

func readOrder(w http.ResponseWriter, r *http.Request, c clock.PassiveClock, order *api.Order) *refusal {
	if refused := readBody(w, r, c, order); refused != nil {
		return refused
	}
	if order.UID == "" {
		return &refusal{status: http.StatusBadRequest, why: "The order has no uid: send that of the object that is meant, as GET …/actions gives it"}
	}
	return nil
}
