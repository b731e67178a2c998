package kinds

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/value"
)

const (
	nameMaxReplicas    = "maxReplicas"
	nameMetrics        = "metrics"
	nameScaleTargetRef = "scaleTargetRef"
	nameTarget         = "target"
)

// Kinds that several places name.
const (
	kindDeployment  = "Deployment"
	kindStatefulSet = "StatefulSet"
)

// scaleTargets are the kinds that `target` may name, with their group and version.
var scaleTargets = map[string]string{
	kindDeployment:          appsv1.SchemeGroupVersion.String(),
	"ReplicaSet":            appsv1.SchemeGroupVersion.String(),
	"ReplicationController": corev1.SchemeGroupVersion.String(),
	kindStatefulSet:         appsv1.SchemeGroupVersion.String(),
}

// scaleTargetKinds are their names, sorted.
var scaleTargetKinds = []string{kindDeployment, "ReplicaSet", "ReplicationController", kindStatefulSet}

// usages are the short fields that are percentages of what pods request.
var usages = []string{"cpu", "memory"}

func autoscalingKinds() []Kind {
	return []Kind{{
		Key: keyHPAs, Singular: "hpa", Rank: rankAutoscaler,
		GVK:          autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
		fields:       reflect.TypeFor[v1alpha1.HPAFields](),
		spec:         reflect.TypeFor[autoscalingv2.HorizontalPodAutoscalerSpec](),
		fromWorkload: source{fields: nameTarget, scalable: true, needs: needsTarget},
		check:        checkAutoscaler,
		build:        buildAutoscaler,
	}}
}

// needsTarget says whether the target must be taken from the box's workload. The overlay may have one too: scaleTargetRef can name kinds
// that the short field `target` can't, such as custom ones.
func needsTarget(short, spec map[string]any) bool {
	return short[nameTarget] == nil && shape.Descend(spec, nameScaleTargetRef) == nil
}

func checkAutoscaler(c *shape.Checker) {
	c.Require(nameMaxReplicas, "the highest number of pods", nameMaxReplicas)
	c.Reference(nameWorkload, nameTarget)
	if c.Short[nameWorkload] != nil && c.Overlaid(nameScaleTargetRef) != nil {
		c.Forbid(nameWorkload, "workload and spec.scaleTargetRef contradict each other: give one of them")
	}
	target := shape.Object(c.Short[nameTarget])
	if target == nil {
		return
	}
	if text, ok := target[nameKind].(string); ok && text != "" && !c.Templated(text) && scaleTargets[text] == "" {
		c.Add(badTarget(text))
	} else if target[nameKind] == nil || target[nameKind] == "" {
		c.Missing(shape.JoinPath(nameTarget, nameKind), shape.OneOf(scaleTargetKinds))
	}
	if target[nameName] == nil || target[nameName] == "" {
		c.Missing(shape.JoinPath(nameTarget, nameName), "the name of what is scaled")
	}
}

func badTarget(kind string) *shape.FieldError {
	return &shape.FieldError{
		Path: shape.JoinPath(nameTarget, nameKind), Want: shape.OneOf(scaleTargetKinds) + " (others: spec.scaleTargetRef)",
		Got: value.TypeString, Value: shape.Excerpt(kind),
	}
}

func buildAutoscaler(d Declared, short map[string]any) (map[string]any, error) {
	spec := pick(short, "minReplicas", nameMaxReplicas, "behavior")
	target, err := scaleTarget(d, short)
	if err != nil {
		return nil, err
	}
	if target != nil {
		spec[nameScaleTargetRef] = target
	}
	var metrics []any
	for _, name := range usages {
		if percent, ok := short[name]; ok {
			metrics = append(metrics, map[string]any{
				nameType: string(autoscalingv2.ResourceMetricSourceType),
				"resource": map[string]any{
					nameName:   name,
					nameTarget: map[string]any{nameType: string(autoscalingv2.UtilizationMetricType), "averageUtilization": percent},
				},
			})
		}
	}
	if own, ok := short[nameMetrics].([]any); ok {
		metrics = append(metrics, own...)
	}
	if len(metrics) > 0 {
		spec[nameMetrics] = metrics
	}
	return map[string]any{nameSpec: spec}, nil
}

// scaleTarget gives what is scaled; nil where the overlay says it.
func scaleTarget(d Declared, short map[string]any) (map[string]any, error) {
	var kind, name string
	switch target := shape.Object(short[nameTarget]); {
	case target != nil:
		kind, _ = target[nameKind].(string)
		name, _ = target[nameName].(string)
	case !needsTarget(d.Short, d.Spec):
		return nil, nil
	case d.Workload == nil:
		return nil, shape.Missing(nameTarget, "a target: the box has not exactly one workload that can be scaled")
	default:
		kind, name = d.Workload.Kind, d.Workload.Name
	}
	if scaleTargets[kind] == "" {
		return nil, badTarget(kind)
	}
	if name == "" {
		return nil, shape.Missing(shape.JoinPath(nameTarget, nameName), "the name of what is scaled")
	}
	return map[string]any{nameAPIVersion: scaleTargets[kind], nameKind: kind, nameName: name}, nil
}
