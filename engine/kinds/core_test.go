package kinds

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestBuildServices(t *testing.T) {
	web := &Workload{Name: "web", Port: 8080}
	for name, tc := range map[string]buildCase{
		"a Service takes all from the only workload": {
			key: "services", short: `{}`, workload: web,
			want: `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team}
spec:
  selector: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}
  ports: [{port: 8080, targetPort: 8080}]
`,
		},
		"a Service's own port": {
			key: "services", short: `{port: "80", type: NodePort}`, workload: web,
			want: `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team}
spec:
  type: NodePort
  selector: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}
  ports: [{port: 80, targetPort: 8080}]
`,
		},
		"a workload without a port": {
			key: "services", short: `{port: 5432}`, workload: &Workload{Name: "db"},
			want: `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team}
spec:
  selector: {app.kubernetes.io/name: db, app.kubernetes.io/instance: shop}
  ports: [{port: 5432, targetPort: 5432}]
`,
		},
		"port 80 where nobody names one": {
			key: "services", short: `{selector: {a: b}, headless: true, protocol: UDP, targetPort: dns}`,
			want: `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team}
spec:
  clusterIP: None
  selector: {a: b}
  ports: [{port: 80, targetPort: dns, protocol: UDP}]
`,
		},
		"several ports, and a selector that is left out on purpose": {
			key: "services", short: `{selector: {}, ports: [{name: a, port: 1}, {name: b, port: 2, targetPort: "3"}]}`,
			want: `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team}
spec:
  ports: [{name: a, port: 1}, {name: b, port: 2, targetPort: 3}]
`,
		},
		"a Service for another host": {
			key: "services", short: `{type: ExternalName}`, spec: `{externalName: db.example.com}`,
			want: `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team}
spec: {type: ExternalName, externalName: db.example.com}
`,
		},
		"an overlay merges a Service's ports by port": {
			key: "services", short: `{port: 80}`, workload: web, spec: `{ports: [{port: 80, nodePort: 30080}]}`,
			want: `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team}
spec:
  selector: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}
  ports: [{port: 80, targetPort: 8080, nodePort: 30080}]
`,
		},
	} {
		t.Run(name, tc.run)
	}
}

func TestBuildConfigMaps(t *testing.T) {
	for name, tc := range map[string]buildCase{
		"a ConfigMap": {
			key: "configmaps", short: `{data: {a: 1, b: true, c: "x: y", d: null}, binaryData: {e: AAE=}, immutable: "true"}`,
			want: `
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: team}
data: {a: "1", b: "true", c: "x: y"}
binaryData: {e: AAE=}
immutable: true
`,
		},
		"an empty ConfigMap": {
			key: "configmaps", short: `{}`,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: team}}`,
		},
	} {
		t.Run(name, tc.run)
	}
}

func TestServiceOf(t *testing.T) {
	web := &Workload{Name: "web", Port: 8080}
	for name, tc := range map[string]struct {
		short string
		w     *Workload
		want  Service
	}{
		"its own port":                  {`{port: 5432}`, web, Service{Name: "s", Port: 5432}},
		"the first of ports":            {`{ports: [{name: a, port: 1}]}`, web, Service{Name: "s", Port: 1, PortName: "a"}},
		"the workload's":                {`{}`, web, Service{Name: "s", Port: 8080}},
		"80":                            {`{}`, nil, Service{Name: "s", Port: 80}},
		"empty ports say nothing":       {`{ports: []}`, nil, Service{Name: "s", Port: 80}},
		"a name for a host has no port": {`{type: ExternalName}`, web, Service{Name: "s"}},
		"one that can't be read":        {`{port: x}`, web, Service{Name: "s"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(ServiceOf("s", tree(t, tc.short), tc.w)).To(Equal(tc.want))
		})
	}
}
