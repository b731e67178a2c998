package e2e_test

import (
	"context"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// serves has the world's CRD serve these versions, and no others that it has.
func (w *world) serves(ctx context.Context, versions ...string) {
	GinkgoHelper()
	w.changeCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
		if len(crd.Spec.Versions) == 1 {
			addVersion(crd, "v2")
		}
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Served = slices.Contains(versions, crd.Spec.Versions[i].Name)
		}
	})
}

var _ = Describe("A box whose version of the CRD is not served", func() {
	var w *world
	box := func(ctx context.Context, version, more string) {
		GinkgoHelper()
		w.box(ctx, `{crd: {name: `+w.crdName()+`, version: `+version+`}, onReconcile: {configmaps: [{data: {value: declared}}]}`+more+`}`)
	}
	stalled := func(ctx context.Context, message string) {
		GinkgoHelper()
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDVersionNotServed, message)
		boxShows(ctx, w.id, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCRDVersionNotServed, message)
		boxShows(ctx, w.id, v1alpha1.ConditionCRDEstablished, metav1.ConditionFalse, v1alpha1.ReasonCRDVersionNotServed, message)
	}
	// mistaken names a version that there is not, unserved stops serving the one that is named, and dropped takes it away.
	mistaken := func(ctx context.Context) {
		box(ctx, "v9", "")
		stalled(ctx, `does not serve version "v9"; it serves v1, v2`)
	}
	unserved := func(ctx context.Context) {
		w.serves(ctx, "v1")
		stalled(ctx, `does not serve version "v2"; it serves v1`)
	}
	dropped := func(ctx context.Context) {
		w.changeCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = crd.Spec.Versions[:1] })
		stalled(ctx, `does not serve version "v2"; it serves v1`)
	}
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.serves(ctx, "v1", "v2")
		box(ctx, "v2", "")
		w.running(ctx, w.id)
		for _, name := range []string{"web", "other", "third"} {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
	})

	It("goes on in the version that it worked in, while that is served", func(ctx context.Context) {
		mistaken(ctx)
		w.overwrites(ctx, "web", "by hand")
		w.holds(ctx, "web", "declared")
		w.removed(ctx, "other")
		By("looking at it in a process in which it never ran: deletions are served")
		replaceManager()
		w.removed(ctx, "third")
		box(ctx, "v2", "")
		w.running(ctx, w.id)
	})

	DescribeTable("serves deletions in another one, and goes on when it is served", func(ctx context.Context, before func(context.Context)) {
		before(ctx)
		w.removed(ctx, "other")
		w.gone(ctx, &corev1.ConfigMap{}, "other")
		box(ctx, "v2", `, onDelete: {jobs: [`+job("bye", endless)+`]}`)
		replaceManager()
		Expect(kube.Delete(ctx, w.ref("third"))).To(Succeed())
		w.cleaning(ctx, "third", "third-bye")
		w.finishes(ctx, "third-bye")
		w.vanished(ctx, "third")
		w.serves(ctx, "v1", "v2")
		w.running(ctx, w.id)
		w.holds(ctx, "web", "declared") // the garbage collector may have taken it meanwhile: its owner's version was gone
		w.overwrites(ctx, "web", "by hand")
		w.holds(ctx, "web", "declared")
	},
		Entry("when the CRD stops to serve it", unserved),
		Entry("when the CRD loses it", dropped),
	)

	same := func(...func(*settings)) {}
	stay := func(ctx context.Context) {
		for _, name := range []string{"web", "other", "third"} {
			w.holds(ctx, name, "declared")
		}
	}
	// The children name their owner in version v2. Where that is gone before the garbage collector has begun to watch the kind, it
	// asks for the owner in v2, is told that there is none, and deletes the child. So only our own manager is watched here.
	untouched := func(context.Context) {
		for _, r := range manager.requests.writes(0, "/namespaces/"+w.namespace+"/configmaps") {
			Expect(r.method).NotTo(Equal(http.MethodDelete), "%s", r)
		}
	}
	DescribeTable("lets go of every resource when it is deleted", func(
		ctx context.Context, before func(context.Context), inProcess func(...func(*settings)), children func(context.Context),
	) {
		before(ctx)
		inProcess()
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		for _, name := range []string{"web", "other", "third"} {
			Expect(w.get(ctx, Default, name).GetFinalizers()).To(BeEmpty())
		}
		children(ctx)
	},
		Entry("after a mistake", mistaken, same, stay),
		Entry("after a mistake, in another process", mistaken, replaceManager, stay),
		Entry("when the CRD stopped to serve it", unserved, same, untouched),
		Entry("when the CRD stopped to serve it, in another process", unserved, replaceManager, untouched),
		Entry("when the CRD lost it", dropped, same, untouched),
		Entry("when the CRD lost it, in another process", dropped, replaceManager, untouched),
	)

	It("waits with its deletion where the CRD serves no version at all", func(ctx context.Context) {
		w.serves(ctx)
		stalled(ctx, `does not serve version "v2"; it serves none`)
		deleteBox(ctx, w.id)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked, "to serve a version again")
		w.serves(ctx, "v1")
		boxGone(ctx, w.id)
		w.unmarked(ctx, "web")
	})
})
