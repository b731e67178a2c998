// Package check says what an API server would refuse of an object, and what Orkestra itself refuses of it, from what is written out in a
// box or rendered for a resource: names, labels, annotations, keys of data, the place of an object, and whether it grants rights.
//
// It is a leaf of pure functions. They give what is wrong, each with its field path, and leave it to the caller to collect that.
package check

import (
	"fmt"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	objectvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
)

// longestCronJobName leaves room for what Kubernetes appends to the names of its Jobs.
const longestCronJobName = 52

// Name refuses a name, written out without a template, that an object of a built-in kind can't have.
func Name(gvk schema.GroupVersionKind, name string, at *field.Path) field.ErrorList {
	k, builtIn := Keyed(gvk)
	if name == "" || !builtIn || expr.IsTemplate(name) {
		return nil
	}
	if problems := nameRule(k)(name, false); len(problems) > 0 {
		return field.ErrorList{field.Invalid(at, name, fmt.Sprintf("a %s can't have this name: %s", gvk.Kind, strings.Join(problems, "; ")))}
	}
	return nil
}

// TemplatedName refuses a name whose text between the templates no name of its kind has, such as capitals: whatever the templates give,
// the API server refuses it. written is the name as it stands in the box.
func TemplatedName(gvk schema.GroupVersionKind, name *expr.Template, written string, at *field.Path) field.ErrorList {
	k, builtIn := Keyed(gvk)
	if name == nil || !builtIn || !expr.IsTemplate(written) {
		return nil
	}
	const shortest = "a" // a value that may stand in every place of every name
	filled, ok := name.Filled(shortest)
	if !ok {
		return nil
	}
	if problems := nameRule(k)(filled, false); len(problems) > 0 {
		return field.ErrorList{field.Invalid(at, written, fmt.Sprintf("a %s can't have such a name: %s", gvk.Kind, strings.Join(problems, "; ")))}
	}
	return nil
}

// nameRule is what the API server asks of the names of a kind.
func nameRule(k kinds.Kind) objectvalidation.ValidateNameFunc {
	switch {
	case k.GVK.Group == rbacv1.GroupName:
		return func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	case k.GVK.Kind == "Service", k.GVK.Kind == kindNamespace:
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

// Namespace refuses what, written out without a template, is no name of a namespace.
func Namespace(namespace string, at *field.Path) field.ErrorList {
	if namespace == "" || expr.IsTemplate(namespace) {
		return nil
	}
	if problems := objectvalidation.ValidateNamespaceName(namespace, false); len(problems) > 0 {
		return field.ErrorList{field.Invalid(at, namespace, "not the name of a namespace: "+strings.Join(problems, "; "))}
	}
	return nil
}

// RenderedName refuses a rendered name that can't be a part of the path under which the API server is asked for an object: it would
// lead to another one. show says whether the message may quote it. What else is wrong with a name depends on the kind, and the API
// server says it.
func RenderedName(name string, show bool) error {
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("name: %s can't name an object: it %s", shownName(name, show), strings.Join(problems, ", "))
	}
	return nil
}

// RenderedNamespace refuses what can't be the name of a namespace.
func RenderedNamespace(name string, show bool) error {
	if problems := apivalidation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("namespace: %s can't name a namespace: %s", shownName(name, show), problems[0])
	}
	return nil
}

// shownName keeps a name that is far too long from filling a message, and one that is not the resource's own out of it.
func shownName(name string, show bool) string {
	const most = 64
	if !show {
		return "what the template yields"
	}
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most]) + "…"
	}
	return strconv.Quote(name)
}

// SharedName says what is wrong with the name of a cluster-scoped child of a namespaced resource.
func SharedName(kind string) string {
	return kind + " is cluster-scoped and the resources are not: its name must hold {{ .metadata.namespace }}, or resources of two namespaces would share it"
}
