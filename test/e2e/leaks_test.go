package e2e_test

import (
	"context"
	"runtime"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// bareEngine is an engine without controllers: a spec starts and stops boxes itself.
type bareEngine struct {
	*engine.Engine

	streams *streams
	blocker *blocker
}

// newEngine runs an engine that leads, instead of the manager, until the spec ends. Its blocker holds back writes of ConfigMaps
// in the namespace of the first world.
func newEngine(worlds ...*world) *bareEngine {
	GinkgoHelper()
	replaceManager()
	manager.stop() // its goroutines would come and go while a spec counts
	DeferCleanup(func(ctx context.Context) {
		// There is no OperatorBox whose deletion would let the resources go.
		for _, w := range worlds {
			w.stripFinalizers(ctx)
		}
	})
	e := &bareEngine{streams: newStreams(), blocker: &blocker{match: writesOf(worlds[0].namespace, "configmaps")}}
	e.blocker.open()
	config := cluster.Config()
	config.Wrap(e.streams.wrap)
	config.Wrap(e.blocker.wrap)
	httpClient, err := rest.HTTPClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	Expect(err).NotTo(HaveOccurred())
	e.Engine, err = engine.New(engine.Config{REST: config, Mapper: mapper, Log: log.Log.WithName("engine")})
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Start(ctx) }()
	e.Lead()
	DeferCleanup(func() {
		e.blocker.open()
		cancel()
		Eventually(done).Should(Receive(BeNil()))
	})
	return e
}

// stripFinalizers takes the finalizers off all resources.
func (w *world) stripFinalizers(ctx context.Context) {
	GinkgoHelper()
	list := w.list()
	Expect(kube.List(ctx, list)).To(Succeed())
	for i := range list.Items {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		Expect(client.IgnoreNotFound(kube.Patch(ctx, &list.Items[i], patch))).To(Succeed())
	}
}

// plan compiles a box for a world's CRD.
func (w *world) plan(ctx context.Context, name, spec string) *pipeline.Plan {
	GinkgoHelper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	Expect(kube.Get(ctx, types.NamespacedName{Name: w.crdName()}, crd)).To(Succeed())
	picked, ok := pipeline.NewCRD(crd, "")
	Expect(ok).To(BeTrue())
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	Expect(yaml.UnmarshalStrict([]byte(spec), &box.Spec)).To(Succeed())
	box.Spec.CRD.Name = w.crdName()
	plan, errs := pipeline.Compile(box, pipeline.Env{CRD: picked})
	Expect(errs).To(BeEmpty())
	return plan
}

// runs starts a box, and waits until its workers run.
func (e *bareEngine) runs(ctx context.Context, plan *pipeline.Plan) {
	GinkgoHelper()
	Eventually(func() error { return e.Ensure(plan, engine.Options{}) }).WithContext(ctx).Should(Succeed())
	Eventually(func(g Gomega) {
		report, ok := e.Report(plan.Box)
		g.Expect(ok).To(BeTrue())
		g.Expect(report.Phase).To(Equal(health.Running), report.Message)
	}).WithContext(ctx).Should(Succeed())
}

var _ = Describe("The engine", func() {
	It("leaves nothing behind when boxes are started and stopped two hundred times", func(ctx context.Context) {
		w := newWorld(ctx)
		for _, name := range names(3) {
			w.website(ctx, name, `{}`)
		}
		e := newEngine(w)
		plan := w.plan(ctx, w.id, `{onReconcile: {configmaps: [{data: {a: b}}]}}`)
		round := func() {
			e.runs(ctx, plan)
			Expect(e.Remove(w.id)).To(Succeed())
		}
		for range 5 { // connections and lazy parts of libraries stay
			round()
		}
		known := goleak.IgnoreCurrent()
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range 200 {
			if i%3 == 0 { // stopped at once, while it starts
				Expect(e.Ensure(plan, engine.Options{})).To(Succeed())
				Expect(e.Remove(w.id)).To(Succeed())
				continue
			}
			round()
		}
		Eventually(func() error {
			return goleak.Find(known, goleak.IgnoreAnyFunction("net/http.(*http2Transport).newClientConn"))
		}).
			WithContext(ctx).Should(Succeed())
		Expect(e.streams.count("")).To(BeZero(), "open watches")
		var after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&after)
		Expect(int64(after.HeapAlloc)-int64(before.HeapAlloc)).To(BeNumerically("<", 8<<20), "bytes that 200 boxes left on the heap")
		w.child(ctx, Default, &corev1.ConfigMap{}, "web-002")
	})

	It("waits for the workers of a box that it removes", func(ctx context.Context) {
		w, other := newWorld(ctx), newWorld(ctx)
		e := newEngine(w, other)
		e.runs(ctx, w.plan(ctx, w.id, `{onReconcile: {configmaps: [{data: {a: b}}], services: [{port: 80, selector: {a: b}}]}}`))
		e.blocker.shut()
		w.website(ctx, "web", `{}`)
		Eventually(e.blocker.holding).WithContext(ctx).Should(Equal(1))
		removed := make(chan error, 1)
		go func() { removed <- e.Remove(w.id) }()
		Eventually(func() bool {
			_, runs := e.Report(w.id)
			return runs
		}).WithContext(ctx).Should(BeFalse())

		By("running another box meanwhile")
		e.runs(ctx, other.plan(ctx, other.id, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		other.website(ctx, "web", `{}`)
		other.settled(ctx, "web")
		Expect(removed).NotTo(Receive())
		Expect(e.blocker.holding()).To(Equal(1))

		e.blocker.open()
		Eventually(removed).WithContext(ctx).Should(Receive(BeNil()))
		w.child(ctx, Default, &corev1.Service{}, "web") // what was under way was finished
		Expect(e.streams.count("/" + w.group + "/")).To(BeZero())
	})

	It("never runs two generations of a box at the same time", func(ctx context.Context) {
		w, other := newWorld(ctx), newWorld(ctx)
		e := newEngine(w, other)
		e.runs(ctx, w.plan(ctx, w.id, `{onReconcile: {configmaps: [{data: {generation: "1"}}]}}`))
		e.blocker.shut()
		w.website(ctx, "web", `{}`)
		Eventually(e.blocker.holding).WithContext(ctx).Should(Equal(1))

		By("choosing namespaces, for which the box must start anew")
		next := w.plan(ctx, w.id, `{namespaces: {include: [`+w.namespace+`]}, onReconcile: {configmaps: [{data: {generation: "2"}}]}}`)
		var ensured atomic.Bool
		done := make(chan error, 1)
		go func() {
			err := e.Ensure(next, engine.Options{Namespaces: []string{w.namespace}})
			ensured.Store(true)
			done <- err
		}()
		Eventually(func() bool {
			_, runs := e.Report(w.id)
			return runs
		}).WithContext(ctx).Should(BeFalse(), "the first generation stops")
		e.runs(ctx, other.plan(ctx, other.id, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		other.website(ctx, "web", `{}`)
		other.settled(ctx, "web")
		Expect(ensured.Load()).To(BeFalse())
		Expect(e.streams.count("/"+w.group+"/v1/namespaces/"+w.namespace)).To(BeZero(), "the second generation watches nothing yet")

		e.blocker.open()
		Eventually(done).WithContext(ctx).Should(Receive(BeNil()))
		Eventually(func(g Gomega) {
			var c corev1.ConfigMap
			w.child(ctx, g, &c, "web")
			g.Expect(c.Data).To(HaveKeyWithValue("generation", "2"))
		}).WithContext(ctx).Should(Succeed())
	})
})
