package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// Most kinds have fields that can't be changed on an object that exists. The API server refuses such a change with 422, the same code as
// for invalid content, and the message differs by kind and by the rules of CRDs. So the writer tells them apart by a dry run: content that
// the API server would accept for a new object, but refuses as a change, can't be changed in place.

// Leftover is a value that a child keeps after its declaration dropped the field: the API server carries it over, and does not let it
// be changed. An example is clusterIP: None of a Service that is no longer headless.
type Leftover struct {
	// Path of the field, and the value that must not be there.
	Path  drift.FieldPath
	Value string
	// Wanted is what should be there.
	Wanted drift.InWords
}

// ImmutableError says that a child differs from what is declared in what Kubernetes does not change on an object that exists.
type ImmutableError struct {
	// Live is the child as it is. Shared memory: read only.
	Live *unstructured.Unstructured
	// Fields that differ, sorted by path.
	Fields []drift.Difference
	// Kept says why a child is not replaced though its declaration asks for that; nil: it does not ask.
	Kept error
}

// Error gives the paths, and no values: they may be secret.
func (e *ImmutableError) Error() string {
	return strings.Join(drift.Paths(e.Fields), ", ") + " can't be changed"
}

// errSameAgain is why a child is kept that was made with what is declared now. It prevents a loop: a webhook that changes the field at
// creation would have the child deleted in each cycle.
var errSameAgain = errors.New("it was made with what is declared now, so that making it again would not help: something changes it when it is made; " +
	"find out what does, or delete it")

// replaceOr deletes a child whose declaration asks to be replaced where a change was refused because nothing of it can be
// changed in place. It gives the refusal otherwise, and names the fields where that is the reason. wanted is the whole child
// as it would be made; obj is what was applied.
func (w *Writer) replaceOr(ctx context.Context, child Child, wanted, obj, live *unstructured.Unstructured, refusal error) (Outcome, error) {
	// left is the case that leftovers has found without asking; otherwise refusal is the API server's answer to the apply.
	fixed, left := errors.AsType[*ImmutableError](refusal)
	if !left && !refusedByValidation(refusal, obj) || left && !child.Replace {
		return Outcome{}, refusal
	}
	unmade := w.client.wouldMake(ctx, wanted)
	switch {
	case left:
		fixed.Kept = unmade
	case unmade != nil:
		return Outcome{}, refusal
	default:
		fixed = &ImmutableError{Live: live, Fields: fixedFields(w.comparer, obj, live, refusal)}
	}
	if child.Replace && live.GetAnnotations()[v1alpha1.AnnotationApplied] == obj.GetAnnotations()[v1alpha1.AnnotationApplied] {
		fixed.Kept = errSameAgain
	}
	if !child.Replace || fixed.Kept != nil {
		return Outcome{}, fixed
	}
	if err := w.delete(ctx, live, propagationFor(obj, live)); err != nil {
		return Outcome{}, err
	}
	return Outcome{Action: Replaced, Object: live}, nil
}

// leftovers says where a living child still has what its declaration dropped; nil: nowhere.
func (c Child) leftovers(live *unstructured.Unstructured) error {
	var found []drift.Difference
	for _, left := range c.Leftovers {
		value, _, err := unstructured.NestedString(live.Object, left.Path...)
		_, declared, _ := unstructured.NestedFieldNoCopy(c.Object.Object, left.Path...)
		isLeft := slices.ContainsFunc(c.Initial, func(p drift.FieldPath) bool { return slices.Equal(p, left.Path) })
		if err == nil && value == left.Value && !declared && !isLeft {
			found = append(found, drift.Difference{Path: left.Path.String(), Live: value, Wanted: left.Wanted})
		}
	}
	if found == nil {
		return nil
	}
	return &ImmutableError{Live: live, Fields: found}
}

// refusedByValidation says whether the API server's own validation refuses an object. A webhook, or a policy, can answer with the same code,
// reason and causes, but not with a message of this form: the API server puts words of its own before theirs.
func refusedByValidation(err error, obj *unstructured.Unstructured) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &answer) || len(causesOf(answer)) == 0 {
		return false
	}
	kind := schema.GroupKind{Group: obj.GroupVersionKind().Group, Kind: obj.GetKind()}
	return strings.HasPrefix(answer.Status().Message, fmt.Sprintf("%s %q is invalid: ", kind.String(), obj.GetName()))
}

// causesOf are the fields that an answer names.
func causesOf(answer apierrors.APIStatus) []string {
	details := answer.Status().Details
	if details == nil {
		return nil
	}
	var fields []string
	for _, cause := range details.Causes {
		if cause.Field != "" {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// wouldMake asks the API server by a dry run whether it would create a child. nil: it would, or all it finds wrong is that the name is
// taken, which it checks last.
func (c *Client) wouldMake(ctx context.Context, wanted *unstructured.Unstructured) error {
	dry := *c
	dry.dryRun = []string{metav1.DryRunAll}
	fresh := wanted.DeepCopy()
	fresh.SetUID("")
	fresh.SetResourceVersion("")
	if _, err := dry.create(ctx, fresh); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("it could not be made again: %w", err)
	}
	return nil
}

// fieldTemplate is the field of a workload that its pods are made of.
const fieldTemplate = "template"

// changeable are fields of specs that the API server names as a whole when it refuses a change: these it would have accepted.
var changeable = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "StatefulSet"}: {
		"replicas", "ordinals", fieldTemplate, "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
	},
	{Kind: "PersistentVolumeClaim"}: {"resources", "volumeAttributesClassName"},
}

// fixedFields gives the differences between a child and what is declared that a refusal is about: those below the fields that it
// names, else all, else the fields that it names.
func fixedFields(comparer *drift.Comparer, obj, live *unstructured.Unstructured, refusal error) []drift.Difference {
	var answer apierrors.APIStatus
	if !errors.As(refusal, &answer) {
		return nil
	}
	causes := causesOf(answer)
	all := slices.DeleteFunc(comparer.Differences(comparer.Prepare(obj), live), func(d drift.Difference) bool { return drift.IsBelow(d.Path, keyMetadata) })
	below := func(paths []string) []drift.Difference {
		return slices.DeleteFunc(slices.Clone(all), func(d drift.Difference) bool { return !isBelowAny(d.Path, paths) })
	}
	named := slices.DeleteFunc(below(causes), func(d drift.Difference) bool {
		return isBelowAny(strings.TrimPrefix(d.Path, "spec."), changeable[obj.GroupVersionKind().GroupKind()])
	})
	switch {
	case len(named) > 0:
		return named
	case len(below(causes)) > 0:
		return below(causes)
	case len(all) > 0:
		return all
	}
	out := make([]drift.Difference, 0, len(causes))
	for _, path := range slices.Compact(slices.Sorted(slices.Values(causes))) {
		out = append(out, drift.Difference{Path: path})
	}
	return out
}

func isBelowAny(path string, above []string) bool {
	return slices.ContainsFunc(above, func(a string) bool { return drift.IsBelow(path, a) })
}

// propagationFor says what happens to what a replaced child owns. The pods of a StatefulSet stay, and the next one adopts them. If its
// selector would not match them, they go too: they would hold the names that its own pods need.
func propagationFor(obj, live *unstructured.Unstructured) metav1.DeletionPropagation {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		return metav1.DeletePropagationBackground
	}
	wanted, _, errWanted := unstructured.NestedStringMap(obj.Object, "spec", "selector", "matchLabels")
	have, _, errHave := unstructured.NestedStringMap(live.Object, "spec", fieldTemplate, keyMetadata, keyLabels)
	if errWanted != nil || errHave != nil || !labels.SelectorFromSet(wanted).Matches(labels.Set(have)) {
		return metav1.DeletePropagationBackground
	}
	return metav1.DeletePropagationOrphan
}
