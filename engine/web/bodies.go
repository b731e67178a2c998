package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

const (
	// maxQuestion and maxOrder are how long a body may be, in bytes: that of a question that is too long for an address, and that of what somebody
	// wants to be done.
	maxQuestion, maxOrder = 1 << 20, 4 << 10
	// bodyTime is how long a body may take to come, and unreadTime how long one that nobody reads.
	bodyTime, unreadTime = 15 * time.Second, time.Second
)

// questions are the paths of questions that have a body. They change nothing.
var questions = map[string]bool{"/api/v1/compile": true, "/api/v1/render": true, "/api/v1/try": true} //nolint:gochecknoglobals // a constant

// mostOf is how long the body of a request may be, in bytes; 0: it has none.
func mostOf(r *http.Request) int64 {
	switch {
	case r.Method != http.MethodPost:
		return 0
	case questions[r.URL.Path], r.URL.Path == ToolsPath:
		return maxQuestion
	case strings.HasPrefix(r.URL.Path, "/api/v1/boxes/") && strings.Contains(r.URL.Path, "/actions/"):
		return maxOrder
	default:
		return 0
	}
}

// refuseLength says why the body of a request is not read, whatever stands in it; nil: it may be.
func refuseLength(r *http.Request) *refusal {
	switch most := mostOf(r); {
	case most == 0 && r.ContentLength != 0:
		return &refusal{status: http.StatusRequestEntityTooLarge, why: "This question of the Control Center has no body: send none"}
	case r.ContentLength < 0 || r.ContentLength > most:
		return &refusal{status: http.StatusRequestEntityTooLarge, why: fmt.Sprintf("The body has at most %d bytes here, and says by Content-Length how many: take out what is not needed", most)}
	default:
		return nil
	}
}

// awaitBody bounds how long a body may take to come, and endBody how long one that nobody reads: the connection ends behind the answer.
func awaitBody(w http.ResponseWriter, c clock.PassiveClock) { readUntil(w, c.Now().Add(bodyTime)) }

func endBody(w http.ResponseWriter, c clock.PassiveClock) {
	readUntil(w, c.Now().Add(unreadTime))
	w.Header().Set("Connection", "close")
}

func readUntil(w http.ResponseWriter, deadline time.Time) {
	_ = http.NewResponseController(w).SetReadDeadline(deadline) // a recorder of a test has none
}

// readBody reads the body of a request of the API as JSON; nil: it could be read. A field that is not known is a mistake: it may be the one that matters.
func readBody(w http.ResponseWriter, r *http.Request, c clock.PassiveClock, into any) *refusal {
	return readAs(w, r, c, "wanted JSON as /api/v1/openapi.json describes it", into)
}

// readAs reads a body. wanted says what stands in one that can be read.
func readAs(w http.ResponseWriter, r *http.Request, c clock.PassiveClock, wanted string, into any) *refusal {
	if refused := refuseLength(r); refused != nil {
		return refused
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &refusal{status: http.StatusUnsupportedMediaType, why: fmt.Sprintf("header Content-Type: wanted application/json, got %q", r.Header.Get("Content-Type"))}
	}
	awaitBody(w, c)
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostOf(r)))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("more follows after it")
		}
	}
	if err != nil {
		return &refusal{status: http.StatusBadRequest, why: "The body can't be read: " + wanted + ": " + strings.TrimPrefix(err.Error(), "json: ")}
	}
	readUntil(w, time.Time{}) // a deadline that stays would end the answer
	return nil
}

// turnAway says why a request is not answered, of which the body may not have been read.
func turnAway(w http.ResponseWriter, c clock.PassiveClock, why *refusal) {
	if why.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	endBody(w, c)
	Problem(w, why.status, why.why)
}
