package bench_test

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	crossplaneNamespace = "crossplane-system"
	functionName        = "configmaps"
)

// composingFunction are the objects by which Crossplane finds a function. They are paused, so that the package manager looks for no image.
const composingFunction = `apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: %[1]s, annotations: {crossplane.io/paused: "true"}}
spec: {package: registry.example.com/%[1]s:v1}
---
apiVersion: pkg.crossplane.io/v1
kind: FunctionRevision
metadata: {name: %[1]s, labels: {pkg.crossplane.io/package: %[1]s}, annotations: {crossplane.io/paused: "true"}}
spec: {desiredState: Active, image: registry.example.com/%[1]s:v1, revision: 1}
`

// graph is a definition of kro: its name, group, kind, and a text.
const graph = `apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: %[1]s}
spec:
  schema: {apiVersion: v1, group: %[2]s, kind: %[3]s, spec: {host: string}}
  resources:
  - {id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-a"}, data: {host: "${schema.spec.host}"}}}
  - {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-b"}, data: {a: %[4]q}}}
  - {id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-c"}, data: {c: d}}}
`

// composite is a definition of Crossplane: name and plural, group, kind, and the input of the function.
const composite = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: %[1]ss.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {plural: %[1]ss, singular: %[1]s, kind: %[3]s, listKind: %[3]sList}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {host: {type: string}}}}}}
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: %[1]ss.%[2]s}
spec:
  compositeTypeRef: {apiVersion: %[2]s/v1, kind: %[3]s}
  mode: Pipeline
  pipeline:
  - {step: configmaps, functionRef: {name: configmaps}, input: {apiVersion: bench.example.com/v1, kind: Input, %[4]s}}
`

// revisionKind is the kind of what says where a function answers.
var revisionKind = schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "FunctionRevision"} //nolint:gochecknoglobals // a constant

// lowered is the name of a kind in small letters.
func lowered(kind string) string { return strings.ToLower(kind) }

// objectOf is an object that is known by its kind and name only.
func objectOf(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetName(name)
	return obj
}

// graphDefinitions are those of kro.
func graphDefinitions() *definitions {
	return &definitions{
		kinds: []schema.GroupVersionKind{{Group: "kro.run", Version: "v1alpha1", Kind: "ResourceGraphDefinition"}}, ready: "Ready",
		name: func(_, kind string) string { return lowered(kind) },
		text: func(group, kind, text string) string { return fmt.Sprintf(graph, lowered(kind), group, kind, text) },
		chain: func(group, kind string, links int) string {
			b := &strings.Builder{}
			fmt.Fprintf(b, "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: %s}\nspec:\n  schema: {apiVersion: v1, group: %s, kind: %s, spec: {host: string}}\n  resources:\n",
				lowered(kind), group, kind)
			for i := range links {
				data := "{}"
				if i > 0 {
					data = fmt.Sprintf(`{before: "${n%d.metadata.uid}"}`, i-1)
				}
				fmt.Fprintf(b, "  - {id: n%[1]d, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"${schema.metadata.name}-%[1]d\"}, data: %[2]s}}\n", i, data)
			}
			return b.String()
		},
	}
}

// compositeDefinitions are those of Crossplane.
func compositeDefinitions() *definitions {
	text := func(group, kind, input string) string {
		return fmt.Sprintf(composite, lowered(kind), group, kind, input)
	}
	return &definitions{
		kinds: []schema.GroupVersionKind{
			{Group: "apiextensions.crossplane.io", Version: "v2", Kind: "CompositeResourceDefinition"},
			{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "Composition"},
		},
		ready: "Established",
		name:  func(group, kind string) string { return lowered(kind) + "s." + group },
		text:  func(group, kind, value string) string { return text(group, kind, fmt.Sprintf("text: %q", value)) },
		chain: func(group, kind string, links int) string { return text(group, kind, fmt.Sprintf("links: %d", links)) },
	}
}
