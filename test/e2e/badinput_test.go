package e2e_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// mistake is a box spec and the one message that its author reads.
type mistake struct{ spec, message string }

// badSpecs are mistakes that the compiler finds. Each message says where, what was found and what to write instead.
var badSpecs = map[string]mistake{
	"unknown short field": {
		`{onReconcile: {deployments: [{imgae: "nginx:1"}]}}`,
		`2 mistakes: spec.onReconcile.deployments[0].image: Required value: an image; spec.onReconcile.deployments[0].imgae: unknown field, did you mean "image"?`},
	"unknown short field, deep inside": {
		`{onReconcile: {deployments: [{image: "nginx:1", env: [{nam: A}]}]}}`,
		`spec.onReconcile.deployments[0].env[0].nam: unknown field, did you mean "name"?`},
	"unknown field of spec": {
		`{onReconcile: {deployments: [{image: "nginx:1", spec: {replicass: 1}}]}}`,
		`spec.onReconcile.deployments[0].spec.replicass: unknown field, did you mean "replicas"?`},
	"short field of another kind": {
		`{onReconcile: {services: [{port: 80, selector: {a: b}, image: "nginx:1"}]}}`,
		`spec.onReconcile.services[0].image: unknown field`},
	"wrong type": {
		`{onReconcile: {deployments: [{image: "nginx:1", replicas: many}]}}`,
		`spec.onReconcile.deployments[0].replicas: Invalid value: "many": want 32-bit integer, got string`},
	"constant that the API server refuses": {
		`{onReconcile: {deployments: [{image: "nginx:1", port: 70000, replicas: -1}], services: [{type: Loadbalancer}]}}`,
		`3 mistakes: spec.onReconcile.deployments[0].port: Invalid value: "70000": want a number from 1 to 65535; ` +
			`spec.onReconcile.deployments[0].replicas: Invalid value: "-1": want a number that is not negative; ` +
			`spec.onReconcile.services[0].type: Invalid value: "Loadbalancer": want ClusterIP, ExternalName, LoadBalancer or NodePort, did you mean "LoadBalancer"?`},
	"missing field": {
		`{onReconcile: {deployments: [{replicas: 1}]}}`,
		`spec.onReconcile.deployments[0].image: Required value: an image`},
	"contradicting fields": {
		`{onReconcile: {deployments: [{image: "nginx:1", port: 80, ports: [{containerPort: 80}]}]}}`,
		`spec.onReconcile.deployments[0].port: port and ports contradict each other: give one of them`},
	"field of a Job in a CronJob": {
		`{onReconcile: {cronjobs: [{image: "nginx:1", schedule: "* * * * *", failurePolicy: Continue}]}}`,
		`spec.onReconcile.cronjobs[0].failurePolicy: unknown field`},
	"several workloads for an HPA": {
		`{onReconcile: {deployments: [{name: a, image: "nginx:1"}], statefulsets: [{name: b, image: "nginx:1", serviceName: ""}], hpas: [{maxReplicas: 3}]}}`,
		`spec.onReconcile.hpas[0]: Required value: this box declares several scalable workloads ("deployments/a", "statefulsets/b"); set workload to the id of one, or set target`},
	"spec of a kind that has none": {
		`{onReconcile: {secrets: [{data: {a: b}, spec: {c: d}}]}}`,
		`spec.onReconcile.secrets[0].spec: not for this kind: a Secret has no spec`},
	"unknown function": {
		`{onReconcile: {configmaps: [{data: {a: "{{ .spec.image | uper }}"}}]}}`,
		`spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ .spec.image | uper }}": column 18: unknown function "uper", did you mean "upper"?`},
	"unknown schema path": {
		`{onReconcile: {configmaps: [{data: {a: "{{ .spec.imgae }}"}}]}}`,
		`spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ .spec.imgae }}": column 4: spec.imgae: no such field in the CRD's schema, did you mean "image"?`},
	"unknown schema path in a gate": {
		`{onReconcile: {configmaps: [{data: {a: b}, when: [{field: spec.tsl, equals: true}]}]}}`,
		`spec.onReconcile.configmaps[0].when[0].field: Invalid value: "spec.tsl": spec.tsl: no such field in the CRD's schema, did you mean "tls"?`},
	"unknown schema path in the gate of the box": {
		`{when: [{field: spec.tsl, equals: true}], onReconcile: {configmaps: [{data: {a: b}}]}}`,
		`spec.when[0].field: Invalid value: "spec.tsl": spec.tsl: no such field in the CRD's schema, did you mean "tls"?`},
	"unknown root": {
		`{onReconcile: {configmaps: [{data: {a: "{{ .specs.image }}"}}]}}`,
		`spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ .specs.image }}": column 4: .specs: no such name in a template, did you mean "spec"?`},
	"unknown child": {
		`{onReconcile: {deployments: [{image: x}], configmaps: [{data: {a: "{{ .children.deploymnt.status.replicas }}"}}]}}`,
		`spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ .children.deploymnt.status.replicas }}": column 4: children.deploymnt: this box declares no such child, did you mean "deployment"?`},
	"unknown child in a gate": {
		`{onReconcile: {configmaps: [{id: config, data: {a: b}}], resources: [{manifest: {apiVersion: v1, kind: ServiceAccount}, when: [{field: children.confg.data, operator: exists}]}]}}`,
		`spec.onReconcile.resources[0].when[0].field: Invalid value: "children.confg.data": children.confg: this box declares no such child, did you mean "config"?`},
	"unknown normalize path": {
		`{normalize: {spec: {imgae: x}}}`,
		`spec.normalize.spec[imgae]: Invalid value: "spec.imgae": spec.imgae: no such field in the CRD's schema, did you mean "image"?`},
	"normalize value of the wrong type": {
		`{normalize: {spec: {replicas: many}}}`,
		`spec.normalize.spec[replicas]: Invalid value: "many": wanted integer, got string "many"`},
	"unknown mutation path": {
		`{mutation: {rules: [{field: spec.imgae, default: x}]}}`,
		`spec.mutation.rules[0].field: Invalid value: "spec.imgae": spec.imgae: no such field in the CRD's schema, did you mean "image"?`},
	"mutation without a value": {
		`{mutation: {rules: [{field: spec.image}]}}`,
		`spec.mutation.rules[0]: Invalid value: "spec.image": give exactly one of default and override`},
	"mutation of something else than spec": {
		`{mutation: {rules: [{field: metadata.name, default: x}]}}`,
		`spec.mutation.rules[0].field: Invalid value: "metadata.name": wanted a path below spec`},
	"children read before they are made": {
		`{mutation: {rules: [{field: spec.image, default: "{{ .children.deployment.metadata.name }}"}]}}`,
		`spec.mutation.rules[0].default: Invalid value: "{{ .children.deployment.metadata.name }}": column 4: children is not available here: this step runs before it is read`},
	"value that does not fit the field": {
		`{validation: {rules: [{field: spec.replicas, operator: lte, value: many}]}}`,
		`spec.validation.rules[0].value: Invalid value: "many": wants a number, quantity, duration or RFC 3339 time, got a string`},
	"condition without an operator": {
		`{validation: {rules: [{field: spec.replicas}]}}`,
		`spec.validation.rules[0].operator: Required value: say how the field is compared`},
	"two operators": {
		`{validation: {rules: [{field: spec.replicas, equals: 1, greaterThan: 2}]}}`,
		`spec.validation.rules[0]: Invalid value: "equals, greaterThan": give one short form, not several`},
	"bad regular expression": {
		`{validation: {rules: [{field: spec.image, regex: "["}]}}`,
		`spec.validation.rules[0].regex: Invalid value: "[": not a regular expression (RE2): missing closing ]`},
	"duplicate id": {
		`{onReconcile: {configmaps: [{id: one, data: {a: b}}, {id: one, name: other, data: {a: b}}]}}`,
		"spec.onReconcile.configmaps[1]: Duplicate value: \"one\": spec.onReconcile.configmaps[0] has the same id; give each an `id`, or names that differ"},
	"two declarations without names": {
		`{onReconcile: {configmaps: [{data: {a: b}}, {data: {a: c}}]}}`,
		"spec.onReconcile.configmaps[1]: Duplicate value: \"configmaps\": spec.onReconcile.configmaps[0] has the same id; give each an `id`, or names that differ"},
	"id that is the name of a kind": {
		`{onReconcile: {configmaps: [{id: deployment, data: {a: b}}]}}`,
		`spec.onReconcile.configmaps[0].id: Invalid value: "deployment": the name of a kind can't be an id: templates would mistake one for the other; give it another, or none, and read .children.<kind>`},
	"id that is the name of the manifest's kind": {
		`{onReconcile: {resources: [{id: pod, manifest: {apiVersion: v1, kind: Pod, metadata: {name: a}}}, {id: other, manifest: {apiVersion: v1, kind: Pod, metadata: {name: b}}}]}}`,
		`spec.onReconcile.resources[0].id: Invalid value: "pod": templates know children of kind Pod by this name (spec.onReconcile.resources[1]); give it another id, or none`},
	"text of several actions for a list of the resource": {
		`{mutation: {rules: [{field: spec.tags, default: "{{ .spec.image }}{{ .spec.image }}"}]}}`,
		`spec.mutation.rules[0].default: Invalid value: "{{ .spec.image }}{{ .spec.image }}": wanted array, got a text; what is more than one action is a text, which is never read as YAML: ` +
			`write one action, such as {{ concat .spec.a .spec.b }}, {{ append .spec.a "b" }} or {{ collect "name" .spec.a }}, or give it a name by cel in spec.values, and write {{ .values.<name> }} here`},
	"expression as a value": {
		`{onReconcile: {deployments: [{image: x, replicas: {cel: self.spec.replicas}}]}}`,
		`spec.onReconcile.deployments[0].replicas: Invalid value: "object": want 32-bit integer` +
			`; cel stands in spec.values and in conditions: give the expression a name in spec.values, and write {{ .values.<name> }} here`},
	"template that ends too early": {
		`{onReconcile: {configmaps: [{data: {a: "{{ .spec.image "}}]}}`,
		`spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ .spec.image": column 1: unclosed action`},
	"template with a stray word": {
		`{onReconcile: {configmaps: [{data: {a: "{{ if }}x{{ end }}"}}]}}`,
		`spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ if }}x{{ end }}": column 1: missing value for if`},
	"bad namespace pattern": {
		`{namespaces: {include: ["team-["]}}`,
		`spec.namespaces.include[0]: Invalid value: "team-[": not a glob pattern: use *, ? and [a-z]`},
	"bad namespace name": {
		`{namespaces: {exclude: [Kube_System]}}`,
		`spec.namespaces.exclude[0]: Invalid value: "Kube_System": not the name of a namespace, nor a pattern of one`},
	"bad selector": {
		`{selector: {matchExpressions: [{key: a, operator: In}]}}`,
		`spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"In"}]}: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty`},
	"bad finalizer": {
		`{finalizers: [cleanup]}`,
		`spec.finalizers[0]: Invalid value: "cleanup": a finalizer of a custom resource is domain/name`},
	"unknown status path": {
		`{status: {fields: [{path: pahse, value: x}]}}`,
		`spec.status.fields[0].path: Invalid value: "pahse": status.pahse: no such field in the CRD's schema, did you mean "phase"?`},
	"status path of Orkestra's own": {
		`{status: {fields: [{path: conditions, value: []}]}}`,
		`spec.status.fields[0].path: Invalid value: "conditions": Orkestra writes this field itself; a condition of your own has the path conditions[Available]`},
	"two status fields of one path": {
		`{status: {fields: [{path: phase, value: a}, {path: phase, value: b}]}}`,
		`spec.status.fields[1].path: Duplicate value: "phase": several fields write this path; give each of them a gate (when or anyOf): the first that holds is written`},
	"service without a workload": {
		`{onReconcile: {services: [{port: 80}]}}`,
		`spec.onReconcile.services[0]: Required value: this box declares no workload that selector could be taken from; set it`},
	"service with two workloads": {
		`{onReconcile: {deployments: [{id: a, name: a, image: x}, {id: b, name: b, image: x}], services: [{port: 80}]}}`,
		`spec.onReconcile.services[0]: Required value: this box declares several workloads ("a", "b"); set workload to the id of one, or set selector`},
	"manifest without a kind": {
		`{onReconcile: {resources: [{manifest: {metadata: {name: x}}}]}}`,
		`2 mistakes: spec.onReconcile.resources[0].manifest.apiVersion: Required value: string without a template; spec.onReconcile.resources[0].manifest.kind: Required value: string without a template`},
	"manifest with a templated kind": {
		`{onReconcile: {resources: [{manifest: {apiVersion: v1, kind: "{{ .spec.image }}", metadata: {name: x}}}]}}`,
		`spec.onReconcile.resources[0].manifest.kind: Invalid value: "{{ .spec.image }}": want string without a template, got a template`},
	"manifest of a kind that grants rights": {
		`{onReconcile: {resources: [{manifest: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: x}}}]}}`,
		`spec.onReconcile.resources[0]: Role grants rights; start the manager with --allow-granting-kinds to let boxes make it, or name an account that may in spec.serviceAccountRef`},
	"cluster-scoped child with a name for all": {
		`{onReconcile: {resources: [{manifest: {apiVersion: v1, kind: Namespace, metadata: {name: "x-{{ .metadata.name }}"}}}]}}`,
		`spec.onReconcile.resources[0].name: Invalid value: "x-{{ .metadata.name }}": Namespace is cluster-scoped and the resources are not: its name must hold {{ .metadata.namespace }}, or resources of two namespaces would share it`},
	"once and reconcile": {
		`{onReconcile: {configmaps: [{once: true, reconcile: true, data: {a: b}}]}}`,
		`spec.onReconcile.configmaps[0].once: once and reconcile: true contradict each other`},
	"reconcile in onDelete": {
		`{onDelete: {configmaps: [{reconcile: true, data: {a: b}}]}}`,
		`spec.onDelete.configmaps[0].reconcile: onDelete makes its objects once`},
	"failurePolicy outside onDelete": {
		`{onCreate: {jobs: [{image: x, failurePolicy: Continue}]}}`,
		`spec.onCreate.jobs[0].failurePolicy: only jobs of onDelete have a failure policy`},
	"autoscale by what no box has": {
		`{autoscale: {conditions: {when: [{field: status.queueDept, greaterThan: 5}, {field: spec.replicas, greaterThan: 5}]}, do: {workers: 5}}}`,
		`2 mistakes: spec.autoscale.conditions.when[0].field: Invalid value: "status.queueDept": status.queueDept: there is no such field of a box, did you mean "queueDepth"?; ` +
			`spec.autoscale.conditions.when[1].field: Invalid value: "spec.replicas": .spec: autoscale looks at the box and not at a resource: it reads status., metrics. and time.`},
	"autoscale that contradicts itself": {
		`{workers: 3, autoscale: {conditions: {when: [{field: status.workers, lessThan: 5}]}, do: {workers: 5}}}`,
		`spec.autoscale.conditions.when: Invalid value: "status.workers": with the 5 workers of do the conditions are false: the limits would go back and forth`},
	"false without a constructor": {
		`{reconciler: {default: false}}`,
		`spec.reconciler.default: Invalid value: false: the declarations are replaced by a constructor, and the box names none in spec.reconciler.constructor; name one, or remove default`},
}

// severalMistakes are several mistakes in one box: its author reads every one of them.
var severalMistakes = mistake{`
namespaces: {include: ["team-["]}
normalize: {spec: {imgae: x}}
validation: {rules: [{field: spec.image, regex: "["}]}
cross: [{name: db, kind: Secret}]
onCreate: {cronjobs: [{schedule: "* * * * *", imge: x}]}
onReconcile:
  configmaps: [{data: {a: "{{ .spec.image | uper }}"}, forEach: {field: spec.tagz}}]
  deployments: [{image: "nginx:1", replicas: many}]
status: {fields: [{path: pahse, value: x}]}
`, `10 mistakes: ` +
	`spec.cross[0].apiVersion: Required value: such as v1, or apps/v1; ` +
	`spec.namespaces.include[0]: Invalid value: "team-[": not a glob pattern: use *, ? and [a-z]; ` +
	`spec.normalize.spec[imgae]: Invalid value: "spec.imgae": spec.imgae: no such field in the CRD's schema, did you mean "image"?; ` +
	`spec.onCreate.cronjobs[0].image: Required value: an image; ` +
	`spec.onCreate.cronjobs[0].imge: unknown field, did you mean "image"?; ` +
	`spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ .spec.image | uper }}": column 18: unknown function "uper", did you mean "upper"?; ` +
	`spec.onReconcile.configmaps[0].forEach.field: Invalid value: "spec.tagz": spec.tagz: no such field in the CRD's schema, did you mean "tags"?; ` +
	`spec.onReconcile.deployments[0].replicas: Invalid value: "many": want 32-bit integer, got string; ` +
	`spec.status.fields[0].path: Invalid value: "pahse": status.pahse: no such field in the CRD's schema, did you mean "phase"?; ` +
	`spec.validation.rules[0].regex: Invalid value: "[": not a regular expression (RE2): missing closing ]`}

// refusedSpecs are mistakes that the API server itself refuses, whatever the client: the box never exists.
var refusedSpecs = map[string]mistake{
	"unknown key of a group": {
		`{onReconcile: {deploymnts: [{image: x}]}}`,
		`spec.onReconcile: Invalid value: unknown key; a kind that has no key goes under resources, as a manifest; valid keys: ` +
			`clusterrolebindings, clusterroles, configmaps, cronjobs, daemonsets, deployments, hpas, ingresses, jobs, limitranges, namespaces, networkpolicies, patches, pdbs, pvcs, resourcequotas, ` +
			`resources, rolebindings, roles, secrets, serviceaccounts, services, statefulsets`},
	"unknown key of onCreate":   {`{onCreate: {pods: [{}]}}`, `spec.onCreate: Invalid value: unknown key; a kind that has no key goes under resources, as a manifest; valid keys: `},
	"unknown key of onDelete":   {`{onDelete: {pods: [{}]}}`, `spec.onDelete: Invalid value: unknown key; a kind that has no key goes under resources, as a manifest; valid keys: `},
	"unknown key of onRollback": {`{rollback: {onRollback: {pods: [{}]}}}`, `spec.rollback.onRollback: Invalid value: unknown key; a kind that has no key goes under resources, as a manifest; valid keys: `},
	"unknown operator": {
		`{validation: {rules: [{field: spec.image, operator: eqals, value: x}]}}`,
		`spec.validation.rules[0].operator: Unsupported value: "eqals": supported values: "equals", "notEquals", "gt", `},
	"unknown value type": {
		`{validation: {rules: [{field: spec.image, operator: equals, value: x, valueType: integer}]}}`,
		`spec.validation.rules[0].valueType: Unsupported value: "integer": supported values: "string", "int", `},
	"condition without a field": {
		`{validation: {rules: [{operator: exists}]}}`, `spec.validation.rules[0]: Invalid value: give exactly one of field and cel`},
	"condition with field and cel": {
		`{when: [{field: spec.image, cel: "true"}]}`, `spec.when[0]: Invalid value: give exactly one of field and cel`},
	"neither name nor definition": {`{crd: {}}`, `spec.crd: Invalid value: give exactly one of name, definition, and apiVersion with kind`},
	"adopt without a definition": {
		`{crd: {name: websites.example.com, adopt: IfUnowned}}`, `spec.crd: Invalid value: adopt and deletionPolicy go with definition`},
	"bad CRD name": {`{crd: {name: Website}}`, `spec.crd.name: Invalid value: "Website": spec.crd.name in body should match`},
	"autoscale with an interval too short": {
		`{autoscale: {interval: 10ms, conditions: {when: [{field: status.queueDepth, greaterThan: 5}]}, do: {workers: 5}}}`, `spec.autoscale.interval: Invalid value: "10ms": interval is a duration such as 30s, 10m or 1h30m, between 1s and 1h`},
	"autoscale with no duration": {
		`{autoscale: {cooldown: soon, conditions: {when: [{field: status.queueDepth, greaterThan: 5}]}, do: {workers: 5}}}`, `spec.autoscale.cooldown: Invalid value`},
	"autoscale below one worker": {
		`{autoscale: {conditions: {when: [{field: status.queueDepth, greaterThan: 5}]}, do: {workers: 0}}}`, `spec.autoscale.do.workers: Invalid value: 0: spec.autoscale.do.workers in body should be greater than or equal to 1`},
	"resync in days":   {`{resync: 1d}`, `spec.resync: Invalid value: "1d": resync is a duration such as 30s, 10m or 1h30m, between 1s and 24h`},
	"resync too short": {`{resync: 10ms}`, `spec.resync: Invalid value: "10ms": resync is a duration such as 30s, 10m or 1h30m, between 1s and 24h`},
	"resync too long":  {`{resync: 25h}`, `spec.resync: Invalid value: "25h": resync is a duration such as 30s, 10m or 1h30m, between 1s and 24h`},
	"no duration":      {`{resync: soon}`, `spec.resync: Invalid value`},
	"too few workers":  {`{workers: 0}`, `spec.workers: Invalid value: 0: spec.workers in body should be greater than or equal to 1`},
	"too many workers": {`{workers: 65}`, `spec.workers: Invalid value: 65: spec.workers in body should be less than or equal to 64`},
	"bad id":           {`{onReconcile: {configmaps: [{id: My-Map}]}}`, `spec.onReconcile.configmaps[0].id: Invalid value: "My-Map"`},
	"cross source of box and kind": {
		`{cross: [{name: db, box: a, kind: B}]}`, `spec.cross[0]: Invalid value: give exactly one of box and kind`},
	"unknown field": {`{onReconcil: {}}`, `field not declared in schema`},
}

// refusedChanges are changes of a box that the API server refuses.
var refusedChanges = map[string]mistake{
	"another CRD": {`{crd: {name: others.example.com}}`, `spec.crd: Invalid value: name is immutable; make another box`},
	"a definition instead of a name": {
		`{crd: {definition: {}}}`, `spec.crd: Invalid value: the choice between name, definition and kind is immutable; make another box`},
}

var _ = Describe("A box with mistakes", Ordered, ContinueOnFailure, func() {
	var w *world
	BeforeAll(func(ctx context.Context) {
		w = newWorld(ctx)
		w.running(ctx, w.box(ctx, `{}`))
	})

	// reads gives what the author of a box is told.
	reads := func(ctx context.Context, spec string) string {
		GinkgoHelper()
		w.box(ctx, spec)
		var message string
		Eventually(func(g Gomega) {
			box := getBox(ctx, g, w.id)
			g.Expect(box.Status.ObservedGeneration).To(Equal(box.Generation))
			c := boxCondition(box, v1alpha1.ConditionCompiled)
			message, _, _ = strings.Cut(c.Message, "; revision")
			g.Expect(c).To(HaveField("Status", metav1.ConditionFalse), message)
		}).WithContext(ctx).Should(Succeed())
		return message
	}

	for _, name := range slices.Sorted(maps.Keys(badSpecs)) {
		It("reads what is wrong: "+name, func(ctx context.Context) {
			Expect(reads(ctx, badSpecs[name].spec)).To(Equal(badSpecs[name].message))
		})
	}
	It("reads all that is wrong at once", func(ctx context.Context) {
		Expect(reads(ctx, severalMistakes.spec)).To(Equal(severalMistakes.message))
	})
	It("is checked in every field of the API", func() {
		var unknown []string
		for _, path := range fieldsOf(reflect.TypeFor[v1alpha1.OperatorBoxSpec](), "spec") {
			if !slices.Contains(actedOn, path) {
				unknown = append(unknown, path)
			}
		}
		Expect(unknown).To(BeEmpty(), "fields that are not acted on: nothing that a user writes is ignored")
	})

	for _, name := range slices.Sorted(maps.Keys(refusedSpecs)) {
		It("is refused by the API server: "+name, func(ctx context.Context) {
			obj := w.boxObject(w.id+"-refused", refusedSpecs[name].spec)
			err := kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"))
			Expect(err).To(MatchError(ContainSubstring(refusedSpecs[name].message)))
		})
	}
	for _, name := range slices.Sorted(maps.Keys(refusedChanges)) {
		It("can't be changed: "+name, func(ctx context.Context) {
			obj := w.boxObject(w.id, refusedChanges[name].spec)
			err := kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"), client.ForceOwnership)
			Expect(err).To(MatchError(ContainSubstring(refusedChanges[name].message)))
		})
	}
	It("is refused by the API server: a name that is no label value", func(ctx context.Context) {
		obj := w.boxObject(strings.Repeat("a", 64), `{}`)
		err := kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"))
		Expect(err).To(MatchError(ContainSubstring("a box's name is at most 63 characters: it becomes a label value")))
	})
	It("compiles a Job of onCreate", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onCreate: {jobs: [{image: x}]}}`))
	})
	It("may spell keys in camelCase", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {configMaps: [{data: {a: b}}]}}`))
	})
})

// actedOn are the fields that this version acts on.
var actedOn = slices.Concat([]string{
	"spec.crd.name", "spec.crd.apiVersion", "spec.crd.kind", "spec.crd.plural", "spec.crd.version", "spec.crd.definition", "spec.crd.adopt", "spec.crd.deletionPolicy",
	"spec.rollBackOnError", "spec.rollback.trigger.consecutiveFailures", "spec.rollback.trigger.within",
	"spec.serviceAccountRef.name", "spec.serviceAccountRef.namespace", "spec.serviceAccountRef.uid",
	"spec.admission.validation", "spec.admission.mutation", "spec.admission.failurePolicy", "spec.admission.requireClean",
	"spec.admission.matchConditions[0].name", "spec.admission.matchConditions[0].expression",
	"spec.suspend", "spec.revisionHistoryLimit", "spec.namespaces.include", "spec.namespaces.exclude", "spec.annotationSelector.matchAnnotations", "spec.annotationSelector.matchExpressions[0].key", "spec.annotationSelector.matchExpressions[0].operator", "spec.annotationSelector.matchExpressions[0].values",
	"spec.selector",
	"spec.commonLabels", "spec.commonAnnotations", "spec.workers", "spec.resync", "spec.queue.maxDepth", "spec.queue.fairness", "spec.failureThreshold",
	"spec.autoscale.interval", "spec.autoscale.cooldown", "spec.autoscale.do.workers", "spec.autoscale.do.queueDepth", "spec.autoscale.do.resync",
	"spec.reconciler.default", "spec.reconciler.hooks.runHooksFirst", "spec.apiTypes.location", "spec.apiTypes.object", "spec.apiTypes.objectList", "spec.apiTypes.alias",
	"spec.providers", "spec.finalizers", "spec.normalize.spec",
	"spec.values[0].name", "spec.values[0].value", "spec.values[0].cel",
	"spec.mutation.rules[0].field", "spec.mutation.rules[0].default", "spec.mutation.rules[0].override", "spec.mutation.rules[0].admission",
	"spec.validation.rules[0].message", "spec.validation.rules[0].action", "spec.validation.rules[0].admission",
	"spec.dependsOn[0].name", "spec.dependsOn[0].condition",
	"spec.deletion.children", "spec.deletion.ordered", "spec.deletion.timeout", "spec.deletion.childrenFirst",
	"spec.status.fields[0].path", "spec.status.fields[0].value", "spec.status.ready",
	"spec.cross[0].name", "spec.cross[0].box", "spec.cross[0].apiVersion", "spec.cross[0].kind", "spec.cross[0].optional",
	"spec.cross[0].selector.name", "spec.cross[0].selector.namespace", "spec.cross[0].selector.matchLabels",
	"spec.cross[0].selector.matchExpressions[0].key", "spec.cross[0].selector.matchExpressions[0].operator", "spec.cross[0].selector.matchExpressions[0].values",
	"spec.external[0].name", "spec.external[0].method", "spec.external[0].url", "spec.external[0].query", "spec.external[0].headers",
	"spec.external[0].body", "spec.external[0].auth.type", "spec.external[0].auth.header", "spec.external[0].auth.secretRef.name",
	"spec.external[0].auth.secretRef.namespace", "spec.external[0].auth.secretRef.key", "spec.external[0].caBundle.name",
	"spec.external[0].caBundle.namespace", "spec.external[0].caBundle.key", "spec.external[0].timeout", "spec.external[0].retries",
	"spec.external[0].expectedStatus", "spec.external[0].cacheFor", "spec.external[0].onError",
}, testFields("spec.when[0]", "spec.anyOf[0]", "spec.validation.rules[0]", "spec.status.readyWhen[0]"),
	gateFields("spec.autoscale.conditions", "spec.mutation.rules[0]", "spec.validation.rules[0]", "spec.status.fields[0]", "spec.external[0]"),
	codeFields("spec.reconciler.hooks", "spec.reconciler.constructor"), webhookFields("spec.reconciler.hooks.webhook"),
	declaredFields("spec.onCreate", "spec.onReconcile", "spec.onDelete", "spec.rollback.onRollback"))

// testFields are the fields of a test.
func testFields(paths ...string) []string {
	var out []string
	for _, path := range paths {
		for _, name := range []string{
			"field", "operator", "value", "valueType", "negate", "equals", "notEquals", "greaterThan", "greaterThanOrEqual",
			"lessThan", "lessThanOrEqual", "between", "notBetween", "in", "notIn", "contains", "notContains", "prefix",
			"suffix", "regex", "exists", "notExists", "typeOf", "olderThan", "youngerThan", "cel",
		} {
			out = append(out, path+"."+name)
		}
	}
	return out
}

// gateFields are the fields of a gate.
func gateFields(paths ...string) []string {
	var out []string
	for _, path := range paths {
		out = append(out, testFields(path+".when[0]", path+".anyOf[0]")...)
	}
	return out
}

// declaredFields are the common fields of declarations.
func declaredFields(groups ...string) []string {
	var out []string
	for _, group := range groups {
		path := group + ".configmaps[0]"
		out = append(out, gateFields(path)...)
		out = append(out, testFields(path+".readyWhen[0]")...)
		for _, name := range []string{
			"id", "name", "namespace", "labels", "annotations", "reconcile", "once", "whenFalse", "after", "optional", "adopt",
			"deletionPolicy", "initialFields", "forEach.field", "forEach.as", "forEach.loops[0].field", "forEach.loops[0].as", "forEach.key", "forEach.rollout.maxUnavailable", "forEach.rollout.order", "replace", "spec",
		} {
			out = append(out, path+"."+name)
		}
	}
	return out
}

// codeFields are the fields that name a function of the user's own.
func codeFields(at ...string) (out []string) {
	for _, path := range at {
		for _, name := range []string{"location", "function", "alias", "args", "resources[0].apiVersion", "resources[0].kind"} {
			out = append(out, path+"."+name)
		}
	}
	return out
}

// webhookFields are the fields of a webhook.
func webhookFields(at string) (out []string) {
	for _, name := range []string{
		"url", "service.name", "service.namespace", "service.port", "service.scheme", "path", "finalizePath", "protocol", "phases",
		"caBundle.name", "caBundle.namespace", "caBundle.key", "headers", "auth.type", "auth.header", "auth.secretRef.name", "auth.secretRef.namespace",
		"auth.secretRef.key", "secrets[0].name", "secrets[0].namespace", "secrets[0].key", "timeout", "retries", "resyncAfter",
	} {
		out = append(out, at+"."+name)
	}
	return out
}

// fieldsOf gives the paths of all fields of a type of the API. Lists have one element, and groups one kind.
func fieldsOf(t reflect.Type, path string) []string {
	switch {
	case t.Kind() == reflect.Pointer:
		return fieldsOf(t.Elem(), path)
	case t == reflect.TypeFor[v1alpha1.ResourceGroup]():
		return fieldsOf(reflect.TypeFor[v1alpha1.CommonFields](), path+".configmaps[0]")
	case t.Kind() == reflect.Slice && apiStruct(t.Elem()):
		return fieldsOf(t.Elem(), path+"[0]")
	case !apiStruct(t):
		return []string{path}
	}
	var out []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			out = append(out, fieldsOf(f.Type, path)...)
			continue
		}
		out = append(out, fieldsOf(f.Type, path+"."+name)...)
	}
	return out
}

// apiStruct says whether a type has fields that the API itself defines.
func apiStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[v1alpha1.OperatorBoxSpec]().PkgPath()
}
