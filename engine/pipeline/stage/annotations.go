package stage

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/status"
)

// switches are the annotations of a resource that are "true" or off.
var switches = []string{v1alpha1.AnnotationOrphan, v1alpha1.AnnotationPaused, v1alpha1.AnnotationSkipCleanup}

// Misread names the first of the given switches whose value is neither "true" nor "false", so that it is off although somebody may
// believe it to be on; empty: there is none.
func Misread(annotations map[string]string, switches ...string) string {
	for _, name := range switches {
		if v, set := annotations[name]; set && v != v1alpha1.True && v != "false" {
			return fmt.Sprintf(`%s%.64q and has no effect: only "true" has one`, misreadOf(name), v)
		}
	}
	return ""
}

// misreadOf is how Misread begins.
func misreadOf(name string) string { return "annotation " + name + " is " }

// WarnMisread warns of switches of the resource that are not understood.
func (r *Report) WarnMisread(annotations map[string]string) {
	if text := Misread(annotations, switches...); text != "" {
		r.Warn(v1alpha1.ReasonAnnotationIgnored, text)
	}
}

// ShowMisread says so in a condition Ready that is True, in place of what an earlier cycle has said of switches. Where it is not True, that
// is said first.
func ShowMisread(ready *metav1.Condition, annotations map[string]string) {
	if ready.Status != metav1.ConditionTrue {
		return
	}
	for _, name := range switches {
		ready.Message, _, _ = strings.Cut(ready.Message, "; "+misreadOf(name))
	}
	if text := Misread(annotations, switches...); text != "" {
		ready.Message = status.WithAdvice(ready.Message, text)
	}
}

// misreadAllowance warns on a namespace whose allow-from lists what is no namespace. Only the people of that namespace are told: to
// others it is a namespace that does not let them in.
func (r *Report) misreadAllowance(namespace *unstructured.Unstructured, listed []string) {
	wrong := slices.IndexFunc(listed, func(name string) bool { return name != "*" && len(apivalidation.IsDNS1123Label(name)) > 0 })
	if wrong < 0 {
		return
	}
	r.Events = append(r.Events, Event{
		Warning: true, Reason: v1alpha1.ReasonAnnotationIgnored,
		About: corev1.ObjectReference{APIVersion: NamespaceKind.Version, Kind: NamespaceKind.Kind, Name: namespace.GetName(), UID: namespace.GetUID()},
		Message: fmt.Sprintf(`annotation %s lists %.64q, which lets nobody in: list names of namespaces, separated by commas, or "*"`,
			v1alpha1.AnnotationAllowFrom, listed[wrong]),
	})
}

// allowed are the entries of allow-from.
func allowed(annotations map[string]string) []string {
	var out []string
	for name := range strings.SplitSeq(annotations[v1alpha1.AnnotationAllowFrom], ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
