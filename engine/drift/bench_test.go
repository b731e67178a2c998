package drift

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// typical are five children as they are rendered, and as they come back from an API server.
func typical(tb testing.TB) (desired, live []*unstructured.Unstructured) {
	tb.Helper()
	const marks = `
  labels: {app.kubernetes.io/name: web, app.kubernetes.io/managed-by: orkestra, orkestra.orkspace.io/owner-uid: u-1, orkestra.orkspace.io/box: website}
  annotations: {orkestra.orkspace.io/applied: "0123456789abcdef", orkestra.orkspace.io/declaration: d}
  ownerReferences: [{apiVersion: example.com/v1, kind: Website, name: web, uid: u-1, controller: true, blockOwnerDeletion: true}]
`
	const stored = `  uid: u-2
  resourceVersion: "12345"
  creationTimestamp: "2026-01-01T00:00:00Z"
  generation: 1
`
	kinds := []string{deployment, service, configMap, "networking.k8s.io/v1 Ingress", "batch/v1 Job"}
	bodies := [][2]string{
		{`spec:
  replicas: 3
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: web}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: web}}
    spec:
      hostNetwork: false
      serviceAccountName: web
      securityContext: {runAsNonRoot: true}
      volumes: [{name: config, configMap: {name: web}}, {name: tmp, emptyDir: {}}]
      containers:
      - name: main
        image: registry.example.com/web:1.2.3
        args: [--listen, ":8080", --verbose]
        ports: [{name: http, containerPort: 8080}]
        env: [{name: A, value: "1"}, {name: B, value: "2"}, {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 1000m, memory: 1024Mi}}
        readinessProbe: {httpGet: {path: /ready, port: http}, periodSeconds: 5}
        volumeMounts: [{name: config, mountPath: /etc/web}, {name: tmp, mountPath: /tmp}]
`, `spec:
  replicas: 3
  revisionHistoryLimit: 10
  progressDeadlineSeconds: 600
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: web}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: web}}
    spec:
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      terminationGracePeriodSeconds: 30
      serviceAccountName: web
      serviceAccount: web
      securityContext: {runAsNonRoot: true}
      volumes: [{name: config, configMap: {name: web, defaultMode: 420}}, {name: tmp, emptyDir: {}}]
      containers:
      - name: main
        image: registry.example.com/web:1.2.3
        imagePullPolicy: IfNotPresent
        args: [--listen, ":8080", --verbose]
        ports: [{name: http, containerPort: 8080, protocol: TCP}]
        env: [{name: A, value: "1"}, {name: B, value: "2"}, {name: POD, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: "1", memory: 1Gi}}
        readinessProbe: {httpGet: {path: /ready, port: http, scheme: HTTP}, periodSeconds: 5, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3}
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
        volumeMounts: [{name: config, mountPath: /etc/web}, {name: tmp, mountPath: /tmp}]
status: {observedGeneration: 1, replicas: 3, readyReplicas: 3}
`},
		{
			"spec: {selector: {app.kubernetes.io/name: web, app.kubernetes.io/instance: web}, ports: [{name: http, port: 80, targetPort: 8080}]}",
			"spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], type: ClusterIP, sessionAffinity: None, ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, internalTrafficPolicy: Cluster, selector: {app.kubernetes.io/name: web, app.kubernetes.io/instance: web}, ports: [{name: http, port: 80, protocol: TCP, targetPort: 8080}]}",
		},
		{"data: {a: '1', b: '2', c.yaml: 'x: y', d: e, f: g}", "data: {a: '1', b: '2', c.yaml: 'x: y', d: e, f: g}"},
		{
			"spec: {ingressClassName: nginx, tls: [{hosts: [a.example.com], secretName: t}], rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}",
			"spec: {ingressClassName: nginx, tls: [{hosts: [a.example.com], secretName: t}], rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}\nstatus: {loadBalancer: {}}",
		},
		{
			"spec: {backoffLimit: 3, template: {spec: {restartPolicy: Never, containers: [{name: main, image: i:1, command: [a, b], env: [{name: A, value: '1'}], resources: {limits: {cpu: 0.5}}}]}}}",
			"spec: {backoffLimit: 3, completions: 1, parallelism: 1, completionMode: NonIndexed, suspend: false, selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}}, template: {metadata: {labels: {batch.kubernetes.io/controller-uid: u}}, spec: {dnsPolicy: ClusterFirst, schedulerName: default-scheduler, restartPolicy: Never, securityContext: {}, containers: [{name: main, image: i:1, imagePullPolicy: IfNotPresent, command: [a, b], env: [{name: A, value: '1'}], resources: {limits: {cpu: 500m}}}]}}}",
		},
	}
	for i, body := range bodies {
		metadata := "metadata:\n  name: web\n  namespace: ns" + marks
		desired = append(desired, object(tb, kinds[i], metadata+body[0]))
		live = append(live, object(tb, kinds[i], metadata+stored+body[1]))
	}
	return desired, live
}

func TestTypicalChildrenAreEqual(t *testing.T) {
	c := NewComparer(nil)
	desired, live := typical(t)
	for i := range desired {
		if found := c.Differences(c.Prepare(desired[i]), live[i]); len(found) > 0 {
			t.Errorf("%s: %v", desired[i].GetKind(), found)
		}
	}
}

// BenchmarkFiveChildren has a budget of 200 µs for "Both".
func BenchmarkFiveChildren(b *testing.B) {
	c := NewComparer(nil)
	desired, live := typical(b)
	b.Run("Both", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i := range desired {
				if len(c.Differences(c.Prepare(desired[i]), live[i])) > 0 {
					b.Fatal("differs")
				}
			}
		}
	})
	b.Run("Differences", func(b *testing.B) {
		prepared := make([]*Prepared, 0, len(desired))
		for _, d := range desired {
			prepared = append(prepared, c.Prepare(d))
		}
		b.ReportAllocs()
		for b.Loop() {
			for i := range prepared {
				c.Differences(prepared[i], live[i])
			}
		}
	})
	b.Run("Hash", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, d := range desired {
				Hash(d)
			}
		}
	})
}

func BenchmarkNewComparer(b *testing.B) {
	for b.Loop() {
		NewComparer(nil)
	}
}
