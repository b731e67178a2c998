package pipeline

import (
	"testing"

	"github.com/onsi/gomega"
)

const (
	subdomainRule = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	labelRule     = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`
	keyRule       = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`
	prefixRule    = `prefix part ` + subdomainRule
	valueRule     = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`
	dataRule      = `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`
)

// TestWhatHasNoEffectIsRefused: nothing that a user writes is ignored.
func TestWhatHasNoEffectIsRefused(t *testing.T) {
	const once = "Forbidden: this object is made once, and all its fields are left alone afterwards; "
	cases := map[string]struct {
		box  string
		want []string
	}{
		"whenFalse where no gate deletes": {
			`onCreate: {configmaps: [{name: a, whenFalse: Delete}, {name: b, whenFalse: Keep, when: [{field: spec.tls, equals: true}]}, {name: c, reconcile: true, whenFalse: Delete, when: [{field: spec.tls, equals: true}]}]}
onReconcile: {configmaps: [{name: d, once: true, whenFalse: Delete, when: [{field: spec.tls, equals: true}]}, {name: g, whenFalse: Keep}]}
onDelete: {configmaps: [{name: e, whenFalse: Delete}, {name: f, whenFalse: Keep}]}`,
			[]string{
				"spec.onCreate.configmaps[0].whenFalse: Forbidden: this object is made once, and no gate deletes it; move it to onReconcile, or set reconcile: true, or remove whenFalse",
				"spec.onDelete.configmaps[0].whenFalse: Forbidden: a gate of onDelete says whether its object is made, and deletes none; remove it",
				"spec.onDelete.configmaps[1].whenFalse: Forbidden: a gate of onDelete says whether its object is made, and deletes none; remove it",
				"spec.onReconcile.configmaps[1].whenFalse: Forbidden: there is no gate that could be false; write when or anyOf, or remove whenFalse",
			},
		},
		"initial fields of what is made once": {
			`onCreate: {configmaps: [{name: a, initialFields: [data.x]}, {name: b, reconcile: true, initialFields: [data.x]}]}
onReconcile: {configmaps: [{name: c, once: true, initialFields: [data.x]}, {name: d, reconcile: false, initialFields: [data.x]}, {name: e, initialFields: [data.x]}]}
onDelete: {configmaps: [{name: f, initialFields: [data.x]}]}`,
			[]string{
				"spec.onCreate.configmaps[0].initialFields: " + once + "move it to onReconcile, or set reconcile: true, or remove initialFields",
				"spec.onDelete.configmaps[0].initialFields: " + once + "remove initialFields",
				"spec.onReconcile.configmaps[0].initialFields: " + once + "remove once, or remove initialFields",
				"spec.onReconcile.configmaps[1].initialFields: " + once + "remove reconcile: false, or remove initialFields",
			},
		},
		"adoption in a clean-up": {
			`onDelete: {configmaps: [{name: a, adopt: IfUnowned}, {name: b, adopt: Never}]}
onReconcile: {configmaps: [{name: c, adopt: IfUnowned}]}`,
			[]string{"spec.onDelete.configmaps[0].adopt: Forbidden: a clean-up takes over nothing that others made; remove it"},
		},
		"a namespace for what has none": {
			`onReconcile:
  namespaces: [{name: "{{ .metadata.namespace }}-a", namespace: b}]
  resources:
  - {namespace: b, manifest: {apiVersion: demo.example.com/v1, kind: Region, metadata: {name: "{{ .metadata.namespace }}"}}}
  - {manifest: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "{{ .metadata.namespace }}-1", namespace: "{{ .metadata.namespace }}"}}}
  - {manifest: {apiVersion: demo.example.com/v1, kind: Backup, metadata: {name: a, namespace: b}}}
  - {manifest: {apiVersion: demo.example.com/v1, kind: Unknown, metadata: {name: a, namespace: b}}}
cross:
- {name: a, apiVersion: demo.example.com/v1, kind: Region, selector: {name: a, namespace: b}}
- {name: b, apiVersion: v1, kind: Node, selector: {namespace: "{{ .metadata.namespace }}"}}
- {name: c, apiVersion: demo.example.com/v1, kind: Unknown, selector: {name: a, namespace: b}}
- {name: d, box: other, selector: {name: a, namespace: b}}
- {name: e, apiVersion: v1, kind: ConfigMap, selector: {name: a, namespace: b}}`,
			[]string{
				"spec.cross[0].selector.namespace: Forbidden: a Region is cluster-scoped and is in no namespace; remove it",
				"spec.cross[1].selector.namespace: Forbidden: a Node is cluster-scoped and is in no namespace; remove it",
				"spec.onReconcile.namespaces[0].namespace: Forbidden: a Namespace is cluster-scoped and goes into no namespace; remove it",
				"spec.onReconcile.resources[0].namespace: Forbidden: a Region is cluster-scoped and goes into no namespace; remove it",
				"spec.onReconcile.resources[1].manifest.metadata.namespace: Forbidden: a PriorityClass is cluster-scoped and goes into no namespace; remove it",
			},
		},
		"names and namespaces that can't be": {
			`onReconcile:
  configmaps: [{name: Bad_Name}, {name: a.b, namespace: "Bad NS"}, {name: "Bad-{{ .metadata.name }}"}, {name: "{{ .metadata.name }}-{{ .spec.host }}.a"}, {name: "{{ .spec.host | lower }}-A"}]
  services: [{name: a.b, port: 80, selector: {a: b}}, {name: 1a, port: 80, selector: {a: b}}]
  cronjobs: [{name: a1234567890123456789012345678901234567890123456789012, image: a, schedule: "* * * * *"}]
  roles: [{name: "system:a", rules: []}, {name: a/b, rules: []}]
  resources:
  - {manifest: {apiVersion: v1, kind: Secret, metadata: {name: Bad_Name, namespace: Bad}}}
  - {manifest: {apiVersion: demo.example.com/v1, kind: Backup, metadata: {name: Odd_Name}}}
cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {name: Bad_Name, namespace: Bad}}]`,
			[]string{
				`spec.cross[0].selector.name: Invalid value: "Bad_Name": a ConfigMap can't have this name: ` + subdomainRule,
				`spec.cross[0].selector.namespace: Invalid value: "Bad": not the name of a namespace: ` + labelRule,
				`spec.onReconcile.configmaps[0].name: Invalid value: "Bad_Name": a ConfigMap can't have this name: ` + subdomainRule,
				`spec.onReconcile.configmaps[1].namespace: Invalid value: "Bad NS": not the name of a namespace: ` + labelRule,
				`spec.onReconcile.configmaps[2].name: Invalid value: "Bad-{{ .metadata.name }}": a ConfigMap can't have such a name: ` + subdomainRule,
				`spec.onReconcile.cronjobs[0].name: Invalid value: "a1234567890123456789012345678901234567890123456789012": a CronJob can't have this name: must be no more than 52 characters`,
				`spec.onReconcile.resources[0].manifest.metadata.name: Invalid value: "Bad_Name": a Secret can't have this name: ` + subdomainRule,
				`spec.onReconcile.resources[0].manifest.metadata.namespace: Invalid value: "Bad": not the name of a namespace: ` + labelRule,
				`spec.onReconcile.roles[1].name: Invalid value: "a/b": a Role can't have this name: may not contain '/'`,
				`spec.onReconcile.services[0].name: Invalid value: "a.b": a Service can't have this name: must not contain dots`,
			},
		},
		"labels and annotations that can't be": {
			`commonLabels: {"a b": c, d: "e f", g: "{{ .metadata.name }} h"}
commonAnnotations: {"a b": c, Upper.Example.com/x: any text}
onReconcile:
  configmaps: [{labels: {"a b": c, d: "e f", Upper.Example.com/x: z}, annotations: {"a b": c, Upper.Example.com/x: any text}}]
  deployments: [{image: a, podLabels: {"a b": c, d: "e f", g: "{{ .metadata.name }}"}, podAnnotations: {"a b": c, d: any text}}]
  resources: [{manifest: {apiVersion: demo.example.com/v1, kind: Backup, metadata: {name: a, labels: {"a b": c, d: "e f"}, annotations: {"a b": c, d: any text}}}}]
cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {"a b": c, d: "e f"}}}]`,
			[]string{
				`spec.commonAnnotations[a b]: Invalid value: "a b": no key of annotations: ` + keyRule,
				`spec.commonLabels.d: Invalid value: "e f": ` + valueRule,
				`spec.commonLabels[a b]: Invalid value: "a b": no key of labels: ` + keyRule,
				`spec.cross[0].selector.matchLabels.d: Invalid value: "e f": ` + valueRule,
				`spec.cross[0].selector.matchLabels[a b]: Invalid value: "a b": no key of labels: ` + keyRule,
				`spec.onReconcile.configmaps[0].annotations[a b]: Invalid value: "a b": no key of annotations: ` + keyRule,
				`spec.onReconcile.configmaps[0].labels.d: Invalid value: "e f": ` + valueRule,
				`spec.onReconcile.configmaps[0].labels[Upper.Example.com/x]: Invalid value: "Upper.Example.com/x": no key of labels: ` + prefixRule,
				`spec.onReconcile.configmaps[0].labels[a b]: Invalid value: "a b": no key of labels: ` + keyRule,
				`spec.onReconcile.deployments[0].podAnnotations[a b]: Invalid value: "a b": no key of annotations: ` + keyRule,
				`spec.onReconcile.deployments[0].podLabels.d: Invalid value: "e f": ` + valueRule,
				`spec.onReconcile.deployments[0].podLabels[a b]: Invalid value: "a b": no key of labels: ` + keyRule,
				`spec.onReconcile.resources[0].manifest.metadata.annotations[a b]: Invalid value: "a b": no key of annotations: ` + keyRule,
				`spec.onReconcile.resources[0].manifest.metadata.labels.d: Invalid value: "e f": ` + valueRule,
				`spec.onReconcile.resources[0].manifest.metadata.labels[a b]: Invalid value: "a b": no key of labels: ` + keyRule,
			},
		},
		"keys of data that can't be": {
			`onReconcile:
  configmaps: [{data: {a/b: x, a.b: z}, binaryData: {c d: eA==}}]
  secrets: [{data: {a/b: x}}]
  resources: [{manifest: {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a/b: x}}}, {manifest: {apiVersion: demo.example.com/v1, kind: Backup, metadata: {name: a}, data: {a/b: x}}}]`,
			[]string{
				`spec.onReconcile.configmaps[0].binaryData[c d]: Invalid value: "c d": not a key that a ConfigMap takes: ` + dataRule,
				`spec.onReconcile.configmaps[0].data[a/b]: Invalid value: "a/b": not a key that a ConfigMap takes: ` + dataRule,
				`spec.onReconcile.resources[0].manifest.stringData[a/b]: Invalid value: "a/b": not a key that a Secret takes: ` + dataRule,
				`spec.onReconcile.secrets[0].data[a/b]: Invalid value: "a/b": not a key that a Secret takes: ` + dataRule,
			},
		},
		"common marks of a box without declarations": {
			`commonLabels: {a: "{{ .spec.imag }}"}
commonAnnotations: {a: "{{ nothing }}", orkestra.orkspace.io/applied: x}`,
			[]string{
				`spec.commonAnnotations.a: Invalid value: "{{ nothing }}": column 4: unknown function "nothing"`,
				`spec.commonAnnotations[orkestra.orkspace.io/applied]: Forbidden: Orkestra sets this itself; remove it`,
				`spec.commonLabels.a: Invalid value: "{{ .spec.imag }}": column 4: spec.imag: no such field in the CRD's schema, did you mean "image"?`,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, tc.box), Env{CRD: websites(t), Mapper: stubMapper(), AllowGrantingKinds: true})
			g.Expect(messages(errs)).To(gomega.Equal(tc.want))
		})
	}
}

// TestClusterScopedResourcesSayWhereThingsAre: nothing is said of kinds that nobody knows, whether there is a mapper or not.
func TestClusterScopedResourcesSayWhereThingsAre(t *testing.T) {
	crd := websites(t)
	crd.Namespaced = false
	box := boxOf(t, `onReconcile:
  namespaces: [{name: "{{ .metadata.name }}"}]
  configmaps: [{name: a}, {name: b, namespace: "{{ .metadata.name }}"}]
  resources:
  - {manifest: {apiVersion: v1, kind: Pod, metadata: {name: a}}}
  - {manifest: {apiVersion: v1, kind: Pod, metadata: {name: b, namespace: "{{ .metadata.name }}"}}}
  - {namespace: "{{ .metadata.name }}", manifest: {apiVersion: v1, kind: Pod, metadata: {name: c}}}
  - {manifest: {apiVersion: demo.example.com/v1, kind: Unknown, metadata: {name: a}}}
  - {manifest: {apiVersion: demo.example.com/v1, kind: Region, metadata: {name: a}}}
  - {manifest: {apiVersion: demo.example.com/v1, kind: Backup, metadata: {name: b}}}
cross:
- {name: a, apiVersion: v1, kind: ConfigMap, selector: {name: a}}
- {name: b, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: b}}}
- {name: c, apiVersion: v1, kind: Node, selector: {name: a}}
- {name: d, apiVersion: demo.example.com/v1, kind: Unknown, selector: {name: a}}
- {name: e, apiVersion: demo.example.com/v1, kind: Backup, selector: {name: a}}
- {name: f, box: other, selector: {name: a}}`)
	offline := []string{
		"spec.cross[0].selector.namespace: Required value: the resources are cluster-scoped: say in which namespace the object is",
		"spec.onReconcile.configmaps[0].namespace: Required value: the resources are cluster-scoped: say in which namespace the ConfigMap goes",
		"spec.onReconcile.resources[0].manifest.metadata.namespace: Required value: the resources are cluster-scoped: say in which namespace the Pod goes",
	}
	g := gomega.NewWithT(t)
	_, errs := Compile(box, Env{CRD: crd})
	g.Expect(messages(errs)).To(gomega.Equal(offline))
	_, errs = Compile(box, Env{CRD: crd, Mapper: stubMapper(), AllowGrantingKinds: true})
	g.Expect(messages(errs)).To(gomega.ConsistOf(append(offline,
		"spec.cross[4].selector.namespace: Required value: the resources are cluster-scoped: say in which namespace the object is",
		"spec.onReconcile.resources[5].manifest.metadata.namespace: Required value: the resources are cluster-scoped: say in which namespace the Backup goes")))
}
