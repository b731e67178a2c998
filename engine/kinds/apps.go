package kinds

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func appsKinds() []Kind {
	return []Kind{
		{
			Key: keyDeployments, Singular: "deployment", Rank: rankWorkload,
			GVK:      appsv1.SchemeGroupVersion.WithKind("Deployment"),
			fields:   reflect.TypeFor[v1alpha1.DeploymentFields](),
			spec:     reflect.TypeFor[appsv1.DeploymentSpec](),
			workload: true,
			check:    checkPod,
			build:    buildDeployment,
		},
		planned("statefulsets", "statefulset", rankWorkload, appsv1.SchemeGroupVersion.WithKind("StatefulSet")),
		planned("daemonsets", "daemonset", rankWorkload, appsv1.SchemeGroupVersion.WithKind("DaemonSet")),
	}
}

// WorkloadOf gives what others take defaults from, of a workload's name and rendered short fields. A port that can't be
// read counts as none: building the workload itself reports it.
func WorkloadOf(name string, short map[string]any) Workload {
	port, portName := firstPort(short, "containerPort")
	return Workload{Name: name, Port: port, PortName: portName}
}

func buildDeployment(d Declared, short map[string]any) (map[string]any, error) {
	template, err := podTemplate(d, short, d.selector(d.Name))
	if err != nil {
		return nil, err
	}
	spec := pick(short, nameReplicas, "strategy")
	spec[nameSelector] = map[string]any{"matchLabels": d.selector(d.Name)}
	spec["template"] = template
	return map[string]any{nameSpec: spec}, nil
}

// firstPort reads the first of `ports`, whose number is in the named field, or else `port`.
func firstPort(short map[string]any, number string) (port int32, name string) {
	if ports, ok := plain(short[namePorts]).([]any); ok && len(ports) > 0 {
		first, ok := plain(ports[0]).(map[string]any)
		if !ok {
			return 0, ""
		}
		if text, ok := first[nameName].(string); ok {
			name = text
		}
		return portNumber(first[number]), name
	}
	return portNumber(short[namePort]), ""
}

// portNumber reads a port; what can't be read counts as none.
func portNumber(v any) int32 {
	n, ok := int32Of(v)
	if !ok {
		return 0
	}
	return n
}
