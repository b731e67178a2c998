package pipeline

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// absent says of an object that the Observer does not give why it does not.
func (r *Run) absent(what string) string {
	return what + " " + cmp.Or(r.Ports.Unread, "does not exist")
}

func describe(kind schema.GroupVersionKind, namespace, name string) string {
	out := kind.Kind
	switch {
	case name != "" && namespace != "":
		out += fmt.Sprintf(" %q", namespace+"/"+name)
	case name != "":
		out += fmt.Sprintf(" %q", name)
	case namespace != "":
		out += fmt.Sprintf(" in namespace %q", namespace)
	}
	return out
}
