package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

const fiveChildren = `
normalize: {spec: {image: "{{ .spec.image | trim | lower }}"}}
mutation: {rules: [{field: spec.replicas, default: 1}]}
validation: {rules: [{field: spec.replicas, operator: lte, value: 10}]}
onReconcile:
  deployments:
  - image: "{{ .spec.image }}"
    replicas: "{{ .spec.replicas }}"
    port: 8080
    env: [{name: HOST, value: "{{ .spec.host }}"}]
  services: [{port: 80}]
  ingresses: [{host: "{{ .spec.host }}"}]
  configmaps:
  - {name: "{{ .metadata.name }}-a", data: {host: "{{ .spec.host }}"}}
  - {name: "{{ .metadata.name }}-b", data: {image: "{{ .spec.image }}"}, when: [{field: spec.tls, equals: true}]}
status: {fields: [{path: replicas, value: "{{ .children.deployment.status.readyReplicas }}"}]}
`

const benchSpec = `{image: " NGINX:1 ", host: shop.example.com, tls: true}`

// BenchmarkUnchanged is a cycle that finds nothing to do, with five children.
func BenchmarkUnchanged(b *testing.B) {
	p := newPorts()
	plan := planOf(b, fiveChildren)
	r, err := p.run(plan, website(b, benchSpec))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now) {
			b.Fatal("nothing has changed")
		}
	}
}

// BenchmarkEvaluation is a full cycle that finds five children as they should be.
func BenchmarkEvaluation(b *testing.B) {
	p := newPorts()
	plan := planOf(b, fiveChildren)
	r, err := p.run(plan, website(b, benchSpec))
	if err != nil {
		b.Fatal(err)
	}
	ctx, stored := context.Background(), r.Stored
	p.done()
	b.ReportAllocs()
	for b.Loop() {
		r := plan.NewRun(stored, now, p.ports())
		err := plan.Execute(ctx, r)
		if _, err = r.Result(ctx, err); err != nil {
			b.Fatal(err)
		}
	}
	if writes := p.done(); len(writes) > 0 {
		b.Fatalf("writes: %v", writes)
	}
}

// BenchmarkCompile compiles a box with fifty declarations.
func BenchmarkCompile(b *testing.B) {
	var box strings.Builder
	box.WriteString("onReconcile:\n  deployments:\n")
	for i := range 25 {
		fmt.Fprintf(&box, "  - {name: '{{ .metadata.name }}-%d', image: '{{ .spec.image }}', replicas: '{{ .spec.replicas }}', port: 80, env: [{name: HOST, value: '{{ .spec.host }}'}], when: [{field: spec.tls, equals: true}]}\n", i)
	}
	box.WriteString("  configmaps:\n")
	for i := range 25 {
		fmt.Fprintf(&box, "  - {name: '{{ .metadata.name }}-%d', data: {host: '{{ .spec.host }}', ready: '{{ .children.deployment.status.readyReplicas }}'}}\n", i)
	}
	in, env := boxOf(b, box.String()), Env{CRD: websites(b)}
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := Compile(in, env); len(errs) > 0 {
			b.Fatal(errs.ToAggregate())
		}
	}
}
