package bench_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// definitions are the objects by which a contender is told of a new kind and of the ConfigMaps of its resources.
type definitions struct {
	// kinds of these objects; the first one says when it is served.
	kinds []schema.GroupVersionKind
	// ready is the condition that says so.
	ready string
	// name of the first object.
	name func(group, kind string) string
	// text is YAML of all objects; the children are three, and one holds a text.
	text func(group, kind, text string) string
	// chain is YAML of all objects where some children wait for each other.
	chain func(group, kind string, links int) string
}

// boxDefinitions are boxes that bring their CRDs.
func boxDefinitions() *definitions {
	return &definitions{
		kinds: []schema.GroupVersionKind{boxKind}, ready: v1alpha1.ConditionReady,
		name: func(_, kind string) string { return lowered(kind) },
		text: func(group, kind, text string) string {
			return fmt.Sprintf(definingHead+threeChildren, lowered(kind), group, kind, text)
		},
		chain: func(group, kind string, links int) string {
			return fmt.Sprintf(definingHead, lowered(kind), group, kind) + chainedChildren(links)
		},
	}
}

// kindOf is the kind whose name in small letters is given.
func kindOf(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// served waits until definitions say that they are served, which following tells.
func (d *definitions) served(following *follower, group string, names ...string) error {
	missing := map[string]bool{}
	for _, name := range names {
		missing[d.name(group, kindOf(name))] = true
	}
	return following.until(fmt.Sprintf("%d of %s %s", len(names), d.kinds[0].Kind, d.ready), func(_ watch.Event, now *unstructured.Unstructured) bool {
		if isTrue(now, d.ready) {
			delete(missing, now.GetName())
		}
		return len(missing) == 0
	}, manyTake(len(names)))
}

// make creates all objects of a text.
func (p *plane) make(b *testing.B, text string) error {
	b.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text))
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := p.kube.Create(b.Context(), obj); err != nil {
			return err
		}
	}
}

// definedGone deletes the resources that were made where definitions were measured. A contender may need its definitions for that.
func (u *turn) definedGone() error {
	kinds, err := dynamic.NewForConfig(u.cluster.Config())
	if err != nil {
		return err
	}
	for _, name := range u.boxes {
		if err := kinds.Resource(definedResource(name)).Namespace("default").Delete(u.b.Context(), name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	gone := func() error {
		for _, name := range u.boxes {
			if err := u.none(u.b.Context(), schema.GroupVersionKind{Group: boxGroup, Version: "v1", Kind: kindOf(name) + "List"}); err != nil {
				return err
			}
		}
		return nil
	}
	eventually(u.b, gone)
	u.boxes = nil
	return nil
}

// definedResource is where the resources of a kind are that was defined.
func definedResource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: boxGroup, Version: "v1", Resource: name + "s"}
}

// undefined removes all definitions of a contender that runs, and then the CRDs of benchmarks: not every contender removes those that it has made.
func (u *turn) undefined() error {
	began, most := time.Now(), 2*manyTake(u.t.many)
	for _, kind := range u.defining.kinds {
		all := &metav1.PartialObjectMetadata{}
		all.SetGroupVersionKind(kind)
		if err := u.kube.DeleteAllOf(u.b.Context(), all); err != nil {
			return err
		}
	}
	for _, left := range []func() (int, error){u.definitionsLeft, u.crdsLeft} {
		for {
			n, err := left()
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			if time.Since(began) > most {
				return fmt.Errorf("%d definitions or CRDs of %s are left after %s", n, u.column, most)
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	return nil
}

// definitionsLeft counts definitions that are there.
func (u *turn) definitionsLeft() (int, error) {
	sum := 0
	for _, kind := range u.defining.kinds {
		all := &metav1.PartialObjectMetadataList{}
		all.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := u.kube.List(u.b.Context(), all); err != nil {
			return 0, err
		}
		sum += len(all.Items)
	}
	return sum, nil
}

// crdsLeft deletes CRDs of the groups of benchmarks, and counts those that are there still.
func (u *turn) crdsLeft() (int, error) {
	all := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := u.kube.List(u.b.Context(), all); err != nil {
		return 0, err
	}
	sum := 0
	for i := range all.Items {
		crd := &all.Items[i]
		if crd.Spec.Group != boxGroup && crd.Spec.Group != noiseGroup {
			continue
		}
		sum++
		if err := u.kube.Delete(u.b.Context(), crd); client.IgnoreNotFound(err) != nil {
			return 0, err
		}
	}
	return sum, nil
}
