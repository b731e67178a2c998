package ui

import (
	"net/http"

	"k8s.io/utils/clock"
)

// dated dates all answers by the API server's clock: the page tells ages by the Date, and all times that it shows are the cluster's.
func dated(next http.Handler, clk clock.PassiveClock) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", clk.Now().UTC().Format(http.TimeFormat))
		next.ServeHTTP(w, r)
	})
}
