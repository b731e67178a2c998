package e2e_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/test/history"
)

// former is a box with much that a later version could see otherwise: values drawn once, fields set once, Jobs that are done,
// children without an owner, lists and maps that are empty.
const former = `{finalizers: [example.io/own], selector: {}, mutation: {rules: []},
	onCreate: {jobs: [{id: setup, image: busybox}], configmaps: [{id: first, name: "{{ .metadata.name }}-first", data: {made: once}}]},
	onReconcile: {
		daemonsets: [],
		secrets: [{id: key, name: "{{ .metadata.name }}-key", once: true, data: {password: "{{ randAlphaNum 16 }}"}}],
		deployments: [{image: "{{ .spec.image }}", replicas: 2, initialFields: [spec.replicas]}],
		configmaps: [{id: each, name: "{{ .metadata.name }}-{{ .item }}", forEach: {field: spec.tags, key: "{{ .item }}"}, data: {a: "{{ .item }}"}}],
		services: [{port: 80}]},
	onDelete: {configmaps: [{name: "{{ .metadata.name }}-bye", data: {a: b}}]},
	status: {fields: [{path: replicas, value: "{{ .children.deployment.status.readyReplicas | default 0 }}"}]}}`

// childrenOf are the resourceVersions of all children of a box, by kind and name.
func (w *world) childrenOf(ctx context.Context, box string) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for _, kind := range getBox(ctx, Default, box).Status.ManagedKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind(kind))
		Expect(kube.List(ctx, list, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.LabelBox: box})).To(Succeed())
		for i := range list.Items {
			found[kind.Kind+" "+list.Items[i].GetName()] = list.Items[i].GetResourceVersion()
		}
	}
	return found
}

// succeeded is how many cycles of a box have succeeded in a process.
func succeeded(ctx context.Context, g Gomega, metrics, box string) int {
	_, body, err := fetch(ctx, "http://"+metrics+"/metrics", "")
	g.Expect(err).NotTo(HaveOccurred())
	found := regexp.MustCompile(`orkestra_reconcile_total\{box="` + box + `",result="success"\} (\d+)`).FindStringSubmatch(body)
	g.Expect(found).NotTo(BeNil(), "no cycle of %s yet", box)
	n, err := strconv.Atoi(found[1])
	g.Expect(err).NotTo(HaveOccurred())
	return n
}

var _ = Describe("An upgrade", Label("upgrade"), longest, func() {
	It("changes no child of what runs", func(ctx context.Context) {
		w, every := newWorld(ctx), newWorld(ctx)
		old := formerBuild()
		replaceManager()
		manager.stop()

		By("settling with the previous version")
		j := &journal{}
		before := w.startReplica(j, "before", old.path())
		before.leads(ctx)
		w.running(ctx, w.box(ctx, former))
		every.running(ctx, every.box(ctx, everyKind))
		resources := names(3)
		for _, name := range resources {
			w.website(ctx, name, `{image: "nginx:1", tags: [a, b]}`)
			every.website(ctx, name, `{image: "nginx:1", replicas: 1}`)
		}
		generations := map[string]int64{}
		for _, name := range resources {
			Eventually(func(g Gomega) {
				g.Expect(w.get(ctx, g, name).GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationDone, ContainSubstring("setup")))
			}).WithContext(ctx).Should(Succeed())
			generations[name] = w.settled(ctx, name).GetGeneration()
			every.settled(ctx, name)
		}
		children, others := w.childrenOf(ctx, w.id), every.childrenOf(ctx, every.id)
		Expect(children).To(HaveLen(7 * len(resources)))
		Expect(others).To(HaveLen(5 * len(resources)))
		before.Signal(syscall.SIGTERM)
		Eventually(before, patience).Should(gexec.Exit(0))

		By("starting this version")
		mark, metrics := j.mark(), freeAddress()
		after := w.startReplica(j, "after", built.path(), "--metrics-bind-address", metrics, "--metrics-secure=false")
		Eventually(func(g Gomega) {
			for _, box := range []string{w.id, every.id} {
				g.Expect(succeeded(ctx, g, metrics, box)).To(BeNumerically(">=", len(resources)))
			}
		}).WithContext(ctx).Should(Succeed())
		w.running(ctx, w.id)
		every.running(ctx, every.id)
		for _, name := range resources {
			Expect(w.settled(ctx, name).GetGeneration()).To(Equal(generations[name]))
			every.settled(ctx, name)
		}
		Expect(w.childrenOf(ctx, w.id)).To(Equal(children))
		Expect(every.childrenOf(ctx, every.id)).To(Equal(others))
		for _, c := range after.wrote(mark) {
			// It keeps books of its own, and the key of snapshots. Resources and children are left alone.
			Expect(c.path).To(Or(HaveSuffix("/events"), ContainSubstring("/controllerrevisions"), HaveSuffix("/secrets"),
				ContainSubstring("/"+v1alpha1.GroupName+"/"), HaveSuffix("/status")), "%s", c.method)
		}

		By("working with it")
		w.website(ctx, resources[0], `{image: "nginx:2", tags: [b]}`)
		w.settled(ctx, resources[0])
		w.gone(ctx, &corev1.ConfigMap{}, resources[0]+"-a")
		Expect(kube.Delete(ctx, w.ref(resources[1]))).To(Succeed())
		w.gone(ctx, w.ref(resources[1]), resources[1])
		now := w.childrenOf(ctx, w.id)
		for child, version := range children {
			if strings.Contains(child, resources[2]) {
				Expect(now).To(HaveKeyWithValue(child, version))
			}
		}
		after.Signal(syscall.SIGTERM)
		Eventually(after, patience).Should(gexec.Exit(0))
	})

	It("goes on with what it finds while resources are made and changed", func(ctx context.Context) {
		busy, back := newWorld(ctx), newWorld(ctx)
		old := formerBuild()
		replaceManager()
		manager.stop()
		j := &journal{}
		before := busy.startReplica(j, "before", old.path())
		before.leads(ctx)
		rolling := back.box(ctx, "rollback: {trigger: {consecutiveFailures: 1}}\nresync: 10m\n"+steps+rollsOutToo)
		back.running(ctx, rolling)
		back.labeled(ctx, "web", goodSteps, "one")
		back.settled(ctx, "web")
		Eventually(func(g Gomega) {
			var beside appsv1.ControllerRevisionList // as that version kept it
			g.Expect(kube.List(ctx, &beside, client.InNamespace(back.namespace), client.HasLabels{v1alpha1.LabelSnapshot})).To(Succeed())
			g.Expect(beside.Items).To(HaveLen(1))
			g.Expect(back.get(ctx, g, "web").GetAnnotations()).To(HaveKey(v1alpha1.AnnotationSnapshots))
		}).WithContext(ctx).Should(Succeed())
		back.labeled(ctx, "web", badSteps, "two")
		back.rolledBack(ctx, "web", "generation 2 failed in onReconcile")
		back.firstHolds(ctx, "web", "good", "one")
		kept := back.childrenOf(ctx, rolling)
		Expect(kept).To(HaveKey("Deployment web"))

		By("replacing the process under load")
		busy.running(ctx, busy.box(ctx, loaded))
		lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
		DeferCleanup(cancel)
		births := busy.births(lasting, &corev1.SecretList{}, &batchv1.JobList{}, &corev1.ConfigMapList{})
		l := busy.load(ctx)
		count := func() int { return len(births()) }
		Eventually(count, patience).Should(BeNumerically(">", 30))
		before.Signal(syscall.SIGTERM)
		Eventually(before, patience).Should(gexec.Exit(0))
		mark := j.mark()
		after := busy.startReplica(j, "after", built.path())
		after.leads(ctx)
		Eventually(func() (paths []string) {
			for _, c := range after.wrote(mark) {
				paths = append(paths, c.path)
			}
			return paths
		}, patience).Should(ContainElement(ContainSubstring("/namespaces/" + busy.namespace + "/configmaps/")))
		l.end(ctx)
		Expect(births()).To(HaveEach(1))

		By("looking at what was rolled back before")
		back.rolledBack(ctx, "web", "generation 2 failed in onReconcile")
		back.unlisted(ctx, "web")
		var beside appsv1.ControllerRevisionList
		Expect(kube.List(ctx, &beside, client.InNamespace(back.namespace), client.HasLabels{v1alpha1.LabelSnapshot})).To(Succeed())
		Expect(beside.Items).To(BeEmpty())
		Expect(back.childrenOf(ctx, rolling)).To(Equal(kept))
		back.labeled(ctx, "web", `{image: "better", port: 81}`, "three")
		back.settled(ctx, "web")
		back.firstHolds(ctx, "web", "better", "three")
		back.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSettled, "")
		Expect(back.childrenOf(ctx, rolling)).To(HaveKeyWithValue("Deployment web", kept["Deployment web"]))
		after.Signal(syscall.SIGTERM)
		Eventually(after, patience).Should(gexec.Exit(0))
	})
})

// rollsOutToo is a Deployment that no spec changes, so that each of its versions but the first would be a needless one.
const rollsOutToo = `  deployments: [{image: busybox}]
`

// formerBuild takes the sources of the first release from the repository's history.
func formerBuild() *build {
	GinkgoHelper()
	b := &build{source: history.Sources(GinkgoTB(), filepath.Join("..", ".."), history.First)}
	DeferCleanup(b.remove)
	return b
}
