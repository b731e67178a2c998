package process

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// verbOf is the verb by which rights name a request to a nonResourceURL.
func verbOf(r *http.Request) string { return strings.ToLower(r.Method) }

// levelOf gives the level of a name.
func levelOf(name string) (zapcore.Level, error) {
	levels := map[string]zapcore.Level{"debug": zapcore.DebugLevel, "info": zapcore.InfoLevel, "error": zapcore.ErrorLevel}
	level, ok := levels[strings.ToLower(name)]
	if !ok {
		return 0, fmt.Errorf("%q: wanted debug, info or error", name)
	}
	return level, nil
}

// levelHandler shows at which level the process logs, and changes it until the process ends.
type levelHandler struct{ level zap.AtomicLevel }

// maxLevel is how many bytes of a request are read; the names of levels are shorter.
const maxLevel = 100

// ServeHTTP implements http.Handler. GET gives the level, PUT takes one.
func (h levelHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
	case http.MethodPut:
		text, err := io.ReadAll(io.LimitReader(r.Body, maxLevel))
		if err != nil {
			http.Error(w, "reading the level: "+err.Error(), http.StatusBadRequest)
			return
		}
		level, err := levelOf(strings.TrimSpace(string(text)))
		if err != nil {
			http.Error(w, "log level "+err.Error(), http.StatusBadRequest)
			return
		}
		h.level.SetLevel(level)
	default:
		w.Header().Set("Allow", "GET, PUT")
		http.Error(w, fmt.Sprintf("%s: wanted GET, or PUT with a level", r.Method), http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintln(w, h.level.Level()) // who asked is gone, then
}
