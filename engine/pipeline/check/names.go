package pipeline

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	objectvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
)

// longestCronJobName leaves room for what Kubernetes appends to the names of its Jobs.
const longestCronJobName = 52

// literals reports what is written out, without a template, and that no API server takes: it would be refused only when the first
// resource comes.
func (c *compiler) literals(d *declaration, in *v1alpha1.Declaration, short map[string]any, at *field.Path) {
	where, name := at.Child("name"), in.Name
	body, bodyAt := short, at
	if d.kind.GVK.Empty() {
		if name == "" {
			where, name = manifestMeta(short, "name", at)
		}
		body, _ = short["manifest"].(map[string]any)
		bodyAt = at.Child("manifest")
		metadata, _ := body["metadata"].(map[string]any)
		checkLabels(c, textsIn(metadata["labels"]), bodyAt.Child("metadata", "labels"))
		checkAnnotations(c, textsIn(metadata["annotations"]), bodyAt.Child("metadata", "annotations"))
	}
	c.literalName(d.gvk, name, where)
	c.templatedName(d, name, where)
	checkLabels(c, in.Labels, at.Child("labels"))
	checkAnnotations(c, in.Annotations, at.Child("annotations"))
	if d.kind.IsWorkload() {
		checkLabels(c, textsIn(short["podLabels"]), at.Child("podLabels"))
		checkAnnotations(c, textsIn(short["podAnnotations"]), at.Child("podAnnotations"))
	}
	c.dataKeys(d.gvk, body, bodyAt)
}

// literalName reports a name that an object of a kind that has a key can't have.
func (c *compiler) literalName(gvk schema.GroupVersionKind, name string, at *field.Path) {
	k, builtIn := keyed(gvk)
	if name == "" || !builtIn || expr.IsTemplate(name) {
		return
	}
	if problems := nameRule(k)(name, false); len(problems) > 0 {
		c.fail(field.Invalid(at, name, fmt.Sprintf("a %s can't have this name: %s", gvk.Kind, strings.Join(problems, "; "))))
	}
}

// templatedName reports a name whose text between the templates no name of its kind has, such as capitals: whatever they give, the
// API server refuses it.
func (c *compiler) templatedName(d *declaration, name string, at *field.Path) {
	k, builtIn := keyed(d.gvk)
	if d.name == nil || !builtIn || !expr.IsTemplate(name) {
		return
	}
	const shortest = "a" // a value that may stand in every place of every name
	filled, ok := d.name.Filled(shortest)
	if !ok {
		return
	}
	if problems := nameRule(k)(filled, false); len(problems) > 0 {
		c.fail(field.Invalid(at, name, fmt.Sprintf("a %s can't have such a name: %s", d.gvk.Kind, strings.Join(problems, "; "))))
	}
}

// nameRule is what the API server asks of the names of a kind.
func nameRule(k kinds.Kind) objectvalidation.ValidateNameFunc {
	switch {
	case k.GVK.Group == "rbac.authorization.k8s.io":
		return func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	case k.GVK.Kind == "Service", k.GVK.Kind == "Namespace":
		return objectvalidation.NameIsDNSLabel // older API servers also refuse a Service whose name begins with a digit
	case k.GVK.Kind == "CronJob":
		return func(name string, prefix bool) []string {
			if len(name) > longestCronJobName {
				return []string{apivalidation.MaxLenError(longestCronJobName)}
			}
			return objectvalidation.NameIsDNSSubdomain(name, prefix)
		}
	default:
		return objectvalidation.NameIsDNSSubdomain
	}
}

// literalNamespace reports what is no name of a namespace.
func (c *compiler) literalNamespace(namespace string, at *field.Path) {
	if namespace == "" || expr.IsTemplate(namespace) {
		return
	}
	if problems := objectvalidation.ValidateNamespaceName(namespace, false); len(problems) > 0 {
		c.fail(field.Invalid(at, namespace, "not the name of a namespace: "+strings.Join(problems, "; ")))
	}
}

// checkLabels reports keys that no label has, and literal values that no label takes.
func checkLabels[V ~string](c *compiler, labels map[string]V, at *field.Path) {
	for key, value := range labels {
		c.qualifiedName(key, key, "labels", at)
		if expr.IsTemplate(string(value)) {
			continue
		}
		if problems := apivalidation.IsValidLabelValue(string(value)); len(problems) > 0 {
			c.fail(field.Invalid(at.Key(key), string(value), strings.Join(problems, "; ")))
		}
	}
}

// checkAnnotations reports keys that no annotation has. Upper and lower case are the same there.
func checkAnnotations[V ~string](c *compiler, annotations map[string]V, at *field.Path) {
	for key := range annotations {
		c.qualifiedName(key, strings.ToLower(key), "annotations", at)
	}
}

func (c *compiler) qualifiedName(key, checked, of string, at *field.Path) {
	if problems := apivalidation.IsQualifiedName(checked); len(problems) > 0 {
		c.fail(field.Invalid(at.Key(key), key, fmt.Sprintf("no key of %s: %s", of, strings.Join(problems, "; "))))
	}
}

// dataKeys reports keys that neither a ConfigMap nor a Secret takes.
func (c *compiler) dataKeys(gvk schema.GroupVersionKind, body map[string]any, at *field.Path) {
	if gvk.Group != "" || gvk.Kind != "ConfigMap" && gvk.Kind != "Secret" {
		return
	}
	for _, part := range []string{fieldData, "binaryData", "stringData"} {
		data, _ := body[part].(map[string]any)
		for key := range data {
			if problems := apivalidation.IsConfigMapKey(key); len(problems) > 0 && !expr.IsTemplate(key) { // that is said elsewhere
				c.fail(field.Invalid(at.Child(part).Key(key), key, "not a key that a "+gvk.Kind+" takes: "+strings.Join(problems, "; ")))
			}
		}
	}
}

// textsIn gives the texts of a map that may be anything; numbers and templates for the whole map are converted when they are rendered.
func textsIn(v any) map[string]string {
	m, _ := v.(map[string]any)
	out := make(map[string]string, len(m))
	for key, value := range m {
		text, _ := value.(string)
		out[key] = text
	}
	return out
}
