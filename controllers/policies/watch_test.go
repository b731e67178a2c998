package policies

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

type noGauge struct{}

func (noGauge) Policy(string, bool) {}

// A manager that may list policies and not watch them knows nothing for sure. It says that once, and not that all is well in between.
func TestAWatchThatIsRefusedIsToldOnce(t *testing.T) {
	g := NewWithT(t)
	var watches, told atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") == "" {
			kind := "ValidatingAdmissionPolicyList"
			if strings.HasSuffix(r.URL.Path, bindingsResource) {
				kind = "ValidatingAdmissionPolicyBindingList"
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": kind, "apiVersion": "admissionregistration.k8s.io/v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}})
			return
		}
		watches.Add(1)
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	w, err := NewWatch(config, []string{"marks"}, "orkestra-system", noGauge{}, func(context.Context) error {
		told.Add(1)
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Start(ctx) }()
	g.Eventually(watches.Load).WithTimeout(30 * time.Second).Should(BeNumerically(">=", 6))
	g.Expect(w.refusal()).To(HaveOccurred())
	shown, known := w.Shown()
	g.Expect(known).To(BeTrue())
	g.Expect(shown.Reason).To(Equal(v1alpha1.ReasonForbidden))
	g.Expect(told.Load()).To(BeNumerically("<=", 2), "what the lists say before the first watch, and the refusal")
	cancel()
	g.Expect(<-ended).To(Succeed())
}
