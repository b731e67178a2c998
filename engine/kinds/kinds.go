// Package kinds knows the kinds that a resource group may declare: their short forms, how a rendered declaration becomes
// an object, and what templates see of a live one. It is pure: it reads no cluster, renders no templates and writes
// nothing. To add a kind, add its fields type to the API and its entry to the file of its API group here.
package kinds

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// Kind is one key of a resource group.
type Kind struct {
	// Key is the key, such as "deployments".
	Key string
	// Singular is what templates say after .children for the first one: "deployment". Empty for `resources`, where it
	// depends on the manifest: see SingularOf.
	Singular string
	// GVK is the kind of the objects. Zero for `resources`: see ManifestGVK.
	GVK schema.GroupVersionKind
	// Rank is the place in the order inside a group, from 0. For `resources` see RankOf.
	Rank int
	// ClusterScoped says that the objects have no namespace. Always false for `resources`.
	ClusterScoped bool

	// fields is the Go type of the short fields.
	fields reflect.Type
	// spec is the Go type of the object's spec; nil where it has none, and for `resources`.
	spec reflect.Type
	// selecting is a short field that must stay when it is empty: {} selects no pods, and without the field the workload's are selected.
	selecting string
	// workload says that the kind runs pods that Services and others select by default.
	workload bool
	// scalable says that an HPA can scale the kind.
	scalable bool
	// fromWorkload and fromService are what the kind takes from the box's only workload and Service.
	fromWorkload, fromService source
	// check adds what the types of the fields alone can't say; may be nil.
	check func(c *shape.Checker)
	// leftovers are values that stay on an object when its declaration drops them; may be nil.
	leftovers func(spec map[string]any) []Leftover
	// build makes the object's content besides apiVersion, kind and metadata from converted short fields.
	build func(d Declared, short map[string]any) (map[string]any, error)
}

// alone makes a build function of one that reads the short fields only, for kinds that take nothing from other declarations.
func alone(build func(short map[string]any) (map[string]any, error)) func(Declared, map[string]any) (map[string]any, error) {
	return func(_ Declared, short map[string]any) (map[string]any, error) { return build(short) }
}

// source says what a kind takes from another declaration of the box.
type source struct {
	// fields are the short fields that are given instead, for messages. Empty: nothing is taken.
	fields string
	// scalable says that only what can be scaled will do.
	scalable bool
	// needs says whether the short fields and the overlay leave something to take.
	needs func(short, spec map[string]any) bool
}

// The order inside a group: what others need to start comes first, such as the ConfigMaps of a workload. Kinds of one rank are applied
// concurrently.
const (
	rankNamespace = iota
	rankServiceAccount
	rankRole
	rankConfig
	rankClaim
	rankService
	rankWorkload
	rankJob
	rankIngress
	rankAutoscaler
	rankBudget
	rankRest
)

// The keys of a group.
const (
	keyClusterRoleBindings = "clusterrolebindings"
	keyClusterRoles        = "clusterroles"
	keyConfigMaps          = "configmaps"
	keyCronJobs            = "cronjobs"
	keyDaemonSets          = "daemonsets"
	keyDeployments         = "deployments"
	keyHPAs                = "hpas"
	keyIngresses           = "ingresses"
	keyJobs                = "jobs"
	keyLimitRanges         = "limitranges"
	keyNamespaces          = "namespaces"
	keyNetworkPolicies     = "networkpolicies"
	keyPatches             = "patches"
	keyPDBs                = "pdbs"
	keyPVCs                = "pvcs"
	keyResourceQuotas      = "resourcequotas"
	keyResources           = "resources"
	keyRoleBindings        = "rolebindings"
	keyRoles               = "roles"
	keySecrets             = "secrets"
	keyServiceAccounts     = "serviceaccounts"
	keyServices            = "services"
	keyStatefulSets        = "statefulsets"
)

// table holds every key that a group may have. It is made once, and never changed.
var table = newTable()

func newTable() map[string]Kind {
	all := slices.Concat(appsKinds(), autoscalingKinds(), batchKinds(), coreKinds(), networkingKinds(), policyKinds(),
		rbacKinds(), manifestKinds(), patchKinds())
	out := make(map[string]Kind, len(all))
	for _, k := range all {
		out[k.Key] = k
	}
	return out
}

// kindNames finds the known kinds by group and kind.
var kindNames = newKindNames()

func newKindNames() map[schema.GroupKind]Kind {
	out := make(map[schema.GroupKind]Kind, len(table))
	for _, k := range table {
		out[k.GVK.GroupKind()] = k
	}
	delete(out, schema.GroupKind{})
	return out
}

// Lookup finds a kind by its key. Upper and lower case are the same: `configMaps` is `configmaps`.
func Lookup(key string) (Kind, bool) {
	k, ok := table[strings.ToLower(key)]
	return k, ok
}

// Named gives the kind of Kubernetes that a key stands for by its name, such as StatefulSet.
func Named(kind string) (schema.GroupVersionKind, bool) {
	for _, k := range table {
		if k.GVK.Kind == kind && kind != "" {
			return k.GVK, true
		}
	}
	return schema.GroupVersionKind{}, false
}

// IsName says whether a name is that of a kind, as templates say it: its key or its singular.
func IsName(name string) bool {
	for _, k := range table {
		if name == k.Key || name == k.Singular && name != "" {
			return true
		}
	}
	return false
}

// Keys are the keys that Lookup finds, sorted.
func Keys() []string {
	return slices.Sorted(maps.Keys(table))
}

// RankOf is the place of a kind in the order inside a group. Kinds that no key stands for come last.
func RankOf(gvk schema.GroupVersionKind) int {
	if k, ok := kindNames[gvk.GroupKind()]; ok {
		return k.Rank
	}
	return rankRest
}

// SingularOf is the name of the first child of a kind under .children: "deployment", "pvc", or the lower-case kind
// where no key stands for it.
func SingularOf(gvk schema.GroupVersionKind) string {
	if k, ok := kindNames[gvk.GroupKind()]; ok {
		return k.Singular
	}
	return strings.ToLower(gvk.Kind)
}

// PluralOf is the name of all children of a kind under .children: "deployments", "pvcs", or the lower-case plural of
// the kind where no key stands for it.
func PluralOf(gvk schema.GroupVersionKind) string {
	if k, ok := kindNames[gvk.GroupKind()]; ok {
		return k.Key
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.Resource
}

// FieldNames are the short fields of the kind, sorted.
func (k Kind) FieldNames() []string {
	return slices.Clone(shape.Of(k.fields).Names)
}

// WorkloadRef and ServiceRef are the short fields that name the declaration that defaults are taken from, by its id.
const (
	WorkloadRef = nameWorkload
	ServiceRef  = nameService
)

// Leftover is a value that stays on an object when its declaration drops it: the API server carries it over, and can't change it.
type Leftover struct {
	// Path of the field.
	Path []string
	// Value that must not be there.
	Value string
	// Wanted says in words what should be there.
	Wanted string
}

// Leftovers are values that an object must not have with what is declared of it now.
func (k Kind) Leftovers(obj *unstructured.Unstructured) []Leftover {
	if k.leftovers == nil {
		return nil
	}
	return k.leftovers(shape.Object(obj.Object[nameSpec]))
}

// IsWorkload says whether the kind runs pods that Services and others select by default.
func (k Kind) IsWorkload() bool {
	return k.workload
}

// IsScalable says whether an HPA can scale the kind.
func (k Kind) IsScalable() bool {
	return k.scalable
}

// NeedsWorkload says whether the short fields and the overlay, rendered or not, leave something that only the box's only
// workload can give. Without that workload Build fails. fields are the short fields that can be given instead, for messages;
// scalable says that it must be a workload that can be scaled.
func (k Kind) NeedsWorkload(short, spec map[string]any) (fields string, scalable, needs bool) {
	return k.fromWorkload.fields, k.fromWorkload.scalable, k.fromWorkload.leaves(short, spec)
}

// NeedsService says whether the short fields and the overlay, rendered or not, leave something that only the box's only Service
// can give. Without that Service Build fails. fields are the short fields that can be given instead, for messages.
func (k Kind) NeedsService(short, spec map[string]any) (fields string, needs bool) {
	return k.fromService.fields, k.fromService.leaves(short, spec)
}

func (s source) leaves(short, spec map[string]any) bool {
	return s.needs != nil && s.needs(short, spec)
}

// WithoutEmpty gives short fields without what says nothing: null, empty lists and empty maps, at any depth. What an empty selector
// says stays. short is not changed.
func (k Kind) WithoutEmpty(short map[string]any) map[string]any {
	out := shape.Of(k.fields).WithoutEmpty(short)
	if v := short[k.selecting]; v != nil {
		out[k.selecting] = v
	}
	return out
}

// Check says everything that is wrong with the short fields and the spec overlay of a declaration before its templates are
// rendered: unknown fields at any depth, literal values of the wrong type, fields that are missing, and fields that
// contradict each other. The yields function says of a string what it gives when it is rendered; nil means that each gives
// itself. The errors stand below at, in an order that is always the same.
func (k Kind) Check(short, spec map[string]any, yields func(string) shape.Yield, at *field.Path) field.ErrorList {
	if yields == nil {
		yields = func(string) shape.Yield { return shape.Literal }
	}
	c := &shape.Checker{Short: short, Spec: spec, Yields: yields, At: at}
	c.Tree("", shape.Of(k.fields), short, false)
	if k.check != nil {
		k.check(c)
	}
	switch {
	case k.GVK.Empty() || spec == nil:
	case k.spec == nil:
		c.Add(noSpec(k.GVK.Kind))
	default:
		c.Tree(nameSpec, shape.Of(k.spec), spec, true)
	}
	return c.Found
}
