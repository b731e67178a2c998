package chaos_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/test/fixtures"
)

// kind is a kind of resource with its box. What the box makes of a resource is written twice, as a box and as Go code in children, and the
// cluster is compared with the second.
type kind struct {
	name       string // singular, lower case; the box is named after the world and it
	kind       string
	namespaced bool
	installed  bool   // by the box, not by a user
	schema     string // of the spec
	box        func(w *world) string
	// spec is what a user writes as the n-th spec of a resource. before is the one before it, or nil.
	spec func(w *world, rng *rand.Rand, n int, before map[string]any) map[string]any
	// children are the objects that are to exist for a resource.
	children func(w *world, r *wanted) []expected
}

// expected is an object that is to exist.
type expected struct {
	gvk             schema.GroupVersionKind
	namespace, name string
	fields          map[string]any // that it is to have, among others
	kept            bool           // it is made once: users leave it alone, and box edits don't reach it
	job             bool           // what it runs with can't be edited
}

func (e expected) key() string { return fmt.Sprintf("%s %s/%s", e.gvk.Kind, e.namespace, e.name) }

var (
	configMaps  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	secrets     = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	services    = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	accounts    = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
	deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	jobs        = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}

	// childKinds are all kinds of which boxes make children.
	childKinds = []schema.GroupVersionKind{configMaps, secrets, services, accounts, deployments, jobs}

	kinds = []*kind{shops, tenants, zones}
)

func (k *kind) plural() string { return k.name + "s" }

func (k *kind) crdName(w *world) string { return k.plural() + "." + w.group }

func (k *kind) boxName(w *world) string { return w.id + "-" + k.name }

func (k *kind) crd(w *world) *apiextensionsv1.CustomResourceDefinition {
	scope := apiextensionsv1.ClusterScoped
	if k.namespaced {
		scope = apiextensionsv1.NamespaceScoped
	}
	return fixtures.Kind{Group: w.group, Name: k.name, Kind: k.kind, Scope: scope, Spec: k.schema}.CRD()
}

// boxObject is the box as a user writes it.
func (k *kind) boxObject(w *world) *unstructured.Unstructured {
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(k.box(w)), &spec); err != nil {
		panic(err) // a mistake in a box of these tests
	}
	// No resync within a run, which would hide an event that was missed.
	spec["resync"] = "24h"
	crd := map[string]any{"name": k.crdName(w)}
	if k.installed {
		text, err := yaml.Marshal(k.crd(w).Spec)
		if err != nil {
			panic(err) // as above
		}
		var definition map[string]any
		if err := yaml.Unmarshal(text, &definition); err != nil {
			panic(err) // as above
		}
		crd = map[string]any{"definition": definition, "deletionPolicy": "Delete"}
	}
	spec["crd"] = crd
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("OperatorBox"))
	obj.SetName(k.boxName(w))
	return obj
}

// ref is a resource of the kind by name.
func (k *kind) ref(w *world, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: w.group, Version: "v1", Kind: k.kind})
	obj.SetName(name)
	if k.namespaced {
		obj.SetNamespace(w.near)
	}
	return obj
}

func (k *kind) list(w *world) *unstructured.UnstructuredList {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(schema.GroupVersionKind{Group: w.group, Version: "v1", Kind: k.kind + "List"})
	return l
}

// named puts the world's namespaces into a text, and what only some worlds have.
func (w *world) named(text string) string {
	depends, rollback := "", ""
	if w.recovers {
		depends, rollback = "dependsOn: [{name: "+w.id+"-shop, condition: Healthy}]", "rollBackOnError: true"
	}
	return strings.NewReplacer("NEAR", w.near, "FAR", w.far, "DEPENDS", depends, "ROLLBACK", rollback).Replace(text)
}

// deepCopy copies a spec, so that a client does not change what its user wants.
func deepCopy(v map[string]any) map[string]any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a mistake in a kind
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err) // as above
	}
	return out
}
