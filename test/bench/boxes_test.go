package bench_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// more boxes are there when memory is read than were made at once.
const more = 10

// definingHead is a box that brings its CRD, and takes it away with itself, up to its children: its name, group, and kind.
const definingHead = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: %[1]s}
spec:
  crd:
    deletionPolicy: Delete
    definition:
      group: %[2]s
      scope: Namespaced
      names: {plural: %[1]ss, singular: %[1]s, kind: %[3]s, listKind: %[3]sList}
      versions:
      - name: v1
        served: true
        storage: true
        subresources: {status: {}}
        schema:
          openAPIV3Schema:
            type: object
            properties:
              spec: {type: object, properties: {host: {type: string}}}
              status: {type: object, x-kubernetes-preserve-unknown-fields: true}
  onReconcile:
    configmaps:
`

// threeChildren are those of each benchmark, one with a text.
const threeChildren = `    - {name: "{{ .metadata.name }}-a", data: {host: "{{ .spec.host }}"}}
    - {name: "{{ .metadata.name }}-b", data: {a: %q}}
    - {name: "{{ .metadata.name }}-c", data: {c: d}}
`

const boxGroup = "boxes.example.com"

// boxKind is that of boxes.
var boxKind = v1alpha1.GroupVersion.WithKind("OperatorBox") //nolint:gochecknoglobals // a constant

// measureBoxes has binaries run boxes that bring their CRDs, in turns.
func measureBoxes(b *testing.B, t *sheet) {
	b.Helper()
	p := newPlane(b)
	p.applyKinds(b, "Present")
	p.takeTurns(b, t, inBoxes, p.contenders(b, t), []step{
		{"empty", false, (*turn).empty}, {"present", false, (*turn).present}, {"definition", false, (*turn).definition}, {"many", false, (*turn).many},
	}, func(u *turn) error { return u.noBoxes(u.b) })
}

// empty looks at a process that has no box.
func (u *turn) empty() error {
	u.counted() // it has started
	time.Sleep(u.t.idle)
	rss, err := u.process.rss()
	if err != nil {
		return err
	}
	u.add("empty.rss", rss)
	return nil
}

// applyDefining makes a box by its name.
func (p *plane) applyDefining(b *testing.B, name string) error {
	b.Helper()
	return p.make(b, boxDefinitions().text(boxGroup, kindOf(name), "b"))
}

// boxesReady waits until boxes are Ready, which follower tells.
func boxesReady(follower *follower, names ...string) error {
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	return follower.until(fmt.Sprintf("%d boxes Ready", len(names)), func(_ watch.Event, now *unstructured.Unstructured) bool {
		if isReady(now) {
			delete(missing, now.GetName())
		}
		return len(missing) == 0
	}, manyTake(len(names)))
}

// manyTake is how long many boxes may take to come or to go, on a machine that has much else to do.
func manyTake(boxes int) time.Duration {
	const each = 600 * time.Millisecond
	return 2*patience + time.Duration(boxes)*each
}

// definition makes boxes one after another, and a resource of each.
func (u *turn) definition() error {
	config := rest.CopyConfig(u.cluster.Config())
	config.QPS = -1                            // the polls below are not to wait for each other
	kinds, err := dynamic.NewForConfig(config) // it asks nobody how kinds are served
	if err != nil {
		return err
	}
	var ready, first times
	for _, name := range plainNames("defining", u.name, min(more, u.t.samples)) {
		toReady, toFirst, err := u.defined(kinds, name)
		if err != nil {
			return err
		}
		ready, first, u.boxes = append(ready, toReady), append(first, toFirst), append(u.boxes, name)
	}
	u.add("definition.p50", ready.quantile(0.5)/1000)
	u.add("definition.first", first.quantile(0.5)/1000)
	return nil
}

// defined makes one box, and gives the times until it is Ready, and until the first of its resources is. The API server holds the creation
// of the first resource back until a new CRD is two seconds old; that time is not counted, because nobody can do anything then.
func (u *turn) defined(kinds dynamic.Interface, name string) (ready, first time.Duration, err error) {
	following, err := u.follow(u.b.Context(), u.defining.kinds[0], named(u.defining.name(boxGroup, kindOf(name))), client.InNamespace(""))
	if err != nil {
		return 0, 0, err
	}
	defer func() { following.stop() }()
	began := time.Now()
	if err := u.make(u.b, u.defining.text(boxGroup, kindOf(name), "b")); err != nil {
		return 0, 0, err
	}
	if err := u.defining.served(following, boxGroup, name); err != nil {
		return 0, 0, err
	}
	ready = time.Since(began)
	resources := kinds.Resource(definedResource(name)).Namespace("default")
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": boxGroup + "/v1", "kind": kindOf(name), "metadata": map[string]any{"name": name}, "spec": map[string]any{"host": name},
	}}
	if _, err := resources.Create(u.b.Context(), obj, metav1.CreateOptions{}); err != nil {
		return 0, 0, err
	}
	created := time.Now()
	eventually(u.b, func() error {
		seen, err := resources.Get(u.b.Context(), name, metav1.GetOptions{})
		if err == nil && !isReady(seen) {
			err = fmt.Errorf("%s is not Ready", name)
		}
		return err
	})
	return ready, ready + time.Since(created), nil
}

// crdsAlone makes the CRDs of such boxes without a box, so that all of the work is the API server's, and takes them away again. It gives the time
// until all are served.
func (u *turn) crdsAlone(kinds []string) (time.Duration, error) {
	kind := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	crds, err := u.follow(u.b.Context(), kind, client.InNamespace(""))
	if err != nil {
		return 0, err
	}
	defer func() { crds.stop() }()
	all := map[string]*unstructured.Unstructured{}
	for _, name := range kinds {
		box := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(boxDefinitions().text(boxGroup, kindOf(name), "b")), &box.Object); err != nil {
			return 0, err
		}
		spec, _, err := unstructured.NestedMap(box.Object, "spec", "crd", "definition")
		if err != nil {
			return 0, err
		}
		crd := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "metadata": map[string]any{"name": name + "s." + boxGroup}}}
		crd.SetGroupVersionKind(kind)
		all[crd.GetName()] = crd
	}
	names := slices.Collect(maps.Keys(all))
	began := time.Now()
	if err := each(names, func(name string) error { return u.kube.Create(u.b.Context(), all[name]) }); err != nil {
		return 0, err
	}
	missing := maps.Clone(all)
	err = crds.until(fmt.Sprintf("%d CRDs served", len(all)), func(_ watch.Event, crd *unstructured.Unstructured) bool {
		if isTrue(crd, string(apiextensionsv1.Established)) {
			delete(missing, crd.GetName())
		}
		return len(missing) == 0
	}, manyTake(len(all)))
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if err := each(names, func(name string) error { return u.kube.Delete(u.b.Context(), all[name]) }); err != nil {
		return 0, err
	}
	return took, crds.until(fmt.Sprintf("%d CRDs gone", len(all)), func(event watch.Event, crd *unstructured.Unstructured) bool {
		if event.Type == watch.Deleted {
			delete(all, crd.GetName())
		}
		return len(all) == 0
	}, manyTake(len(all)))
}

// many makes boxes at once, then some more, and looks at the process while they have nothing to do.
func (u *turn) many() error {
	following, err := u.follow(u.b.Context(), u.defining.kinds[0], client.InNamespace(""))
	if err != nil {
		return err
	}
	defer func() { following.stop() }()
	if u.benchmark == inBoxes {
		alone, err := u.crdsAlone(plainNames("alone", u.name, u.t.many))
		if err != nil {
			return err
		}
		u.add("many.crds", alone.Seconds())
	}
	took, err := u.defineAll(following, plainNames("many", u.name, u.t.many))
	if err != nil {
		return err
	}
	u.add("many.time", took.Seconds())
	if others := plainNames("more", u.name, max(0, more-len(u.boxes))); len(others) > 0 {
		if _, err := u.defineAll(following, others); err != nil {
			return err
		}
	}
	return u.doNothing()
}

// defineAll makes definitions at once, and gives the time until all are served.
func (u *turn) defineAll(following *follower, names []string) (time.Duration, error) {
	began := time.Now()
	if err := each(names, func(name string) error { return u.make(u.b, u.defining.text(boxGroup, kindOf(name), "b")) }); err != nil {
		return 0, err
	}
	err := u.defining.served(following, boxGroup, names...)
	return time.Since(began), err
}

// plainNames are some that a kind may have, too.
func plainNames(kind, turn string, n int) []string {
	names := namesOf(kind, turn, n)
	for i, name := range names {
		names[i] = strings.ReplaceAll(name, "-", "x")
	}
	return names
}

// doNothing looks at a process that has nothing to do.
func (u *turn) doNothing() error {
	u.counted()
	time.Sleep(u.t.idle) // what is written late is written by then
	u.audit.since(u.b, u.user)
	r, err := u.rests(u.t.idle)
	if err != nil {
		return err
	}
	rss, err := u.process.rss()
	if err != nil {
		return err
	}
	u.add("many.rss", rss)
	u.add("many.cpu", r.load())
	u.add("many.requests", r.aMinute())
	if r.requests > 0 {
		u.t.Note("Requests in %s of idle boxes, %s: %s.", u.t.idle, u.column, listed(r.counts, 1))
	}
	return nil
}

// noBoxes deletes all boxes with their CRDs, while a manager runs.
func (p *plane) noBoxes(b *testing.B) error {
	b.Helper()
	there := &v1alpha1.OperatorBoxList{}
	if err := p.kube.List(b.Context(), there); err != nil {
		return err
	}
	if err := p.kube.DeleteAllOf(b.Context(), &v1alpha1.OperatorBox{}); err != nil {
		return err
	}
	began, most := time.Now(), manyTake(len(there.Items))
	for time.Since(began) < most {
		boxes, crds := &v1alpha1.OperatorBoxList{}, &apiextensionsv1.CustomResourceDefinitionList{}
		if err := p.kube.List(b.Context(), boxes); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err := p.kube.List(b.Context(), crds); err != nil {
			return err
		}
		left := 0
		for i := range crds.Items {
			if crds.Items[i].Spec.Group == boxGroup {
				left++
			}
		}
		if len(boxes.Items) == 0 && left == 0 {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return fmt.Errorf("boxes or their CRDs are left after %s", most)
}
