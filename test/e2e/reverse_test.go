package e2e_test

import (
	"context"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// inReverse is a box of three that read each other: the Deployment the Service, and that the ConfigMap.
const inReverse = `{deletion: {children: Reverse}, ` + threeThatRead + `}`

const threeThatRead = `onReconcile: {
	configmaps: [{id: settings, name: "{{ .metadata.name }}-settings", data: {a: b}, when: [{field: spec.mode, notEquals: "off"}]}],
	services: [{id: front, name: "{{ .metadata.name }}-front", port: 80, selector: {a: b}, when: [{field: spec.mode, notEquals: "off"}],
		annotations: {settings: "{{ .children.settings.metadata.name }}"}}],
	deployments: [{name: "{{ .metadata.name }}-app", image: "nginx:1", replicas: 1, when: [{field: spec.mode, notEquals: "off"}],
		annotations: {front: "{{ .children.front.metadata.name }}"}}]}`

var _ = Describe("Children that are deleted in reverse", func() {
	var w *world
	var settings *corev1.ConfigMap
	var front *corev1.Service
	var app *appsv1.Deployment
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		settings, front, app = &corev1.ConfigMap{}, &corev1.Service{}, &appsv1.Deployment{}
	})

	// begin makes a settled resource whose Service somebody holds.
	begin := func(ctx context.Context) {
		GinkgoHelper()
		w.running(ctx, w.box(ctx, inReverse))
		w.website(ctx, "web", `{mode: "on"}`)
		w.settled(ctx, "web")
		w.child(ctx, Default, settings, "web-settings")
		w.child(ctx, Default, front, "web-front")
		w.child(ctx, Default, app, "web-app")
		w.merge(ctx, front, `{"metadata":{"finalizers":["e2e.test/hold"]}}`)
	}
	// stays checks that what the held Service reads is there, and that nobody has asked for its deletion.
	stays := func(ctx context.Context) {
		GinkgoHelper()
		w.gone(ctx, &appsv1.Deployment{}, "web-app")
		w.child(ctx, Default, settings, "web-settings")
		Expect(settings.DeletionTimestamp).To(BeNil())
	}
	deletions := func(mark int) []string {
		kinds := []string{}
		for _, r := range manager.requests.since(mark, "/namespaces/"+w.namespace+"/") {
			if r.method == http.MethodDelete {
				parts := strings.Split(r.path, "/")
				kinds = append(kinds, parts[len(parts)-2])
			}
		}
		return kinds
	}
	const held = `waiting for Service "web-front" to be gone`
	const by = `; the finalizer "e2e.test/hold" holds it`

	It("stay until those that read them are gone, and who holds one is named, also by a manager that was started since", func(ctx context.Context) {
		begin(ctx)
		for _, obj := range []client.Object{settings, front, app} {
			Expect(obj.GetOwnerReferences()).To(BeEmpty())
		}
		Expect(kube.Delete(ctx, w.ref("web"), client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting, held+by)
		stays(ctx)
		manager.stop()
		manager = startManager(cluster.Config())
		w.lookedAt(ctx, "web")
		stays(ctx)
		Expect(deletions(0)).To(BeEmpty(), "nothing is asked for twice")
		w.merge(ctx, front, `{"metadata":{"finalizers":null}}`)
		w.vanished(ctx, "web")
		w.gone(ctx, settings, "web-settings")
		Expect(deletions(0)).To(Equal([]string{"configmaps"}))
	})

	It("are asked to go in their order where nobody holds them", func(ctx context.Context) {
		begin(ctx)
		w.merge(ctx, front, `{"metadata":{"finalizers":null}}`)
		w.settled(ctx, "web")
		mark := manager.requests.mark()
		w.removed(ctx, "web")
		Expect(deletions(mark)).To(Equal([]string{"deployments", "services", "configmaps"}))
	})

	It("are pruned in reverse when several gates close", func(ctx context.Context) {
		begin(ctx)
		w.website(ctx, "web", `{mode: "off"}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildTerminating, held+`, before ConfigMap "web-settings" is deleted`+by)
		stays(ctx)
		w.merge(ctx, front, `{"metadata":{"finalizers":null}}`)
		w.gone(ctx, settings, "web-settings")
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
	})

	It("go in reverse with a box whose children are to go", func(ctx context.Context) {
		begin(ctx)
		box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}
		w.merge(ctx, box, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationCleanup+`":"true"}}}`)
		Expect(kube.Delete(ctx, box)).To(Succeed())
		stays(ctx)
		w.merge(ctx, front, `{"metadata":{"finalizers":null}}`)
		w.gone(ctx, settings, "web-settings")
	})

	It("follow a box that changes the order", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{`+threeThatRead+`}`))
		w.website(ctx, "web", `{mode: "on"}`)
		w.settled(ctx, "web")
		references := func(n int) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				for name, obj := range map[string]client.Object{"web-settings": settings, "web-front": front, "web-app": app} {
					w.child(ctx, g, obj, name)
					g.Expect(obj.GetOwnerReferences()).To(HaveLen(n))
				}
			}).WithContext(ctx).Should(Succeed())
			Expect(w.get(ctx, Default, "web").GetFinalizers()).To(Equal([]string{v1alpha1.Finalizer}))
		}
		references(1)
		w.box(ctx, inReverse)
		references(0)
		w.box(ctx, `{deletion: {children: GarbageCollector}, `+threeThatRead+`}`)
		references(1)
	})

	It("go in no order with their namespace", func(ctx context.Context) {
		ns := w.anotherNamespace(ctx)
		w.running(ctx, w.box(ctx, inReverse))
		w.websiteIn(ctx, ns, "web", nil)
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: ns, Name: "web-app"}, app)).To(Succeed())
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: ns, Name: "web-front"}, front)).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
		w.merge(ctx, front, `{"metadata":{"finalizers":["e2e.test/hold"]}}`)
		Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		Eventually(func(g Gomega) {
			err := kube.Get(ctx, types.NamespacedName{Namespace: ns, Name: "web-settings"}, settings)
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the namespace controller waits for nobody")
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Get(ctx, types.NamespacedName{Namespace: ns, Name: "web-front"}, front)).To(Succeed())
		w.merge(ctx, front, `{"metadata":{"finalizers":null}}`)
		Eventually(func(g Gomega) {
			g.Expect(apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: ns}, &corev1.Namespace{}))).To(BeTrue())
		}).WithContext(ctx).Should(Succeed())
	})
})
