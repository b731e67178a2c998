package drain

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	draining "github.com/orkspace/orkestra/controllers/drain"
)

var leaseName = types.NamespacedName{Namespace: "ours", Name: draining.LeaseName}

// asked is the Lease with what the annotation says; empty: nothing is asked for.
func asked(word string) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: leaseName.Namespace, Name: leaseName.Name}}
	if word != "" {
		lease.Annotations = map[string]string{v1alpha1.AnnotationDrain: word}
	}
	return lease
}

// ledBy is the Lease while somebody holds it, which runs out at once.
func ledBy(holder, word string) *coordinationv1.Lease {
	lease := asked(word)
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &holder, new(int32(0))
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Unix(1, 0)}
	return lease
}

// box is one that says a reason, and may have our finalizer.
func box(name, reason string, held bool) *v1alpha1.OperatorBox {
	b := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.CRD.Name = "nothing.example.com"
	if held {
		b.Finalizers = []string{v1alpha1.Finalizer}
	}
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: reason, Message: "why " + name + " waits"}}
	return b
}

// site is a cluster that a drainer drains, and what it prints.
type site struct {
	*drainer

	printed bytes.Buffer
	fails   error                                                  // of every request
	read    func(ctx context.Context, lease *coordinationv1.Lease) // called after a Lease was read
}

func newSite(objects ...client.Object) *site {
	s := &site{}
	kube := fake.NewClientBuilder().WithScheme(cluster.Scheme()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if s.fails != nil {
				return s.fails
			}
			err := c.Get(ctx, key, obj, opts...)
			if lease, ok := obj.(*coordinationv1.Lease); ok && s.read != nil {
				s.read(ctx, lease)
			}
			return err
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if s.fails != nil {
				return s.fails
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	s.drainer = &drainer{
		config: &rest.Config{Host: "https://127.0.0.1:1"}, client: kube, out: &s.printed, said: map[string]string{}, lease: leaseName,
	}
	return s
}

func (s *site) word(t *testing.T) string {
	t.Helper()
	lease, err := s.readLease(t.Context())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return lease.Annotations[v1alpha1.AnnotationDrain]
}

func TestProgress(t *testing.T) {
	const accepted = "accepted-for/me"
	for name, tc := range map[string]struct {
		objects []client.Object
		done    bool
		printed string
		left    string // what is said when there is no time any more
		err     string
	}{
		"the Lease is gone":  {err: `following the drain: Lease "ours/orkestra-leader" is gone`},
		"somebody undoes it": {objects: []client.Object{asked("")}, err: "somebody has taken the annotation " + v1alpha1.AnnotationDrain + " off Lease"},
		"nobody has answered": {
			objects: []client.Object{asked("true"), box("a", v1alpha1.ReasonRunning, true)}, printed: "operatorbox/a: waits for the manager's answer\n",
			left: `no manager has answered: does it run in namespace "ours"? Without one, use --force`,
		},
		"nobody has answered, and there is no box": {
			objects: []client.Object{asked("true")}, left: `no manager has answered: does it run in namespace "ours"? Without one, use --force`,
		},
		"some are held": {
			objects: []client.Object{asked(accepted), box("b", v1alpha1.ReasonDrained, false), box("a", v1alpha1.ReasonDraining, true)},
			printed: "operatorbox/a: why a waits\noperatorbox/b: drained\n", left: "\n  operatorbox/a: why a waits",
		},
		"none is": {
			objects: []client.Object{asked(accepted), box("a", v1alpha1.ReasonDrained, false)}, done: true,
			printed: "operatorbox/a: drained\nNothing is held any more: 1 box.\n",
		},
		"there is none": {objects: []client.Object{asked(accepted)}, done: true, printed: "Nothing is held any more: 0 boxes.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newSite(tc.objects...)
			done, err := s.progress(t.Context())
			if tc.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(done).To(Equal(tc.done))
			g.Expect(s.printed.String()).To(Equal(tc.printed))
			g.Expect(s.said[remaining]).To(Equal(tc.left))
			_, err = s.progress(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			if !tc.done {
				g.Expect(s.printed.String()).To(Equal(tc.printed), "what has not changed is not said again")
			}
		})
	}
}

// An API server that is away for a moment ends no drain, and is what is said where it stays away.
func TestAnAPIServerThatIsAway(t *testing.T) {
	g := NewWithT(t)
	s := newSite(asked("accepted-for/me"), box("a", v1alpha1.ReasonDraining, true))
	s.fails = errors.New("away")
	done, err := s.progress(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(done).To(BeFalse())
	g.Expect(s.said[remaining]).To(Equal(`reading Lease "ours/orkestra-leader": away`))
	s.fails = nil
	_, err = s.progress(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	s.fails = context.DeadlineExceeded
	_, err = s.progress(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.said[remaining]).To(ContainSubstring("why a waits"), "the time is over: what was read last holds")
}

func TestADrainEndsInTime(t *testing.T) {
	g := NewWithT(t)
	s := newSite(box("a", v1alpha1.ReasonRunning, true))
	over, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	err := s.drain(over)
	g.Expect(err).To(MatchError(HavePrefix("not drained in time: ")))
	g.Expect(s.word(t)).To(Equal("true"), "the manager goes on with it")
}

func TestADrainIsAskedForAndUndone(t *testing.T) {
	for name, objects := range map[string][]client.Object{"with a Lease": {asked("")}, "where nobody competes for one": nil} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newSite(objects...)
			g.Expect(s.annotate(t.Context(), v1alpha1.True)).To(Succeed())
			g.Expect(s.word(t)).To(Equal("true"))
			g.Expect(s.undo(t.Context())).To(Succeed())
			g.Expect(s.word(t)).To(BeEmpty())
			g.Expect(s.printed.String()).To(Equal("A manager goes on: it marks the resources again.\n"))
			s.printed.Reset()
			g.Expect(s.undo(t.Context())).To(Succeed())
			g.Expect(s.printed.String()).To(Equal("Lease \"ours/orkestra-leader\" asks for no drain: there is nothing to undo.\n"))
			s.fails = errors.New("away")
			g.Expect(s.undo(t.Context())).To(MatchError(`reading Lease "ours/orkestra-leader": away`))
		})
	}
}

func TestForceWhereSomebodyMayLead(t *testing.T) {
	renews := func(_ context.Context, lease *coordinationv1.Lease) {
		lease.Spec.RenewTime = &metav1.MicroTime{Time: lease.Spec.RenewTime.Add(time.Second)}
	}
	for name, tc := range map[string]struct {
		lease  *coordinationv1.Lease
		renews bool
		waits  bool
		err    string
		word   string
	}{
		"no Lease":                      {},
		"nobody holds it":               {lease: asked("true")},
		"it has run out":                {lease: ledBy("pod-1", ""), waits: true},
		"it has run out, and was asked": {lease: ledBy("pod-1", "true"), waits: true},
		"somebody leads":                {lease: ledBy("pod-1", ""), renews: true, waits: true, err: "pod-1 leads, and would put the finalizers back: run orkestra drain without --force, or stop the manager first"},
		"somebody leads and drains":     {lease: ledBy("pod-1", "accepted-for/me"), renews: true, word: "accepted-for/me"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects := []client.Object{box("a", v1alpha1.ReasonRunning, true)}
			if tc.lease != nil {
				objects = append(objects, tc.lease)
			}
			s := newSite(objects...)
			reads := 0
			s.read = func(ctx context.Context, lease *coordinationv1.Lease) {
				if reads++; tc.renews && reads > 1 {
					renews(ctx, lease)
				}
			}
			err := s.force(t.Context())
			g.Expect(bytes.Contains(s.printed.Bytes(), []byte("is held by pod-1: waiting 0s to see whether it is renewed"))).To(Equal(tc.waits))
			left := &v1alpha1.OperatorBox{}
			g.Expect(s.client.Get(t.Context(), types.NamespacedName{Name: "a"}, left)).To(Succeed())
			if tc.err != "" {
				g.Expect(err).To(MatchError(tc.err))
				g.Expect(left.Finalizers).NotTo(BeEmpty())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(left.Finalizers).To(BeEmpty())
			g.Expect(s.printed.String()).To(HaveSuffix("operatorbox/a: let go of, and of 0 resources\n"), "with its CRD the resources are gone")
			s.read = nil
			g.Expect(s.word(t)).To(Equal(tc.word), "a manager that is installed later is asked for nothing")
		})
	}
}

// What can't be let go of holds up nothing else.
func TestForceGoesOnAfterAFault(t *testing.T) {
	g := NewWithT(t)
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "websites.example.com"}}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1"}}
	unserved := box("a", v1alpha1.ReasonRunning, true)
	unserved.Spec.CRD.Name = crd.Name
	s := newSite(crd, unserved, box("b", v1alpha1.ReasonRunning, true))
	g.Expect(s.force(t.Context())).To(MatchError(exit.ErrNo))
	g.Expect(s.printed.String()).To(Equal(`operatorbox/a: CustomResourceDefinition "websites.example.com" serves no version: without one, its resources can't be let go` +
		"\noperatorbox/b: let go of, and of 0 resources\n"))
	left := &v1alpha1.OperatorBox{}
	g.Expect(s.client.Get(t.Context(), types.NamespacedName{Name: "a"}, left)).To(Succeed())
	g.Expect(left.Finalizers).NotTo(BeEmpty())
}

func TestWhatCarriesAMark(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		finalizers  []string
		want        bool
	}{
		"nothing":       {nil, []string{"example.io/hold"}, false},
		"an annotation": {map[string]string{v1alpha1.AnnotationManagedBy: "shop"}, nil, true},
		"our finalizer": {nil, []string{"example.io/hold", v1alpha1.Finalizer}, true},
	} {
		t.Run(name, func(t *testing.T) {
			resource := &unstructured.Unstructured{Object: map[string]any{}}
			resource.SetAnnotations(tc.annotations)
			resource.SetFinalizers(tc.finalizers)
			NewWithT(t).Expect(held(resource)).To(Equal(tc.want))
		})
	}
}
