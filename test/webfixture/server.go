package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/rows"
	"github.com/orkspace/orkestra/engine/web/ui"
)

// newHandler is the real server on canned answers, behind a proxy that can't reach it for one box.
func newHandler(ctx context.Context, w *world) http.Handler {
	server := web.New(web.Config{Source: w, Actor: w, Files: ui.Files(), Clock: clock.RealClock{}, Log: logr.Discard()})
	go server.Run(ctx)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/boxes/behind") {
			rw.Header().Set("Content-Type", "text/html")
			rw.WriteHeader(http.StatusBadGateway)
			_, _ = rw.Write([]byte("<h1>Bad Gateway</h1>"))
			return
		}
		server.ServeHTTP(rw, r)
	})
}

var _ web.Source = (*world)(nil)

// Fleet implements web.Source.
func (w *world) Fleet(context.Context) (*api.Fleet, error) { return w.fleet(), nil }

// Manager implements web.Source.
func (w *world) Manager(context.Context) (*api.Manager, error) { return &w.fleet().Manager, nil }

// Box implements web.Source.
func (w *world) Box(_ context.Context, name string) (*api.BoxDetail, error) {
	return w.box(name), refusal(name)
}

// Page implements web.Source.
func (w *world) Page(_ context.Context, box string, q rows.Query) (*api.Rows, error) {
	return w.table(box).Page(q, nil), refusal(box)
}

// Search implements web.Source.
func (w *world) Search(_ context.Context, q rows.Search) (*api.Found, error) {
	text := strings.ToLower(q.Text)
	var all []rows.Match
	for _, box := range []string{"hostile", "websites"} {
		all = append(all, w.table(box).Find(box, text, nil)...)
	}
	found := rows.Merge(all, q)
	if text == "site-0000" {
		found.Notes = []string{"The resources of 2 boxes are not searched: legacy-queues does not run, so that nobody watches its resources: its conditions say why"}
	}
	return found, nil
}

// Resource implements web.Source.
func (w *world) Resource(_ context.Context, box, namespace, name string) (*api.Resource, error) {
	return w.resource(box, namespace, name), refusal(name)
}

// See implements web.Source: everybody may know of everything.
func (*world) See(_ context.Context, changes []api.Change) []api.Change { return changes }

// Subscribe implements web.Source: one box changes again and again.
func (w *world) Subscribe(ctx context.Context, changed func(api.Change)) {
	if w.every <= 0 {
		return
	}
	ticks := time.NewTicker(w.every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			changed(api.Change{Box: "websites"})
		}
	}
}

// refusal is the error of names that stand for one.
func refusal(name string) error {
	boxes := schema.GroupResource{Group: "orkestra.orkspace.io", Resource: "operatorboxes"}
	switch name {
	case "signed-out":
		return apierrors.NewUnauthorized("the request has no cookie of this server")
	case "forbidden":
		return apierrors.NewForbidden(boxes, name, errors.New(`the user "ada" may not get operatorboxes in the group orkestra.orkspace.io`))
	case "absent":
		return apierrors.NewNotFound(boxes, name)
	case "broken":
		return errors.New("the API server did not answer within 10s: dial tcp 10.0.0.1:443: i/o timeout")
	default:
		return nil
	}
}
