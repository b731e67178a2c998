package identity

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
)

// Recorder sends events about resources as the account of a box. Nothing runs until the first event, and nothing after Stop. It is safe
// for concurrent use.
type Recorder struct {
	client     eventsclient.EventsV1Interface
	controller string
	log        logr.Logger

	mu          sync.Mutex
	broadcaster events.EventBroadcaster // nil before the first event; guarded by mu
	recorder    events.EventRecorder    // goes with it
	cancel      context.CancelFunc      // ends what it runs
	stopped     bool                    // guarded by mu
}

// NewRecorder gives a recorder whose requests go through a transport that carries the account. controller is the name by which events
// say who reports them, and timeout how long one request may take.
func NewRecorder(config *rest.Config, through http.RoundTripper, controller string, timeout time.Duration, log logr.Logger) (*Recorder, error) {
	client, err := eventsclient.NewForConfigAndClient(config, &http.Client{Transport: through, Timeout: timeout})
	if err != nil {
		return nil, fmt.Errorf("making a client for events: %w", err)
	}
	return &Recorder{client: client, controller: controller, log: log}, nil
}

// Eventf implements events.EventRecorder.
func (r *Recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	if recorder := r.started(); recorder != nil {
		recorder.Eventf(regarding, related, kind, reason, action, note, args...)
	}
}

// started gives what sends events; nil after Stop.
func (r *Recorder) started() events.EventRecorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder != nil || r.stopped {
		return r.recorder
	}
	ctx, cancel := context.WithCancel(logr.NewContext(context.Background(), r.log)) //nolint:forbidigo // ended by Stop
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: r.client})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		cancel()
		r.log.Error(err, "Events can't be sent")
		return nil
	}
	r.broadcaster, r.cancel = broadcaster, cancel
	r.recorder = broadcaster.NewRecorder(runtime.NewScheme(), r.controller)
	return r.recorder
}

// Stop ends what the recorder runs. Events that come later are dropped.
func (r *Recorder) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped, r.recorder = true, nil
	if r.broadcaster != nil {
		r.broadcaster.Shutdown()
		r.cancel()
		r.broadcaster = nil
	}
}
