package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/pipeline"
)

func forbidden(message string) error {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New(message))
	return &pipeline.StepError{Step: "onReconcile", Class: pipeline.Permission, Reason: "Forbidden", Err: err}
}

func TestRightOf(t *testing.T) {
	cases := map[string]struct {
		message string
		want    *Right
	}{
		"core":         {`User "a" cannot create resource "pods" in API group "" in the namespace "b"`, &Right{Verb: "create", Resource: "pods", Namespace: "b"}},
		"cluster":      {`User "a" cannot patch resource "nodes" in API group "x.y" at the cluster scope`, &Right{Verb: "patch", Resource: "nodes", Group: "x.y"}},
		"subresource":  {`User "a" cannot patch resource "c/status" in API group "x.y" in the namespace "b"`, &Right{Verb: "patch", Resource: "c", Subresource: "status", Group: "x.y", Namespace: "b"}},
		"with reason":  {`User "a" cannot get resource "c" in API group "" in the namespace "b": RBAC: role not found`, &Right{Verb: "get", Resource: "c", Namespace: "b"}},
		"of admission": {"this value cannot be used", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(rightOf(pipeline.AsStepError(forbidden(tc.message)).Err)).To(Equal(tc.want))
		})
	}
	NewWithT(t).Expect(rightOf(errors.New(cases["core"].message))).To(BeNil(), "no 403")
}

func TestRights(t *testing.T) {
	g := NewWithT(t)
	asked, allowed := 0, false
	var broken error
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("create", "selfsubjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		review := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"allowed": allowed}}}
		review.SetGroupVersionKind(schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectAccessReview"})
		return true, review, broken
	})
	clk := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	r := newRights(client, clk)
	denied := forbidden(`User "a" cannot create resource "pods" in API group "" in the namespace "b"`)

	missing, err := r.confirm(t.Context(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(missing).To(BeNil())
	for range 3 {
		missing, err = r.confirm(t.Context(), denied)
		g.Expect(pipeline.AsStepError(err).Class).To(Equal(pipeline.Permission))
		g.Expect(missing).NotTo(BeNil())
	}
	g.Expect(asked).To(Equal(1), "one review for all resources")

	clk.SetTime(time.Unix(16, 0))
	broken = errors.New("away")
	g.Expect(r.granted(t.Context(), missing)).To(BeFalse(), "while nobody answers")
	clk.SetTime(time.Unix(32, 0))
	broken, allowed = nil, true
	g.Expect(r.granted(t.Context(), missing)).To(BeTrue())

	missing, err = r.confirm(t.Context(), denied)
	g.Expect(missing).To(BeNil())
	g.Expect(pipeline.AsStepError(err)).To(And(HaveField("Class", pipeline.Refused), HaveField("Reason", "AdmissionDenied")),
		"a 403 that the review does not confirm")
	_, err = r.confirm(t.Context(), forbidden(`User "a" cannot list resource "pods" in API group "" at the cluster scope`))
	g.Expect(pipeline.AsStepError(err).Class).To(Equal(pipeline.Transient), "a right to read that was granted meanwhile")
	_, err = r.confirm(t.Context(), forbidden("this value cannot be used"))
	g.Expect(pipeline.AsStepError(err).Class).To(Equal(pipeline.Refused))
	other := &pipeline.StepError{Step: "s", Class: pipeline.Transient, Err: apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("y"))}
	_, err = r.confirm(t.Context(), other)
	g.Expect(err).To(BeIdenticalTo(error(other)))
}

func TestOneSlowReviewHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		slow := make(chan struct{})
		var asked atomic.Int64
		client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
		client.PrependReactor("create", "selfsubjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
			asked.Add(1)
			return true, nil, errors.New("away")
		})
		// The fake client answers one request at a time, so the slow one waits before it.
		r := newRights(slowly{Interface: client, verb: "create", wait: slow}, clock.RealClock{})
		pods := &Right{Verb: "create", Resource: "pods"}
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() { g.Expect(r.granted(t.Context(), pods)).To(BeFalse()) })
		}
		gone, cancel := context.WithCancel(t.Context())
		waiting.Go(func() { r.granted(gone, pods) })
		synctest.Wait()
		cancel()
		for _, other := range []Right{{Verb: "delete", Resource: "pods"}, {Verb: "delete", Resource: "pods", Namespace: "a"}} {
			g.Expect(r.granted(t.Context(), &other)).To(BeFalse())
		}
		g.Expect(asked.Load()).To(BeEquivalentTo(2), "two rights, while the first waits for its answer")
		close(slow)
		waiting.Wait()
		g.Expect(asked.Load()).To(BeEquivalentTo(3), "one review for all who asked for the same")
	})
}

// slowly is a client whose reviews of one verb wait.
type slowly struct {
	dynamic.Interface

	verb string
	wait chan struct{}
}

func (s slowly) Resource(kind schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return slowReviews{NamespaceableResourceInterface: s.Interface.Resource(kind), slowly: s}
}

type slowReviews struct {
	dynamic.NamespaceableResourceInterface

	slowly slowly
}

func (s slowReviews) Create(
	ctx context.Context, obj *unstructured.Unstructured, options metav1.CreateOptions, subresources ...string,
) (*unstructured.Unstructured, error) {
	verb, _, err := unstructured.NestedString(obj.Object, "spec", "resourceAttributes", "verb")
	if err != nil {
		return nil, err
	}
	if verb == s.slowly.verb {
		<-s.slowly.wait
	}
	return s.NamespaceableResourceInterface.Create(ctx, obj, options, subresources...)
}
