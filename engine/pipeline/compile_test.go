package pipeline

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// stubMapper knows one cluster-scoped and one namespaced kind besides the built-in ones.
func stubMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Region"}, meta.RESTScopeRoot)
	m.Add(schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Backup"}, meta.RESTScopeNamespace)
	m.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
	return m
}

func messages(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

func TestANullShortFieldIsAbsent(t *testing.T) {
	g := gomega.NewWithT(t)
	_, errs := Compile(boxOf(t, `onReconcile: {deployments: [{image: nginx, replicas: null}]}`), Env{CRD: websites(t)})
	g.Expect(messages(errs)).To(gomega.BeEmpty())
}

const celStands = "; cel stands in spec.values and in conditions: give the expression a name in spec.values, and write {{ .values.<name> }} here"

// celEntry is what else is said where an entry may be called cel.
const celEntry = "; for an entry called cel that holds this text, write the text as a template: {{ \"…\" }}"

// What a list and a map are made by.
const (
	waysToList = `{{ concat .spec.a .spec.b }}, {{ append .spec.a "b" }} or {{ collect "name" .spec.a }}`
	waysToMap  = `{{ merge .spec.a .spec.b }} or {{ dict "a" .spec.b }}`
)

// oneAction is the end of what is said of a text where a list or a map is wanted.
func oneAction(ways string) string {
	return "; what is more than one action is a text, which is never read as YAML: write one action, such as " + ways +
		", or give it a name by cel in spec.values, and write {{ .values.<name> }} here"
}

func TestMistakes(t *testing.T) {
	const operatorNames = "equals, notEquals, gt, gte, lt, lte, between, notBetween, in, notIn, contains, notContains, prefix, suffix, regex, exists, notExists, typeOf, olderThan, youngerThan"
	cases := map[string]struct {
		box  string
		want []string
	}{
		"unknown group key": {
			`onReconcile: {deploymentz: [{image: nginx}]}`,
			[]string{`spec.onReconcile.deploymentz: Invalid value: "deploymentz": unknown key, did you mean "deployments"?`},
		},
		"group key that nothing is near to": {
			`onCreate: {wombats: [{}]}`,
			[]string{`spec.onCreate.wombats: Invalid value: "wombats": unknown key; a kind that has no key goes under resources, as a manifest`},
		},
		"kind of somebody's CRD as a group key": {
			`onReconcile: {certificates: [{}]}`,
			[]string{`spec.onReconcile.certificates: Invalid value: "certificates": unknown key; a kind that has no key goes under resources, as a manifest`},
		},
		"status path with status in front": {
			`status: {fields: [{path: status.phase, value: x}]}`,
			[]string{`spec.status.fields[0].path: Invalid value: "status.phase": the path is below status already: leave out "status.", and write "phase"`},
		},
		"manifest whose name is no text": {
			`onReconcile: {resources: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: true}}}]}`,
			[]string{`spec.onReconcile.resources[0].manifest.metadata.name: Invalid value: "boolean": wanted a string; YAML takes words such as y, no and on for booleans, so quote it`},
		},
		"unknown short field": {
			`onReconcile: {deployments: [{imge: nginx, image: nginx}]}`,
			[]string{`spec.onReconcile.deployments[0].imge: Forbidden: unknown field, did you mean "image"?`},
		},
		"unknown field of a map in a list": {
			`onReconcile: {deployments: [{image: nginx, env: [{nam: A}]}]}`,
			[]string{`spec.onReconcile.deployments[0].env[0].nam: Forbidden: unknown field, did you mean "name"?`},
		},
		"wrong literal type": {
			`onReconcile: {deployments: [{image: nginx, replicas: many}]}`,
			[]string{`spec.onReconcile.deployments[0].replicas: Invalid value: "many": want 32-bit integer, got string`},
		},
		"unknown operator": {
			`when: [{field: spec.tls, operator: equalz, value: true}]`,
			[]string{`spec.when[0].operator: Invalid value: "equalz": unknown operator, did you mean "equals"? (valid: ` + operatorNames + `)`},
		},
		"unknown function": {
			`onReconcile: {configmaps: [{name: "{{ .metadata.name | uper }}"}]}`,
			[]string{`spec.onReconcile.configmaps[0].name: Invalid value: "{{ .metadata.name | uper }}": column 21: unknown function "uper", did you mean "upper"?`},
		},
		"path that the schema rules out, in a template": {
			`onReconcile: {configmaps: [{data: {a: "{{ .spec.imag }}"}}]}`,
			[]string{`spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ .spec.imag }}": column 4: spec.imag: no such field in the CRD's schema, did you mean "image"?`},
		},
		"path that the schema rules out, in a condition": {
			`onReconcile: {configmaps: [{when: [{field: spec.tsl, operator: exists}]}]}`,
			[]string{`spec.onReconcile.configmaps[0].when[0].field: Invalid value: "spec.tsl": spec.tsl: no such field in the CRD's schema, did you mean "tls"?`},
		},
		"path that the schema rules out, in normalize": {
			`normalize: {spec: {imag: x}}`,
			[]string{`spec.normalize.spec[imag]: Invalid value: "spec.imag": spec.imag: no such field in the CRD's schema, did you mean "image"?`},
		},
		"path that the schema rules out, in mutation": {
			`mutation: {rules: [{field: spec.replica, default: 1}]}`,
			[]string{`spec.mutation.rules[0].field: Invalid value: "spec.replica": spec.replica: no such field in the CRD's schema, did you mean "replicas"?`},
		},
		"mutation outside of spec": {
			`mutation: {rules: [{field: metadata.name, override: x}]}`,
			[]string{`spec.mutation.rules[0].field: Invalid value: "metadata.name": wanted a path below spec`},
		},
		"mutation with both and with neither": {
			`mutation: {rules: [{field: spec.image, default: a, override: b}, {field: spec.image}]}`,
			[]string{
				`spec.mutation.rules[0]: Invalid value: "spec.image": give exactly one of default and override`,
				`spec.mutation.rules[1]: Invalid value: "spec.image": give exactly one of default and override`,
			},
		},
		"mutation with a value of another type": {
			`mutation: {rules: [{field: spec.replicas, default: several}]}`,
			[]string{`spec.mutation.rules[0].default: Invalid value: "several": wanted integer, got string "several"`},
		},
		"children before there are any": {
			`normalize: {spec: {image: "{{ .children.deployment.metadata.name }}"}}
onReconcile: {deployments: [{image: nginx}]}`,
			[]string{`spec.normalize.spec[image]: Invalid value: "{{ .children.deployment.metadata.name }}": column 4: children is not available here: this step runs before it is read`},
		},
		"duplicate ids": {
			`onCreate: {configmaps: [{name: config}]}
onReconcile: {configmaps: [{name: config}, {id: twice, name: a}], services: [{id: twice, name: b, port: 80, selector: {a: b}}]}`,
			[]string{
				"spec.onReconcile.configmaps[0]: Duplicate value: \"configmaps/config\": spec.onCreate.configmaps[0] has the same id; give each an `id`, or names that differ",
				"spec.onReconcile.services[0]: Duplicate value: \"twice\": spec.onReconcile.configmaps[1] has the same id; give each an `id`, or names that differ",
			},
		},
		"two of one kind without names": {
			`onReconcile: {configmaps: [{data: {a: b}}, {data: {c: d}}]}`,
			[]string{"spec.onReconcile.configmaps[1]: Duplicate value: \"configmaps\": spec.onReconcile.configmaps[0] has the same id; give each an `id`, or names that differ"},
		},
		"explicit id that is the name of a kind": {
			`onReconcile: {configmaps: [{id: deployment}, {id: configmaps, name: other}]}`,
			[]string{
				`spec.onReconcile.configmaps[0].id: Invalid value: "deployment": the name of a kind can't be an id: templates would mistake one for the other; give it another, or none, and read .children.<kind>`,
				`spec.onReconcile.configmaps[1].id: Invalid value: "configmaps": the name of a kind can't be an id: templates would mistake one for the other; give it another, or none, and read .children.<kind>`,
			},
		},
		"bad patterns of namespaces": {
			`namespaces: {include: ["team-[", Team, "team-*"], exclude: [kube_system]}`,
			[]string{
				`spec.namespaces.exclude[0]: Invalid value: "kube_system": not the name of a namespace, nor a pattern of one`,
				`spec.namespaces.include[0]: Invalid value: "team-[": not a glob pattern: use *, ? and [a-z]`,
				`spec.namespaces.include[1]: Invalid value: "Team": not the name of a namespace, nor a pattern of one`,
			},
		},
		"bad selector": {
			`selector: {matchExpressions: [{key: a, operator: Near}]}`,
			[]string{`spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"Near"}]}: "Near" is not a valid label selector operator`},
		},
		"bad finalizers": {
			`finalizers: [cleanup, orkestra.orkspace.io/cleanup, "a b/c"]`,
			[]string{
				`spec.finalizers[0]: Invalid value: "cleanup": a finalizer of a custom resource is domain/name`,
				`spec.finalizers[1]: Invalid value: "orkestra.orkspace.io/cleanup": Orkestra adds its own finalizer`,
				`spec.finalizers[2]: Invalid value: "a b/c": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
			},
		},
		"several workloads for what needs one": {
			`onReconcile: {deployments: [{name: web, image: a}], statefulsets: [{name: db, image: a, serviceName: ""}], daemonsets: [{name: logs, image: a}],
				hpas: [{maxReplicas: 3}], pdbs: [{minAvailable: 1}], networkpolicies: [{}]}`,
			[]string{
				`spec.onReconcile.hpas[0]: Required value: this box declares several scalable workloads ("deployments/web", "statefulsets/db"); set workload to the id of one, or set target`,
				`spec.onReconcile.networkpolicies[0]: Required value: this box declares several workloads ("daemonsets/logs", "deployments/web", "statefulsets/db"); set workload to the id of one, or set podSelector`,
				`spec.onReconcile.pdbs[0]: Required value: this box declares several workloads ("daemonsets/logs", "deployments/web", "statefulsets/db"); set workload to the id of one, or set selector`,
			},
		},
		"no workload that could be scaled": {
			`onReconcile: {daemonsets: [{image: a}], hpas: [{maxReplicas: 3}]}`,
			[]string{`spec.onReconcile.hpas[0]: Required value: this box declares no scalable workload that target could be taken from; set it`},
		},
		"a StatefulSet without a Service": {
			`onReconcile: {statefulsets: [{image: a}]}`,
			[]string{`spec.onReconcile.statefulsets[0]: Required value: this box declares no Service that serviceName could be taken from; set it`},
		},
		"a StatefulSet with several Services": {
			`onReconcile: {statefulsets: [{image: a}], services: [{name: a}, {name: b}]}`,
			[]string{`spec.onReconcile.statefulsets[0]: Required value: this box declares several Services ("services/a", "services/b"); set service to the id of one, or set serviceName`},
		},
		"several workloads for the default of a Service": {
			`onReconcile: {deployments: [{name: web, image: a}, {name: db, image: b}], services: [{port: 80}]}`,
			[]string{`spec.onReconcile.services[0]: Required value: this box declares several workloads ("deployments/web", "deployments/db"); set workload to the id of one, or set selector`},
		},
		"no workload for the default of a Service": {
			`onReconcile: {services: [{port: 80}]}`,
			[]string{`spec.onReconcile.services[0]: Required value: this box declares no workload that selector could be taken from; set it`},
		},
		"no Service for the default of an Ingress": {
			`onReconcile: {ingresses: [{host: example.com}]}`,
			[]string{`spec.onReconcile.ingresses[0]: Required value: this box declares no Service that serviceName and servicePort could be taken from; set it`},
		},
		"kind that grants rights": {
			`onReconcile: {resources: [{manifest: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}}]}`,
			[]string{`spec.onReconcile.resources[0]: Forbidden: Role grants rights; start the manager with --allow-granting-kinds to let boxes make it, or name an account that may in spec.serviceAccountRef`},
		},
		"kind of our own": {
			`onReconcile: {resources: [{manifest: {apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox, metadata: {name: "{{ .metadata.namespace }}"}}}]}`,
			[]string{`spec.onReconcile.resources[0]: Forbidden: OperatorBox grants rights; only an account that has the right may make it: name one in spec.serviceAccountRef`},
		},
		"kind that the box serves": {
			`onReconcile: {resources: [{manifest: {apiVersion: demo.example.com/v1, kind: Website, metadata: {name: other}}}]}`,
			[]string{`spec.onReconcile.resources[0]: Forbidden: a box can't make children of the kind that it serves (Website): it would never end`},
		},
		"cluster-scoped child whose name lacks the namespace": {
			`onReconcile: {resources: [
  {manifest: {apiVersion: demo.example.com/v1, kind: Region, metadata: {name: "{{ .metadata.name }}"}}},
  {manifest: {apiVersion: demo.example.com/v1, kind: Region, metadata: {name: "{{ .metadata.namespace }}-{{ .metadata.name }}"}}},
  {manifest: {apiVersion: demo.example.com/v1, kind: Backup, metadata: {name: "{{ .metadata.name }}"}}}]}`,
			[]string{
				`spec.onReconcile.resources[0].name: Invalid value: "{{ .metadata.name }}": Region is cluster-scoped and the resources are not: its name must hold {{ .metadata.namespace }}, or resources of two namespaces would share it`,
				"spec.onReconcile.resources[0]: Forbidden: Region is a cluster-scoped kind that may grant rights; start the manager with --allow-granting-kinds to let boxes make it, or name an account that may in spec.serviceAccountRef",
				"spec.onReconcile.resources[1]: Forbidden: Region is a cluster-scoped kind that may grant rights; start the manager with --allow-granting-kinds to let boxes make it, or name an account that may in spec.serviceAccountRef",
			},
		},
		"status field that the schema does not know": {
			`status: {fields: [{path: phaze, value: x}]}`,
			[]string{`spec.status.fields[0].path: Invalid value: "phaze": status.phaze: no such field in the CRD's schema, did you mean "phase"?`},
		},
		"status fields that Orkestra writes itself": {
			`status: {fields: [{path: conditions, value: []}, {path: observedGeneration, value: 1}]}`,
			[]string{
				`spec.status.fields[0].path: Invalid value: "conditions": Orkestra writes this field itself; a condition of your own has the path conditions[Available]`,
				`spec.status.fields[1].path: Invalid value: "observedGeneration": Orkestra writes this field itself`,
			},
		},
		"two status fields with one path": {
			`status: {fields: [{path: phase, value: A, when: [{field: spec.tls, operator: exists}]}, {path: phase, value: B}]}`,
			[]string{`spec.status.fields[1].path: Duplicate value: "phase": several fields write this path; give each of them a gate (when or anyOf): the first that holds is written`},
		},
		"once against reconcile": {
			`onReconcile: {configmaps: [{once: true, reconcile: true}]}
onDelete: {configmaps: [{reconcile: true}]}`,
			[]string{
				"spec.onDelete.configmaps[0].reconcile: Forbidden: onDelete makes its objects once",
				"spec.onReconcile.configmaps[0].once: Forbidden: once and reconcile: true contradict each other",
			},
		},
		"replace on a Job that is made once": {
			`onReconcile: {jobs: [{image: a, once: true, replace: true}]}
onCreate: {jobs: [{name: second, image: a, replace: true}]}
onDelete: {jobs: [{image: a, replace: true}]}`,
			[]string{
				"spec.onCreate.jobs[0].replace: Forbidden: this Job is made once and does not follow its declaration; move it to onReconcile, or set reconcile: true, or remove replace",
				"spec.onDelete.jobs[0].replace: Forbidden: this Job is made once and does not follow its declaration; remove replace",
				"spec.onReconcile.jobs[0].replace: Forbidden: this Job is made once and does not follow its declaration; remove once, or remove replace",
			},
		},
		"replace on what holds more than itself": {
			`onReconcile:
  pvcs: [{storage: 1Gi, replace: true}]
  namespaces: [{name: "{{ .metadata.namespace }}-x", replace: true}]
  resources: [{manifest: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}}, replace: true}]
  secrets: [{once: true, replace: true, data: {a: "{{ randAlphaNum 8 }}"}}]`,
			[]string{
				"spec.onReconcile.namespaces[0].replace: Forbidden: all that is in a Namespace would go with it, so that it is never replaced; remove replace",
				"spec.onReconcile.pvcs[0].replace: Forbidden: a PersistentVolumeClaim holds data and is never replaced; remove replace",
				"spec.onReconcile.resources[0].replace: Forbidden: a PersistentVolumeClaim holds data and is never replaced; remove replace",
				"spec.onReconcile.secrets[0].replace: Forbidden: this Secret is made once and does not follow its declaration; remove once, or remove replace",
			},
		},
		"references by id": {
			`onReconcile:
  deployments: [{id: web, image: a}, {id: tenant, image: a, name: "{{ .item }}", forEach: {field: spec.tags}}]
  daemonsets: [{id: logs, image: a}]
  configmaps: [{id: settings}]
  services: [{id: a, workload: wep}, {id: b, name: b, workload: settings}, {id: c, name: c, workload: tenant}, {id: d, name: d, workload: "{{ .spec.image }}"}, {id: e, name: e, workload: web, selector: {}}]
  hpas: [{workload: logs, maxReplicas: 2}, {id: h, name: h, workload: web, maxReplicas: 2, spec: {scaleTargetRef: {name: x}}}]
  ingresses: [{id: i, service: web}, {id: j, name: j, service: a, serviceName: x, servicePort: 80}]
  networkpolicies: [{workload: only}]
onDelete: {deployments: [{id: only, image: a}], jobs: [{image: a}]}`,
			[]string{
				`spec.onReconcile.hpas[0].workload: Invalid value: "logs": this is the id of a DaemonSet declared in spec.onReconcile.daemonsets[0]; wanted that of a Deployment or StatefulSet`,
				`spec.onReconcile.hpas[1].workload: Forbidden: workload and spec.scaleTargetRef contradict each other: give one of them`,
				`spec.onReconcile.ingresses[0].service: Invalid value: "web": this is the id of a Deployment declared in spec.onReconcile.deployments[0]; wanted that of a Service`,
				`spec.onReconcile.ingresses[1].serviceName: Forbidden: serviceName and service contradict each other: give one of them`,
				`spec.onReconcile.networkpolicies[0].workload: Invalid value: "only": no declaration has this id`,
				`spec.onReconcile.services[0].workload: Invalid value: "wep": no declaration has this id, did you mean "web"?`,
				`spec.onReconcile.services[1].workload: Invalid value: "settings": this is the id of a ConfigMap declared in spec.onReconcile.configmaps[0]; wanted that of a Deployment, StatefulSet or DaemonSet`,
				`spec.onReconcile.services[2].workload: Invalid value: "tenant": this declaration stands for several objects: go over the same items with the same forEach`,
				`spec.onReconcile.services[3].workload: Invalid value: "{{ .spec.image }}": wanted the id of a declaration, which no template can give`,
				`spec.onReconcile.services[4].selector: Forbidden: selector and workload contradict each other: give one of them`,
			},
		},
		"initial fields": {
			`onReconcile:
  deployments:
  - image: a
    initialFields: [spec.replica, spec.template.spec.containers, "spec.template.spec.containers[0].image", spec.template.spec.containers.image, spec.replicas.x, spec.replicas, spec]
  configmaps: [{initialFields: [kind, metadata.name, "metadata.labels['orkestra.orkspace.io/box']", "metadata.annotations['a/b']", data.x, "data['x']", "..", status.x]}]`,
			[]string{
				`spec.onReconcile.configmaps[0].initialFields[0]: Invalid value: "kind": kind can't be left to others; wanted a field such as spec.replicas`,
				`spec.onReconcile.configmaps[0].initialFields[1]: Invalid value: "metadata.name": of metadata only labels and annotations can be named, one by one: metadata.annotations['example.com/note']`,
				`spec.onReconcile.configmaps[0].initialFields[2]: Invalid value: "metadata.labels['orkestra.orkspace.io/box']": this is Orkestra's own; remove it`,
				`spec.onReconcile.configmaps[0].initialFields[5]: Invalid value: "data['x']": data.x is in this list, and one of the two is part of the other`,
				`spec.onReconcile.configmaps[0].initialFields[6]: Invalid value: "..": reading path "..": a name is missing beside a dot`,
				`spec.onReconcile.configmaps[0].initialFields[7]: Invalid value: "status.x": status can't be left to others; wanted a field such as spec.replicas`,
				`spec.onReconcile.deployments[0].initialFields[0]: Invalid value: "spec.replica": a Deployment has no such field, did you mean "replicas"?`,
				`spec.onReconcile.deployments[0].initialFields[2]: Invalid value: "spec.template.spec.containers[0].image": fields in lists can't be named: an index is another entry when somebody adds one`,
				`spec.onReconcile.deployments[0].initialFields[3]: Invalid value: "spec.template.spec.containers.image": spec.template.spec.containers is a list, and fields in lists can't be named`,
				`spec.onReconcile.deployments[0].initialFields[4]: Invalid value: "spec.replicas.x": spec.replicas has no fields`,
				`spec.onReconcile.deployments[0].initialFields[6]: Invalid value: "spec": spec.template.spec.containers is in this list, and one of the two is part of the other`,
			},
		},
		"failure policy outside of onDelete": {
			`onCreate: {jobs: [{image: a, failurePolicy: Continue}]}`,
			[]string{"spec.onCreate.jobs[0].failurePolicy: Forbidden: only jobs of onDelete have a failure policy"},
		},
		"unknown kind of a group that Kubernetes has": {
			`onReconcile: {resources: [{manifest: {apiVersion: apps/v1, kind: Deploymnt, metadata: {name: a}}}]}`,
			[]string{`spec.onReconcile.resources[0].manifest.kind: Invalid value: "Deploymnt": apps/v1 has no such kind, did you mean "Deployment"?`},
		},
		"texts where lists and maps are wanted": {
			`{commonLabels: "a: {{ .spec.host }}", onReconcile: {deployments: [{image: a, args: "{{ range .spec.tags }}{{ . }} {{ end }}", podLabels: "{{ .spec.host }}{{ .spec.host }}", env: [{name: A, value: "{{ .spec.host }}-b"}]}],
				resources: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: "{{ if .spec.tls }}a: b{{ end }}"}}]}}`,
			[]string{
				`spec.commonLabels: Invalid value: "a: {{ .spec.host }}": want a map of texts, got a text` + oneAction(waysToMap),
				`spec.onReconcile.deployments[0].args: Invalid value: "{{ range .spec.tags }}{{ . }} {{ end }}": want array, got a text` + oneAction(waysToList),
				`spec.onReconcile.deployments[0].podLabels: Invalid value: "{{ .spec.host }}{{ .spec.host }}": want object, got a text` + oneAction(waysToMap),
				`spec.onReconcile.resources[0].manifest.data: Invalid value: "{{ if .spec.tls }}a: b{{ end }}": want object, got a text` + oneAction(waysToMap),
			},
		},
		"texts where the CRD wants lists and maps": {
			`{normalize: {spec: {database: "name: {{ .spec.host }}"}}, mutation: {rules: [{field: spec.tags, default: "{{ .spec.host }}{{ .spec.host }}"},
				{field: spec.image, default: "{{ .spec.host }}:{{ .spec.replicas }}"}, {field: spec.any, default: "{{ .spec.host }}{{ .spec.host }}"}]},
				status: {fields: [{path: "conditions[Own]", value: {status: "{{ .spec.tls }}"}}, {path: many, value: ["{{ .spec.tags }}", "a {{ .spec.host }}"]}, {path: named, value: {a: "{{ .spec.host }}-{{ .spec.host }}"}}]}}`,
			[]string{
				`spec.mutation.rules[0].default: Invalid value: "{{ .spec.host }}{{ .spec.host }}": wanted array, got a text` + oneAction(waysToList),
				`spec.normalize.spec[database]: Invalid value: "name: {{ .spec.host }}": wanted object, got a text` + oneAction(waysToMap),
				`spec.status.fields[1].value[1]: Invalid value: "a {{ .spec.host }}": wanted array, got a text` + oneAction(waysToList),
				`spec.status.fields[2].value.a: Invalid value: "{{ .spec.host }}-{{ .spec.host }}": wanted object, got a text` + oneAction(waysToMap),
			},
		},
		"expressions where values are wanted": {
			`{normalize: {spec: {host: {cel: self.spec.image}}}, mutation: {rules: [{field: spec.replicas, default: {cel: "1"}}, {field: spec.database, default: {cel: "{{ .spec.host }}"}},
				{field: spec.database, override: {name: {cel: self.spec.host}}}, {field: spec.tags, default: [{cel: self.spec.host}]}, {field: spec.any, default: {cel: self.spec.host}}]},
				status: {fields: [{path: phase, value: {cel: self.spec.image}}, {path: named, value: {cel: self.spec.database}}]},
				onReconcile: {deployments: [{image: a, replicas: {cel: self.spec.replicas}, resources: {cel: self.spec.any}, args: {cel: self.spec.tags}}],
					configmaps: [{data: {a: {cel: self.spec.host}}, when: [{field: spec.host, equals: {cel: self.spec.image}}]}]}}`,
			[]string{
				`spec.mutation.rules[0].default: Invalid value: {"cel":"1"}: wanted integer, got an expression` + celStands,
				`spec.mutation.rules[1].default: Invalid value: {"cel":"{{ .spec.host }}"}: wanted object, got an expression` + celStands,
				`spec.mutation.rules[2].override.name: Invalid value: {"cel":"self.spec.host"}: wanted string, got an expression` + celStands,
				`spec.mutation.rules[3].default[0]: Invalid value: {"cel":"self.spec.host"}: wanted string, got an expression` + celStands,
				`spec.normalize.spec[host]: Invalid value: {"cel":"self.spec.image"}: wanted string, got an expression` + celStands,
				`spec.onReconcile.configmaps[0].data[a]: Invalid value: "object": want string` + celStands,
				`spec.onReconcile.configmaps[0].when[0].equals: Invalid value: {"cel":"self.spec.image"}: an object can't be converted to string, the field's type` + celStands,
				`spec.onReconcile.deployments[0].args: Invalid value: "object": want array` + celStands,
				`spec.onReconcile.deployments[0].replicas: Invalid value: "object": want 32-bit integer` + celStands,
				`spec.onReconcile.deployments[0].resources: Invalid value: "an expression": want object` + celStands,
				`spec.status.fields[0].value: Invalid value: {"cel":"self.spec.image"}: wanted string, got an expression` + celStands,
				`spec.status.fields[1].value: Invalid value: {"cel":"self.spec.database"}: wanted object, got an expression` + celStands + celEntry,
			},
		},
		"expressions where maps of texts are wanted": {
			`{commonLabels: {cel: self.spec.any}, onReconcile: {configmaps: [{name: a, labels: {tier: {cel: self.spec.host}}, data: {cel: "self.spec.tags.map(t, t)"}},
				{name: b, labels: {cel: enabled}, annotations: {cel: "{{ .spec.host }}", other: self.spec.host}, data: {cel: '{{ "self.spec.host" }}'}},
				{name: c, annotations: {cel: values.a}, data: {cel: object.spec.replicas < 5}}], deployments: [{image: a, podLabels: {cel: self.spec.host}}]}}`,
			[]string{
				`spec.commonLabels: Invalid value: "self.spec.any": want a map of texts, got an expression` + celStands + celEntry,
				`spec.onReconcile.configmaps[0].data: Invalid value: "an expression": want object` + celStands + celEntry,
				`spec.onReconcile.configmaps[0].labels.tier: Invalid value: "object": wanted a text` + celStands,
				`spec.onReconcile.configmaps[2].annotations: Invalid value: "values.a": want a map of texts, got an expression` + celStands + celEntry,
				`spec.onReconcile.deployments[0].podLabels: Invalid value: "an expression": want object` + celStands + celEntry,
			},
		},
		"an expression as the value of a name": {
			`{values: [{name: all, value: {cel: self.spec.tags}}, {name: rule, value: {rule: {cel: self.spec.tags}}}, {name: made, value: '{{ dict "cel" "self.spec.tags" }}'}],
				onReconcile: {configmaps: [{data: {a: "{{ toJson (list .values.all .values.rule .values.made) }}"}}]}}`,
			[]string{`spec.values[0].value: Invalid value: {"cel":"self.spec.tags"}: an expression stands beside the name: write {name: all, cel: …}; for a map with an entry called cel, {{ dict "cel" "…" }}`},
		},
		"ids that are the kind of another child, too": {
			`{onReconcile: {deployments: [{id: deployment, name: a, image: x}, {name: b, image: x}], configmaps: [{id: configmap, forEach: {field: spec.tags}, name: "{{ .item }}"}],
				resources: [{id: pod, manifest: {apiVersion: v1, kind: Pod, metadata: {name: a}}}]}, onDelete: {resources: [{manifest: {apiVersion: v1, kind: Pod, metadata: {name: b}}}]}}`,
			[]string{
				`spec.onReconcile.configmaps[0].id: Invalid value: "configmap": the name of a kind can't be the id of a loop: templates would take its children for the only one of that kind; give it another id, or none`,
				`spec.onReconcile.deployments[0].id: Invalid value: "deployment": templates know children of kind Deployment by this name (spec.onReconcile.deployments[1]); give it another id, or none`,
				`spec.onReconcile.resources[0].id: Invalid value: "pod": templates know children of kind Pod by this name (spec.onDelete.resources[0]); give it another id, or none`,
			},
		},
		"the id of a loop that is the kind of its manifest": {
			`onReconcile: {resources: [{id: sub, forEach: {field: spec.tags}, manifest: {apiVersion: example.com/v1, kind: Sub, metadata: {name: "{{ .item }}"}}}]}`,
			[]string{`spec.onReconcile.resources[0].id: Invalid value: "sub": the name of a kind can't be the id of a loop: templates would take its children for the only one of that kind; give it another id, or none`},
		},
		"ids that are kinds of the box's children": {
			`onReconcile: {configmaps: [{id: pod, name: a}, {id: cat, name: b}], resources: [{id: pods, manifest: {apiVersion: v1, kind: Pod, metadata: {name: a}}},
				{manifest: {apiVersion: example.com/v1, kind: Cat, metadata: {name: a}}}]}`,
			[]string{
				`spec.onReconcile.configmaps[0].id: Invalid value: "pod": templates know children of kind Pod by this name (spec.onReconcile.resources[0]); give it another id, or none`,
				`spec.onReconcile.configmaps[1].id: Invalid value: "cat": templates know children of kind Cat by this name (spec.onReconcile.resources[1]); give it another id, or none`,
				`spec.onReconcile.resources[0].id: Invalid value: "pods": templates know children of kind Pod by this name (spec.onReconcile.resources[0]); give it another id, or none`,
			},
		},
		"a gate that waits for its own child": {
			`onReconcile: {configmaps: [{id: a, when: [{field: children.a.data.x, equals: y}]}]}`,
			[]string{`spec.onReconcile.configmaps[0]: Invalid value: "a → a": these wait for each other's children by ` + "`when`, `after`" + ` or what their templates read: none of them would ever be made; let one of them not wait, as with ` + "`default`"},
		},
		"Jobs that wait for each other to complete": {
			`onReconcile: {jobs: [{id: a, name: a, image: x, when: [{field: "{{ jobSucceeded .children.b }}", equals: true}]},
				{id: b, name: b, image: x, when: [{field: "{{ jobSucceeded .children.a }}", equals: true}]}]}`,
			[]string{`spec.onReconcile.jobs[0]: Invalid value: "a → b → a": these wait for each other's children by ` + "`when`, `after`" + ` or what their templates read: none of them would ever be made; let one of them not wait, as with ` + "`default`"},
		},
		"gates in a ring": {
			`onReconcile: {configmaps: [{id: a, when: [{field: children.b, operator: exists}]}, {id: c, when: [{field: children.a, operator: exists}]}],
				services: [{id: b, port: 80, selector: {a: b}, when: [{field: children.c, operator: exists}]}]}`,
			[]string{`spec.onReconcile.configmaps[0]: Invalid value: "a → b → c → a": these wait for each other's children by ` + "`when`, `after`" + ` or what their templates read: none of them would ever be made; let one of them not wait, as with ` + "`default`"},
		},
		"a gate of the box that waits for a child": {
			`{when: [{field: children.deployment.status.readyReplicas, greaterThan: 0}], onReconcile: {deployments: [{name: "{{ .metadata.name }}", image: a}]}}`,
			[]string{`spec.onReconcile.deployments[0]: Invalid value: "deployments[0] → deployments[0]": these wait for each other's children by ` + "`when`, `after`" + ` or what their templates read: none of them would ever be made; let one of them not wait, as with ` + "`default`"},
		},
		"paths whose schemas have another type": {
			`{values: [{name: size, value: "{{ .spec.replicas }}"}, {name: all, value: {a: "{{ .spec.tags }}"}}], onReconcile: {
				deployments: [{id: web, image: a, replicas: "{{ .spec.tags }}", command: "{{ .spec.host }}", podLabels: "{{ .spec.tags }}", spec: {paused: "{{ .spec.replicas }}", template: {spec: {volumes: "{{ .values.size }}"}}}}],
				services: [{port: "{{ .spec.tls }}", selector: "{{ .children.web.spec.selector.matchLabels }}"}],
				configmaps: [{name: "a-{{ .item }}", forEach: {field: spec.tags}, data: "{{ .item }}"}, {name: b, data: {a: "{{ .values.all.a }}"}},
					{name: "{{ .spec.tags }}", labels: {a: "{{ .spec.tags }}", b: "{{ .spec.replicas }}"}, annotations: {a.io/b: "{{ .children.web.status }}"}},
					{name: c, labels: "{{ .spec.host }}"}],
				resources: [{manifest: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: "{{ .children.web.status }}"}}}],
				patches: [{target: {apiVersion: v1, kind: ConfigMap, name: a}, patch: {data: "{{ .spec.tags }}"}},
					{target: {apiVersion: v1, kind: ConfigMap, name: "{{ .values.all.a }}"}, patch: {data: {a: b}}}]},
				commonLabels: {a: "{{ .spec.tags }}", b: "{{ .spec.replicas }}"},
				cross: [{name: site, box: sites, selector: {name: "{{ .spec.tags }}"}}]}`,
			[]string{
				`spec.commonLabels.a: Invalid value: "{{ .spec.tags }}": want string, got array, as its schema says`,
				`spec.cross[0].selector.name: Invalid value: "{{ .spec.tags }}": want string, got array, as its schema says`,
				`spec.onReconcile.configmaps[0].data: Invalid value: "{{ .item }}": want object, got string, as its schema says`,
				`spec.onReconcile.configmaps[1].data[a]: Invalid value: "{{ .values.all.a }}": want string, got array, as its schema says`,
				`spec.onReconcile.configmaps[2].annotations[a.io/b]: Invalid value: "{{ .children.web.status }}": want string, got object, as its schema says`,
				`spec.onReconcile.configmaps[2].labels.a: Invalid value: "{{ .spec.tags }}": want string, got array, as its schema says`,
				`spec.onReconcile.configmaps[2].name: Invalid value: "{{ .spec.tags }}": want string, got array, as its schema says`,
				`spec.onReconcile.configmaps[3].labels: Invalid value: "{{ .spec.host }}": want object, got string, as its schema says`,
				`spec.onReconcile.deployments[0].command: Invalid value: "{{ .spec.host }}": want array, got string, as its schema says`,
				`spec.onReconcile.deployments[0].podLabels: Invalid value: "{{ .spec.tags }}": want object, got array, as its schema says`,
				`spec.onReconcile.deployments[0].replicas: Invalid value: "{{ .spec.tags }}": want 32-bit integer, got array, as its schema says`,
				`spec.onReconcile.deployments[0].spec.paused: Invalid value: "{{ .spec.replicas }}": want boolean, got number, as its schema says`,
				`spec.onReconcile.deployments[0].spec.template.spec.volumes: Invalid value: "{{ .values.size }}": want array, got number, as its schema says`,
				`spec.onReconcile.patches[0].patch.data: Invalid value: "{{ .spec.tags }}": want object, got array, as its schema says`,
				`spec.onReconcile.patches[1].target.name: Invalid value: "{{ .values.all.a }}": want string, got array, as its schema says`,
				`spec.onReconcile.resources[0].manifest.spec.containers: Invalid value: "{{ .children.web.status }}": want array, got object, as its schema says`,
				`spec.onReconcile.services[0].port: Invalid value: "{{ .spec.tls }}": want 32-bit integer, got boolean, as its schema says`,
			},
		},
		"a status value of the wrong type": {
			`status: {fields: [{path: replicas, value: abc}, {path: phase, value: {a: b}}]}`,
			[]string{
				`spec.status.fields[0].value: Invalid value: "\"abc\"": status.replicas: wanted integer, got string`,
				`spec.status.fields[1].value: Invalid value: "{\"a\":\"b\"}": status.phase: wanted string, got object`,
			},
		},
		"a time that is over before it begins": {
			`deletion: {timeout: -5m}`,
			[]string{`spec.deletion.timeout: Invalid value: "-5m0s": wanted a duration above zero, such as 5m`},
		},
		"unknown child": {
			`onReconcile: {deployments: [{image: a}], configmaps: [{data: {a: "{{ .children.deploymnt.metadata.name }}"}}]}`,
			[]string{`spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ .children.deploymnt.metadata.name }}": column 4: children.deploymnt: this box declares no such child, did you mean "deployment"?`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			plan, errs := Compile(boxOf(t, tc.box), Env{CRD: websites(t), Mapper: stubMapper()})
			g.Expect(plan).To(gomega.BeNil())
			g.Expect(messages(errs)).To(gomega.Equal(tc.want))
		})
	}
}

// TestFieldsThatAreCalledCEL: what a schema knows by that name, or may know, is no expression of the box.
func TestFieldsThatAreCalledCEL(t *testing.T) {
	g := gomega.NewWithT(t)
	crd := websites(t)
	crd.Schema.Properties["spec"].Properties["rule"] = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"cel": {Type: "string"}}}
	_, errs := Compile(boxOf(t, `
mutation: {rules: [{field: spec.rule, default: {cel: self.spec.x > 1}}, {field: spec.any, default: [{cel: self.spec.x}]}]}
onReconcile:
  resources:
  - manifest: {apiVersion: example.com/v1, kind: Rule, metadata: {name: a}, spec: {cel: "self.spec.x > 1", rules: [{cel: "self.spec.x"}]}}
`), Env{CRD: crd, Mapper: stubMapper()})
	g.Expect(messages(errs)).To(gomega.BeEmpty())
}

func TestGrantingKindsMayBeAllowed(t *testing.T) {
	g := gomega.NewWithT(t)
	box := boxOf(t, `onReconcile: {resources: [{manifest: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rules: []}}]}`)
	_, errs := Compile(box, Env{CRD: websites(t), AllowGrantingKinds: true})
	g.Expect(messages(errs)).To(gomega.BeEmpty())
}

func TestNamespacesOfAClusterScopedKind(t *testing.T) {
	g := gomega.NewWithT(t)
	crd := websites(t)
	crd.Namespaced = false
	_, errs := Compile(boxOf(t, `namespaces: {include: [a]}`), Env{CRD: crd})
	g.Expect(messages(errs)).To(gomega.Equal([]string{"spec.namespaces: Forbidden: websites.demo.example.com is cluster-scoped; select by labels"}))
}

const manyMistakes = `
dependsOn: [{name: website}]
namespaces: {include: ["["], exclude: ["["]}
finalizers: [x]
normalize: {spec: {imag: x, hots: y}}
commonLabels: {a: "{{ .spec.x1 }}", b: "{{ .spec.x2 }}"}
when: [{field: spec.tsl, operator: exists}]
onCreate: {zz: [{}], yy: [{}]}
onReconcile:
  configmaps: [{name: a, labels: {l1: "{{ .spec.x3 }}", l2: "{{ .spec.x4 }}"}, data: {d1: "{{ .spec.x5 }}", d2: "{{ .spec.x6 }}"}}]
  deployments: [{imge: a, imgae: b}]
status: {fields: [{path: phaze, value: x}]}
`

func TestAllMistakesAtOnceAndAlwaysTheSame(t *testing.T) {
	g := gomega.NewWithT(t)
	var first []string
	for i := range 30 {
		_, errs := Compile(boxOf(t, manyMistakes), Env{CRD: websites(t)})
		got := messages(errs)
		if i == 0 {
			first = got
		}
		g.Expect(got).To(gomega.Equal(first))
	}
	all := strings.Join(first, "\n")
	for _, path := range []string{
		"spec.dependsOn[0].name:", "spec.namespaces.include[0]:", "spec.namespaces.exclude[0]:", "spec.finalizers[0]:",
		"spec.normalize.spec[imag]:", "spec.normalize.spec[hots]:", "spec.commonLabels.a:", "spec.commonLabels.b:",
		"spec.when[0].field:", "spec.onCreate.zz:", "spec.onCreate.yy:", "spec.onReconcile.configmaps[0].labels.l1:",
		"spec.onReconcile.configmaps[0].labels.l2:", "spec.onReconcile.configmaps[0].data.d1:", "spec.onReconcile.configmaps[0].data.d2:",
		"spec.onReconcile.deployments[0].imge:", "spec.onReconcile.deployments[0].imgae:", "spec.status.fields[0].path:",
	} {
		g.Expect(all).To(gomega.ContainSubstring(path))
	}
}

func TestPlan(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
finalizers: [example.com/a, example.com/b]
namespaces: {include: [team-a], exclude: [team-b]}
onCreate: {configmaps: [{name: seed}, {name: kept, reconcile: true}]}
onReconcile: {services: [{port: 80}], deployments: [{image: nginx}]}
`)
	g.Expect(plan.Finalizers).To(gomega.Equal([]string{"example.com/a", "example.com/b", v1alpha1.Finalizer}))
	g.Expect(plan.ChildKinds).To(gomega.Equal([]schema.GroupVersionKind{configMapKind, serviceKind, deploymentKind}))
	g.Expect(plan.OnCreateIDs).To(gomega.Equal([]string{"configmaps/seed"}))
	g.Expect(plan.Runtime).To(gomega.Equal(stage.Runtime{Workers: 3, Resync: time.Minute, FailureThreshold: 5}))
	g.Expect(plan.Selection.Namespaces()).To(gomega.Equal([]string{"team-a"}))
	g.Expect(plan.Selection.Selects(website(t, ""))).To(gomega.BeTrue())
	g.Expect(plan.ReadsStatus).To(gomega.BeFalse())
	g.Expect(plan.Required()[0].Resources).To(gomega.Equal([]string{"websites"}))
	g.Expect(plan.Required()).To(gomega.HaveLen(6))
	g.Expect(boxspec.Revision(boxOf(t, `{}`))).NotTo(gomega.Equal(plan.Revision))
}

// The events about resources are told as the account, so it needs the right to.
func TestAnAccountNeedsTheRightToTellEvents(t *testing.T) {
	g := gomega.NewWithT(t)
	events := rbacv1.PolicyRule{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}
	g.Expect(planOf(t, `{}`).Required()).NotTo(gomega.ContainElement(gomega.HaveField("PolicyRule", events)))
	plan := planOf(t, `serviceAccountRef: {name: shop, namespace: team-a}`)
	g.Expect(plan.Required()).To(gomega.ContainElement(gomega.HaveField("PolicyRule", events)))
	g.Expect(plan.Account).To(gomega.Equal(identity.Account{Name: "shop", Namespace: "team-a"}))
}

func TestDeletingTheCRDNeedsTheRightToDeleteItsResources(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(planOf(t, `{}`).Required()[0].Verbs).NotTo(gomega.ContainElement("delete"))
	g.Expect(planOf(t, `crd: {deletionPolicy: Delete}`).Required()[0].Verbs).To(gomega.ContainElement("delete"))
}

func TestCleanupPlansServeDeletionsOfBoxesThatNeverCompiled(t *testing.T) {
	g := gomega.NewWithT(t)
	box := boxOf(t, manyMistakes)
	plan, err := CompileCleanup(box, Env{CRD: websites(t)})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(plan.CleanupOnly).To(gomega.BeTrue())
	g.Expect(plan.OnCreateIDs).To(gomega.BeNil())
	g.Expect(plan.Finalizers).To(gomega.Equal([]string{v1alpha1.Finalizer}), "those of the box may be the mistake")
}
