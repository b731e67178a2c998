package kinds

import (
	"testing"
)

func TestBuildIngresses(t *testing.T) {
	for name, tc := range map[string]buildCase{
		"an Ingress takes all from the only Service": {
			key: "ingresses", short: `{host: ""}`, service: &Service{Name: "web-svc", Port: 80},
			want: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: team}
spec:
  rules:
  - http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web-svc, port: {number: 80}}}}]}
`,
		},
		"an Ingress with everything": {
			key: "ingresses",
			short: `
host: a.example.com
path: /api
pathType: Exact
serviceName: api
servicePort: http
className: nginx
tls: [{hosts: [a.example.com], secretName: tls}]
`,
			want: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: team}
spec:
  ingressClassName: nginx
  tls: [{hosts: [a.example.com], secretName: tls}]
  rules:
  - host: a.example.com
    http: {paths: [{path: /api, pathType: Exact, backend: {service: {name: api, port: {name: http}}}}]}
`,
		},
		"an Ingress's port as digits": {
			key: "ingresses", short: `{serviceName: web-svc, servicePort: "8080"}`,
			want: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: team}
spec:
  rules:
  - http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web-svc, port: {number: 8080}}}}]}
`,
		},
		"an Ingress's own rules": {
			key: "ingresses", short: `{rules: [{host: a, http: {paths: [{pathType: Exact, path: /x, backend: {resource: {kind: K, name: o}}}]}}]}`,
			want: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: team}
spec:
  rules: [{host: a, http: {paths: [{pathType: Exact, path: /x, backend: {resource: {kind: K, name: o}}}]}}]
`,
		},
	} {
		t.Run(name, tc.run)
	}
}
