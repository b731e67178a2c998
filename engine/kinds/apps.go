package kinds

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
)

const (
	nameClaimTemplates = "volumeClaimTemplates"
	nameStrategy       = "strategy"
	nameUpdateStrategy = "updateStrategy"
)

// inTemplate is where the pod template of a workload or a Job is in its spec.
var inTemplate = []string{"template"}

func appsKinds() []Kind {
	return []Kind{
		{
			Key: keyDeployments, Singular: "deployment", Rank: rankWorkload,
			GVK:      appsv1.SchemeGroupVersion.WithKind(kindDeployment),
			fields:   reflect.TypeFor[v1alpha1.DeploymentFields](),
			spec:     reflect.TypeFor[appsv1.DeploymentSpec](),
			workload: true, scalable: true,
			check: checkWorkload,
			build: buildDeployment,
		},
		{
			Key: keyStatefulSets, Singular: "statefulset", Rank: rankWorkload,
			GVK:      appsv1.SchemeGroupVersion.WithKind(kindStatefulSet),
			fields:   reflect.TypeFor[v1alpha1.StatefulSetFields](),
			spec:     reflect.TypeFor[appsv1.StatefulSetSpec](),
			workload: true, scalable: true,
			fromService: source{fields: nameServiceName, needs: needsServiceName},
			check:       checkStatefulSet,
			build:       buildStatefulSet,
		},
		{
			Key: keyDaemonSets, Singular: "daemonset", Rank: rankWorkload,
			GVK:      appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
			fields:   reflect.TypeFor[v1alpha1.DaemonSetFields](),
			spec:     reflect.TypeFor[appsv1.DaemonSetSpec](),
			workload: true,
			check:    checkWorkload,
			build:    buildDaemonSet,
		},
	}
}

// WorkloadOf gives what others take defaults from, of the name and the rendered short fields of a workload of this kind. A port
// that can't be read counts as none: building the workload itself reports it.
func (k Kind) WorkloadOf(name string, short map[string]any) Workload {
	port, portName := firstPort(short, nameContainerPort)
	return Workload{Kind: k.GVK.Kind, Name: name, Port: port, PortName: portName}
}

func checkWorkload(c *shape.Checker) {
	checkPod(c, inTemplate...)
	checkRestarts(c, inTemplate, string(corev1.RestartPolicyAlways))
}

func buildDeployment(d Declared, short map[string]any) (map[string]any, error) {
	spec, err := workloadSpec(d, short)
	if err != nil {
		return nil, err
	}
	if v, ok := short[nameStrategy]; ok {
		spec[nameStrategy] = v
	}
	return map[string]any{nameSpec: spec}, nil
}

func buildDaemonSet(d Declared, short map[string]any) (map[string]any, error) {
	spec, err := workloadSpec(d, short)
	if err != nil {
		return nil, err
	}
	if v, ok := short[nameStrategy]; ok {
		spec[nameUpdateStrategy] = v
	}
	return map[string]any{nameSpec: spec}, nil
}

// workloadSpec is what the specs of all workloads have in common.
func workloadSpec(d Declared, short map[string]any) (map[string]any, error) {
	template, err := podTemplate(short, d.Spec, d.selector(d.Name), inTemplate...)
	if err != nil {
		return nil, err
	}
	spec := pick(short, nameReplicas)
	spec[nameSelector] = d.labelSelector(d.Name)
	spec["template"] = template
	return spec, nil
}

// needsServiceName says whether a StatefulSet's serviceName must be taken from the box's Service. An empty name that is written out counts
// as given: the pods then have no DNS names.
func needsServiceName(short, spec map[string]any) bool {
	return short[nameServiceName] == nil && shape.Descend(spec, nameServiceName) == nil
}

func checkStatefulSet(c *shape.Checker) {
	checkWorkload(c)
	c.Reference(nameService, nameServiceName)
	c.Names(nameClaimTemplates, map[string]bool{}, "a name, by which volumeMounts find the claim", nameMetadata, nameName)
}

func buildStatefulSet(d Declared, short map[string]any) (map[string]any, error) {
	spec, err := workloadSpec(d, short)
	if err != nil {
		return nil, err
	}
	if v, ok := short[nameStrategy]; ok {
		spec[nameUpdateStrategy] = v
	}
	if name, ok := short[nameServiceName]; ok {
		spec[nameServiceName] = name
	} else if needsServiceName(d.Short, d.Spec) {
		if d.Service == nil {
			return nil, shape.Missing(nameServiceName, "a Service: the box has not exactly one")
		}
		spec[nameServiceName] = d.Service.Name
	}
	if list, ok := short[nameClaimTemplates].([]any); ok {
		spec[nameClaimTemplates] = claimTemplates(list)
	}
	return map[string]any{nameSpec: spec}, nil
}

// claimTemplates gives each claim the default access modes that `pvcs` have. It changes the list in place, which conversion has just made.
func claimTemplates(list []any) []any {
	for _, v := range list {
		claim := shape.Object(v)
		spec := shape.Object(claim[nameSpec])
		if spec == nil {
			spec = map[string]any{}
			claim[nameSpec] = spec
		}
		if spec[nameAccessModes] == nil {
			spec[nameAccessModes] = []any{string(corev1.ReadWriteOnce)}
		}
	}
	return list
}

// firstPort reads the first of `ports`, whose number is in the named field, or else `port`.
func firstPort(short map[string]any, number string) (port int32, name string) {
	if ports, ok := shape.Plain(short[namePorts]).([]any); ok && len(ports) > 0 {
		first, ok := shape.Plain(ports[0]).(map[string]any)
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
	n, ok := shape.Int32(v)
	if !ok {
		return 0
	}
	return n
}
