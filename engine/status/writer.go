package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
)

// The fields of a resource that Orkestra itself writes, and what leads to them.
const (
	fieldStatus             = "status"
	fieldConditions         = "conditions"
	fieldObservedGeneration = "observedGeneration"
	fieldType               = "type"
	fieldTransition         = "lastTransitionTime"
)

// Writer computes the status of the resources of one CRD version. It is immutable and safe for concurrent use.
type Writer struct {
	// schema of an object that has nothing but a status, as pruning and defaulting take it; nil: the API server keeps every field.
	schema *structuralschema.Structural
	// hasSubresource: without one, nothing is written.
	hasSubresource bool
	// keepsConditions and keepsGeneration say whether the API server would store status.conditions and status.observedGeneration.
	keepsConditions, keepsGeneration bool
	// fieldsOnly: neither is ours to write.
	fieldsOnly bool
}

// NewWriter gives a writer for a version with that schema of the whole resource; nil means that everything is known.
// hasSubresource says whether the version has a status subresource. It fails where the schema is not structural.
func NewWriter(schema *apiextensionsv1.JSONSchemaProps, hasSubresource bool) (*Writer, error) {
	w := &Writer{hasSubresource: hasSubresource, keepsConditions: true, keepsGeneration: true}
	if schema == nil {
		return w, nil
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, internal, nil); err != nil {
		return nil, fmt.Errorf("reading the CRD's schema: %w", err)
	}
	whole, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("reading the CRD's schema: %w", err)
	}
	status, declared := whole.Properties[fieldStatus]
	if !declared && whole.XPreserveUnknownFields {
		return w, nil
	}
	// A status that is not declared is pruned by the API server, so nothing in it is known.
	w.schema = &structuralschema.Structural{
		Generic:    structuralschema.Generic{Type: value.TypeObject},
		Properties: map[string]structuralschema.Structural{fieldStatus: status},
	}
	w.keepsConditions, w.keepsGeneration = w.try()
	return w, nil
}

// try says which of our own fields the API server would store as we write them. That the schema names them is not enough: if it pruned
// the conditions to empty objects, they would differ in each cycle, and be written again for ever.
func (w *Writer) try() (conditions, generation bool) {
	sample := encode(metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue})
	tree := map[string]any{fieldConditions: []any{sample}, fieldObservedGeneration: int64(1)}
	w.prune(tree)
	_, keepsList := tree[fieldConditions]
	_, keepsType := sample[fieldType]
	_, keepsStatus := sample[fieldStatus]
	_, keepsGeneration := tree[fieldObservedGeneration]
	list, number := w.schemaAt([]string{fieldConditions}), w.schemaAt([]string{fieldObservedGeneration})
	conditions = keepsList && keepsType && keepsStatus && allows(list, value.TypeArray)
	return conditions, keepsGeneration && (allows(number, value.TypeInteger) || allows(number, value.TypeNumber))
}

// allows says whether a schema leaves room for a type.
func allows(s *structuralschema.Structural, wanted string) bool {
	return s == nil || s.Type == "" && !s.XIntOrString || s.Type == wanted
}

// Writable says whether there is a status to write: whether the version has a status subresource.
func (w *Writer) Writable() bool { return w.hasSubresource }

// FieldsOnly gives the same writer for objects of others: it writes the declared fields, and nothing of Orkestra's.
func (w *Writer) FieldsOnly() *Writer {
	only := *w
	only.fieldsOnly, only.keepsConditions, only.keepsGeneration = true, false, false
	return &only
}

// IsFieldsOnly says whether the writer is for objects of others.
func (w *Writer) IsFieldsOnly() bool { return w.fieldsOnly }

// Missing names what the schema does not know of conditions and observedGeneration; "" when it knows both.
func (w *Writer) Missing() string {
	var missing []string
	if w.fieldsOnly {
		return ""
	}
	if !w.keepsConditions {
		missing = append(missing, fieldStatus+"."+fieldConditions)
	}
	if !w.keepsGeneration {
		missing = append(missing, fieldStatus+"."+fieldObservedGeneration)
	}
	return strings.Join(missing, " and ")
}

// Unwritten says what of the results of reconciles the status of the resources does not have.
type Unwritten struct {
	// Reason of the box's condition StatusWritable.
	Reason string
	// Message is a clause that names the CRD, and what is left out.
	Message string
	// Conditions says that conditions are left out: then no status says how a resource fares.
	Conditions bool
}

// Unwritten gives that of the resources of a CRD in a version; nil: all is written, or the objects are of others, whose status gets fields alone.
func (w *Writer) Unwritten(crd, version string) *Unwritten {
	missing := w.Missing()
	switch {
	case w.fieldsOnly:
		return nil
	case !w.hasSubresource:
		return &Unwritten{v1alpha1.ReasonNoStatusSubresource, fmt.Sprintf("version %s of %s has no status subresource: results are in events and in CRDHealth only", version, crd), true}
	case missing != "":
		return &Unwritten{v1alpha1.ReasonStatusFieldsUnknown, fmt.Sprintf("the schema of %s does not know %s: they are left out of the resources' status", crd, missing), !w.keepsConditions}
	default:
		return nil
	}
}

// Desired gives the status that a resource is to have: what is stored, with our conditions, observedGeneration and the
// declared fields in it, as the API server would store it. unknown lists the other paths that the schema does not know and
// that are left out, sorted. err is the *FieldError of the first field that does not fit; that field stays as it is stored,
// and desired is still worth writing. The stored resource is not changed. Without a status subresource, what is stored is
// what is desired.
func (w *Writer) Desired(stored *unstructured.Unstructured, r Result, now metav1.Time) (desired map[string]any, unknown []string, err error) {
	desired = copyFields(storedStatus(stored))
	if !w.hasSubresource {
		return desired, nil, nil
	}
	for _, f := range r.Fields {
		if misfit := w.set(desired, f); misfit != nil && err == nil {
			err = misfit
		}
	}
	if w.keepsGeneration {
		desired[fieldObservedGeneration] = r.Generation
	}
	if w.keepsConditions {
		desired[fieldConditions] = conditionsOf(desired[fieldConditions], r, now)
	}
	unknown = slices.DeleteFunc(w.prune(desired), isOurs)
	// Defaults are set as the API server will set them, so that the status does not differ from what is stored.
	if w.schema != nil {
		defaulting.Default(map[string]any{fieldStatus: desired}, w.schema)
	}
	return desired, unknown, err
}

// prune takes out of a status what the API server would not store, and gives the paths, sorted.
func (w *Writer) prune(status map[string]any) []string {
	if w.schema == nil {
		return nil
	}
	root := map[string]any{fieldStatus: status}
	return pruning.PruneWithOptions(root, w.schema, false, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

// isOurs says whether a path leads to a field that Orkestra itself writes. Those that the schema does not know are reported by Missing.
func isOurs(path string) bool {
	for _, field := range []string{fieldConditions, fieldObservedGeneration} {
		rest, found := strings.CutPrefix(path, fieldStatus+"."+field)
		if found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// storedStatus is the status as it is stored; nil where there is none.
func storedStatus(stored *unstructured.Unstructured) map[string]any {
	if stored == nil {
		return nil
	}
	status, _ := stored.Object[fieldStatus].(map[string]any)
	return status
}

// KeepsConditions says whether the API server would store conditions.
func (w *Writer) KeepsConditions() bool { return w.keepsConditions }

// conditionsOf puts our conditions, and those that the box declares, among those that are there.
func conditionsOf(stored any, r Result, now metav1.Time) []any {
	list, _ := stored.([]any)
	for _, c := range []metav1.Condition{r.Ready, r.Reconciling, r.Stalled} {
		if c.Type != "" {
			c.Message = Truncate(c.Message)
			list = withCondition(list, c, r.Generation, now)
		}
	}
	for _, own := range r.Conditions {
		if own.Remove {
			list = slices.DeleteFunc(list, func(e any) bool { return isCondition(e, own.Condition.Type) })
			continue
		}
		list = withCondition(list, own.Condition, r.Generation, now)
	}
	return list
}

// withCondition puts one condition into a list, in the place of the one of its type. lastTransitionTime stays while the status does,
// unless what stands there is no time, which the schema could refuse.
func withCondition(list []any, c metav1.Condition, generation int64, now metav1.Time) []any {
	c.ObservedGeneration, c.LastTransitionTime = generation, now
	entry := encode(c)
	at := slices.IndexFunc(list, func(e any) bool { return isCondition(e, c.Type) })
	if at < 0 {
		return append(list, entry)
	}
	before, _ := list[at].(map[string]any)
	if since, ok := before[fieldTransition].(string); ok && before[fieldStatus] == string(c.Status) && isTime(since) {
		entry[fieldTransition] = since
	}
	list[at] = entry
	return list
}

func isCondition(entry any, kind string) bool {
	m, ok := entry.(map[string]any)
	return ok && m[fieldType] == kind
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

func encode(c metav1.Condition) map[string]any {
	return map[string]any{
		fieldType: c.Type, fieldStatus: string(c.Status), fieldReason: c.Reason, fieldMessage: c.Message,
		fieldObservedGeneration: c.ObservedGeneration,
		fieldTransition:         c.LastTransitionTime.UTC().Format(time.RFC3339),
	}
}

// ReleasePatch gives the last patch for a resource that is let go. Ready becomes Unknown, since nobody watches its children from then on, and
// RolledBack goes: nobody holds the resource at an earlier spec any more.
// Declared fields and other conditions stay. nil: there is nothing to write.
func (w *Writer) ReleasePatch(stored *unstructured.Unstructured, reason, message string, now metav1.Time) ([]byte, error) {
	if !w.Writable() {
		return nil, nil
	}
	var own []Own
	if HasCondition(stored, v1alpha1.ConditionRolledBack) {
		own = append(own, Own{Condition: metav1.Condition{Type: v1alpha1.ConditionRolledBack}, Remove: true})
	}
	desired, _, err := w.Desired(stored, Result{
		Conditions:  own,
		Generation:  stored.GetGeneration(),
		Ready:       ready(metav1.ConditionUnknown, reason, message),
		Reconciling: NotProgressing(reason, message),
		Stalled:     NotStalled(),
	}, now)
	if err != nil {
		return nil, err
	}
	return Patch(stored, desired)
}
