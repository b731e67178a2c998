package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// maxReview is how many bytes a review may have: two boxes, each of which may have 3 MiB as JSON, and what is said of them.
	maxReview = 7 << 20
	// maxWait is the longest that an API server waits for an answer.
	maxWait = 30 * time.Second
	// maxReviews is how many reviews may be in work at the same time. The others wait, and the API server gives up on those that wait long.
	maxReviews = 8
)

// errEmpty is the error for a review that asks nothing.
var errEmpty = errors.New("the AdmissionReview has no request")

// handler answers admission reviews over HTTP. What goes wrong is an error of HTTP and no refusal, so that the failure policy decides: that is
// why it is not the handler of controller-runtime, which answers with a refusal.
type handler struct {
	judge *Judge
	slots chan struct{}
}

// NewHandler gives what answers admission reviews over HTTP.
func NewHandler(judge *Judge) http.Handler {
	return &handler{judge: judge, slots: make(chan struct{}, maxReviews)}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		http.Error(w, "too many boxes are being compiled", http.StatusServiceUnavailable)
		return
	}
	review := admissionv1.AdmissionReview{}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReview)).Decode(&review)
	if err == nil && review.Request == nil {
		err = errEmpty
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("reading the AdmissionReview: %v", err), http.StatusBadRequest)
		return
	}
	answer, err := h.judge.Answer(ctx, review.Request)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "A box could not be judged", "box", review.Request.Name)
		http.Error(w, "the box could not be compiled; the log of orkestra webhook says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	content := admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}, Response: answer}
	if err := json.NewEncoder(w).Encode(content); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Nobody waits for an answer any more", "reason", err.Error())
	}
}
