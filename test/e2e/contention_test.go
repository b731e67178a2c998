package e2e_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// rival keeps writing a field of a ConfigMap, as fast as it can, until it is stopped.
type rival struct {
	writes atomic.Int64
	stop   func()
}

func (w *world) rival(ctx context.Context, name, field string) *rival {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(ctx)
	r := &rival{}
	var running sync.WaitGroup
	running.Go(func() {
		defer GinkgoRecover()
		for n := 0; ctx.Err() == nil; n++ {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"`+field+`":"theirs-`+strconv.Itoa(n)+`"}}`))
			err := client.IgnoreNotFound(kube.Patch(ctx, w.configMap(name), patch, client.FieldOwner("rival")))
			if ctx.Err() == nil {
				Expect(err).NotTo(HaveOccurred())
				r.writes.Add(1)
			}
		}
	})
	r.stop = func() {
		cancel()
		running.Wait()
	}
	DeferCleanup(r.stop)
	return r
}

var _ = Describe("A child that somebody else keeps changing", func() {
	// corrections counts what the manager sends to a ConfigMap.
	corrections := func(w *world, mark int, name string) int {
		n := 0
		for _, r := range manager.requests.since(mark, "/namespaces/"+w.namespace+"/configmaps/"+name) {
			if r.method == http.MethodPatch {
				n++
			}
		}
		return n
	}

	It("is corrected less and less often, names field and manager, and rests when that one does", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
onReconcile:
  configmaps:
  - {id: one, name: one, data: {mine: ours, image: "{{ .spec.image }}"}}
  - {id: two, name: two, data: {image: "{{ .spec.image }}"}}
`))
		w.website(ctx, "web", `{image: first}`)
		w.settled(ctx, "web")
		mark := manager.requests.mark()
		r := w.rival(ctx, "one", "mine")
		const fighting = `ConfigMap "one": manager "rival" keeps changing data.mine, so that it is corrected less often: only one of the two may set it`
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonFighting, fighting)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReconcileSucceeded, "")

		By("letting the other one go on")
		first := r.writes.Load()
		Eventually(r.writes.Load).WithContext(ctx).Should(BeNumerically(">", first+500))
		Expect(corrections(w, mark, "one")).To(And(BeNumerically(">=", 10), BeNumerically("<=", 30)), "of %d", r.writes.Load())
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonFighting, fighting)

		By("editing the resource")
		w.website(ctx, "web", `{image: second}`)
		w.hasData(ctx, "two", map[string]string{"image": "second"})
		Eventually(func(g Gomega) {
			c := &corev1.ConfigMap{}
			w.child(ctx, g, c, "one")
			g.Expect(c.Data).To(HaveKeyWithValue("image", "second"))
		}).WithContext(ctx).Should(Succeed())

		By("ending it")
		r.stop()
		w.hasData(ctx, "one", map[string]string{"mine": "ours", "image": "second"})
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
	})

	It("leaves the others of its resource as quick as ever", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{id: one, name: one, data: {mine: ours}}, {id: two, name: two, data: {mine: ours}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		w.rival(ctx, "one", "mine")
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonFighting, `manager "rival"`)
		mark := manager.requests.mark()
		w.patch(ctx, w.configMap("two"), `{"data":{"mine":"theirs"}}`)
		w.hasData(ctx, "two", map[string]string{"mine": "ours"})
		Expect(corrections(w, mark, "two")).To(Equal(1))
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.vanished(ctx, "web")
	})
})
