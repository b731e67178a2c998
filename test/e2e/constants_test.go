package e2e_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/engine/kinds"
)

// Manifests with a gap for one field.
const (
	gapPod       = `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}], %s}}`
	gapContainer = `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i, %s}]}}`
	gapFiles     = `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, configMap: {name: a, %s}}]}}`
	gapTemplate  = `template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}`
	gapWorkload  = `spec: {selector: {matchLabels: {a: b}}, ` + gapTemplate + `, %s}`
	gapDeploy    = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, ` + gapWorkload + `}`
	gapDeployed  = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}], %s}}}}`
	gapStateful  = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, ` + gapWorkload + `}`
	gapJob       = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}, %s}}`
	gapCronJob   = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}, %s}}`
	gapDaily     = `schedule: "@daily", `
	gapService   = `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: NodePort, selector: {a: b}, ports: [{port: 80, %s}]}}`
	gapServices  = `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {a: b}, %s}}`
	gapClaim     = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {resources: {requests: {storage: 1Gi}}, %s}}`
	gapRule      = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, spec: {rules: [{%s, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}}]}}`
	gapPath      = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, spec: {rules: [{http: {paths: [{%s, backend: {service: {name: a, port: {number: 80}}}}]}}]}}`
	gapBackend   = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {%s}}}}]}}]}}`
	gapPolicy    = `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {}, %s}}`
	gapBudget    = `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {selector: {}, %s}}`
	gapScaler    = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, %s}}`
	gapMetric    = `maxReplicas: 2, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: %d}}}]`
	gapSpread    = `topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: %s, maxSkew: %d, minDomains: %d, labelSelector: {}}]`
)

// constants are fields as the API server refuses them and as it takes them: what a box writes out is judged before it does. A nodePort
// is not among them: it is allocated only when nothing is dry.
var constants = []struct{ manifest, refused, taken string }{
	{gapContainer, `ports: [{containerPort: 0}]`, `ports: [{containerPort: 1}]`},
	{gapContainer, `ports: [{containerPort: 65536}]`, `ports: [{containerPort: 65535, hostPort: 0}]`},
	{gapContainer, `ports: [{containerPort: 80, hostPort: -1}]`, `ports: [{containerPort: 80, hostPort: 80}]`},
	{gapContainer, `ports: [{containerPort: 80, name: metrics-and-health}]`, `ports: [{containerPort: 80, name: metrics}]`},
	{gapContainer, `ports: [{containerPort: 80, protocol: tcp}]`, `ports: [{containerPort: 80, protocol: SCTP}]`},
	{gapContainer, `livenessProbe: {httpGet: {port: 0}}`, `livenessProbe: {httpGet: {port: web}}`},
	{gapContainer, `livenessProbe: {tcpSocket: {port: my_port}}`, `livenessProbe: {tcpSocket: {port: 1}}`},
	{gapContainer, `livenessProbe: {grpc: {port: 70000}}`, `livenessProbe: {grpc: {port: 7000}}`},
	{gapContainer, `livenessProbe: {tcpSocket: {port: 1}, initialDelaySeconds: -1}`, `livenessProbe: {tcpSocket: {port: 1}, initialDelaySeconds: 0}`},
	{gapContainer, `livenessProbe: {tcpSocket: {port: 1}, timeoutSeconds: -1}`, `livenessProbe: {tcpSocket: {port: 1}, timeoutSeconds: 0}`},
	{gapContainer, `livenessProbe: {tcpSocket: {port: 1}, periodSeconds: -1}`, `livenessProbe: {tcpSocket: {port: 1}, periodSeconds: 0}`},
	{gapContainer, `readinessProbe: {tcpSocket: {port: 1}, successThreshold: -1}`, `readinessProbe: {tcpSocket: {port: 1}, successThreshold: 0}`},
	{gapContainer, `livenessProbe: {tcpSocket: {port: 1}, failureThreshold: -1}`, `livenessProbe: {tcpSocket: {port: 1}, failureThreshold: 0}`},
	{gapContainer, `livenessProbe: {httpGet: {port: 1, scheme: https}}`, `livenessProbe: {httpGet: {port: 1, scheme: HTTPS}}`},
	{gapContainer, `imagePullPolicy: Sometimes`, `imagePullPolicy: Never`},
	{gapContainer, `terminationMessagePolicy: Log`, `terminationMessagePolicy: File`},
	{gapContainer, `env: [{name: "A=B"}]`, `env: [{name: my.VAR-1}]`},
	{gapContainer, `securityContext: {runAsUser: -1}`, `securityContext: {runAsUser: 0}`},
	{gapContainer, `securityContext: {runAsGroup: -1}`, `securityContext: {runAsGroup: 0}`},
	{gapContainer, `securityContext: {seccompProfile: {type: Default}}`, `securityContext: {seccompProfile: {type: RuntimeDefault}}`},
	{gapPod, `initContainers: [{name: In_It, image: i}]`, `initContainers: [{name: in-it, image: i}]`},
	{gapPod, `securityContext: {fsGroup: -1}`, `securityContext: {fsGroup: 0}`},
	{gapPod, `activeDeadlineSeconds: -1`, `activeDeadlineSeconds: 1`},
	{gapPod, `restartPolicy: Sometimes`, `restartPolicy: OnFailure`},
	{gapPod, `dnsPolicy: Cluster`, `dnsPolicy: ClusterFirst`},
	{gapDeployed, `serviceAccountName: Web`, `serviceAccountName: web`},
	{gapPod, `volumes: [{name: My_Data, emptyDir: {}}]`, `volumes: [{name: my-data, emptyDir: {}}]`},
	{gapPod, `volumes: [{name: a, hostPath: {path: /a, type: directory}}]`, `volumes: [{name: a, hostPath: {path: /a, type: Directory}}]`},
	{gapPod, `tolerations: [{operator: In}]`, `tolerations: [{operator: Exists}]`},
	{gapPod, `tolerations: [{operator: Exists, effect: Execute}]`, `tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: -1}]`},
	{gapPod, fmt.Sprintf(gapSpread, "DoNotSchedule", 0, 1), fmt.Sprintf(gapSpread, "DoNotSchedule", 1, 1)},
	{gapPod, fmt.Sprintf(gapSpread, "DoNotSchedule", 1, 0), fmt.Sprintf(gapSpread, "DoNotSchedule", 1, 2)},
	{
		gapPod, `affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, podAffinityTerm: {topologyKey: a}}]}}`,
		`affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: a}}]}}`,
	},
	{gapFiles, `defaultMode: 644`, `defaultMode: 0644`},
	{gapFiles, `items: [{key: a, path: b, mode: 777}]`, `items: [{key: a, path: b, mode: 0777}]`},
	{gapDeploy, `replicas: -1`, `replicas: 0`},
	{gapDeploy, `minReadySeconds: -1`, `minReadySeconds: 0`},
	{gapDeploy, `revisionHistoryLimit: -1`, `revisionHistoryLimit: 0`},
	{gapDeploy, `progressDeadlineSeconds: -1`, `progressDeadlineSeconds: 5`},
	{gapDeploy, `strategy: {type: Rolling}`, `strategy: {type: Recreate}`},
	{gapDeploy, `strategy: {rollingUpdate: {maxSurge: -1}}`, `strategy: {rollingUpdate: {maxSurge: 25%}}`},
	{gapDeploy, `strategy: {rollingUpdate: {maxUnavailable: some}}`, `strategy: {rollingUpdate: {maxUnavailable: 2}}`},
	{gapStateful, `podManagementPolicy: Ordered`, `podManagementPolicy: Parallel`},
	{gapStateful, `updateStrategy: {rollingUpdate: {partition: -1}}`, `updateStrategy: {rollingUpdate: {partition: 0}}`},
	{gapJob, `completions: -1`, `completions: 1`},
	{gapJob, `parallelism: -1`, `parallelism: 0`},
	{gapJob, `backoffLimit: -1`, `backoffLimit: 0`},
	{gapJob, `completionMode: Indexed, completions: 1, backoffLimitPerIndex: -1`, `completionMode: Indexed, completions: 1, backoffLimitPerIndex: 0`},
	{
		gapJob, `completionMode: Indexed, completions: 1, backoffLimitPerIndex: 0, maxFailedIndexes: -1`,
		`completionMode: Indexed, completions: 1, backoffLimitPerIndex: 0, maxFailedIndexes: 0`,
	},
	{gapJob, `activeDeadlineSeconds: -1`, `activeDeadlineSeconds: 1`},
	{gapJob, `ttlSecondsAfterFinished: -1`, `ttlSecondsAfterFinished: 0`},
	{gapCronJob, `schedule: "61 * * * *"`, `schedule: "1 * * * *"`},
	{gapCronJob, gapDaily + `concurrencyPolicy: forbid`, gapDaily + `concurrencyPolicy: Forbid`},
	{gapCronJob, gapDaily + `startingDeadlineSeconds: -1`, gapDaily + `startingDeadlineSeconds: 0`},
	{gapCronJob, gapDaily + `successfulJobsHistoryLimit: -1`, gapDaily + `successfulJobsHistoryLimit: 0`},
	{gapCronJob, gapDaily + `failedJobsHistoryLimit: -1`, gapDaily + `failedJobsHistoryLimit: 0`},
	{gapService, `targetPort: -1`, `targetPort: web`},
	{gapService, `name: HTTP`, `name: http-for-everybody-else`},
	{gapServices, `ports: [{port: 0}]`, `ports: [{port: 65535}]`},
	{gapServices, `ports: [{port: 80}], type: Loadbalancer`, `ports: [{port: 80}], type: LoadBalancer`},
	{gapServices, `ports: [{port: 80}], sessionAffinity: Cookie`, `ports: [{port: 80}], sessionAffinity: ClientIP`},
	{gapServices, `ports: [{port: 80}], internalTrafficPolicy: local`, `ports: [{port: 80}], internalTrafficPolicy: Local`},
	{gapClaim, `accessModes: [ReadWriteonce]`, `accessModes: [ReadWriteOnce]`},
	{gapClaim, `accessModes: [ReadWriteOnce], volumeMode: Files`, `accessModes: [ReadWriteOnce], volumeMode: Block`},
	{gapRule, `host: Shop.example.com`, `host: shop.example.com`},
	{gapRule, `host: "*.Example.com"`, `host: "*.example.com"`},
	{gapPath, `path: api, pathType: Prefix`, `path: /api, pathType: Prefix`},
	{gapPath, `path: api, pathType: ImplementationSpecific`, `path: /api, pathType: ImplementationSpecific`},
	{gapPath, `path: /, pathType: prefix`, `path: /, pathType: Exact`},
	{gapBackend, `number: 70000`, `number: 0, name: http`},
	{gapPolicy, `policyTypes: [ingress]`, `policyTypes: [Ingress]`},
	{gapPolicy, `ingress: [{ports: [{port: 0}]}]`, `ingress: [{ports: [{port: web}]}]`},
	{gapPolicy, `ingress: [{ports: [{port: 1, endPort: 70000}]}]`, `ingress: [{ports: [{port: 1, endPort: 2}]}]`},
	{gapBudget, `minAvailable: -1`, `minAvailable: 50%`},
	{gapBudget, `maxUnavailable: half`, `maxUnavailable: 0`},
	{gapBudget, `minAvailable: 1, unhealthyPodEvictionPolicy: Always`, `minAvailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow`},
	{gapScaler, `maxReplicas: 0`, `maxReplicas: 1`},
	{gapScaler, `maxReplicas: 2, minReplicas: -1`, `maxReplicas: 2, minReplicas: 1`},
	{gapScaler, fmt.Sprintf(gapMetric, 0), fmt.Sprintf(gapMetric, 1)},
	{gapScaler, `maxReplicas: 2, behavior: {scaleDown: {stabilizationWindowSeconds: -1}}`, `maxReplicas: 2, behavior: {scaleDown: {stabilizationWindowSeconds: 0}}`},
}

var _ = Describe("Constants of a box", func() {
	It("are refused and taken as the API server does", func(ctx context.Context) {
		anything, _ := kinds.Lookup("resources")
		for _, c := range constants {
			for filling, mistakes := range map[string]int{c.refused: 1, c.taken: 0} {
				text := strings.Replace(c.manifest, "%s", filling, 1)
				manifest := map[string]any{}
				Expect(yaml.Unmarshal([]byte(text), &manifest)).To(Succeed(), text)
				found := anything.Check(map[string]any{"manifest": manifest}, nil, nil, field.NewPath("x"))
				Expect(found).To(HaveLen(mistakes), text)

				obj := &unstructured.Unstructured{Object: manifest}
				obj.SetNamespace(metav1.NamespaceDefault)
				if err := kube.Create(ctx, obj, client.DryRunAll); mistakes == 0 {
					Expect(err).NotTo(HaveOccurred(), text)
				} else {
					Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", text, err)
				}
			}
		}
	})
})
