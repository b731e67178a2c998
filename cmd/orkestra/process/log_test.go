package process

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
)

// To end is no error: what is given up on the way out is logged at level info.
func TestErrorsOfAStopAreLoggedAsInfo(t *testing.T) {
	for name, tc := range map[string]struct {
		err     error
		message string
		want    []string // parts, in their order
	}{
		"the lease is let go":           {errors.New(leaseReleased), afterStop, []string{`"level"=0 "msg"="Lease released"`}},
		"another error after the stop":  {errors.New("boom"), afterStop, []string{`"msg"="` + afterStop + `" "error"="boom"`, `"box"="a"`}},
		"no error after the stop":       {nil, afterStop, []string{`"msg"="` + afterStop + `" "error"=null`, `"box"="a"`}},
		"the lease is lost":             {errors.New(leaseReleased), "running", []string{`"msg"="running" "error"="` + leaseReleased + `"`, `"box"="a"`}},
		"what was under way":            {fmt.Errorf("reading: %w", context.Canceled), "Reconciling", []string{`"level"=0 "msg"="Reconciling"`, `"box"="a" "reason"="reading: context canceled"`}},
		"what ran out of time, however": {context.DeadlineExceeded, "Reconciling", []string{`"msg"="Reconciling" "error"="context deadline exceeded"`, `"box"="a"`}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var lines []string
			sink := funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{}).GetSink()
			logger := logr.New(calmStop{sink}).WithName("here").WithValues("who", "me")
			logger.Error(tc.err, tc.message, "box", "a")
			g.Expect(lines).To(HaveLen(1))
			g.Expect(lines[0]).To(And(HavePrefix("here "), ContainSubstring(`"who"="me"`)), "name and values stay")
			for _, part := range tc.want {
				g.Expect(lines[0]).To(ContainSubstring(part))
			}
		})
	}
}
