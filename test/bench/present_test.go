package bench_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// presentBox is a box whose CRD is there before it. Each has a name of its own: one of the same name would wait for the end of the one before it.
const presentBox = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: %s}
spec:
  crd: {name: presents.noise.example.com}
  onReconcile: {configmaps: [{data: {a: b}}]}
`

// present makes a box whose CRD is there, beside a resource that waits for it, again and again.
func (u *turn) present() error {
	var took times
	for _, name := range namesOf("Present", u.name, min(more, u.t.samples)) {
		if err := u.kube.Create(u.b.Context(), noiseOf("Present", name)); err != nil {
			return err
		}
		d, err := u.awaited(noiseKind("Present"), name, "Ready", func() error { return u.make(u.b, fmt.Sprintf(presentBox, name)) },
			func(_ watch.Event, now *unstructured.Unstructured) bool { return isReady(now) })
		if err != nil {
			return err
		}
		took = append(took, d)
		if err := u.withoutPresent(name); err != nil {
			return err
		}
	}
	u.add("present.first", took.quantile(0.5))
	return nil
}

// withoutPresent deletes the resource, and then its box.
func (u *turn) withoutPresent(name string) error {
	follower, err := u.follow(u.b.Context(), boxKind, named(name), client.InNamespace(""))
	if err != nil {
		return err
	}
	defer func() { follower.stop() }()
	if err := u.kube.Delete(u.b.Context(), noiseOf("Present", name)); err != nil {
		return err
	}
	box := &v1alpha1.OperatorBox{}
	box.Name = name
	if err := u.kube.Delete(u.b.Context(), box); err != nil {
		return err
	}
	return follower.until("the box gone", func(event watch.Event, _ *unstructured.Unstructured) bool { return event.Type == watch.Deleted })
}
