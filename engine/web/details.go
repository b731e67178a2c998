package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/orkspace/orkestra/engine/web/api"
)

func (s *Server) graph(w http.ResponseWriter, r *http.Request) {
	answer(s, w, r, func(ctx context.Context) (*api.Graph, error) { return s.Source.Graph(ctx, r.PathValue("box")) })
}

func (s *Server) dependencies(w http.ResponseWriter, r *http.Request) {
	answer(s, w, r, func(ctx context.Context) (*api.Dependencies, error) {
		return s.Source.Dependencies(ctx, r.PathValue("box"))
	})
}

func (s *Server) rights(w http.ResponseWriter, r *http.Request) {
	answer(s, w, r, func(ctx context.Context) (*api.Rights, error) { return s.Source.NeededRights(ctx, r.PathValue("box")) })
}

func (s *Server) difference(w http.ResponseWriter, r *http.Request) {
	from, to, err := compared(r.URL.Query())
	if err != nil {
		Problem(w, http.StatusBadRequest, err.Error())
		return
	}
	answer(s, w, r, func(ctx context.Context) (*api.Difference, error) {
		return s.Source.Difference(ctx, r.PathValue("box"), from, to)
	})
}

// compared reads which two revisions are compared.
func compared(values url.Values) (from, to string, err error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch name {
		case "from":
			from = values.Get(name)
		case "to":
			to = values.Get(name)
		default:
			return "", "", fmt.Errorf("parameter %s is not known: wanted from or to", name)
		}
	}
	if from == "" {
		return "", "", fmt.Errorf("parameter from: wanted the name of a revision, got %q", from)
	}
	return from, to, nil
}
