package kinds

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// defaultServicePort is the port of a Service where neither it nor the workload names one.
const defaultServicePort = 80

func coreKinds() []Kind {
	return slices.Concat(configKinds(), quotaKinds(), []Kind{
		{
			Key: keyServices, Singular: nameService, Rank: rankService,
			GVK:          corev1.SchemeGroupVersion.WithKind("Service"),
			fields:       reflect.TypeFor[v1alpha1.ServiceFields](),
			spec:         reflect.TypeFor[corev1.ServiceSpec](),
			fromWorkload: source{fields: nameSelector, needs: serviceNeedsWorkload},
			selecting:    nameSelector,
			check:        checkService,
			leftovers:    serviceLeftovers,
			build:        buildService,
		},
		{
			Key: keyPVCs, Singular: "pvc", Rank: rankClaim,
			GVK:    corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
			fields: reflect.TypeFor[v1alpha1.PVCFields](),
			spec:   reflect.TypeFor[corev1.PersistentVolumeClaimSpec](),
			check:  checkClaim,
			build:  alone(buildClaim),
		},
	})
}

// ServiceOf gives what Ingresses take their backend from, of a Service's name and rendered short fields. w is the box's
// only workload, or nil. A port that can't be read counts as none: building the Service itself reports it.
func ServiceOf(name string, short map[string]any, w *Workload) Service {
	s := Service{Name: name}
	s.Port, s.PortName = firstPort(short, namePort)
	if s.Port == 0 && short[namePort] == nil && !saysPorts(short) && !isExternalName(short) {
		s.Port = servicePort(w)
	}
	return s
}

func serviceNeedsWorkload(short, _ map[string]any) bool {
	return short[nameSelector] == nil && !isExternalName(short)
}

// isExternalName says whether the Service is a name for another host, so that it selects no pods and needs no ports.
func isExternalName(short map[string]any) bool {
	return short[nameType] == string(corev1.ServiceTypeExternalName)
}

func saysPorts(short map[string]any) bool {
	return short[namePorts] != nil && !shape.Empty(shape.Plain(short[namePorts]))
}

// checkService reports short fields that exclude each other.
func checkService(c *shape.Checker) {
	c.Exclusive(namePorts, namePort, nameTargetPort, "protocol")
	c.Reference(nameWorkload, nameSelector)
	if isExternalName(c.Short) {
		c.Exclusive(nameType, nameWorkload)
	}
	if c.Short["headless"] != false && c.Short[nameType] != string(corev1.ServiceTypeClusterIP) {
		c.Exclusive("headless", nameType)
	}
}

func buildService(d Declared, short map[string]any) (map[string]any, error) {
	spec := pick(short, nameType, nameSelector, namePorts)
	if short["headless"] == true {
		spec[nameClusterIP] = corev1.ClusterIPNone
	}
	// An empty selector that is written out means no selector, so that endpoints can be made by hand.
	if d.Short[nameSelector] == nil && !isExternalName(short) {
		if d.Workload == nil {
			return nil, shape.Missing(nameSelector, "a selector: the box has not exactly one workload")
		}
		spec[nameSelector] = d.selector(d.Workload.Name)
	}
	if spec[namePorts] == nil && (!isExternalName(short) || short[namePort] != nil) {
		spec[namePorts] = []any{servicePortEntry(short, d.Workload)}
	}
	return map[string]any{nameSpec: spec}, nil
}

// nameClusterIP is the address of a Service.
const nameClusterIP = "clusterIP"

// serviceLeftovers is clusterIP: None of a Service that is no longer headless. It must get an address, which the API server gives only when
// a Service is created.
func serviceLeftovers(spec map[string]any) []Leftover {
	if isExternalName(spec) || spec[nameClusterIP] != nil {
		return nil
	}
	return []Leftover{{Path: []string{nameSpec, nameClusterIP}, Value: corev1.ClusterIPNone, Wanted: "an address"}}
}

// servicePortEntry is the one port of a Service that lists none: that of the workload, unless the short fields name another.
func servicePortEntry(short map[string]any, w *Workload) map[string]any {
	entry := pick(short, namePort, nameTargetPort, "protocol")
	if entry[namePort] == nil {
		entry[namePort] = int64(servicePort(w))
	}
	if entry[nameTargetPort] == nil {
		entry[nameTargetPort] = entry[namePort]
		if w != nil && w.Port != 0 {
			entry[nameTargetPort] = int64(w.Port)
		}
	}
	return entry
}

func servicePort(w *Workload) int32 {
	if w != nil && w.Port != 0 {
		return w.Port
	}
	return defaultServicePort
}

// Fields of volume claims.
const (
	nameAccessModes = "accessModes"
	nameStorage     = "storage"
)

func checkClaim(c *shape.Checker) {
	c.Require(nameStorage, "a size, such as 10Gi", nameResources, "requests", nameStorage)
}

func buildClaim(short map[string]any) (map[string]any, error) {
	spec := pick(short, "storageClassName", nameAccessModes, "volumeMode")
	if spec[nameAccessModes] == nil {
		spec[nameAccessModes] = []any{string(corev1.ReadWriteOnce)}
	}
	if v, ok := short[nameStorage]; ok {
		spec[nameResources] = map[string]any{"requests": map[string]any{nameStorage: v}}
	}
	return map[string]any{nameSpec: spec}, nil
}
