package kinds

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

func autoscalingKinds() []Kind {
	return []Kind{
		planned("hpas", "hpa", rankAutoscaler, autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")),
	}
}
