package pipeline

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
			return fmt.Sprintf(`annotation %s is %.64q and has no effect: only "true" has one`, name, v)
		}
	}
	return ""
}

// warnMisread warns of switches of the resource that are not understood.
func (r *Run) warnMisread() {
	if text := Misread(r.Stored.GetAnnotations(), switches...); text != "" {
		r.Events = append(r.Events, Event{Warning: true, Reason: v1alpha1.ReasonAnnotationIgnored, Message: text})
	}
}

// showMisread says so on a resource that is Ready. Where it is not, that is said first.
func (r *Run) showMisread(res *status.Result) {
	if text := Misread(r.Stored.GetAnnotations(), switches...); text != "" && res.Ready.Status == metav1.ConditionTrue {
		res.Ready.Message = status.WithAdvice(res.Ready.Message, text)
	}
}

// misreadAllowance warns on a namespace whose allow-from lists what is no namespace. Only the people of that namespace are told: to
// others it is a namespace that does not let them in.
func (r *Run) misreadAllowance(namespace *unstructured.Unstructured, listed []string) {
	wrong := slices.IndexFunc(listed, func(name string) bool { return name != "*" && len(apivalidation.IsDNS1123Label(name)) > 0 })
	if wrong < 0 {
		return
	}
	r.Events = append(r.Events, Event{
		Warning: true, Reason: v1alpha1.ReasonAnnotationIgnored,
		About: corev1.ObjectReference{APIVersion: namespaceKind.Version, Kind: namespaceKind.Kind, Name: namespace.GetName(), UID: namespace.GetUID()},
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
