package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// fault answers the requests that it matches instead of the API server, until it is mended.
type fault struct {
	match  func(*http.Request) bool
	answer func(n int) (*http.Response, error) // n counts them, from 0

	mu    sync.Mutex
	ended bool
	times int
}

func (f *fault) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !f.match(r) {
			return next.RoundTrip(r)
		}
		f.mu.Lock()
		ended, n := f.ended, f.times
		if !ended {
			f.times++
		}
		f.mu.Unlock()
		if ended {
			return next.RoundTrip(r)
		}
		response, err := f.answer(n)
		if response != nil {
			response.Request = r
		}
		return response, err
	})
}

func (f *fault) mend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
}

func (f *fault) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.times
}

// refuses is an answer of the API server.
func refuses(code int, reason metav1.StatusReason, message string) func(int) (*http.Response, error) {
	return func(int) (*http.Response, error) {
		body, err := json.Marshal(&metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
		})
		return &http.Response{
			StatusCode: code, Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
		}, err
	}
}

// matching matches a method, and parts of path and query.
func matching(method string, parts ...string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if r.Method != method {
			return false
		}
		for _, p := range parts {
			if !strings.Contains(r.URL.RequestURI(), p) {
				return false
			}
		}
		return true
	}
}

var _ = Describe("An error that may pass", func() {
	// retried checks that a resource shows the same error while it is tried again and again.
	retried := func(ctx context.Context, w *world, f *fault, text string) {
		GinkgoHelper()
		w.fails(ctx, "web", "", text)
		shown := w.get(ctx, Default, "web").GetResourceVersion()
		n := f.count()
		Eventually(f.count).WithContext(ctx).Should(BeNumerically(">=", n+3))
		Expect(w.get(ctx, Default, "web").GetResourceVersion()).To(Equal(shown), "what is shown stays the same")
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) { g.Expect(s.Failing).To(HaveLen(1)) })
	}

	answers := map[string]struct {
		answer func(int) (*http.Response, error)
		shows  string
	}{
		"a conflict":          {refuses(http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified"), "the object has been modified"},
		"an internal error":   {refuses(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no leader"), "no leader"},
		"a server that waits": {refuses(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "etcd took too long"), "etcd took too long"},
		"a connection that breaks, from another port each time": {
			func(n int) (*http.Response, error) {
				return nil, fmt.Errorf("read tcp 127.0.0.1:%d->127.0.0.1:6443: read: %w", 40_000+n, syscall.ECONNRESET)
			},
			"the API server could not be reached: read tcp 127.0.0.1:6443: read: connection reset by peer",
		},
		"words that hold a pointer": {
			func(n int) (*http.Response, error) {
				return refuses(http.StatusInternalServerError, metav1.StatusReasonInternalError, fmt.Sprintf("no such thing: 0xc00012%04x", n))(n)
			}, "no such thing: 0x…",
		},
	}
	for name, tc := range answers {
		It("is retried, with the same words: "+name, func(ctx context.Context) {
			w := newWorld(ctx)
			f := &fault{match: matching(http.MethodPatch, "/namespaces/"+w.namespace+"/configmaps/web"), answer: tc.answer}
			replaceManager(via(f.wrap))
			w.running(ctx, w.box(ctx, `{resync: 2s, onReconcile: {configmaps: [{data: {a: b}}]}}`))
			w.website(ctx, "web", `{}`)
			retried(ctx, w, f, tc.shows)
			f.mend()
			w.settled(ctx, "web")
		})
	}

	const broken = "etcd is away"
	internal := refuses(http.StatusInternalServerError, metav1.StatusReasonInternalError, broken)
	It("names its stage: metadata", func(ctx context.Context) {
		w := newWorld(ctx)
		f := &fault{match: matching(http.MethodPatch, "/"+w.group+"/", "/websites/web?", "fieldManager="+v1alpha1.FieldManagerMarks+"&"), answer: internal}
		replaceManager(via(f.wrap))
		w.running(ctx, w.box(ctx, `{resync: 2s, onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		retried(ctx, w, f, `metadata: marking Website "web": `+broken)
		w.absent(ctx, "web")
		f.mend()
		w.settled(ctx, "web")
	})

	It("names its stage: onCreate, prune and active", func(ctx context.Context) {
		w := newWorld(ctx)
		made := &fault{match: matching(http.MethodPost, "/namespaces/"+w.namespace+"/configmaps"), answer: internal}
		pruned := &fault{match: matching(http.MethodDelete, "/namespaces/"+w.namespace+"/configmaps/old"), answer: internal}
		replaceManager(via(made.wrap), via(pruned.wrap))
		w.running(ctx, w.box(ctx, `{resync: 2s, onCreate: {configmaps: [{name: first, data: {a: b}}]}, onReconcile: {configmaps: [{name: old, data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		retried(ctx, w, made, `onCreate: applying ConfigMap "first": `+broken)
		made.mend()
		w.settled(ctx, "web")
		w.box(ctx, `{resync: 2s, onCreate: {configmaps: [{name: first, data: {a: b}}]}}`)
		retried(ctx, w, pruned, `prune: configmaps/old: deleting ConfigMap "old": `+broken)
		pruned.mend()
		w.settled(ctx, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "old")
	})

	It("names its stage: status, which nobody can read from the resource", func(ctx context.Context) {
		w := newWorld(ctx)
		f := &fault{match: matching(http.MethodPatch, "/"+w.group+"/", "/websites/web/status"), answer: internal}
		replaceManager(via(f.wrap))
		w.running(ctx, w.box(ctx, `{resync: 2s, onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Failing).To(ConsistOf(And(HaveField("Step", "status"), HaveField("Message", ContainSubstring(broken)))))
		})
		w.hasData(ctx, "web", map[string]string{"a": "b"})
		f.mend()
		w.settled(ctx, "web")
	})

	It("names its stage: deletion, of children and of the finalizer; nothing is let go too early", func(ctx context.Context) {
		w := newWorld(ctx)
		child := &fault{match: matching(http.MethodDelete, "/namespaces/"+w.namespace+"/configmaps/web"), answer: internal}
		finalizer := &fault{match: func(r *http.Request) bool {
			return strings.HasPrefix(r.Header.Get("Content-Type"), "application/merge-patch") && matching(http.MethodPatch, "/"+w.group+"/", "/websites/web?")(r)
		}, answer: internal}
		replaceManager(via(child.wrap), via(finalizer.wrap))
		w.running(ctx, w.box(ctx, `{resync: 2s, onReconcile: {configmaps: [{data: {a: b}}]}, onDelete: {configmaps: [{name: bye, data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		retried(ctx, w, child, `deletion: deleting ConfigMap "web": `+broken)
		child.mend()
		retried(ctx, w, finalizer, `deletion: removing finalizers of Website "web": `+broken)
		w.gone(ctx, &corev1.ConfigMap{}, "web")
		finalizer.mend()
		w.vanished(ctx, "web")
	})

	It("leaves a resource marked that has left the selection, until it can be let go", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 2s, onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		f := &fault{match: matching(http.MethodPatch, "/"+w.group+"/", "/websites/web?"), answer: internal}
		replaceManager(via(f.wrap))
		w.box(ctx, `{resync: 2s, selector: {matchLabels: {ours: "yes"}}, onReconcile: {configmaps: [{data: {a: b}}]}}`)
		Eventually(f.count).WithContext(ctx).Should(BeNumerically(">=", 3))
		Expect(w.get(ctx, Default, "web").GetFinalizers()).NotTo(BeEmpty())
		f.mend()
		Eventually(func(g Gomega) { g.Expect(w.get(ctx, g, "web").GetFinalizers()).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())
	})

	It("is not taken for the end of a child: a 404 that does not name it", func(ctx context.Context) {
		w := newWorld(ctx)
		f := &fault{match: matching(http.MethodDelete, "/namespaces/"+w.namespace+"/configmaps/web"),
			answer: refuses(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")}
		replaceManager(via(f.wrap))
		w.running(ctx, w.box(ctx, `{resync: 2s, onReconcile: {configmaps: [{data: {a: b}}]}, onDelete: {configmaps: [{name: bye, data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		retried(ctx, w, f, `deletion: deleting ConfigMap "web": the server could not find the requested resource`)
		w.hasData(ctx, "web", map[string]string{"a": "b"})
		f.mend()
		w.vanished(ctx, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "web")
	})

	It("has no more than 256 characters in its conditions", func(ctx context.Context) {
		w := newWorld(ctx)
		f := &fault{match: matching(http.MethodPatch, "/namespaces/"+w.namespace+"/configmaps/web"),
			answer: refuses(http.StatusInternalServerError, metav1.StatusReasonInternalError, strings.Repeat("é", 500))}
		replaceManager(via(f.wrap))
		w.running(ctx, w.box(ctx, `{resync: 2s, onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.fails(ctx, "web", "", "é")
		for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling} {
			message := []rune(condition(w.get(ctx, Default, "web"), kind).Message)
			Expect(message).To(HaveLen(256))
			Expect(string(message[255])).To(Equal("…"))
		}
		f.mend()
		w.settled(ctx, "web")
	})
})
