package e2e_test

// kindCase is the life of one child kind. NS stands for the world's namespace. The objects are called web, those of
// cluster-scoped kinds web-NS.
type kindCase struct {
	// others are declarations that this one takes defaults from.
	others string
	// declared is the declaration, changed is the same with a field changed and another dropped.
	declared, changed string
	// manifest and changedManifest are what a person would have written by hand, but for the name.
	manifest, changedManifest string
	// drift is what somebody changes by hand, as a merge patch.
	drift string
}

// oneDeployment and oneService are what others take defaults from.
const (
	oneDeployment = `deployments: [{name: front, image: "nginx:1", port: 8080}]`
	pods          = `{app.kubernetes.io/name: web, app.kubernetes.io/instance: web}`
	frontPods     = `{app.kubernetes.io/name: front, app.kubernetes.io/instance: web}`
	runsOnce      = `{metadata: {labels: {app.kubernetes.io/instance: web}}, spec: {restartPolicy: Never, containers: [{name: main, image: "nginx:1", args: [run]}]}}`
)

func workloadKinds() map[string]kindCase {
	return map[string]kindCase{
		"statefulsets": {
			others: `services: [{name: peers, headless: true}]`,
			declared: `{image: "nginx:1", replicas: 2, port: 5432, env: [{name: A, value: b}], strategy: {rollingUpdate: {partition: 1}},
				volumeMounts: [{name: data, mountPath: /data}],
				volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: 1024Mi}}}}], spec: {podManagementPolicy: Parallel}}`,
			changed: `{image: "nginx:2", replicas: 1, port: 5432, strategy: {rollingUpdate: {partition: 1}},
				volumeMounts: [{name: data, mountPath: /data}],
				volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: 1024Mi}}}}], spec: {podManagementPolicy: Parallel}}`,
			manifest: `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2, serviceName: peers, podManagementPolicy: Parallel,
				updateStrategy: {rollingUpdate: {partition: 1}}, selector: {matchLabels: ` + pods + `},
				volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}],
				template: {metadata: {labels: ` + pods + `}, spec: {containers: [{name: main, image: "nginx:1", ports: [{containerPort: 5432}],
					env: [{name: A, value: b}], volumeMounts: [{name: data, mountPath: /data}]}]}}}}`,
			changedManifest: `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 1, serviceName: peers, podManagementPolicy: Parallel,
				updateStrategy: {rollingUpdate: {partition: 1}}, selector: {matchLabels: ` + pods + `},
				volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}],
				template: {metadata: {labels: ` + pods + `}, spec: {containers: [{name: main, image: "nginx:2", ports: [{containerPort: 5432}],
					volumeMounts: [{name: data, mountPath: /data}]}]}}}}`,
			drift: `{"spec":{"replicas":5,"updateStrategy":{"rollingUpdate":{"partition":3}}}}`,
		},
		"daemonsets": {
			declared: `{image: "nginx:1", tolerations: [{operator: Exists}], strategy: {rollingUpdate: {maxUnavailable: "2"}}, spec: {minReadySeconds: 3}}`,
			changed:  `{image: "nginx:2", strategy: {rollingUpdate: {maxUnavailable: "2"}}, spec: {minReadySeconds: 3}}`,
			manifest: `{apiVersion: apps/v1, kind: DaemonSet, spec: {minReadySeconds: 3, updateStrategy: {rollingUpdate: {maxUnavailable: 2}},
				selector: {matchLabels: ` + pods + `}, template: {metadata: {labels: ` + pods + `},
					spec: {tolerations: [{operator: Exists}], containers: [{name: main, image: "nginx:1"}]}}}}`,
			changedManifest: `{apiVersion: apps/v1, kind: DaemonSet, spec: {minReadySeconds: 3, updateStrategy: {rollingUpdate: {maxUnavailable: 2}},
				selector: {matchLabels: ` + pods + `}, template: {metadata: {labels: ` + pods + `}, spec: {containers: [{name: main, image: "nginx:2"}]}}}}`,
			drift: `{"spec":{"minReadySeconds":9,"template":{"spec":{"tolerations":[]}}}}`,
		},
		"cronjobs": {
			declared: `{image: "nginx:1", args: [run], schedule: "30 2 * * *", suspend: true, concurrencyPolicy: Forbid, successfulJobsHistoryLimit: 0,
				timeZone: Europe/Berlin, ttlSecondsAfterFinished: 60}`,
			changed: `{image: "nginx:1", args: [run], schedule: "0 3 * * *", suspend: true, concurrencyPolicy: Forbid, successfulJobsHistoryLimit: 0}`,
			manifest: `{apiVersion: batch/v1, kind: CronJob, spec: {schedule: 30 2 * * *, suspend: true, concurrencyPolicy: Forbid, successfulJobsHistoryLimit: 0,
				timeZone: Europe/Berlin, jobTemplate: {spec: {backoffLimit: 3, ttlSecondsAfterFinished: 60, template: ` + runsOnce + `}}}}`,
			changedManifest: `{apiVersion: batch/v1, kind: CronJob, spec: {schedule: 0 3 * * *, suspend: true, concurrencyPolicy: Forbid, successfulJobsHistoryLimit: 0,
				jobTemplate: {spec: {backoffLimit: 3, template: ` + runsOnce + `}}}}`,
			drift: `{"spec":{"suspend":false,"successfulJobsHistoryLimit":3,"concurrencyPolicy":"Allow","jobTemplate":{"spec":{"backoffLimit":1}}}}`,
		},
	}
}

func plainKinds() map[string]kindCase {
	return map[string]kindCase{
		"secrets": {
			declared:        `{type: example.com/own, data: {user: app, number: 5, empty: "", gone: x}}`,
			changed:         `{type: example.com/own, data: {user: other, number: 5, empty: ""}}`,
			manifest:        `{apiVersion: v1, kind: Secret, type: example.com/own, stringData: {user: app, number: "5", empty: "", gone: x}}`,
			changedManifest: `{apiVersion: v1, kind: Secret, type: example.com/own, stringData: {user: other, number: "5", empty: ""}}`,
			drift:           `{"data":{"user":"cm9vdA==","empty":null}}`,
		},
		"serviceaccounts": {
			declared:        `{automountToken: false, imagePullSecrets: [{name: a}, {name: b}]}`,
			changed:         `{imagePullSecrets: [{name: a}]}`,
			manifest:        `{apiVersion: v1, kind: ServiceAccount, automountServiceAccountToken: false, imagePullSecrets: [{name: a}, {name: b}]}`,
			changedManifest: `{apiVersion: v1, kind: ServiceAccount, imagePullSecrets: [{name: a}]}`,
			drift:           `{"automountServiceAccountToken":true,"imagePullSecrets":[{"name":"c"}]}`,
		},
		"pvcs": {
			declared: `{storage: 1024Mi, storageClassName: none, labels: {team: a, gone: b}}`,
			changed:  `{storage: 1024Mi, storageClassName: none, labels: {team: b}}`,
			manifest: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {labels: {team: a, gone: b}},
				spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}}`,
			changedManifest: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {labels: {team: b}},
				spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}}`,
			drift: `{"metadata":{"labels":{"team":"c"}}}`,
		},
		"pdbs": {
			others:          oneDeployment,
			declared:        `{minAvailable: 50%, spec: {unhealthyPodEvictionPolicy: AlwaysAllow}}`,
			changed:         `{maxUnavailable: 1, selector: {}}`,
			manifest:        `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 50%, unhealthyPodEvictionPolicy: AlwaysAllow, selector: {matchLabels: ` + frontPods + `}}}`,
			changedManifest: `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {maxUnavailable: 1, selector: {}}}`,
			drift:           `{"spec":{"minAvailable":1,"selector":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}}`,
		},
		"hpas": {
			others:   oneDeployment,
			declared: `{minReplicas: 2, maxReplicas: 5, cpu: 75, memory: 80, behavior: {scaleDown: {stabilizationWindowSeconds: 0}}}`,
			changed:  `{maxReplicas: 6, cpu: 75}`,
			manifest: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {minReplicas: 2, maxReplicas: 5,
				scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: front}, behavior: {scaleDown: {stabilizationWindowSeconds: 0}},
				metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 75}}},
					{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 80}}}]}}`,
			changedManifest: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 6,
				scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: front},
				metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 75}}}]}}`,
			drift: `{"spec":{"maxReplicas":9,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":10}}}],
				"behavior":{"scaleDown":{"stabilizationWindowSeconds":60}}}}`,
		},
		"networkpolicies": {
			others:   oneDeployment,
			declared: `{policyTypes: [Ingress, Egress], ingress: [{from: [{podSelector: {}}], ports: [{port: "8080"}]}], egress: [{}]}`,
			changed:  `{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{}]}`,
			manifest: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {policyTypes: [Ingress, Egress], podSelector: {matchLabels: ` + frontPods + `},
				ingress: [{from: [{podSelector: {}}], ports: [{port: 8080}]}], egress: [{}]}}`,
			changedManifest: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {policyTypes: [Ingress, Egress], podSelector: {}, ingress: [{}]}}`,
			drift: `{"spec":{"ingress":[{"from":[{"podSelector":{},"namespaceSelector":{}}],"ports":[{"port":8080,"endPort":9090,"protocol":"TCP"}]}],
				"egress":[{"to":[{"ipBlock":{"cidr":"10.0.0.0/8"}}]}]}}`,
		},
		"resourcequotas": {
			declared:        `{hard: {pods: 20, requests.cpu: 4000m, limits.memory: 8Gi}, scopes: [NotTerminating]}`,
			changed:         `{hard: {pods: 30, requests.cpu: 4000m}, scopes: [NotTerminating]}`,
			manifest:        `{apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: 20, requests.cpu: 4, limits.memory: 8Gi}, scopes: [NotTerminating]}}`,
			changedManifest: `{apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: 30, requests.cpu: 4}, scopes: [NotTerminating]}}`,
			drift:           `{"spec":{"hard":{"pods":"1","requests.cpu":null}}}`,
		},
		"limitranges": {
			declared:        `{limits: [{type: Container, max: {cpu: 2000m}, default: {memory: 128Mi}}, {type: Pod, max: {memory: 1Gi}}]}`,
			changed:         `{limits: [{type: Container, max: {cpu: 3}}]}`,
			manifest:        `{apiVersion: v1, kind: LimitRange, spec: {limits: [{type: Container, max: {cpu: 2}, default: {memory: 128Mi}}, {type: Pod, max: {memory: 1Gi}}]}}`,
			changedManifest: `{apiVersion: v1, kind: LimitRange, spec: {limits: [{type: Container, max: {cpu: 3}}]}}`,
			drift:           `{"spec":{"limits":[{"type":"Container","max":{"cpu":"1"}}]}}`,
		},
		"namespaces": {
			declared:        `{labels: {team: a, gone: b}, finalizers: [kubernetes]}`,
			changed:         `{labels: {team: b}}`,
			manifest:        `{apiVersion: v1, kind: Namespace, metadata: {labels: {team: a, gone: b}}, spec: {finalizers: [kubernetes]}}`,
			changedManifest: `{apiVersion: v1, kind: Namespace, metadata: {labels: {team: b}}}`,
			drift:           `{"metadata":{"labels":{"team":"c"}}}`,
		},
	}
}

func grantingKinds() map[string]kindCase {
	const readers, lister = `{apiGroups: [""], resources: [configmaps], verbs: [get, list], resourceNames: [a]}`, `{apiGroups: [""], resources: [pods], verbs: [list]}`
	return map[string]kindCase{
		"roles": {
			declared:        `{rules: [` + readers + `, ` + lister + `]}`,
			changed:         `{rules: [` + lister + `]}`,
			manifest:        `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [` + readers + `, ` + lister + `]}`,
			changedManifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [` + lister + `]}`,
			drift:           `{"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]},{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`,
		},
		"clusterroles": {
			declared:        `{rules: [` + lister + `, {nonResourceURLs: [/healthz], verbs: [get]}]}`,
			changed:         `{rules: [` + readers + `]}`,
			manifest:        `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [` + lister + `, {nonResourceURLs: [/healthz], verbs: [get]}]}`,
			changedManifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [` + readers + `]}`,
			drift:           `{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["list"],"resourceNames":["x"]},{"nonResourceURLs":["/healthz"],"verbs":["get"]}]}`,
		},
		"rolebindings": {
			declared: `{roleRef: {kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: a}, {kind: User, name: u}]}`,
			changed:  `{roleRef: {kind: ClusterRole, name: view}, subjects: [{kind: Group, name: g}]}`,
			manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view},
				subjects: [{kind: ServiceAccount, name: a, namespace: NS}, {kind: User, name: u}]}`,
			changedManifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view},
				subjects: [{kind: Group, name: g}]}`,
			drift: `{"subjects":[{"kind":"User","name":"evil","apiGroup":"rbac.authorization.k8s.io"}]}`,
		},
		"clusterrolebindings": {
			declared: `{roleRef: {kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: a, namespace: "{{ .metadata.namespace }}"}, {kind: User, name: u}]}`,
			changed:  `{roleRef: {kind: ClusterRole, name: view}, subjects: []}`,
			manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view},
				subjects: [{kind: ServiceAccount, name: a, namespace: NS}, {kind: User, name: u}]}`,
			changedManifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}`,
			drift:           `{"subjects":[{"kind":"User","name":"u","apiGroup":"rbac.authorization.k8s.io"},{"kind":"User","name":"evil","apiGroup":"rbac.authorization.k8s.io"}]}`,
		},
	}
}
