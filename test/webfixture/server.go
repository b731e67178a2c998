package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/ui"
)

// policy is the one that the real server sends: what breaks it, breaks here.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func newHandler(w world, every time.Duration) http.Handler {
	files := ui.Files()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/fleet", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.fleet()) })
	mux.HandleFunc("GET /api/v1/boxes/{box}", func(rw http.ResponseWriter, r *http.Request) {
		if !refused(rw, r.PathValue("box")) {
			answer(rw, w.box(r.PathValue("box")))
		}
	})
	mux.HandleFunc("GET /api/v1/boxes/{box}/resources", func(rw http.ResponseWriter, r *http.Request) {
		if !refused(rw, r.PathValue("box")) {
			answer(rw, w.rows(r.PathValue("box"), r.URL.Query()))
		}
	})
	mux.HandleFunc("GET /api/v1/boxes/{box}/resources/{namespace}/{name}", func(rw http.ResponseWriter, r *http.Request) {
		if !refused(rw, r.PathValue("name")) {
			answer(rw, w.resource(r.PathValue("box"), r.PathValue("namespace"), r.PathValue("name")))
		}
	})
	mux.HandleFunc("GET /api/v1/stream", func(rw http.ResponseWriter, r *http.Request) { stream(rw, r, every) })
	mux.HandleFunc("GET /", func(rw http.ResponseWriter, r *http.Request) { page(rw, r, files) })
	return mux
}

// page answers with a file, or with index.html.
func page(rw http.ResponseWriter, r *http.Request, files fs.FS) {
	rw.Header().Set("Content-Security-Policy", policy)
	rw.Header().Set("X-Content-Type-Options", "nosniff")
	name := strings.TrimPrefix(r.URL.Path, "/")
	if _, err := fs.Stat(files, name); name == "" || err != nil {
		name = "index.html"
	}
	http.ServeFileFS(rw, r, files, name)
}

func answer(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/json")
	write(rw, v)
}

func write(rw http.ResponseWriter, v any) {
	if err := json.NewEncoder(rw).Encode(v); err != nil { // the browser has gone
		panic(http.ErrAbortHandler)
	}
}

// refused answers for names that stand for errors.
func refused(rw http.ResponseWriter, name string) bool {
	details := map[string]api.Problem{
		"signed-out": {Status: http.StatusUnauthorized, Detail: "The request has no cookie of this server."},
		"forbidden":  {Status: http.StatusForbidden, Detail: `User "ada" may not get operatorboxes in the group orkestra.orkspace.io.`},
		"absent":     {Status: http.StatusNotFound, Detail: `There is no OperatorBox "absent".`},
		"broken":     {Status: http.StatusInternalServerError, Detail: "The API server did not answer within 10s: dial tcp 10.0.0.1:443: i/o timeout."},
		"behind":     {Status: http.StatusBadGateway},
	}
	p, ok := details[name]
	if !ok {
		return false
	}
	if name == "behind" { // what a proxy says in its own words
		rw.Header().Set("Content-Type", "text/html")
		rw.WriteHeader(p.Status)
		_, _ = rw.Write([]byte("<h1>Bad Gateway</h1>"))
		return true
	}
	p.Title = http.StatusText(p.Status)
	rw.Header().Set("Content-Type", "application/problem+json")
	rw.WriteHeader(p.Status)
	write(rw, p)
	return true
}

// stream tells that one box after another has changed.
func stream(rw http.ResponseWriter, r *http.Request, every time.Duration) {
	rw.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(rw)
	if err := control.Flush(); err != nil {
		return
	}
	if every <= 0 {
		<-r.Context().Done()
		return
	}
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-ticks.C:
			if _, err := fmt.Fprintf(rw, "data: %s\n\n", `{"box":"websites"}`); err != nil {
				return
			}
			if err := control.Flush(); err != nil {
				return
			}
		}
	}
}
