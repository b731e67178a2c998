package drift

import (
	"testing"
)

// TestDriftOfEachKind holds what is special to the kinds of the short forms.
func TestDriftOfEachKind(t *testing.T) {
	const (
		statefulSet, daemonSet = "apps/v1 StatefulSet", "apps/v1 DaemonSet"
		cronJob, autoscaler    = "batch/v1 CronJob", "autoscaling/v2 HorizontalPodAutoscaler"
		role, binding          = "rbac.authorization.k8s.io/v1 Role", "rbac.authorization.k8s.io/v1 ClusterRoleBinding"
		account, namespace     = "v1 ServiceAccount", "v1 Namespace"
		quota, limits          = "v1 ResourceQuota", "v1 LimitRange"
	)
	runDriftCases(t, NewComparer(nil), map[string]driftCase{
		"StatefulSetDefaults": {
			statefulSet, "spec: {serviceName: a, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}]}",
			`spec: {serviceName: a, podManagementPolicy: OrderedReady, updateStrategy: {type: RollingUpdate}, volumeClaimTemplates: [{apiVersion: v1, kind: PersistentVolumeClaim,
				metadata: {name: d, creationTimestamp: null}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeMode: Filesystem}, status: {phase: Pending}}]}`, nil,
		},
		"StatefulSetStrategy": {
			statefulSet, "spec: {updateStrategy: {type: OnDelete}}", "spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}", []string{"spec.updateStrategy.type"},
		},
		"StatefulSetPartition": {
			statefulSet, "spec: {updateStrategy: {rollingUpdate: {partition: 0}}}", "spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}}",
			[]string{"spec.updateStrategy.rollingUpdate.partition"},
		},
		"DaemonSetTolerations": {
			daemonSet, pod("{tolerations: [{operator: Exists}]}"), pod("{tolerations: [{operator: Exists}, {key: a}]}"), []string{"spec.template.spec.tolerations[1]"},
		},
		"DaemonSetMaxUnavailable": {
			daemonSet, `spec: {updateStrategy: {rollingUpdate: {maxUnavailable: "1"}}}`, "spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}", nil,
		},
		"CronJobDefaults": {
			cronJob, "spec: {schedule: '@daily', suspend: false, jobTemplate: {spec: {backoffLimit: 3}}}",
			"spec: {schedule: '@daily', suspend: false, concurrencyPolicy: Allow, failedJobsHistoryLimit: 1, jobTemplate: {metadata: {}, spec: {backoffLimit: 3}}}", nil,
		},
		"CronJobLimits": {
			cronJob, "spec: {successfulJobsHistoryLimit: 0}", "spec: {successfulJobsHistoryLimit: 3}", []string{"spec.successfulJobsHistoryLimit"},
		},
		"CronJobContainers": {
			cronJob, "spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: main, image: a}]}}}}}",
			"spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: side, image: c}, {name: main, image: b}]}}}}}",
			[]string{"spec.jobTemplate.spec.template.spec.containers[name=main].image"},
		},
		"AutoscalerMetrics": {
			autoscaler, "spec: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 75}}}]}",
			"spec: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}",
			[]string{"spec.metrics[0].resource.target.averageUtilization"},
		},
		"AutoscalerQuantity": {
			autoscaler, "spec: {metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 0.5Gi}}}]}",
			"spec: {metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 512Mi}}}]}", nil,
		},
		"AutoscalerBehavior": {
			autoscaler, "spec: {behavior: {scaleDown: {stabilizationWindowSeconds: 0}}}",
			"spec: {behavior: {scaleDown: {stabilizationWindowSeconds: 0, selectPolicy: Max, policies: [{type: Percent, value: 100, periodSeconds: 15}]}}}", nil,
		},
		"AutoscalerBehavior2": {
			autoscaler, "spec: {behavior: {scaleDown: {stabilizationWindowSeconds: 0}}}", "spec: {behavior: {scaleDown: {stabilizationWindowSeconds: 300}}}",
			[]string{"spec.behavior.scaleDown.stabilizationWindowSeconds"},
		},
		"BudgetOfAllPods":     {budget, "spec: {selector: {}}", "spec: {selector: {}}", nil},
		"BudgetOfFewer":       {budget, "spec: {selector: {}}", "spec: {selector: {matchLabels: {a: b}}}", []string{"spec.selector.matchLabels"}},
		"BudgetOfNone":        {budget, "spec: {selector: {}}", "spec: {}", []string{"spec.selector"}},
		"BudgetZero":          {budget, "spec: {maxUnavailable: 0}", "spec: {maxUnavailable: 1}", []string{"spec.maxUnavailable"}},
		"BudgetZeroAbsent":    {budget, "spec: {maxUnavailable: 0}", "spec: {minAvailable: 1}", []string{"spec.maxUnavailable"}},
		"PolicyOfAllPods":     {networkPolicy, "spec: {podSelector: {}}", "spec: {podSelector: {}, policyTypes: [Ingress]}", nil},
		"PolicyOfFewer":       {networkPolicy, "spec: {podSelector: {}}", "spec: {podSelector: {matchLabels: {a: b}}}", []string{"spec.podSelector.matchLabels"}},
		"PolicyLetsAllIn":     {networkPolicy, "spec: {ingress: [{}]}", "spec: {ingress: [{}]}", nil},
		"PolicyLetsFewerIn":   {networkPolicy, "spec: {ingress: [{}]}", "spec: {ingress: [{from: [{podSelector: {}}]}]}", []string{"spec.ingress[0].from"}},
		"PolicyLetsMoreOut":   {networkPolicy, "spec: {egress: [{}]}", "spec: {egress: [{}, {}]}", []string{"spec.egress[1]"}},
		"PolicyPeerIsWidened": {networkPolicy, "spec: {ingress: [{from: [{podSelector: {}}]}]}", "spec: {ingress: [{from: [{podSelector: {}, namespaceSelector: {}}]}]}", []string{"spec.ingress[0].from[0].namespaceSelector"}},
		"PolicyPortDefault":   {networkPolicy, "spec: {ingress: [{ports: [{port: 80}]}]}", "spec: {ingress: [{ports: [{port: 80, protocol: TCP}]}]}", nil},
		"PolicyPortIsWidened": {networkPolicy, "spec: {ingress: [{ports: [{port: 80}]}]}", "spec: {ingress: [{ports: [{port: 80, protocol: TCP, endPort: 99}]}]}", []string{"spec.ingress[0].ports[0].endPort"}},
		"PolicyBlockIsNarrow": {networkPolicy, "spec: {egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}", "spec: {egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}]}", []string{"spec.egress[0].to[0].ipBlock.except"}},
		"RoleRule":            {role, "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]", "rules: [{apiGroups: [''], resources: [pods], verbs: [get, list]}]", []string{"rules[0].verbs[1]"}},
		"RoleRuleIsAdded":     {role, "rules: [{verbs: [get]}]", "rules: [{verbs: [get]}, {verbs: ['*']}]", []string{"rules[1]"}},
		"RoleRuleIsNarrowed":  {role, "rules: [{verbs: [get]}]", "rules: [{verbs: [get], resourceNames: [a]}]", []string{"rules[0].resourceNames"}},
		"RoleWithoutRules":    {role, "rules: []", "rules: null", nil},
		"BindingDefaults":     {binding, "subjects: [{kind: User, name: u}]\nroleRef: {kind: ClusterRole, name: a}", "subjects: [{kind: User, name: u, apiGroup: rbac.authorization.k8s.io}]\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}", nil},
		"BindingSubject":      {binding, "subjects: [{kind: User, name: u}]", "subjects: [{kind: User, name: u}, {kind: User, name: v}]", []string{"subjects[1]"}},
		"AccountToken":        {account, "automountServiceAccountToken: false", "automountServiceAccountToken: true", []string{"automountServiceAccountToken"}},
		"AccountTokenAbsent":  {account, "automountServiceAccountToken: false", "secrets: [{name: a}]", []string{"automountServiceAccountToken"}},
		"AccountPullSecrets":  {account, "imagePullSecrets: [{name: a}]", "imagePullSecrets: [{name: b}, {name: a}]", []string{"imagePullSecrets[0].name", "imagePullSecrets[1]"}},
		"SecretKeyIsEmpty":    {secret, "data: {a: ''}", "data: {b: YQ==}", []string{"data.a"}},
		"SecretOfOthers":      {secret, "data: {a: YQ==}", "data: {a: YQ==, b: YQ==}", nil},
		"SecretImmutable":     {secret, "immutable: true", "type: Opaque", []string{"immutable"}},
		"ClaimClass":          {claim, "spec: {storageClassName: ''}", "spec: {storageClassName: fast}", []string{"spec.storageClassName"}},
		"ClaimDefaults":       {claim, "spec: {accessModes: [ReadWriteOnce]}", "spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, volumeName: pv}", nil},
		"NamespaceFinalizers": {namespace, "spec: {finalizers: [a.b/c]}", "spec: {finalizers: [a.b/c, kubernetes]}", []string{"spec.finalizers[1]"}},
		"QuotaQuantities":     {quota, "spec: {hard: {pods: '20', requests.cpu: 4000m}}", "spec: {hard: {pods: '20', requests.cpu: '4', secrets: '1'}}", nil},
		"QuotaQuantity":       {quota, "spec: {hard: {requests.memory: 8Gi}}", "spec: {hard: {requests.memory: 8G}}", []string{"spec.hard['requests.memory']"}},
		"LimitDefaults":       {limits, "spec: {limits: [{type: Container, max: {cpu: 1}}]}", "spec: {limits: [{type: Container, max: {cpu: '1'}, default: {cpu: '1'}, defaultRequest: {cpu: '1'}}]}", nil},
		"LimitOtherType":      {limits, "spec: {limits: [{type: Container}]}", "spec: {limits: [{type: Pod}]}", []string{"spec.limits[0].type"}},
	})
}
