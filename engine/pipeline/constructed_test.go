package pipeline

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/test/fixtures"
)

// constructors is a registry with a constructor and a hook, which knows websites as ConfigMaps.
func constructors(t *testing.T) *hook.Registry {
	t.Helper()
	g := gomega.NewWithT(t)
	r, err := hook.NewRegistry()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	kind := websites(t).Kind
	g.Expect(r.AddToScheme(func(s *runtime.Scheme) error {
		s.AddKnownTypeWithName(kind, &corev1.ConfigMap{})
		s.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &corev1.ConfigMapList{})
		return nil
	})).To(gomega.Succeed())
	g.Expect(hook.AddConstructor(r, "example.com/op.New", func(client.Client) reconcile.Reconciler { return reconcile.Func(nil) })).To(gomega.Succeed())
	g.Expect(hook.AddHooks(r, "example.com/op.Hooks", func() hook.Hooks[*corev1.ConfigMap] {
		return hook.Hooks[*corev1.ConfigMap]{OnReconcile: func(context.Context, *hook.Call[*corev1.ConfigMap]) error { return nil }}
	})).To(gomega.Succeed())
	return r
}

const byConstructor = `reconciler: {default: false, constructor: {location: example.com/op, function: New, resources: [{kind: ConfigMap}, {kind: Region, apiVersion: demo.example.com/v1}, {kind: Website, apiVersion: demo.example.com/v1}]}}`

// uses are parts of a box, each with a use of it, one on each line.
func uses(lines string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		name, use, _ := strings.Cut(line, ":")
		out[name] = strings.TrimSpace(use)
	}
	return out
}

// Each part of a box is either done beside a constructor, or refused. A new one must be decided.
func TestEachPartOfABoxIsDecidedForConstructors(t *testing.T) {
	done := uses(`
crd:
reconciler:
suspend: true
namespaces: {include: [team-a]}
selector: {matchLabels: {a: b}}
serviceAccountRef: {name: a, namespace: b}
workers: 4
resync: 5m
failureThreshold: 3
queue: {maxDepth: 9}
autoscale: {conditions: {when: [{field: status.queueDepth, greaterThan: 5}]}, do: {workers: 8}}
revisionHistoryLimit: 4
dependsOn: [{name: other}]
apiTypes: {location: k8s.io/api/core/v1, object: ConfigMap}
`)
	refused := uses(`
annotationSelector: {matchAnnotations: {a: b}}
commonLabels: {a: b}
commonAnnotations: {a: b}
finalizers: [example.com/a]
normalize: {spec: {image: b}}
mutation: {rules: [{field: spec.image, default: b}]}
validation: {rules: [{field: spec.image, exists: true}]}
admission: {validation: true}
values: [{name: a, value: b}]
cross: [{name: a, kind: ConfigMap, apiVersion: v1, selector: {name: b}}]
external: [{name: a, url: 'https://example.com'}]
onCreate: {configmaps: [{data: {a: b}}]}
onReconcile: {configmaps: [{data: {a: b}}]}
onDelete: {jobs: [{image: a}]}
providers: {aws: [{id: a}]}
rollBackOnError: true
rollback: {trigger: {consecutiveFailures: 2}}
deletion: {ordered: true}
status: {ready: Current}
when: [{field: spec.image, exists: true}]
anyOf: [{field: spec.image, exists: true}]
`)
	g := gomega.NewWithT(t)
	var decided []string
	for name, use := range done {
		decided = append(decided, name)
		if use == "" {
			continue
		}
		plan, errs := Compile(boxOf(t, "{"+byConstructor+", "+name+": "+use+"}"), Env{CRD: websites(t), Code: constructors(t)})
		g.Expect(messages(errs)).To(gomega.BeEmpty(), name)
		g.Expect(plan.Constructor).NotTo(gomega.BeNil())
	}
	for name, use := range refused {
		decided = append(decided, name)
		_, errs := Compile(boxOf(t, "{"+byConstructor+", "+name+": "+use+"}"), Env{CRD: websites(t), Code: constructors(t)})
		g.Expect(messages(errs)).To(gomega.ContainElement(gomega.HavePrefix("spec."+name+": Forbidden: the reconciler of spec.reconciler.constructor does everything")), name)
	}
	g.Expect(fixtures.JSONNames(reflect.TypeFor[v1alpha1.OperatorBoxSpec]())).To(gomega.ConsistOf(decided))
}

func TestMistakesInBoxesWithConstructors(t *testing.T) {
	named := `{location: example.com/op, function: New`
	for spec, want := range map[string]string{
		`reconciler: {default: false}`:                                                                                  "spec.reconciler.default: Invalid value: false: the declarations are replaced by a constructor, and the box names none",
		`reconciler: {constructor: ` + named + `}}`:                                                                     "spec.reconciler.default: Invalid value: true: the reconciler of a constructor takes the place of the declarations: say default: false",
		`reconciler: {default: false, constructor: {location: a, function: make}}`:                                      `spec.reconciler.constructor.function: Invalid value: "make": wanted the name of an exported Go function`,
		`reconciler: {default: false, constructor: {location: a}}`:                                                      "spec.reconciler.constructor.function: Required",
		`reconciler: {default: false, constructor: {function: A}}`:                                                      "spec.reconciler.constructor.location: Required",
		`reconciler: {default: false, constructor: {location: example.com/op, function: Nw}}`:                           `the manager has no such function, did you mean "example.com/op.New"?; it has 1, which its command ` + "`manager --list-functions`" + ` lists`,
		`reconciler: {default: false, constructor: {location: example.com/op, function: Hooks}}`:                        "it gives hooks, and no reconciler: name it in spec.reconciler.hooks",
		`reconciler: {default: false, constructor: ` + named + `, alias: a-b}}`:                                         "wanted a Go identifier",
		`reconciler: {default: false, constructor: ` + named + `, args: [a]}}`:                                          "spec.reconciler.constructor.args: Invalid value",
		`reconciler: {default: false, constructor: ` + named + `, args: {a: "{{ .spec.image }}"}}}`:                     "there is nothing that a template could read",
		`reconciler: {default: false, constructor: ` + named + `, resources: [{kind: Thing}]}}`:                         "spec.reconciler.constructor.resources[0].apiVersion: Required",
		`reconciler: {default: false, constructor: ` + named + `, resources: [{kind: Role}]}}`:                          "spec.reconciler.constructor.resources[0]: Forbidden",
		`reconciler: {default: false, constructor: ` + named + `, resources: [{kind: ConfigMap}, {kind: ConfigMap}]}}`:  "spec.reconciler.constructor.resources[1]: Duplicate",
		byConstructor + `, apiTypes: {location: k8s.io/api/core/v1, object: Secret}`:                                    "the manager knows demo.example.com/v1 Website as k8s.io/api/core/v1.ConfigMap",
		byConstructor + `, apiTypes: {location: k8s.io/api/core/v1, object: ConfigMap, objectList: Some}`:               "the manager knows demo.example.com/v1 WebsiteList as k8s.io/api/core/v1.ConfigMapList",
		byConstructor + `, apiTypes: {object: Secret}`:                                                                  "spec.apiTypes.location: Required",
		`reconciler: {default: false, hooks: {location: example.com/op, function: Hooks}, constructor: ` + named + `}}`: "spec.reconciler.hooks: Forbidden: hooks run beside declarations",
		byConstructor + `, crd: {apiVersion: v1, kind: ConfigMap}, selector: {matchLabels: {a: b}}`:                     "spec.reconciler.constructor: Forbidden: crd.kind says that the box is not the operator of the kind",
	} {
		t.Run(spec, func(t *testing.T) {
			_, errs := Compile(boxOf(t, `{`+spec+`}`), Env{CRD: websites(t), Code: constructors(t)})
			gomega.NewWithT(t).Expect(strings.Join(messages(errs), "\n")).To(gomega.ContainSubstring(want))
		})
	}
	g := gomega.NewWithT(t)
	bare, err := hook.NewRegistry()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	typed := boxOf(t, `{`+byConstructor+`, apiTypes: {location: a, object: B}}`)
	_, errs := Compile(typed, Env{CRD: websites(t), Code: bare})
	g.Expect(errs).To(gomega.HaveLen(1))
	g.Expect(hook.IsUnknown(errs[0])).To(gomega.BeTrue(), "another manager may have both")
	g.Expect(errs[0].Error()).To(gomega.ContainSubstring("the manager has no such function; it has none: run a manager that was built with it"))
	g.Expect(hook.AddConstructor(bare, "example.com/op.New", func(client.Client) reconcile.Reconciler { return reconcile.Func(nil) })).To(gomega.Succeed())
	_, errs = Compile(typed, Env{CRD: websites(t), Code: bare})
	g.Expect(strings.Join(messages(errs), "\n")).To(gomega.ContainSubstring("the manager knows no Go type for demo.example.com/v1 Website: register it"))
}

// Nothing is done for a resource but what the reconciler does: no finalizer, no status, no stage but the one that waits.
func TestAPlanWithAConstructor(t *testing.T) {
	g := gomega.NewWithT(t)
	compile := func(rest string) *Plan {
		plan, errs := Compile(boxOf(t, `{`+byConstructor+rest+`}`), Env{CRD: websites(t), Code: constructors(t)})
		g.Expect(errs).To(gomega.BeEmpty())
		return plan
	}
	plan := compile("")
	g.Expect(plan.Finalizers).To(gomega.BeEmpty())
	g.Expect(plan.Status.Writable()).To(gomega.BeFalse())
	g.Expect(plan.ChildKinds).To(gomega.BeEmpty())
	g.Expect(plan.stages).To(gomega.BeEmpty())
	g.Expect(plan.Constructor.Kinds).To(gomega.HaveLen(2), "that of the box is there anyway")
	g.Expect(compile(", dependsOn: [{name: a}]").stages).To(gomega.HaveLen(1))

	g.Expect(plan.Constructor.Same(compile(", workers: 9").Constructor)).To(gomega.BeTrue())
	g.Expect(plan.Constructor.Same(nil)).To(gomega.BeFalse())
	args, errs := Compile(boxOf(t, `{`+strings.Replace(byConstructor, "New,", "New, args: {a: 1},", 1)+`}`), Env{CRD: websites(t), Code: constructors(t)})
	g.Expect(errs).To(gomega.BeEmpty())
	g.Expect(plan.Constructor.Same(args.Constructor)).To(gomega.BeFalse())
	into := struct{ A int }{}
	g.Expect(args.Constructor.Args.Decode(&into)).To(gomega.Succeed())
	g.Expect(into.A).To(gomega.Equal(1))

	unknown, errs := Compile(boxOf(t, `{`+byConstructor+`}`), Env{CRD: websites(t)})
	g.Expect(errs).To(gomega.BeEmpty())
	g.Expect(unknown.Notes).To(gomega.ContainElement("spec.reconciler.constructor.function: it is not known here which functions the manager has, and the reconciler is not run"))
}

func TestTheRightsOfAConstructor(t *testing.T) {
	g := gomega.NewWithT(t)
	env := Env{CRD: websites(t), Code: constructors(t), Mapper: stubMapper(), AllowGrantingKinds: true}
	verbs := func(rules []v1alpha1.RequiredRule) map[string][]string {
		out := map[string][]string{}
		for _, rule := range rules {
			for _, resource := range rule.Resources {
				out[resource] = append(out[resource], rule.Verbs...)
			}
		}
		return out
	}
	plan, errs := Compile(boxOf(t, `{`+byConstructor+`, namespaces: {include: [team-a]}}`), env)
	g.Expect(errs).To(gomega.BeEmpty())
	all := strings.Fields("get list watch create update patch delete")
	required := verbs(plan.Required())
	g.Expect(required["configmaps"]).To(gomega.Equal(all))
	g.Expect(required["regions"]).To(gomega.Equal(all))
	g.Expect(required["websites"]).To(gomega.ConsistOf(strings.Fields("get list watch update patch")))
	g.Expect(required["websites/status"]).To(gomega.ConsistOf(strings.Fields("get update patch")))
	g.Expect(required["websites/finalizers"]).To(gomega.ConsistOf("update"))

	account := plan.As(identity.Account{Namespace: "b", Name: "a", UID: "u"})
	for _, rule := range account.Required() {
		namespaces := []string{"team-a"}
		if rule.Resources[0] == "regions" {
			namespaces = nil
		}
		g.Expect(rule.Namespaces).To(gomega.Equal(namespaces), rule.Resources[0])
	}
	g.Expect(verbs(account.Required())["configmaps"]).To(gomega.Equal(all))
	caches := account.Needed().Manager
	g.Expect(verbs(caches)["regions"]).To(gomega.Equal(strings.Fields("list watch")))
	g.Expect(account.Feeds()).To(gomega.ContainElement(rbacv1.PolicyRule{APIGroups: []string{"demo.example.com"}, Resources: []string{"regions"}, Verbs: strings.Fields("list watch")}), "it is not in every installation")
}
