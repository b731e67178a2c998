package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// steps changes a ConfigMap, and when that shows the image, a Service: with a port that there is none of, the cycle fails after it has
// changed something, and the dry run can't know.
const steps = `
onReconcile:
  configmaps:
  - name: "{{ .metadata.name }}-first"
    data: {image: "{{ .spec.image }}", by: "{{ index .metadata.labels \"team\" }}"}
  services:
  - name: "{{ .metadata.name }}-second"
    port: "{{ .spec.port }}"
    selector: {app: web}
    when: [{field: children.configmap.data.image, equals: "{{ .spec.image }}"}]
`

const goodSteps, badSteps = `{image: "good", port: 80}`, `{image: "bad", port: 70000}`

// labeled applies a resource as a Git tool does: labels and spec.
func (w *world) labeled(ctx context.Context, name, spec, team string) {
	GinkgoHelper()
	obj := w.boxObject(name, spec)
	ref := w.ref(name)
	ref.Object["spec"] = obj.Object["spec"]
	delete(ref.Object["spec"].(map[string]any), "crd")
	ref.SetLabels(map[string]string{"team": team})
	Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(ref), client.FieldOwner("git"), client.ForceOwnership)).To(Succeed())
}

// snapshots are those of the resources in the world's namespace. They are in the manager's.
func (w *world) snapshots(ctx context.Context, g Gomega) []appsv1.ControllerRevision {
	var list appsv1.ControllerRevisionList
	g.Expect(kube.List(ctx, &list, client.InNamespace(ownNamespace), client.HasLabels{v1alpha1.LabelSnapshot})).To(Succeed())
	return slices.DeleteFunc(list.Items, func(s appsv1.ControllerRevision) bool {
		return !bytes.Contains(s.Data.Raw, []byte(`"namespace":"`+w.namespace+`"`))
	})
}

// firstHolds waits until the first child holds an image.
func (w *world) firstHolds(ctx context.Context, name, image, team string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var first corev1.ConfigMap
		w.child(ctx, g, &first, name+"-first")
		g.Expect(first.Data).To(Equal(map[string]string{"image": image, "by": team}))
	}).WithContext(ctx).Should(Succeed())
}

// rolledBack waits until a resource shows that it is rolled back.
func (w *world) rolledBack(ctx context.Context, name, text string) {
	GinkgoHelper()
	w.shows(ctx, name, v1alpha1.ConditionRolledBack, metav1.ConditionTrue, v1alpha1.ReasonRolledBack, text)
}

// specOwners are who has written what of the spec of a resource.
func specOwners(obj *unstructured.Unstructured) map[string]string {
	owners := map[string]string{}
	for _, f := range obj.GetManagedFields() {
		var fields map[string]json.RawMessage
		Expect(json.Unmarshal(f.FieldsV1.GetRawBytes(), &fields)).To(Succeed())
		if spec, found := fields["f:spec"]; found {
			owners[f.Manager] = string(spec)
		}
	}
	return owners
}

var _ = Describe("Rollback", func() {
	It("puts children back when a cycle fails after it changed them, and never writes the spec", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, "rollBackOnError: true\nresync: 10m\n"+steps)
		w.running(ctx, name)
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())

		By("changing the spec to one that fails in its second phase")
		w.labeled(ctx, "web", badSteps, "two")
		applied := w.get(ctx, Default, "web")
		w.rolledBack(ctx, "web", "generation 2 failed in onReconcile; the children are those of generation 1; it is tried again by itself")
		w.firstHolds(ctx, "web", "good", "one")
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "70000")
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, "70000")

		By("looking at the spec")
		now := w.get(ctx, Default, "web")
		Expect(now.GetGeneration()).To(Equal(applied.GetGeneration()))
		Expect(now.Object["spec"]).To(Equal(applied.Object["spec"]))
		Expect(specOwners(now)).To(Equal(specOwners(applied)))
		Expect(specOwners(now)).To(HaveKey("git"))

		By("looking at what people see")
		Eventually(func(g Gomega) {
			health := getHealth(ctx, g, name)
			g.Expect(health.Status.Rollback).To(HaveValue(And(HaveField("Active", true), HaveField("Count", BeEquivalentTo(1)),
				HaveField("Reason", "Error"), HaveField("Since", Not(BeNil())))))
			g.Expect(w.eventsOf(ctx, g, "web")).To(ContainElement(And(HaveField("Reason", "RolledBack"), HaveField("Type", "Warning"),
				HaveField("Note", ContainSubstring("generation 2 failed in onReconcile")))))
			g.Expect(manager.metric(g, "orkestra_rollbacks_total", name)).To(BeEquivalentTo(1))
			g.Expect(manager.metric(g, "orkestra_resources", name, "rolled_back")).To(BeEquivalentTo(1))
		}).WithContext(ctx).Should(Succeed())

		By("mending the spec")
		w.labeled(ctx, "web", `{image: "better", port: 81}`, "three")
		w.settled(ctx, "web")
		w.firstHolds(ctx, "web", "better", "three")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSettled, "")
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationRolledBack))
			g.Expect(getHealth(ctx, g, name).Status.Rollback).To(HaveValue(Equal(v1alpha1.RollbackStatus{})))
			g.Expect(manager.metric(g, "orkestra_resources", name, "rolled_back")).To(BeZero())
			g.Expect(w.snapshots(ctx, g)).To(HaveLen(2))
		}).WithContext(ctx).Should(Succeed())
	})

	It("asks the API server's dry run first, and changes nothing that it refuses", func(ctx context.Context) {
		w := newWorld(ctx)
		spec := strings.ReplaceAll(steps, `    when: [{field: children.configmap.data.image, equals: "{{ .spec.image }}"}]`+"\n", "")
		name := w.box(ctx, "rollBackOnError: true\n"+spec)
		w.running(ctx, name)
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")

		mark := manager.requests.mark()
		w.labeled(ctx, "web", badSteps, "two")
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, `dryRun: onReconcile: applying Service "web-second"`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, "70000")
		w.firstHolds(ctx, "web", "good", "one")
		for _, r := range manager.requests.writes(mark, "/namespaces/"+w.namespace+"/") {
			Expect(r.String()).To(Or(ContainSubstring("dryRun=All"), ContainSubstring("fieldManager=orkestra-status"), ContainSubstring("/events")))
		}
		Expect(condition(w.get(ctx, Default, "web"), v1alpha1.ConditionRolledBack).Status).To(Equal(metav1.ConditionFalse))
	})

	It("sends a dry run once for a generation, and none for a box without rollback", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, steps))
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		w.labeled(ctx, "web", `{image: "other", port: 81}`, "one")
		w.settled(ctx, "web")
		w.firstHolds(ctx, "web", "other", "one")
		Expect(manager.dryRuns(w)).To(BeEmpty())
		Expect(w.snapshots(ctx, Default)).To(BeEmpty())

		By("giving the box rollback")
		w.box(ctx, "rollBackOnError: true\n"+steps)
		w.running(ctx, w.id)
		w.labeled(ctx, "web", `{image: "third", port: 82}`, "one")
		w.settled(ctx, "web")
		w.firstHolds(ctx, "web", "third", "one")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSettled, "")
		// The Service follows when the ConfigMap has changed: it is not asked for in the dry run.
		Expect(manager.dryRuns(w)).To(ConsistOf("configmaps/web-first"))

		By("changing a child by hand: what has succeeded is corrected without asking")
		var first corev1.ConfigMap
		w.child(ctx, Default, &first, "web-first")
		first.Data["image"] = "drift"
		Expect(kube.Update(ctx, &first)).To(Succeed())
		w.firstHolds(ctx, "web", "third", "one")
		Expect(manager.dryRuns(w)).To(ConsistOf("configmaps/web-first"))
	})

	It("rolls back errors that may pass only when the resource has failed often enough", func(ctx context.Context) {
		w := newWorld(ctx)
		var broken atomic.Bool
		replaceManager(via(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if broken.Load() && strings.HasSuffix(r.URL.Path, "/web-second") && !strings.Contains(r.URL.RawQuery, "dryRun") {
					return nil, errors.New("the network is broken")
				}
				return next.RoundTrip(r)
			})
		}))
		name := w.box(ctx, "rollBackOnError: true\nfailureThreshold: 3\nresync: 10m\n"+steps)
		w.running(ctx, name)
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		broken.Store(true)
		w.labeled(ctx, "web", `{image: "other", port: 81}`, "two")
		w.rolledBack(ctx, "web", "generation 2 failed in onReconcile")
		w.firstHolds(ctx, "web", "good", "one")
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionFalse, "NotStalled", "")
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRetrying, "the network is broken")
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, name).Status).To(And(HaveField("FailureCount", BeEquivalentTo(3)),
				HaveField("Rollback", HaveValue(HaveField("Reason", "ConsecutiveFailures")))))
		}).WithContext(ctx).Should(Succeed())

		By("asking for another attempt when the network is well again")
		broken.Store(false)
		w.annotate(ctx, "web", v1alpha1.AnnotationReconcileAt, "now")
		w.settled(ctx, "web")
		w.firstHolds(ctx, "web", "other", "two")
	})

	It("does nothing without a snapshot, and says so", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, "rollBackOnError: true\n"+steps)
		w.running(ctx, name)
		w.labeled(ctx, "web", badSteps, "one")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonNoSnapshot, "no snapshot of this resource is kept")
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "70000")
		w.firstHolds(ctx, "web", "bad", "one")
		w.warned(ctx, "web", v1alpha1.ReasonNoSnapshot, "no snapshot of this resource is kept")
		Expect(w.get(ctx, Default, "web").GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationRolledBack))
	})

	It("refuses a snapshot that was replaced by hand, by name", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, "rollBackOnError: true\n"+steps))
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		kept := w.snapshots(ctx, Default)
		Expect(kept).To(HaveLen(1))
		forged := kept[0].DeepCopy()
		Expect(kube.Delete(ctx, &kept[0])).To(Succeed())
		forged.ObjectMeta = metav1.ObjectMeta{
			Namespace: forged.Namespace, Name: forged.Name, Labels: forged.Labels, Annotations: forged.Annotations,
		}
		forged.Data.Raw = bytes.ReplaceAll(forged.Data.Raw, []byte(`"image":"good"`), []byte(`"image":"evil"`))
		Expect(kube.Create(ctx, forged, client.FieldOwner(v1alpha1.FieldManager))).To(Succeed())

		w.labeled(ctx, "web", badSteps, "two")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSnapshotRefused,
			`ControllerRevision "`+forged.Name+`" can't be trusted: the hash in its name is not that of its data`)
		w.firstHolds(ctx, "web", "bad", "two")
		w.warned(ctx, "web", v1alpha1.ReasonSnapshotRefused, forged.Name)
	})
})

// warned waits until there is one event of a reason about a resource, with a text in it.
func (w *world) warned(ctx context.Context, name, reason, text string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(w.notes(ctx, g, name, reason)).To(ConsistOf(ContainSubstring(text)))
	}).WithContext(ctx).Should(Succeed())
}

// dryRuns are the children of the world that were asked for.
func (p *process) dryRuns(w *world) []string {
	var asked []string
	for _, r := range p.requests.since(0, "/namespaces/"+w.namespace+"/") {
		if strings.Contains(r.query, "dryRun=All") {
			_, child, _ := strings.Cut(r.path, "/namespaces/"+w.namespace+"/")
			asked = append(asked, child)
		}
	}
	return asked
}

// eventsOf are the events about a resource.
func (w *world) eventsOf(ctx context.Context, g Gomega, name string) []eventsv1.Event {
	var list eventsv1.EventList
	g.Expect(kube.List(ctx, &list, client.InNamespace(w.namespace))).To(Succeed())
	var of []eventsv1.Event
	for _, e := range list.Items {
		if e.Regarding.Name == name {
			of = append(of, e)
		}
	}
	return of
}

// metric gives the value of a box's series, of the one that has these values of labels as well; -1 where there is none.
func (p *process) metric(g Gomega, series, box string, values ...string) float64 {
	families, err := p.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		if f.GetName() != series {
			continue
		}
		for _, m := range f.GetMetric() {
			var has []string
			for _, l := range m.GetLabel() {
				has = append(has, l.GetValue())
			}
			if !slices.ContainsFunc(append(values, box), func(value string) bool { return !slices.Contains(has, value) }) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return -1
}
