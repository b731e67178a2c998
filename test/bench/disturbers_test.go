package bench_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// disturber is a box that is measured beside others, with resources of its kind in the namespace noise.
type disturber struct {
	kind  string
	count int
	does  string // the rest of the spec of its box
}

// disturberBox is suspended at first. Its resync is short, so that the pauses between two attempts do not grow for long.
const disturberBox = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: %[1]s}
spec:
  suspend: true
  crd: {name: %[1]ss.noise.example.com}
  resync: 5s
  %[2]s
---
`

// box is the name of the box, and of the CRDHealth that says how it is.
func (d disturber) box() string { return strings.ToLower(d.kind) }

// beside makes boxes that disturb others, which sleep, and their resources.
func (w *world) beside(b *testing.B, all []disturber) {
	b.Helper()
	must(b, w.kube.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "noise"}}))
	for _, d := range all {
		w.applyKinds(b, d.kind)
		_, err := w.cluster.KubectlApply(b.Context(), fmt.Sprintf(disturberBox, d.box(), d.does))
		must(b, err)
		must(b, each(namesOf(d.kind, "noise", d.count), func(name string) error {
			obj := noiseOf(d.kind, name)
			obj.SetNamespace("noise")
			return w.kube.Create(b.Context(), obj)
		}))
	}
}

// hold suspends boxes, or resumes them, and waits until they have ended, or show a condition.
func (w *world) hold(b *testing.B, yes bool, all []disturber, condition string) {
	b.Helper()
	for _, d := range all {
		_, err := w.cluster.Kubectl(b.Context(), "patch", "operatorbox/"+d.box(), "--type=merge", "-p", fmt.Sprintf(`{"spec":{"suspend":%t}}`, yes))
		must(b, err)
		_, err = w.cluster.Kubectl(b.Context(), "wait", "--for=condition="+condition, "crdhealth/"+d.box(), "--timeout=90s")
		must(b, err)
	}
}
