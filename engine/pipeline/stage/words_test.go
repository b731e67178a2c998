package stage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// request is what a client makes of a request without an answer.
func request(err error) error {
	return &url.Error{Op: "Patch", URL: "https://10.0.0.1:6443/api/v1/namespaces/a/configmaps/web?fieldManager=orkestra&force=true", Err: err}
}

func reset(port int) error {
	return &net.OpError{
		Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: port}, Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 6443},
		Err: syscall.ECONNRESET,
	}
}

func TestWordsAreTheSameForTheSameError(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	invalid := func(causes ...metav1.StatusCause) error {
		text := `Deployment.apps "web" is invalid: [`
		for i, c := range causes {
			if i > 0 {
				text += ", "
			}
			text += c.Field + ": " + c.Message
		}
		return answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, text+"]", causes...)
	}
	a, b := metav1.StatusCause{Field: "spec.a", Message: "Required value"}, metav1.StatusCause{Field: "spec.b", Message: "Forbidden: no"}
	quota := func(used string) error {
		return apierrors.NewForbidden(secrets, "a", errors.New("exceeded quota: q, requested: count/secrets=1, used: "+used+", limited: count/secrets=9"))
	}
	cases := map[string]struct {
		err, other error
		want       string
	}{
		"a connection that is reset": {request(reset(50_001)), request(reset(50_002)),
			"onReconcile: applying Secret: the API server could not be reached: read tcp 10.0.0.1:6443: connection reset by peer"},
		"no answer": {request(context.DeadlineExceeded), request(&net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}),
			"onReconcile: applying Secret: the API server did not answer in time"},
		"a connection that is closed": {
			request(errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=17, ErrCode=NO_ERROR, debug=\"\"")),
			request(errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=19, ErrCode=NO_ERROR, debug=\"\"")),
			`onReconcile: applying Secret: the API server could not be reached: http2: server sent GOAWAY and closed the connection; ErrCode=NO_ERROR, debug=""`,
		},
		"causes in another order": {invalid(a, b), invalid(b, a),
			`onReconcile: applying Secret: Deployment.apps "web" is invalid: [spec.a: Required value, spec.b: Forbidden: no]`},
		"pointers": {
			answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "converting (*v1.Thing)(0xc000123456) failed"),
			answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "converting (*v1.Thing)(0xc000fedcba) failed"),
			"onReconcile: applying Secret: converting (*v1.Thing)(0x…) failed",
		},
		"what a quota counts": {quota("count/secrets=9"), quota("count/secrets=10"),
			`onReconcile: applying Secret: secrets "a" is forbidden: exceeded quota: q, requested: count/secrets=1, limited: count/secrets=9`},
		"several lines": {errors.New("a\n  b"), errors.New("a b"), "onReconcile: applying Secret: a b"},
		"what has no other words": {apierrors.NewBadRequest("no 0x1f here"), apierrors.NewBadRequest("no 0x1f here"),
			"onReconcile: applying Secret: no 0x1f here"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			for _, err := range []error{tc.err, tc.other} {
				step := Classify(StepOnReconcile, fmt.Errorf("applying Secret: %w", err))
				g.Expect(step.Error()).To(gomega.Equal(tc.want))
				g.Expect(errors.Is(step, err)).To(gomega.BeTrue(), "the log has it as it came")
			}
		})
	}
}
