package kinds

import (
	"testing"
)

func TestBuildAutoscalers(t *testing.T) {
	for name, tc := range map[string]buildCase{
		"an HPA takes its target from the box": {
			key: "hpas", short: `{maxReplicas: 5, cpu: 75}`, workload: &Workload{Kind: "StatefulSet", Name: "db"},
			want: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: team}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 75}}}]
`,
		},
		"an HPA with everything": {
			key: "hpas",
			short: `
target: {kind: ReplicationController, name: old}
minReplicas: "2"
maxReplicas: 5
memory: 80
cpu: 70
metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 512Mi}}}]
behavior: {scaleDown: {stabilizationWindowSeconds: 600}}
`,
			want: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: team}
spec:
  scaleTargetRef: {apiVersion: v1, kind: ReplicationController, name: old}
  minReplicas: 2
  maxReplicas: 5
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}
  - {type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 80}}}
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 512Mi}}}
  behavior: {scaleDown: {stabilizationWindowSeconds: 600}}
`,
		},
		"an HPA of another kind": {
			key: "hpas", short: `{maxReplicas: 5}`, spec: `{scaleTargetRef: {apiVersion: example.com/v1, kind: Fleet, name: a}}`,
			want: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: team}
spec:
  scaleTargetRef: {apiVersion: example.com/v1, kind: Fleet, name: a}
  maxReplicas: 5
`,
		},
	} {
		t.Run(name, tc.run)
	}
}

func TestBuildPolicies(t *testing.T) {
	for name, tc := range map[string]buildCase{
		"a PDB selects the pods of the workload": {
			key: "pdbs", short: `{minAvailable: 50%}`, workload: &Workload{Kind: "Deployment", Name: "front"},
			want: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: team}
spec:
  minAvailable: 50%
  selector: {matchLabels: {app.kubernetes.io/name: front, app.kubernetes.io/instance: shop}}
`,
		},
		"a PDB for all pods": {
			key: "pdbs", short: `{maxUnavailable: "0", selector: {}}`, spec: `{unhealthyPodEvictionPolicy: AlwaysAllow}`,
			want: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: team}
spec: {maxUnavailable: 0, selector: {}, unhealthyPodEvictionPolicy: AlwaysAllow}
`,
		},
		"a PDB whose spec selects": {
			key: "pdbs", short: `{}`, spec: `{minAvailable: 1, selector: {matchLabels: {a: b}}}`, workload: &Workload{Kind: "Deployment", Name: "front"},
			want: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: team}
spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}
`,
		},
		"a NetworkPolicy for the pods of the workload": {
			key: "networkpolicies", short: `{policyTypes: [Ingress, Egress], ingress: [{}], egress: []}`, workload: &Workload{Kind: "DaemonSet", Name: "front"},
			want: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: team}
spec:
  podSelector: {matchLabels: {app.kubernetes.io/name: front, app.kubernetes.io/instance: shop}}
  policyTypes: [Ingress, Egress]
  ingress: [{}]
`,
		},
		"a NetworkPolicy with everything": {
			key: "networkpolicies",
			short: `
podSelector: {}
ingress: [{from: [{podSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}], ports: [{port: "8080"}, {port: http, protocol: TCP}]}]
egress: [{to: [{namespaceSelector: {matchLabels: {a: b}}}]}]
`,
			want: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: team}
spec:
  podSelector: {}
  ingress: [{from: [{podSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}], ports: [{port: 8080}, {port: http, protocol: TCP}]}]
  egress: [{to: [{namespaceSelector: {matchLabels: {a: b}}}]}]
`,
		},
	} {
		t.Run(name, tc.run)
	}
}

func TestBuildRoles(t *testing.T) {
	for name, tc := range map[string]buildCase{
		"a Role": {
			key: "roles", short: `{rules: [{apiGroups: [""], resources: [pods], verbs: [get], resourceNames: [a]}]}`,
			want: `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web, namespace: team}
rules: [{apiGroups: [""], resources: [pods], verbs: [get], resourceNames: [a]}]
`,
		},
		"a ClusterRole": {
			key: "clusterroles", short: `{rules: [{nonResourceURLs: [/healthz], verbs: [get]}]}`,
			want: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: web}
rules: [{nonResourceURLs: [/healthz], verbs: [get]}]
`,
		},
		"a RoleBinding gives accounts its namespace": {
			key: "rolebindings",
			short: `
roleRef: {kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: a}, {kind: ServiceAccount, name: b, namespace: other}, {kind: User, name: u, apiGroup: rbac.authorization.k8s.io}]
`,
			want: `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, namespace: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: a, namespace: team}
- {kind: ServiceAccount, name: b, namespace: other}
- {kind: User, name: u, apiGroup: rbac.authorization.k8s.io}
`,
		},
		"a ClusterRoleBinding": {
			key:   "clusterrolebindings",
			short: `{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: a, namespace: b}]}`,
			want: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: a, namespace: b}]
`,
		},
	} {
		t.Run(name, tc.run)
	}
}
