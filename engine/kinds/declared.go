package kinds

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// Declared is a declaration with every template rendered. Build changes nothing of it.
type Declared struct {
	// Name of the object.
	Name string
	// Namespace of the object. Empty for cluster-scoped ones.
	Namespace string
	// Labels and Annotations of the object. They win over those of a manifest.
	Labels, Annotations map[string]string
	// Short holds the rendered short fields, as a JSON tree.
	Short map[string]any
	// Spec is the rendered overlay, or nil.
	Spec map[string]any
	// Instance is the resource's name as a label value: see LabelValue.
	Instance string
	// Workload is the box's only workload, or nil. It is a must where NeedsWorkload says so, and otherwise gives a
	// Service the defaults of its ports.
	Workload *Workload
	// Service is the box's only Service, or nil. It is a must where NeedsService says so.
	Service *Service
}

// Workload is what Services, HPAs, PDBs and NetworkPolicies take from the box's only workload where their fields are left out.
type Workload struct {
	// Kind of the object, such as Deployment.
	Kind string
	// Name of the object.
	Name string
	// Port is the first port of the main container, or 0.
	Port int32
	// PortName is the name of that port, or empty.
	PortName string
}

// Service is what Ingresses take their backend from.
type Service struct {
	// Name of the object.
	Name string
	// Port is the first port of the Service, or 0 where it has none.
	Port int32
	// PortName is the name of that port, or empty.
	PortName string
}

// Names of fields that several kinds, or short forms, have.
const (
	nameAPIVersion  = "apiVersion"
	nameKind        = "kind"
	nameKinds       = "kinds"
	nameData        = "data"
	nameImmutable   = "immutable"
	nameManifest    = "manifest"
	nameMatchLabels = "matchLabels"
	nameMetadata    = "metadata"
	nameName        = "name"
	nameNamespace   = "namespace"
	namePort        = "port"
	namePorts       = "ports"
	nameReplicas    = "replicas"
	nameSelector    = "selector"
	nameSpec        = "spec"
	nameStatus      = "status"
	nameTargetPort  = "targetPort"
	nameService     = "service"
	nameType        = "type"
	nameWorkload    = "workload"
)

// Build makes the object of a declaration: what it declares and the documented defaults, nothing else. The result shares
// no memory with d. Errors are *shape.FieldError; their paths begin at the declaration: "env[0].value", "spec.replicas".
func (k Kind) Build(d Declared) (*unstructured.Unstructured, error) {
	if d.Name == "" {
		return nil, shape.Missing(nameName, "a name")
	}
	short, err := shape.Of(k.fields).Short(d.Short)
	if err != nil {
		return nil, err
	}
	object, err := k.build(d, short)
	if err != nil {
		return nil, err
	}
	if k.GVK.Kind == "" {
		return &unstructured.Unstructured{Object: object}, nil
	}
	if err := k.overlay(object, d.Spec); err != nil {
		return nil, err
	}
	object[nameAPIVersion], object[nameKind] = k.GVK.GroupVersion().String(), k.GVK.Kind
	object[nameMetadata] = d.metadata(map[string]any{})
	return &unstructured.Unstructured{Object: object}, nil
}

// overlay merges the declaration's overlay over the spec that the short form made.
func (k Kind) overlay(object, overlay map[string]any) error {
	if overlay == nil {
		return nil
	}
	if k.spec == nil {
		return noSpec(k.GVK.Kind)
	}
	spec, err := shape.Merge(shape.Of(k.spec), shape.Object(object[nameSpec]), overlay, nameSpec)
	if err != nil {
		return err
	}
	object[nameSpec] = spec
	return nil
}

// metadata adds the names, labels and annotations of the declaration to own, the metadata of a manifest, which it changes. Where both have
// a key, that of the declaration wins.
func (d Declared) metadata(own map[string]any) map[string]any {
	own[nameName] = d.Name
	if d.Namespace != "" {
		own[nameNamespace] = d.Namespace
	}
	addTexts(own, "labels", d.Labels)
	addTexts(own, "annotations", d.Annotations)
	return own
}

func addTexts(to map[string]any, name string, texts map[string]string) {
	if len(texts) == 0 {
		return
	}
	own, ok := to[name].(map[string]any)
	if !ok {
		own = make(map[string]any, len(texts))
		to[name] = own
	}
	for key, v := range texts {
		own[key] = v
	}
}

// selector are the labels by which the pods of a workload are found. They hold names only, never a UID: selectors can't
// be changed, and must still match when the resource was restored from a backup with another UID.
func (d Declared) selector(workload string) map[string]any {
	return map[string]any{v1alpha1.LabelAppName: LabelValue(workload), v1alpha1.LabelAppInstance: d.Instance}
}

// labelSelector finds the pods of a workload.
func (d Declared) labelSelector(workload string) map[string]any {
	return map[string]any{nameMatchLabels: d.selector(workload)}
}

// defaultSelector fills in the selector of a PDB or NetworkPolicy: the pods of the box's only workload. Where the overlay has a selector,
// nothing is filled in: merged, the two would select fewer pods than the overlay says.
func (d Declared) defaultSelector(spec map[string]any, name string) error {
	switch {
	case !needsSelector(name)(d.Short, d.Spec):
		return nil
	case d.Workload == nil:
		return shape.Missing(name, "a selector: the box has not exactly one workload")
	default:
		spec[name] = d.labelSelector(d.Workload.Name)
		return nil
	}
}

// needsSelector says whether a selector must be taken from the workload: neither the short field nor the overlay has one. An empty one
// that is written out counts: it selects all pods.
func needsSelector(name string) func(short, spec map[string]any) bool {
	return func(short, spec map[string]any) bool { return short[name] == nil && shape.Descend(spec, name) == nil }
}

// LabelValue makes a label value of an object's name: a name over 63 characters becomes its first 54 without trailing
// -, . and _, then "-" and 8 characters of its hash. Others stay as they are.
func LabelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	const kept, hashed = 54, 8
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(name[:kept], "-._") + "-" + hex.EncodeToString(sum[:])[:hashed]
}

// pick copies those of the named fields that are there.
func pick(from map[string]any, names ...string) map[string]any {
	out := make(map[string]any, len(names))
	for _, name := range names {
		if v, ok := from[name]; ok {
			out[name] = v
		}
	}
	return out
}

// merged gives a new map with the entries of all maps; later ones win.
func merged(all ...map[string]any) map[string]any {
	out := map[string]any{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
