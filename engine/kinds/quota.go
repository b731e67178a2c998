package kinds

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// quotaKinds are namespaces and their bounds.
func quotaKinds() []Kind {
	return []Kind{
		{
			Key: keyNamespaces, Singular: nameNamespace, Rank: rankNamespace, ClusterScoped: true,
			GVK:    corev1.SchemeGroupVersion.WithKind("Namespace"),
			fields: reflect.TypeFor[v1alpha1.NamespaceFields](),
			spec:   reflect.TypeFor[corev1.NamespaceSpec](),
			build:  alone(buildNamespace),
		},
		{
			Key: keyResourceQuotas, Singular: "resourcequota", Rank: rankRest,
			GVK:    corev1.SchemeGroupVersion.WithKind("ResourceQuota"),
			fields: reflect.TypeFor[v1alpha1.ResourceQuotaFields](),
			spec:   reflect.TypeFor[corev1.ResourceQuotaSpec](),
			build:  alone(buildSpec),
		},
		{
			Key: keyLimitRanges, Singular: "limitrange", Rank: rankRest,
			GVK:    corev1.SchemeGroupVersion.WithKind("LimitRange"),
			fields: reflect.TypeFor[v1alpha1.LimitRangeFields](),
			spec:   reflect.TypeFor[corev1.LimitRangeSpec](),
			check:  func(c *shape.Checker) { c.Require("limits", "limits", "limits") },
			build:  alone(buildSpec),
		},
	}
}

// buildSpec is for kinds whose short fields are those of the spec.
func buildSpec(short map[string]any) (map[string]any, error) {
	return map[string]any{nameSpec: short}, nil
}

// buildNamespace leaves the spec out where nothing is said: the API server fills it in.
func buildNamespace(short map[string]any) (map[string]any, error) {
	if len(short) == 0 {
		return map[string]any{}, nil
	}
	return map[string]any{nameSpec: short}, nil
}
