package chaos_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// fields are what an object is to have, among others.
type fields = map[string]any

// shops have a Deployment and a Service behind a choice, the Service behind a wait as well; a ConfigMap, and one in another namespace.
var shops = &kind{
	name: "shop", kind: "Shop", namespaced: true,
	schema: `{type: object, properties: {image: {type: string}, replicas: {type: integer}, serve: {type: boolean}}}`,
	box: func(w *world) string {
		return w.named(`
workers: 5
onReconcile:
  deployments:
  - image: "{{ .spec.image }}"
    replicas: "{{ .spec.replicas }}"
    port: 8080
    when: [{field: spec.serve, equals: true}]
  services:
  - port: 80
    when: [{field: spec.serve, equals: true}, {field: '{{ hasCondition "Available" .children.deployment }}', equals: true}]
  configmaps:
  - id: settings
    data: {image: "{{ .spec.image }}", replicas: "{{ .spec.replicas }}", tier: '{{ .metadata.labels.tier | default "none" }}'}
  - id: remote
    name: "{{ .metadata.name }}-remote"
    namespace: FAR
    data: {image: "{{ .spec.image }}"}
status:
  ready: Current
  fields: [{path: phase, value: "{{ .spec.image }}"}]
`)
	},
	spec: func(_ *world, rng *rand.Rand, n int, _ map[string]any) map[string]any {
		serve := rng.IntN(5) == 0
		replicas := 0
		if serve && rng.IntN(4) == 0 {
			replicas = 1
		}
		return fields{"image": fmt.Sprintf("nginx:%d", n), "replicas": replicas, "serve": serve}
	},
	children: func(w *world, r *wanted) []expected {
		tier := r.labels["tier"]
		if tier == "" {
			tier = "none"
		}
		out := []expected{
			{gvk: configMaps, namespace: w.near, name: r.name, fields: fields{"data": fields{
				"image": r.spec["image"], "replicas": fmt.Sprint(r.spec["replicas"]), "tier": tier,
			}}},
			{gvk: configMaps, namespace: w.far, name: r.name + "-remote", fields: fields{"data": fields{"image": r.spec["image"]}}},
		}
		if r.spec["serve"] == true {
			out = append(out,
				expected{gvk: deployments, namespace: w.near, name: r.name, fields: fields{"spec": fields{
					"replicas": r.spec["replicas"],
					"template": fields{"spec": fields{"containers": []any{fields{"name": "main", "image": r.spec["image"]}}}},
				}}},
				expected{gvk: services, namespace: w.near, name: r.name, fields: fields{"spec": fields{
					"ports":    []any{fields{"port": 80, "targetPort": 8080}},
					"selector": fields{"app.kubernetes.io/name": r.name},
				}}})
		}
		return out
	},
}

// tenants have children for each item of a map, a Secret that is drawn once, a ConfigMap that is made once, a Job that runs once for each
// image, and a Job that cleans up. In some seeds new ones wait until the box of shops is healthy.
var tenants = &kind{
	name: "tenant", kind: "Tenant", namespaced: true,
	schema: `{type: object, properties: {image: {type: string}, migrate: {type: boolean}, items: {type: object, additionalProperties: {type: string}}}}`,
	box: func(w *world) string {
		return w.named(`
workers: 5
DEPENDS
onCreate:
  configmaps:
  - {id: first, name: "{{ .metadata.name }}-first", data: {name: "{{ .metadata.name }}"}}
onReconcile:
  configmaps:
  - {id: item, name: "{{ .metadata.name }}-{{ .key }}", forEach: {field: spec.items}, data: {value: "{{ .item }}"}}
  secrets:
  - {once: true, data: {password: "{{ randAlphaNum 16 }}"}}
  jobs:
  - {id: migrate, name: "{{ .metadata.name }}-migrate", image: "{{ .spec.image }}", replace: true, when: [{field: spec.migrate, equals: true}]}
onDelete:
  jobs:
  - {id: bye, name: "{{ .metadata.name }}-bye", image: "busybox:1", when: [{field: spec.migrate, equals: true}]}
`)
	},
	spec: func(_ *world, rng *rand.Rand, n int, before map[string]any) map[string]any {
		items := fields{}
		for _, key := range []string{"a", "b", "c"} {
			if rng.IntN(2) == 0 {
				items[key] = fmt.Sprintf("%s%d", key, rng.IntN(1000))
			}
		}
		migrate := any(rng.IntN(8) == 0)
		if before != nil {
			migrate = before["migrate"]
		}
		return fields{"image": fmt.Sprintf("busybox:%d", n), "migrate": migrate, "items": items}
	},
	children: func(w *world, r *wanted) []expected {
		out := []expected{
			{gvk: configMaps, namespace: w.near, name: r.name + "-first", fields: fields{"data": fields{"name": r.name}}, kept: true},
			{gvk: secrets, namespace: w.near, name: r.name, fields: fields{"type": "Opaque"}, kept: true},
		}
		items, _ := r.spec["items"].(fields)
		for _, key := range slices.Sorted(maps.Keys(items)) {
			out = append(out, expected{gvk: configMaps, namespace: w.near, name: r.name + "-" + key, fields: fields{"data": fields{"value": items[key]}}})
		}
		if r.spec["migrate"] == true {
			out = append(out, expected{gvk: jobs, namespace: w.near, name: r.name + "-migrate", job: true, fields: fields{
				"spec":   fields{"template": fields{"spec": fields{"containers": []any{fields{"name": "main", "image": r.spec["image"]}}}}},
				"status": fields{"succeeded": 1},
			}})
		}
		return out
	},
}

// zones are cluster-scoped, and their box installs their CRD. Their children move from one namespace to another. What they are made of
// is normalized and defaulted. In some seeds they are rolled back when they fail.
var zones = &kind{
	name: "zone", kind: "Zone", installed: true,
	schema: `{type: object, properties: {target: {type: string}, color: {type: string}, extra: {type: boolean}}}`,
	box: func(w *world) string {
		return w.named(`
workers: 5
ROLLBACK
normalize: {spec: {color: '{{ .spec.color | default "" | lower }}'}}
mutation: {rules: [{field: spec.extra, default: true}]}
onReconcile:
  configmaps:
  - {id: main, namespace: "{{ .spec.target }}", data: {color: "{{ .spec.color }}"}}
  serviceaccounts:
  - {namespace: "{{ .spec.target }}", name: "{{ .metadata.name }}-zone", automountToken: false, when: [{field: spec.extra, equals: true}]}
`)
	},
	spec: func(w *world, rng *rand.Rand, n int, _ map[string]any) map[string]any {
		spec := fields{"target": []string{w.near, w.far}[rng.IntN(2)], "color": fmt.Sprintf("Red%d", n)}
		if rng.IntN(3) > 0 {
			spec["extra"] = rng.IntN(2) == 0
		}
		return spec
	},
	children: func(_ *world, r *wanted) []expected {
		target := fmt.Sprint(r.spec["target"])
		out := []expected{{gvk: configMaps, namespace: target, name: r.name, fields: fields{"data": fields{"color": strings.ToLower(fmt.Sprint(r.spec["color"]))}}}}
		if r.spec["extra"] != false {
			out = append(out, expected{gvk: accounts, namespace: target, name: r.name + "-zone", fields: fields{"automountServiceAccountToken": false}})
		}
		return out
	},
}
