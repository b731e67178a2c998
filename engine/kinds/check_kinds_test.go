package kinds

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestCheckOfEachKind(t *testing.T) {
	const bare, noSpecOf = "", `x.spec: Forbidden: not for this kind: a `
	for name, tc := range map[string]struct {
		key, short, spec string
		want             []string
	}{
		"claims without names, and with the same": {
			"statefulsets", `{image: a, volumeClaimTemplates: [{}, {metadata: {name: a}}, {metadata: {name: a}}, {metadata: {name: "{{ x }}"}}, "{{ x }}"]}`, bare,
			[]string{
				`x.volumeClaimTemplates[0].metadata.name: Required value: a name, by which volumeMounts find the claim`,
				`x.volumeClaimTemplates[2].metadata.name: Duplicate value: "a"`,
			},
		},
		"a DaemonSet's replicas": {
			"daemonsets", `{image: a, replicas: 1}`, bare, []string{`x.replicas: Forbidden: unknown field`},
		},
		"a CronJob without anything": {
			"cronjobs", `{}`, bare, []string{`x.image: Required value: an image`, `x.schedule: Required value: a schedule, such as "30 2 * * *"`},
		},
		"a CronJob's Job options": {
			"cronjobs", `{image: a, schedule: "{{ x }}", failurePolicy: Block, shedule: a}`, bare,
			[]string{`x.failurePolicy: Forbidden: unknown field`, `x.shedule: Forbidden: unknown field, did you mean "schedule"?`},
		},
		"a CronJob's container in the place of a Job's": {
			"cronjobs", `{schedule: "* * * * *"}`, `{template: {spec: {containers: [{name: a, image: b}]}}}`,
			[]string{`x.image: Required value: an image`, `x.spec.template: Forbidden: unknown field`},
		},
		"a Secret's spec":               {"secrets", `{data: {a: b}}`, `{}`, []string{noSpecOf + `Secret has no spec`}},
		"a ServiceAccount's spec":       {"serviceaccounts", `{}`, `{}`, []string{noSpecOf + `ServiceAccount has no spec`}},
		"a Role's spec":                 {"roles", `{}`, `{rules: []}`, []string{noSpecOf + `Role has no spec`}},
		"a ClusterRole's spec":          {"clusterroles", `{}`, `{}`, []string{noSpecOf + `ClusterRole has no spec`}},
		"a RoleBinding's spec":          {"rolebindings", `{roleRef: {kind: Role, name: a}}`, `{}`, []string{noSpecOf + `RoleBinding has no spec`}},
		"a ClusterRoleBinding's spec":   {"clusterrolebindings", `{roleRef: {kind: ClusterRole, name: a}}`, `{}`, []string{noSpecOf + `ClusterRoleBinding has no spec`}},
		"stringData":                    {"secrets", `{stringData: {a: b}}`, bare, []string{`x.stringData: Forbidden: unknown field`}},
		"a Secret's data that is a map": {"secrets", `{data: {a: {b: c}}}`, bare, []string{`x.data[a]: Invalid value: "object": want string`}},
		"the object's name of a field": {
			"serviceaccounts", `{automountTokn: false}`, bare, []string{`x.automountTokn: Forbidden: unknown field, did you mean "automountToken"?`},
		},
		"a claim without a size":  {"pvcs", `{}`, `{resources: {requests: {cpu: 1}}}`, []string{`x.storage: Required value: a size, such as 10Gi`}},
		"a claim of a wrong size": {"pvcs", `{storage: 10 Gi}`, bare, []string{`x.storage: Invalid value: "10 Gi": want quantity, such as 500m, 12G or 12Gi, got string`}},
		"a quantity in words of disks": {"deployments", `{image: a, resources: {limits: {memory: 12GB}}}`, bare,
			[]string{`x.resources.limits[memory]: Invalid value: "12GB": want quantity, such as 500m, 12G or 12Gi, got string`}},
		"a probe of a container": {"deployments", `{image: a, readinessProbe: {}}`, bare,
			[]string{`x.readinessProbe: Forbidden: unknown field; write probes: {readiness: …}`}},
		"kro's name of what is read": {"deployments", `{image: a, externalRef: {}}`, bare,
			[]string{`x.externalRef: Forbidden: unknown field; an object that is read and not made goes under spec.cross, as cross: [{name: …, apiVersion: …, kind: …, selector: {name: …}}], and is read as .cross.<name>`}},
		"kro's name of a gate": {"deployments", `{image: a, includeWhen: []}`, bare,
			[]string{`x.includeWhen: Forbidden: unknown field; write when: [{cel: …}]`}},
		"a Service's port in a container": {"deployments", `{image: a, ports: [{port: 80, targetPort: 80}]}`, bare, []string{
			`x.ports[0].port: Forbidden: unknown field; write containerPort: the port that the container listens on`,
			`x.ports[0].targetPort: Forbidden: unknown field; write containerPort: the port that the container listens on`,
		}},
		"a container's port of a Deployment": {"deployments", `{image: a, containerPort: 80}`, bare, []string{`x.containerPort: Forbidden: unknown field; write port`}},
		"a container's port in a Service": {"services", `{ports: [{containerPort: 80}]}`, bare,
			[]string{`x.ports[0].containerPort: Forbidden: unknown field; write port, and targetPort for the container's`}},
		"a pod template": {"deployments", `{image: a, template: {}}`, bare,
			[]string{`x.template: Forbidden: unknown field; a pod template goes under spec, as spec: {template: …}`}},
		"a schedule that is none": {"cronjobs", `{image: a, schedule: "61 * * * *"}`, bare,
			[]string{`x.schedule: Invalid value: "61 * * * *": the minute is "61": want *, or numbers from 0 to 59, as 5, 1-5, 1,5 or */5`}},
		"a schedule from a template":   {"cronjobs", `{image: a, schedule: "{{ .spec.schedule }}"}`, bare, nil},
		"a LimitRange without limits":  {"limitranges", `{}`, bare, []string{`x.limits: Required value: limits`}},
		"a NetworkPolicy's wrong rule": {"networkpolicies", `{ingress: [{form: []}]}`, bare, []string{`x.ingress[0].form: Forbidden: unknown field, did you mean "from"?`}},
		"a PDB without a number": {
			"pdbs", `{selector: {}}`, bare, []string{`x.minAvailable: Required value: minAvailable or maxUnavailable: without one, the budget allows everything`},
		},
		"a PDB with both": {
			"pdbs", `{minAvailable: 1, maxUnavailable: 0}`, bare,
			[]string{`x.maxUnavailable: Forbidden: maxUnavailable and minAvailable contradict each other: give one of them`},
		},
		"a Service's selector in a PDB": {
			"pdbs", `{minAvailable: 1, selector: {app: web}}`, bare, []string{`x.selector.app: Forbidden: unknown field`},
		},
		"an HPA without anything": {"hpas", `{}`, bare, []string{`x.maxReplicas: Required value: the highest number of pods`}},
		"an HPA of a DaemonSet": {
			"hpas", `{maxReplicas: 1, target: {kind: DaemonSet, name: a}}`, bare,
			[]string{`x.target.kind: Invalid value: "DaemonSet": want Deployment, ReplicaSet, ReplicationController or StatefulSet (others: spec.scaleTargetRef), got string`},
		},
		"an HPA of half a target": {
			"hpas", `{maxReplicas: 1, target: {}}`, bare,
			[]string{
				`x.target.kind: Required value: Deployment, ReplicaSet, ReplicationController or StatefulSet`,
				`x.target.name: Required value: the name of what is scaled`,
			},
		},
		"an HPA of templates": {"hpas", `{maxReplicas: 1, target: {kind: "{{ x }}", name: "{{ x }}"}}`, bare, nil},
		"a binding without a role": {
			"rolebindings", `{subjects: []}`, bare, []string{`x.roleRef: Required value: a role: {kind: Role, name: …}`},
		},
		"a binding of half a role": {
			"clusterrolebindings", `{roleRef: {kind: Role}, subjects: [{kind: ServiceAccount, name: a}, {kind: User, name: b}]}`, bare,
			[]string{
				`x.roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"`,
				`x.roleRef.name: Required value: the name of the role`,
				`x.subjects[0].namespace: Required value: the namespace of the ServiceAccount`,
			},
		},
		"a binding of templates": {"clusterrolebindings", `{roleRef: "{{ x }}", subjects: "{{ x }}"}`, bare, nil},
		"a rule's wrong field": {
			"roles", `{rules: [{apiGroup: [""], resources: [pods], verbs: [get]}]}`, bare,
			[]string{`x.rules[0].apiGroup: Forbidden: unknown field, did you mean "apiGroups"?`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range mustLookup(t, tc.key).Check(tree(t, tc.short), tree(t, tc.spec), templated, field.NewPath("x")) {
				got = append(got, e.Error())
			}
			NewWithT(t).Expect(got).To(Equal(tc.want))
		})
	}
}
