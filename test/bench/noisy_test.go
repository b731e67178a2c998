package bench_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// forbidden is how many resources of the other noisy box fail for ever; of the first, as many as the settings say.
	forbidden = 200
	// samples is how many resources are made in one turn, one every pace.
	samples, pace = 300, 100 * time.Millisecond
)

const noiseCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.noise.example.com}
spec:
  group: noise.example.com
  scope: Namespaced
  names: {plural: %[1]ss, singular: %[1]s, kind: %[2]s, listKind: %[2]sList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
`

// forbids is a policy that refuses every Secret in the namespace of the noise.
const forbids = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: noise}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [secrets]}]}
  validations: [{expression: "false", message: "no Secrets here", reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: noise}
spec:
  policyName: noise
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: noise}}}
`

// noisy are two boxes that fail as much as they can: a quota refuses all children of the one, which is tried again and again, and a policy
// forbids those of the other.
func noisy(failing int) []disturber {
	return []disturber{
		{"Failing", failing, `onReconcile: {configmaps: [{data: {a: "{{ .metadata.name }}"}}]}`},
		{"Forbidden", forbidden, `onReconcile: {secrets: [{data: {a: "{{ .metadata.name }}"}}]}`},
	}
}

// refuse has the API server refuse all children in the namespace of the noise.
func (w *world) refuse(b *testing.B) {
	b.Helper()
	must(b, w.kube.Create(b.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: "noise"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("0")}},
	}))
	_, err := w.cluster.KubectlApply(b.Context(), forbids)
	must(b, err)
}

// allFail waits until boxes have reconciled each of their resources, all of which fail from then on.
func (w *world) allFail(b *testing.B, all []disturber) {
	b.Helper()
	for _, d := range all {
		_, err := w.cluster.Kubectl(b.Context(), "wait", fmt.Sprintf("--for=jsonpath={.status.resources.failing}=%d", d.count), "crdhealth/"+d.box(), fmt.Sprintf("--timeout=%ds", 180+d.count/10))
		must(b, err)
	}
}

// creations makes resources of the healthy box at a steady pace and gives the time from each to Ready.
func (w *world) creations(b *testing.B, turn string) times {
	b.Helper()
	var all times
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := range samples {
		name := fmt.Sprintf("%s-%d", turn, n)
		<-tick.C
		began := time.Now()
		must(b, w.kube.Create(b.Context(), website(name)))
		eventually(b, func() error { return w.ready(b.Context(), name) })
		all = append(all, time.Since(began))
	}
	return all
}

// measureNoisy looks at a healthy box beside two that fail all the time, in turns with and without them.
func measureNoisy(b *testing.B, t *sheet) {
	b.Helper()
	w := newWorld(b)
	all := noisy(t.failing)
	w.beside(b, all)
	w.refuse(b)
	w.creations(b, "warm") // connections, caches
	for turn := range t.turns {
		quiet := w.creations(b, fmt.Sprintf("quiet-%d", turn))
		w.hold(b, false, all, unwell)
		waking := w.creations(b, fmt.Sprintf("waking-%d", turn))
		w.allFail(b, all)
		before := w.noise.Load()
		beside := w.creations(b, fmt.Sprintf("noisy-%d", turn))
		sent := w.noise.Load() - before
		w.hold(b, true, all, suspended)
		t.Add("noisy.p50", ours, beside.quantile(0.5)/quiet.quantile(0.5))
		t.Add("noisy.p99", ours, beside.quantile(0.99)/quiet.quantile(0.99))
		t.Note("Noisy boxes, turn %d: p50 and p99 alone %.3g and %.3g ms; beside noise, which sent %d requests, %.3g and %.3g ms; while it looked at everything once, %.3g and %.3g ms.", turn+1,
			quiet.quantile(0.5), quiet.quantile(0.99), sent, beside.quantile(0.5), beside.quantile(0.99), waking.quantile(0.5), waking.quantile(0.99))
	}
}

// reconciling says whether something is under way for a resource, with a text in the message.
func (w *world) reconciling(b *testing.B, name, text string) bool {
	b.Helper()
	obj := website(name)
	must(b, w.kube.Get(b.Context(), client.ObjectKeyFromObject(obj), obj))
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	must(b, err)
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		if message, _ := m["message"].(string); m["type"] == "Reconciling" && m["status"] == "True" && strings.Contains(message, text) {
			return true
		}
	}
	return false
}
