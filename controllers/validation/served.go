package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/orkspace/orkestra/engine/pipeline"
)

// lifecycle is what the types of Kubernetes say of themselves, where they are not to stay.
type lifecycle interface {
	APILifecycleRemoved() (major, minor int)
}

// unserved are notes on the kinds of a plan that Kubernetes serves no more, or never did, and that are not among those that are known: nothing
// else says so until the API server is asked.
func unserved(plan *pipeline.Plan, known meta.RESTMapper) []string {
	var notes []string
	for _, d := range plan.Declared() {
		for _, kind := range d.Kinds {
			if _, err := known.RESTMapping(kind.GroupKind(), kind.Version); err == nil {
				continue
			}
			if why := notServedByKubernetes(kind); why != "" {
				notes = append(notes, d.Where+": "+why)
			}
		}
	}
	return notes
}

// notServedByKubernetes says why an API server has no such kind, if its group is one of Kubernetes; empty: it may have.
func notServedByKubernetes(kind schema.GroupVersionKind) string {
	if !scheme.Scheme.IsGroupRegistered(kind.Group) {
		return ""
	}
	var others []string
	for _, gv := range scheme.Scheme.VersionsForGroupKind(kind.GroupKind()) {
		if removedIn(gv.WithKind(kind.Kind)) == "" && gv.Version != kind.Version {
			others = append(others, gv.String())
		}
	}
	slices.Sort(others)
	instead := ""
	if len(others) > 0 {
		instead = ": write " + strings.Join(others, " or ")
	}
	switch removed := removedIn(kind); {
	case removed != "":
		return fmt.Sprintf("Kubernetes %s and later have no %s of %s%s", removed, kind.Kind, kind.GroupVersion(), instead)
	case !scheme.Scheme.Recognizes(kind):
		return fmt.Sprintf("Kubernetes has no %s of %s%s", kind.Kind, kind.GroupVersion(), instead)
	default:
		return ""
	}
}

// removedIn is the version of Kubernetes that serves a kind no more; empty: it is to stay, or not known.
func removedIn(kind schema.GroupVersionKind) string {
	obj, err := scheme.Scheme.New(kind)
	if err != nil {
		return ""
	}
	ends, ok := obj.(lifecycle)
	if !ok {
		return ""
	}
	major, minor := ends.APILifecycleRemoved()
	return fmt.Sprintf("%d.%d", major, minor)
}
