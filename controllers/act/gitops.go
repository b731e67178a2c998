package act

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tool is one that keeps objects as they are in Git.
type tool struct {
	name string
	// labels and annotations that it puts on what it applies, and the field managers by which it does.
	labels, annotations, managers []string
	// instead is what to do in place of a write.
	instead string
}

var tools = []tool{
	{
		name: "Argo CD", labels: []string{"argocd.argoproj.io/instance"}, annotations: []string{"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id"},
		managers: []string{"argocd-controller", "argocd-application-controller"},
		instead:  "commit the change, or the revert, to the repository of the Application",
	},
	{
		name: "Flux", labels: []string{"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"}, managers: []string{"kustomize-controller", "helm-controller"},
		instead: "commit the change, or the revert, to the repository of the Kustomization or HelmRelease",
	},
}

// managed says by which tool an object is kept as it is in Git, by what, and what to do instead of a write; empty: by none.
func managed(object metav1.Object) string {
	for _, t := range tools {
		if by := t.evidence(object); by != "" {
			return fmt.Sprintf("%s manages this box (%s), and would take back what is written here, or show it as a difference: %s", t.name, by, t.instead)
		}
	}
	return ""
}

func (t tool) evidence(object metav1.Object) string {
	for _, key := range t.labels {
		if value, there := object.GetLabels()[key]; there {
			return fmt.Sprintf("label %s: %q", key, value)
		}
	}
	for _, key := range t.annotations {
		if value, there := object.GetAnnotations()[key]; there {
			return fmt.Sprintf("annotation %s: %q", key, value)
		}
	}
	for _, entry := range object.GetManagedFields() {
		if entry.Subresource == "" && slices.Contains(t.managers, entry.Manager) {
			return fmt.Sprintf("field manager %q", entry.Manager)
		}
	}
	return ""
}
