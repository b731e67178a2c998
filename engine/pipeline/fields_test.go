package pipeline

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// actedOn are the fields that this version acts on, by the type that they are walked from. A path stands for all below it.
var actedOn = map[string][]string{
	"OperatorBoxSpec": {
		"crd.name", "crd.apiVersion", "crd.kind", "crd.plural", "crd.version", "crd.definition", "crd.adopt", "crd.deletionPolicy",
		"suspend", "namespaces.include", "namespaces.exclude", "selector",
		"annotationSelector.matchAnnotations", "annotationSelector.matchExpressions.key", "annotationSelector.matchExpressions.operator", "annotationSelector.matchExpressions.values",
		"commonLabels", "commonAnnotations",
		"workers", "resync", "queue.maxDepth", "queue.fairness", "failureThreshold",
		"autoscale.interval", "autoscale.cooldown", "autoscale.conditions", "autoscale.do.workers", "autoscale.do.queueDepth", "autoscale.do.resync", "finalizers", "dependsOn.name", "dependsOn.condition",
		"serviceAccountRef.name", "serviceAccountRef.namespace", "serviceAccountRef.uid",
		"normalize.spec",
		"mutation.rules.field", "mutation.rules.default", "mutation.rules.override", "mutation.rules.admission",
		"validation.rules.message", "validation.rules.action", "validation.rules.admission",
		"admission.validation", "admission.mutation", "admission.failurePolicy", "admission.matchConditions.name", "admission.matchConditions.expression",
		"admission.requireClean",
		"values.name", "values.value", "values.cel",
		"cross.name", "cross.box", "cross.apiVersion", "cross.kind", "cross.optional",
		"cross.selector.name", "cross.selector.namespace", "cross.selector.matchLabels", "cross.selector.matchExpressions.key", "cross.selector.matchExpressions.operator", "cross.selector.matchExpressions.values",
		"external.name", "external.method", "external.url", "external.query", "external.headers", "external.body",
		"external.auth.type", "external.auth.header", "external.auth.secretRef.name", "external.auth.secretRef.namespace", "external.auth.secretRef.key",
		"external.caBundle.name", "external.caBundle.namespace", "external.caBundle.key",
		"external.timeout", "external.retries", "external.expectedStatus", "external.cacheFor", "external.onError",
		"onCreate", "onReconcile", "onDelete", "providers",
		"rollBackOnError", "rollback.trigger.consecutiveFailures", "rollback.trigger.within", "rollback.onRollback",
		"deletion.children", "deletion.ordered", "deletion.timeout", "deletion.childrenFirst", "revisionHistoryLimit",
		"status.fields.path", "status.fields.value", "status.ready", "status.readyWhen",
		"reconciler.hooks.location", "reconciler.hooks.function", "reconciler.hooks.alias", "reconciler.hooks.args", "reconciler.hooks.runHooksFirst",
		"reconciler.hooks.resources.apiVersion", "reconciler.hooks.resources.kind",
		"reconciler.default", "reconciler.constructor.location", "reconciler.constructor.function", "reconciler.constructor.alias", "reconciler.constructor.args",
		"reconciler.constructor.resources.apiVersion", "reconciler.constructor.resources.kind",
		"reconciler.hooks.webhook.url", "reconciler.hooks.webhook.service", "reconciler.hooks.webhook.path", "reconciler.hooks.webhook.finalizePath", "reconciler.hooks.webhook.protocol",
		"reconciler.hooks.webhook.phases", "reconciler.hooks.webhook.caBundle", "reconciler.hooks.webhook.headers", "reconciler.hooks.webhook.auth", "reconciler.hooks.webhook.secrets",
		"reconciler.hooks.webhook.timeout", "reconciler.hooks.webhook.retries", "reconciler.hooks.webhook.resyncAfter",
		"apiTypes.location", "apiTypes.object", "apiTypes.objectList", "apiTypes.alias",
	},
	"CommonFields": {
		"id", "name", "namespace", "labels", "annotations", "reconcile", "once", "whenFalse", "after", "optional", "adopt", "deletionPolicy", "spec",
		"forEach.field", "forEach.as", "forEach.loops.field", "forEach.loops.as", "forEach.key", "forEach.rollout.maxUnavailable", "forEach.rollout.order", "readyWhen", "initialFields", "replace",
	},
	"Gate": {"when", "anyOf"},
	"Test": {
		"field", "operator", "value", "valueType", "negate",
		"equals", "notEquals", "greaterThan", "greaterThanOrEqual", "lessThan", "lessThanOrEqual", "between", "notBetween",
		"in", "notIn", "contains", "notContains", "prefix", "suffix", "regex", "exists", "notExists", "typeOf", "olderThan", "youngerThan", "cel",
	},
}

func TestEveryFieldIsActedOn(t *testing.T) {
	roots := []reflect.Type{
		reflect.TypeFor[v1alpha1.OperatorBoxSpec](), reflect.TypeFor[v1alpha1.CommonFields](),
		reflect.TypeFor[v1alpha1.Gate](), reflect.TypeFor[v1alpha1.Test](),
	}
	for _, root := range roots {
		t.Run(root.Name(), func(t *testing.T) {
			g := gomega.NewWithT(t)
			w := fieldWalk{root: root.Name()}
			w.walk(root, "")
			g.Expect(w.unknown).To(gomega.BeEmpty(), "fields that are not in the list: nothing that a user writes is ignored")
			g.Expect(w.seen).To(gomega.ConsistOf(actedOn[root.Name()]), "the list names only fields that exist, and each once")
		})
	}
}

// fieldWalk goes down the fields of a type of ours until one of the lists knows the path.
type fieldWalk struct {
	root          string
	seen, unknown []string
}

func (w *fieldWalk) walk(t reflect.Type, at string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			// Gates and tests stand in many places and are walked from themselves.
			if _, own := actedOn[f.Type.Name()]; !own {
				w.walk(f.Type, at)
			}
			continue
		}
		path := strings.TrimPrefix(at+"."+name, ".")
		if slices.Contains(actedOn[w.root], path) {
			w.seen = append(w.seen, path)
			continue
		}
		below := f.Type
		for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		if below.Kind() != reflect.Struct || below.PkgPath() != t.PkgPath() {
			w.unknown = append(w.unknown, path)
			continue
		}
		w.walk(below, path)
	}
}

// TestExplainSaysWhatIsSupported reads the texts that kubectl explain shows: every field has one, and none says that it is not supported.
func TestExplainSaysWhatIsSupported(t *testing.T) {
	raw, err := os.ReadFile("../../config/crd/bases/orkestra.orkspace.io_operatorboxes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	g := gomega.NewWithT(t)
	for _, path := range actedOn["OperatorBoxSpec"] {
		g.Expect(described(spec, path)).NotTo(gomega.Or(gomega.BeEmpty(), gomega.ContainSubstring("supported")), path)
	}
	for _, path := range actedOn["Test"] {
		g.Expect(described(spec, "when."+path)).NotTo(gomega.BeEmpty(), path)
	}
	for _, path := range actedOn["CommonFields"] {
		g.Expect(described(spec.Properties["onReconcile"], path)).NotTo(gomega.BeEmpty(), path)
	}
}

// described is the text of the field at a path, through lists and the values of maps.
func described(s apiextensionsv1.JSONSchemaProps, path string) string {
	for _, name := range append(strings.Split(path, "."), "") {
		for name != "" && len(s.Properties) == 0 && (s.Items != nil || s.AdditionalProperties != nil) {
			if s.Items != nil {
				s = *s.Items.Schema
			} else {
				s = *s.AdditionalProperties.Schema
			}
		}
		if name != "" {
			s = s.Properties[name]
		}
	}
	return s.Description
}

func TestDefaultsAreNoMistakes(t *testing.T) {
	g := gomega.NewWithT(t)
	_, errs := Compile(boxOf(t, "{rollBackOnError: false, queue: {maxDepth: 0, fairness: None}, reconciler: {default: true}, dependsOn: [], status: {ready: Current}}"),
		Env{CRD: websites(t)})
	g.Expect(messages(errs)).To(gomega.BeEmpty())
}
