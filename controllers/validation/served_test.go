package validation

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestKindsThatKubernetesDoesNotServe(t *testing.T) {
	for kind, want := range map[schema.GroupVersionKind]string{
		{Version: "v1", Kind: "ConfigMap"}:                                               "",
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}:                    "",
		{Group: "policy", Version: "v1beta1", Kind: "PodDisruptionBudget"}:               "Kubernetes 1.25 and later have no PodDisruptionBudget of policy/v1beta1: write policy/v1",
		{Group: "extensions", Version: "v1beta1", Kind: "Ingress"}:                       "Kubernetes 1.22 and later have no Ingress of extensions/v1beta1",
		{Group: "apps", Version: "v2", Kind: "Deployment"}:                               "Kubernetes has no Deployment of apps/v2: write apps/v1",
		{Group: "apps", Version: "v1", Kind: "Deploymnt"}:                                "Kubernetes has no Deploymnt of apps/v1",
		{Group: "demo.example.com", Version: "v1", Kind: "Website"}:                      "",
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}: "",
	} {
		NewWithT(t).Expect(notServedByKubernetes(kind)).To(Equal(want), kind.String())
	}
}
