package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
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

// rendered counts how often it was written down.
type rendered struct{ times int }

func (r *rendered) MarshalLog() any {
	r.times++
	return "shop/web"
}

// TestValuesAreWrittenDownWithALineOnly: loggers of reconciles that say nothing cost next to nothing, and a line has what it had.
func TestValuesAreWrittenDownWithALineOnly(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	logger := zap.New(zap.WriteTo(&out), zap.StacktraceLevel(zapcore.DPanicLevel), zap.JSONEncoder(func(c *zapcore.EncoderConfig) { c.TimeKey = "" }))
	logger = logger.WithSink(late{LogSink: logger.GetSink()})
	resource := &rendered{}
	of := logger.WithValues("resource", resource).WithName("cycle").WithValues("trace", "1")
	_ = logger.WithValues("resource", resource, "trace", "2")
	g.Expect(resource.times).To(BeZero())
	of.Info("made", "child", "a")
	of.V(10).Info("nobody asks for this")
	of.Error(errors.New("boom"), "not made")
	g.Expect(resource.times).To(Equal(2))
	g.Expect(out.String()).To(Equal(`{"level":"info","logger":"cycle","msg":"made","resource":"shop/web","trace":"1","child":"a"}
{"level":"error","logger":"cycle","msg":"not made","resource":"shop/web","trace":"1","error":"boom"}
`))
}
