package kinds

import (
	"testing"
)

func BenchmarkBuild(b *testing.B) {
	web := &Workload{Name: "web", Port: 8080}
	service := &Service{Name: "web", Port: 80}
	for _, tc := range []struct{ name, key, short, spec string }{
		{"deployment", "deployments", `{image: nginx, replicas: 3, port: 8080, env: [{name: A, value: a}, {name: B, value: b}], resources: {requests: {cpu: 100m, memory: 64Mi}}}`, ``},
		{"deployment with overlay", "deployments", `{image: nginx, replicas: 3, port: 8080, env: [{name: A, value: a}, {name: B, value: b}]}`,
			`{revisionHistoryLimit: 2, template: {spec: {hostNetwork: true, containers: [{name: main, workingDir: /srv, env: [{name: B, value: c}]}]}}}`},
		{"service", "services", `{port: 80}`, ``},
		{"configmap", "configmaps", `{data: {a: b, c: d}}`, ``},
		{"job", "jobs", `{image: postgres, command: [./cleanup.sh]}`, ``},
		{"ingress", "ingresses", `{host: a.example.com}`, ``},
		{"built-in manifest", "resources", `{manifest: {apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}}`, ``},
	} {
		b.Run(tc.name, func(b *testing.B) {
			k := mustLookup(b, tc.key)
			d := Declared{
				Name: "web", Namespace: "team", Instance: "shop", Short: tree(b, tc.short), Spec: tree(b, tc.spec),
				Workload: web, Service: service, Labels: map[string]string{"a": "b", "c": "d", "e": "f"},
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := k.Build(d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
