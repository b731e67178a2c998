package main

import (
	"testing"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestAKindOfKubernetesIsNoCRD(t *testing.T) {
	b := try(t, `onReconcile: {configmaps: [{data: {a: b}}]}`)
	content := map[string]any{"crd": map[string]any{"name": "statefulsets.apps"}, "onReconcile": b.parsed(`{configmaps: [{data: {a: b}}]}`)}
	b.box = b.write("box.yaml", object(v1alpha1.GroupVersion.WithKind("OperatorBox"), map[string]any{"metadata": map[string]any{"name": "websites"}, "spec": content}))
	b.refused(`"statefulsets.apps" is the StatefulSet of Kubernetes itself`, "serve some of them: crd: {apiVersion, kind: StatefulSet} with a selector")
}
