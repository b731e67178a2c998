package e2e_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/drain"
)

// loaded is a box whose children show when something was done twice: a Job that runs once, a Secret that is drawn once.
const loaded = `{workers: 5, failureThreshold: 10000, validation: {rules: [{field: spec.replicas, operator: lte, value: "10", message: "at most 10"}]},
	onCreate: {jobs: [{id: setup, image: busybox}]},
	onReconcile: {
		secrets: [{id: key, name: "{{ .metadata.name }}-key", once: true, data: {password: "{{ randAlphaNum 16 }}"}}],
		configmaps: [{data: {value: "{{ .spec.image }}"}}]}}`

// load makes and changes resources until it is told to stop. Every tenth is refused until it is changed.
type load struct {
	world *world
	group sync.WaitGroup
	stop  context.CancelFunc
	last  map[string]string // the image of each, when it has ended
}

// most is how many resources a load makes; then it changes them.
const most = 60

func (w *world) load(ctx context.Context) *load {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &load{world: w, stop: cancel, last: map[string]string{}}
	DeferCleanup(func() {
		cancel()
		l.group.Wait()
	})
	pace := time.NewTicker(40 * time.Millisecond)
	l.group.Go(func() {
		defer GinkgoRecover()
		defer pace.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-pace.C:
			}
			name := fmt.Sprintf("web-%03d", i%most)
			replicas := 1
			if i < most && i%10 == 9 {
				replicas = 11
			}
			l.last[name] = fmt.Sprintf("image:%d", i)
			w.website(context.WithoutCancel(ctx), name, fmt.Sprintf("{image: %q, replicas: %d}", l.last[name], replicas))
		}
	})
	return l
}

// end stops the load, mends what is refused, and waits until every resource is as its spec says.
func (l *load) end(ctx context.Context) {
	GinkgoHelper()
	l.stop()
	l.group.Wait()
	for name, image := range l.last {
		l.world.website(ctx, name, fmt.Sprintf("{image: %q, replicas: 1}", image))
	}
	for name, image := range l.last {
		l.world.settled(ctx, name)
		l.world.holds(ctx, name, image)
		secret := &corev1.Secret{}
		l.world.child(ctx, Default, secret, name+"-key")
		Expect(secret.Data["password"]).To(HaveLen(16))
		l.world.child(ctx, Default, &batchv1.Job{}, name)
	}
}

// births counts how often objects of the world's namespace came into being, by kind and name. A Secret that is drawn again came
// into being again, whether it was made anew or not.
func (w *world) births(ctx context.Context, lists ...client.ObjectList) func() map[string]int {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	var (
		mu    sync.Mutex
		count = map[string]int{}
		drawn = map[string]map[string][]byte{}
	)
	for _, list := range lists {
		stream, err := watcher.Watch(ctx, list, client.InNamespace(w.namespace))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stream.Stop)
		go func() {
			for event := range stream.ResultChan() {
				obj, ok := event.Object.(client.Object)
				if !ok {
					continue
				}
				name := fmt.Sprintf("%T %s", obj, obj.GetName())
				secret, isSecret := obj.(*corev1.Secret)
				mu.Lock()
				if event.Type == watch.Added || isSecret && event.Type == watch.Modified && !reflect.DeepEqual(drawn[name], secret.Data) {
					count[name]++
				}
				if isSecret {
					drawn[name] = secret.Data
				}
				mu.Unlock()
			}
		}()
	}
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		out := map[string]int{}
		for name, n := range count {
			if strings.Contains(name, " web-") {
				out[name] = n
			}
		}
		return out
	}
}

// story collects what CRDHealth shows of a box over time, and checks that no step goes back.
func story(ctx context.Context, box string) func(g Gomega) {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	stream, err := watcher.Watch(ctx, &v1alpha1.CRDHealthList{}, client.MatchingFields{"metadata.name": box})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stream.Stop)
	var (
		mu  sync.Mutex
		all []v1alpha1.CRDHealthStatus
	)
	go func() {
		for event := range stream.ResultChan() {
			if health, ok := event.Object.(*v1alpha1.CRDHealth); ok {
				mu.Lock()
				all = append(all, health.Status)
				mu.Unlock()
			}
		}
	}()
	return func(g Gomega) {
		mu.Lock()
		defer mu.Unlock()
		g.Expect(len(all)).To(BeNumerically(">", 2))
		for i, now := range all[1:] {
			before := all[i]
			g.Expect(now.SuccessCount).To(BeNumerically(">=", before.SuccessCount))
			g.Expect(now.FailureCount).To(BeNumerically(">=", before.FailureCount))
			if before.ClaimedAt != nil {
				g.Expect(now.ClaimedAt).To(Equal(before.ClaimedAt))
			}
			if before.State == v1alpha1.HealthHealthy {
				g.Expect(now.State).To(Equal(v1alpha1.HealthHealthy), "%+v", now)
			}
		}
	}
}

var _ = Describe("High availability", longest, func() {
	var (
		w       *world
		j       *journal
		a, b    *replica
		first   string // identity of a
		noTwice func()
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		replaceManager()
		manager.stop()
		j = &journal{}
		a = w.startReplica(j, "a", built.path())
		first = a.leads(ctx)
		b = w.startReplica(j, "b", built.path())
		b.ready(ctx)
		w.running(ctx, w.box(ctx, loaded))
		// The watches of a spec outlive the node that starts them.
		lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
		DeferCleanup(cancel)
		births := w.births(lasting, &corev1.SecretList{}, &batchv1.JobList{}, &corev1.ConfigMapList{})
		noTwice = func() {
			GinkgoHelper()
			Expect(births()).NotTo(BeEmpty())
			Expect(births()).To(HaveEach(1))
		}
	})
	// follower checks that b has written nothing until it leads.
	follower := func() {
		GinkgoHelper()
		Expect(b.wrote(0)).To(BeEmpty())
		Expect(b.renewals(0)).To(BeEmpty())
	}
	// heldBy waits until a process holds the lease, which only one other had before.
	heldBy := func(ctx context.Context, identity string) {
		GinkgoHelper()
		lease := &coordinationv1.Lease{}
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: drain.LeaseName}, lease)).To(Succeed())
			g.Expect(lease.Spec.HolderIdentity).To(HaveValue(Equal(identity)))
		}).WithContext(ctx).Should(Succeed())
		Expect(lease.Spec.LeaseTransitions).To(HaveValue(BeEquivalentTo(1)))
		Expect(lease.Spec.LeaseDurationSeconds).To(HaveValue(BeEquivalentTo(15)), "how long it lasts when its holder dies")
	}

	It("goes on when the leader is killed under load", func(ctx context.Context) {
		continuous := story(context.WithoutCancel(ctx), w.id)
		l := w.load(ctx)
		for _, name := range names(8) {
			Eventually(func(g Gomega) { w.get(ctx, g, name) }).WithContext(ctx).Should(Succeed())
			Eventually(func(g Gomega) { w.child(ctx, g, &corev1.ConfigMap{}, name) }).WithContext(ctx).Should(Succeed())
		}
		follower()
		Expect(a.renewals(0)).NotTo(BeEmpty())
		mark := j.mark()
		killed := time.Now()
		a.Kill()
		Eventually(a, patience).Should(gexec.Exit())
		var took []alteration
		Eventually(func() []alteration { took = b.wrote(mark); return took }).WithContext(ctx).ShouldNot(BeEmpty())
		GinkgoWriter.Printf("The other process wrote %s after the kill.\n", took[0].arrived.Sub(killed).Round(time.Millisecond))
		heldBy(ctx, b.leads(ctx))
		l.end(ctx)
		noTwice()
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: int32(len(l.last)), Ready: int32(len(l.last))}))
			g.Expect(s.State).To(Equal(v1alpha1.HealthHealthy))
		})
		continuous(Default)
		Expect(a.wrote(j.mark())).To(BeEmpty())
	})

	It("keeps a leader that was stopped for a while from writing", func(ctx context.Context) {
		changing := names(5)
		for _, name := range changing {
			w.website(ctx, name, `{image: first, replicas: 1}`)
		}
		for _, name := range changing {
			w.settled(ctx, name)
		}
		follower()
		a.Signal(syscall.SIGSTOP)
		DeferCleanup(func() { a.Signal(syscall.SIGCONT) })
		second := b.leads(ctx)
		Expect(second).NotTo(Equal(first))
		w.website(ctx, "web-new", `{image: first, replicas: 1}`)
		w.settled(ctx, "web-new")

		By("leaving the new leader no time to do what the old one would do")
		b.Signal(syscall.SIGSTOP)
		DeferCleanup(func() { b.Signal(syscall.SIGCONT) })
		for _, name := range changing {
			w.website(ctx, name, `{image: second, replicas: 1}`)
			w.overwrites(ctx, name, "by hand")
		}
		mark := j.mark()
		a.Signal(syscall.SIGCONT)
		tried := func() bool {
			return strings.Contains(string(a.Err.Contents()), "not sent: this process does not lead") || len(a.wrote(mark)) > 0
		}
		Eventually(tried).WithContext(ctx).Should(BeTrue())
		b.Signal(syscall.SIGCONT)
		Eventually(a, patience).Should(gexec.Exit(1))
		Expect(a.wrote(mark)).To(BeEmpty(), "it was fenced")
		Expect(a.renewals(mark)).To(BeEmpty())
		for _, name := range changing {
			w.holds(ctx, name, "second")
			w.settled(ctx, name)
		}
		heldBy(ctx, second)
		noTwice()
	})

	It("hands over at once when the leader is told to stop", func(ctx context.Context) {
		l := w.load(ctx)
		Eventually(func(g Gomega) { w.child(ctx, g, &corev1.ConfigMap{}, names(3)[2]) }).WithContext(ctx).Should(Succeed())
		follower()
		a.Signal(syscall.SIGTERM)
		Eventually(a, patience).Should(gexec.Exit(0))
		renewals := a.renewals(0)
		Expect(renewals[len(renewals)-1].holder).To(BeEmpty(), "the lease is released")
		released := renewals[len(renewals)-1].arrived
		wrote := a.wrote(0)
		Expect(wrote[len(wrote)-1].arrived).To(BeTemporally("<", released))
		second := b.leads(ctx)
		GinkgoWriter.Printf("The other process led %s after the release.\n", b.renewals(0)[0].arrived.Sub(released).Round(time.Millisecond))
		l.end(ctx)
		heldBy(ctx, second)
		noTwice()
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonRunning, "")
	})
})
