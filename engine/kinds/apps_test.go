package kinds

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/kinds/shape"
)

func TestBuildDeployments(t *testing.T) {
	for name, tc := range map[string]buildCase{
		"the smallest Deployment": {
			key:   "deployments",
			short: `{image: nginx}`,
			want: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
    spec:
      containers: [{name: main, image: nginx}]
`,
		},
		"a Deployment with everything": {
			key: "deployments",
			short: `
image: nginx
replicas: "3"
command: [run]
args: [1, true, x]
port: "8080"
env: [{name: A, value: 5}, {name: B, value: ""}]
envFrom: [{configMapRef: {name: c}}]
resources: {requests: {cpu: 1, memory: 64Mi}, limits: {cpu: 0.5}}
probes: {readiness: {httpGet: {path: /, port: "8080"}}, liveness: {tcpSocket: {port: http}}, startup: {exec: {command: [x]}}}
volumes: [{name: tmp, emptyDir: {}}]
volumeMounts: [{name: tmp, mountPath: /tmp, readOnly: "false"}]
serviceAccountName: web
imagePullSecrets: [{name: pull}]
nodeSelector: {disk: ssd}
tolerations: [{key: a, tolerationSeconds: 3.0}]
podLabels: {team: 7}
podAnnotations: {note: true}
securityContext: {runAsUser: 1000}
podSecurityContext: {fsGroup: "1000"}
initContainers: [{name: init, image: busybox}]
sidecars: [{name: proxy, image: envoy}]
strategy: {rollingUpdate: {maxUnavailable: 25%, maxSurge: "1"}}
`,
			want: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxUnavailable: 25%, maxSurge: 1}}
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata:
      labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop, team: "7"}
      annotations: {note: "true"}
    spec:
      serviceAccountName: web
      imagePullSecrets: [{name: pull}]
      nodeSelector: {disk: ssd}
      tolerations: [{key: a, tolerationSeconds: 3}]
      securityContext: {fsGroup: 1000}
      volumes: [{name: tmp, emptyDir: {}}]
      initContainers: [{name: init, image: busybox}]
      containers:
      - name: main
        image: nginx
        command: [run]
        args: ["1", "true", x]
        ports: [{containerPort: 8080}]
        env: [{name: A, value: "5"}, {name: B, value: ""}]
        envFrom: [{configMapRef: {name: c}}]
        resources: {requests: {cpu: "1", memory: 64Mi}, limits: {cpu: "0.5"}}
        readinessProbe: {httpGet: {path: /, port: 8080}}
        livenessProbe: {tcpSocket: {port: http}}
        startupProbe: {exec: {command: [x]}}
        volumeMounts: [{name: tmp, mountPath: /tmp, readOnly: false}]
        securityContext: {runAsUser: 1000}
      - {name: proxy, image: envoy}
`,
		},
		"null, empty lists, maps and texts are the same as absent": {
			key:   "deployments",
			short: `{image: nginx, replicas: null, command: [], nodeSelector: {}, serviceAccountName: "", env: [{name: A, valueFrom: null}]}`,
			want: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
    spec:
      containers: [{name: main, image: nginx, env: [{name: A}]}]
`,
		},
		"an overlay merges containers by name, removes with null and adds what short forms lack": {
			key:   "deployments",
			short: `{image: nginx, replicas: 2, port: 80, env: [{name: A, value: a}, {name: B, value: b}]}`,
			spec: `
replicas: null
revisionHistoryLimit: "2"
template:
  metadata: {labels: {tier: front}}
  spec:
    hostNetwork: "true"
    containers:
    - name: main
      env: [{name: B, value: c}]
      workingDir: /srv
`,
			want: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team}
spec:
  revisionHistoryLimit: 2
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop, tier: front}}
    spec:
      hostNetwork: true
      containers:
      - name: main
        image: nginx
        workingDir: /srv
        ports: [{containerPort: 80}]
        env: [{name: A, value: a}, {name: B, value: c}]
`,
		},
		"an overlay may bring all containers": {
			key:   "deployments",
			short: `{replicas: 0}`,
			spec:  `{template: {spec: {containers: [{name: app, image: app}]}}}`,
			want: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team}
spec:
  replicas: 0
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
    spec:
      containers: [{name: app, image: app}]
`,
		},
		"an overlay adds at the end, replaces lists without a merge key, and empties": {
			key: "deployments",
			short: `
image: nginx
env: [{name: HOST, value: db}]
volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]
tolerations: [{key: x}]
strategy: {rollingUpdate: {maxSurge: 1}}
`,
			spec: `
strategy: {type: Recreate, rollingUpdate: null}
template:
  spec:
    tolerations: []
    imagePullSecrets: [{name: pull}]
    volumes: [{name: b, emptyDir: null, secret: {secretName: s, items: null}}]
    containers:
    - {name: proxy, image: envoy, resources: {limits: null}}
    - {name: main, env: [{name: URL, value: "http://$(HOST)"}]}
`,
			want: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
    spec:
      imagePullSecrets: [{name: pull}]
      volumes: [{name: a, emptyDir: {}}, {name: b, secret: {secretName: s}}]
      containers:
      - {name: main, image: nginx, env: [{name: HOST, value: db}, {name: URL, value: "http://$(HOST)"}]}
      - {name: proxy, image: envoy, resources: {}}
`,
		},
	} {
		t.Run(name, tc.run)
	}
}

func TestBuildSelectorLabelsWin(t *testing.T) {
	g := NewWithT(t)
	short := tree(t, `{image: a, podLabels: {app.kubernetes.io/name: other, c: d}}`)
	obj, err := mustLookup(t, "deployments").Build(Declared{Name: "web", Instance: "shop", Short: short})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shape.Descend(obj.Object, "spec", "template", "metadata", "labels")).To(Equal(map[string]any{
		"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "shop", "c": "d",
	}))
}

func TestBuildLongName(t *testing.T) {
	g := NewWithT(t)
	name := strings.Repeat("a", 70)
	obj, err := mustLookup(t, "deployments").Build(Declared{Name: name, Instance: "i", Short: map[string]any{"image": "x"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(obj.GetName()).To(Equal(name))
	g.Expect(shape.Descend(obj.Object, "spec", "selector", "matchLabels", "app.kubernetes.io/name")).To(Equal(LabelValue(name)))
}

func TestWorkloadOf(t *testing.T) {
	for name, tc := range map[string]struct {
		key, short string
		want       Workload
	}{
		"port": {"deployments", `{port: "8080"}`, Workload{Kind: "Deployment", Name: "w", Port: 8080}},
		"the first of ports": {
			"daemonsets", `{ports: [{name: http, containerPort: 80}, {containerPort: 81}]}`,
			Workload{Kind: "DaemonSet", Name: "w", Port: 80, PortName: "http"},
		},
		"none":                {"statefulsets", `{image: x}`, Workload{Kind: "StatefulSet", Name: "w"}},
		"one that is no port": {"deployments", `{port: x}`, Workload{Kind: "Deployment", Name: "w"}},
		"ports that are none": {"deployments", `{ports: [7]}`, Workload{Kind: "Deployment", Name: "w"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(mustLookup(t, tc.key).WorkloadOf("w", tree(t, tc.short))).To(Equal(tc.want))
		})
	}
}
