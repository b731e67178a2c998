package stage

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhichNamespaceTerminates(t *testing.T) {
	cause := metav1.StatusCause{Type: corev1.NamespaceTerminatingCause, Message: "namespace x is being terminated", Field: "metadata.namespace"}
	refused := func(message string) error {
		return fmt.Errorf("applying: %w", answer(http.StatusForbidden, metav1.StatusReasonForbidden, message, cause))
	}
	const words = `configmaps "a" is forbidden: unable to create new content in namespace x because it is being terminated`
	for name, tc := range map[string]struct {
		namespace string
		err       error
		want      bool
	}{
		"the resource's own":          {"x", refused(words), true},
		"that of a child elsewhere":   {"y", refused(words), false},
		"what a webhook says":         {"x", refused(webhookPrefix + ` "a.example.com" denied the request: no`), false},
		"another error":               {"x", errors.New("no"), false},
		"no error":                    {"x", nil, false},
		"a cluster-scoped resource's": {"", refused(words), false},
	} {
		t.Run(name, func(t *testing.T) {
			gomega.NewWithT(t).Expect(Terminates(tc.namespace, tc.err)).To(gomega.Equal(tc.want))
		})
	}
}
