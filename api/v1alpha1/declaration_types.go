package v1alpha1

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ResourceGroup maps keys to lists of declarations. The keys are the lower-case plurals of kinds, such as deployments, services or
// pvcs; resources takes manifests of any kind, and patches sets fields of objects that others own. The camelCase spelling of a key is the same key. Besides the fields here,
// declarations take the short fields of their kind: `orkestra explain` lists the keys, `orkestra explain KEY` the fields.
//
// +kubebuilder:validation:MaxProperties=64
// +kubebuilder:validation:XValidation:rule="self.all(k, k.lowerAscii() in ['configmaps','clusterrolebindings','clusterroles','cronjobs','daemonsets','deployments','hpas','ingresses','jobs','limitranges','namespaces','networkpolicies','patches','pdbs','pvcs','resourcequotas','resources','rolebindings','roles','secrets','serviceaccounts','services','statefulsets'])",message="unknown key; a kind that has no key goes under resources, as a manifest; valid keys: clusterrolebindings, clusterroles, configmaps, cronjobs, daemonsets, deployments, hpas, ingresses, jobs, limitranges, namespaces, networkpolicies, patches, pdbs, pvcs, resourcequotas, resources, rolebindings, roles, secrets, serviceaccounts, services, statefulsets"
type ResourceGroup map[string]DeclarationList

// DeclarationList is what one key of a group holds.
//
// +kubebuilder:validation:MaxItems=64
// +listType=atomic
type DeclarationList []Declaration

// GatePolicy says what happens to an existing child while its gate is false.
//
// +kubebuilder:validation:Enum=Keep;Delete
type GatePolicy string

// The gate policies.
const (
	GateKeep   GatePolicy = "Keep"
	GateDelete GatePolicy = "Delete"
)

// ChildDeletionPolicy says what happens to a child that no declaration stands for any more.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type ChildDeletionPolicy string

// The deletion policies of a child.
const (
	ChildDelete ChildDeletionPolicy = "Delete"
	ChildOrphan ChildDeletionPolicy = "Orphan"
)

// Declaration is one entry of a resource group: it stands for one object, or with forEach for one per item.
// Besides the fields here it takes the short fields of its kind.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Declaration struct {
	CommonFields `json:",inline"`

	// Short holds the short fields of the kind, by name, as written.
	Short map[string]apiextensionsv1.JSON `json:"-"`
}

// CommonFields are the fields that declarations of every kind have.
type CommonFields struct {
	// ID names the declaration; it does not depend on its position. Default: the key and the name template.
	// +kubebuilder:validation:Pattern=`^[a-z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ID string `json:"id,omitempty"`

	// Name of the object; may be a template. Default: the resource's name.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Name string `json:"name,omitempty"`

	// Namespace of the object. Default: the resource's. A template may only lead into a namespace that lets the resource in:
	// annotation orkestra.orkspace.io/allow-from.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Labels of the object: texts by name, which may be templates, or one template that gives them. Null is left out.
	// +optional
	Labels *apiextensionsv1.JSON `json:"labels,omitempty"`

	// Annotations of the object: texts by name, which may be templates, or one template that gives them. Null is left out.
	// +optional
	Annotations *apiextensionsv1.JSON `json:"annotations,omitempty"`

	// Reconcile keeps the object corrected. Default: true in onReconcile, false in onCreate.
	// +optional
	Reconcile *bool `json:"reconcile,omitempty"`

	// Once makes the object and never changes it again. Default: false.
	// +optional
	Once bool `json:"once,omitempty"`

	Gate `json:",inline"`

	// WhenFalse says what happens to an existing object while the gate is false: Keep or Delete. Default: Keep for gates that wait, and
	// for volume claims, namespaces and StatefulSets; else Delete.
	// +optional
	WhenFalse GatePolicy `json:"whenFalse,omitempty"`

	// After lists ids of declarations that come first: this one acts when what they make is there and current, by their readyWhen or by
	// kstatus, a Job when it has completed. What is there of this one stays as it is until then. Default: it waits for what it reads.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	After []ShortString `json:"after,omitempty"`

	// Optional declarations hold nothing back while their gate waits, and an object of a kind that is not installed is left out until it is.
	// Default: false.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// ForEach makes one object for each item.
	// +optional
	ForEach *ForEach `json:"forEach,omitempty"`

	// Adopt says whether an existing object that nobody controls may be taken over: Never or IfUnowned. Default: Never.
	// +optional
	Adopt AdoptPolicy `json:"adopt,omitempty"`

	// DeletionPolicy says what happens to the object when no declaration stands for it any more: Delete or Orphan. Default: Delete.
	// +optional
	DeletionPolicy ChildDeletionPolicy `json:"deletionPolicy,omitempty"`

	// Replace deletes the object, and makes it again, where what has changed of it can't be changed in place; a Job, when what it runs has
	// changed. Not for volume claims, namespaces, CRDs and what is made once. Default: false.
	// +optional
	Replace bool `json:"replace,omitempty"`

	// InitialFields are paths that are set at creation and then left alone.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	InitialFields []ShortString `json:"initialFields,omitempty"`

	// ReadyWhen lists conditions under which the object counts as current; they read it as `object`. Default: kstatus.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	ReadyWhen []Condition `json:"readyWhen,omitempty"`

	// Spec is merged over the spec that the short fields make.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Spec *apiextensionsv1.JSON `json:"spec,omitempty"`
}

// ForEach makes one object for each item of a list, map or number, or for each combination of the items of several. It has either field or
// loops.
type ForEach struct {
	// Field is a path or template that yields a list, a map or a number.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Field string `json:"field,omitempty"`

	// As is another name for .item. With loops, each of them has a name of its own.
	// +kubebuilder:validation:Pattern=`^[a-z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	// +optional
	As string `json:"as,omitempty"`

	// Loops names several fields to go over, the first one outermost: there is an object for each combination of their items, at most 1,000. A
	// later loop may read the item of an earlier one. .item is the map of their items by name.
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Loops []Loop `json:"loops,omitempty"`

	// Key is a template that gives the item's stable identity, such as {{ .item.name }}. Default: the map key, or the name of the object; with
	// loops, the keys of all, with # in between.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Key string `json:"key,omitempty"`

	// Rollout changes the items one after another, as they get current. Default: all at once.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`
}

// Loop is one of several loops.
type Loop struct {
	// Field is a path or template that yields a list, a map or a number. It may read the items of the loops before it, by their names.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Field string `json:"field"`

	// As is the name of the item in templates, gates and later loops.
	// +kubebuilder:validation:Pattern=`^[a-z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	// +required
	As string `json:"as"`
}

// Rollout says how many items of a loop may be out of service at a time because of a change, and in which order they are changed.
type Rollout struct {
	// MaxUnavailable is how many items may be changed at a time: a number, a percentage of the items such as 25% (rounded down, at least
	// one), or a template that gives one of them. Items that are not current for another reason count. Default: 1.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Order says which items are changed first, and then deleted first: Ascending, the first, or Descending, the last. What is not there is made
	// before that, always from the first. Default: Ascending.
	// +optional
	Order RolloutOrder `json:"order,omitempty"`
}

// RolloutOrder is the order in which the items of a loop are changed.
// +kubebuilder:validation:Enum=Ascending;Descending
type RolloutOrder string

// The orders of a rollout.
const (
	// RolloutAscending changes the first item first.
	RolloutAscending RolloutOrder = "Ascending"
	// RolloutDescending changes the last item first, as a StatefulSet does.
	RolloutDescending RolloutOrder = "Descending"
)

// UnmarshalJSON reads the common fields into their types and keeps all others in Short.
func (d *Declaration) UnmarshalJSON(b []byte) error {
	common, short, err := readShort[CommonFields](b)
	if err != nil {
		return err
	}
	d.CommonFields, d.Short = common, short
	return nil
}

// MarshalJSON writes the common and the short fields side by side.
func (d Declaration) MarshalJSON() ([]byte, error) { return writeShort(d.CommonFields, d.Short) }

// readShort reads the fields of a type, and gives all others as they are written.
func readShort[T any](b []byte) (common T, rest map[string]apiextensionsv1.JSON, err error) {
	if err := json.Unmarshal(b, &common); err != nil {
		return common, nil, fmt.Errorf("reading a declaration: %w", err)
	}
	var all map[string]apiextensionsv1.JSON
	if err := json.Unmarshal(b, &all); err != nil {
		return common, nil, fmt.Errorf("reading a declaration: %w", err)
	}
	for _, name := range commonFieldNames(reflect.TypeFor[T]()) {
		delete(all, name)
	}
	if len(all) == 0 {
		all = nil
	}
	return common, all, nil
}

// writeShort writes the fields of a type, and others beside them.
func writeShort(common any, rest map[string]apiextensionsv1.JSON) ([]byte, error) {
	b, err := json.Marshal(common)
	if err != nil {
		return nil, fmt.Errorf("writing a declaration: %w", err)
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("writing a declaration: %w", err)
	}
	for name, v := range rest {
		all[name] = v.Raw
	}
	return json.Marshal(all)
}

// CommonFieldNames are the JSON names of the fields that declarations of every kind have.
func CommonFieldNames() []string {
	return commonFieldNames(reflect.TypeFor[CommonFields]())
}

// CommonFieldNamesOfPatches are those of them that a patch takes. All others say how a child is made, and are refused.
func CommonFieldNamesOfPatches() []string {
	return []string{"id", "when", "anyOf", "whenFalse", "optional", "forEach"}
}

func commonFieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" { // an inlined struct, such as Gate
			names = append(names, commonFieldNames(f.Type)...)
			continue
		}
		names = append(names, name)
	}
	return names
}
