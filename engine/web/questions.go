package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/rows"
)

// The sizes of a page of rows.
const (
	defaultLimit = 100
	maxLimit     = 500
	defaultFound = 50
	maxFound     = 100
	maxOffset    = 1<<31 - 1
)

// query reads the parameters of a page of rows. One that it does not know is a mistake: a misspelled filter would show everything.
func query(values url.Values) (rows.Query, error) {
	q := rows.Query{Sort: "name", Limit: defaultLimit}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, err := values.Get(name), error(nil)
		switch name {
		case "namespace":
			q.Namespace = value
		case "state":
			q.State = api.State(value)
		case "reason":
			q.Reason = value
		case "text":
			q.Text = value
		case "sort":
			if q.Sort = value; !slices.Contains([]string{"name", "state", "age"}, strings.TrimPrefix(value, "-")) {
				err = fmt.Errorf("parameter sort: wanted name, state or age, or one of them behind -, got %q", value)
			}
		case "offset":
			q.Offset, err = number(name, value, 0, maxOffset)
		case "limit":
			q.Limit, err = number(name, value, 1, maxLimit)
		default:
			err = fmt.Errorf("parameter %s is not known: wanted namespace, state, reason, text, sort, offset or limit", name)
		}
		if err != nil {
			return q, err
		}
	}
	return q, nil
}

// number reads a parameter that is one.
func number(name, value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("parameter %s: wanted a whole number from %d to %d, got %q", name, least, most, value)
	}
	return n, nil
}

// searched reads the parameters of a search.
func searched(values url.Values) (rows.Search, error) {
	q := rows.Search{Text: strings.TrimSpace(values.Get("text")), Limit: defaultFound}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, err := values.Get(name), error(nil)
		switch name {
		case "text": // it is looked at below, also where there is none
		case "offset":
			q.Offset, err = number(name, value, 0, maxOffset)
		case "limit":
			q.Limit, err = number(name, value, 1, maxFound)
		default:
			err = fmt.Errorf("parameter %s is not known: wanted text, offset or limit", name)
		}
		if err != nil {
			return q, err
		}
	}
	return q, q.Check()
}

// statusOf is the status of HTTP that stands for an error of a source.
func statusOf(err error) int {
	var refused net.Error
	switch {
	case apierrors.IsBadRequest(err):
		return http.StatusBadRequest
	case apierrors.IsNotFound(err):
		return http.StatusNotFound
	case apierrors.IsForbidden(err):
		return http.StatusForbidden
	case apierrors.IsUnauthorized(err):
		return http.StatusUnauthorized
	case apierrors.IsConflict(err):
		return http.StatusConflict
	case apierrors.IsInvalid(err):
		return http.StatusUnprocessableEntity
	case apierrors.IsTooManyRequests(err):
		return http.StatusTooManyRequests
	case errors.As(err, &refused), errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), apierrors.IsServiceUnavailable(err):
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// Problem answers with an error (RFC 9457), as the API does.
func Problem(w http.ResponseWriter, status int, detail string) {
	writeProblem(w, api.Problem{Status: status, Detail: detail})
}

func writeProblem(w http.ResponseWriter, p api.Problem) {
	p.Title = http.StatusText(p.Status)
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) //nolint:errchkjson // the browser may have gone
}
