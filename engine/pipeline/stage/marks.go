package stage

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
)

// ourMarks are labels and annotations that Orkestra itself writes to a resource.
var ourMarks = map[string]bool{
	v1alpha1.LabelManaged:             true,
	v1alpha1.LabelServedBy:            true,
	v1alpha1.AnnotationManagedBy:      true,
	v1alpha1.AnnotationManagedSince:   true,
	v1alpha1.AnnotationActiveSince:    true,
	v1alpha1.AnnotationDone:           true,
	v1alpha1.AnnotationCalled:         true,
	v1alpha1.AnnotationFinalizers:     true,
	v1alpha1.AnnotationOrphan:         true,
	v1alpha1.AnnotationNamespaces:     true,
	v1alpha1.AnnotationRolledBack:     true,
	v1alpha1.AnnotationSnapshots:      true,
	v1alpha1.AnnotationPatches:        true,
	v1alpha1.AnnotationHookGeneration: true,
	v1alpha1.AnnotationHookConditions: true,
	v1alpha1.AnnotationProviders:      true,
}

// IsOurMark says whether Orkestra itself writes a label or annotation to resources.
func IsOurMark(key string) bool { return ourMarks[key] }

// Marks are what a cycle writes to the metadata of its resource.
type Marks struct {
	// Finalizers that the resource must carry.
	Finalizers []string
	// Active says whether the resource is Active now.
	Active bool

	// LetGo says that our finalizer is taken off an object of others that a former plan had to hold.
	LetGo bool
	// Inherited says that an object of others has marks of a box that is gone: they are this box's from now on.
	Inherited bool
	// Unlisted says that the list of snapshots, which former versions wrote, is taken off.
	Unlisted bool

	added   map[string]string // annotations that this cycle adds or changes
	reached []string          // namespaces that templates have led to, and that are not noted yet
	// unconfirmed says that this cycle has put our finalizer on the resource, and that nobody has asked since whether it is still there.
	unconfirmed bool
}

// Activate has the next mark say that the resource is Active from now on.
func (m *Marks) Activate(now time.Time) {
	m.Annotate(v1alpha1.AnnotationActiveSince, now.UTC().Format(time.RFC3339))
	m.Active = true
}

// Annotate has the next mark write an annotation.
func (m *Marks) Annotate(key, value string) { m.added[key] = value }

// New says whether there is an annotation that this cycle adds or changes.
func (m *Marks) New() bool { return len(m.added) > 0 }

// lists are the annotations that go when nothing is left on them.
var lists = []string{v1alpha1.AnnotationPatches, v1alpha1.AnnotationProviders, v1alpha1.AnnotationHookConditions}

// ownLabels are the labels of every resource of a box's own.
func ownLabels() map[string]string { return map[string]string{v1alpha1.LabelManaged: v1alpha1.True} }

// wanted are the finalizers and annotations that the resource must carry now.
func (c *Cycle) wanted() apply.Marks {
	stored := c.Stored.GetAnnotations()
	annotations := map[string]string{v1alpha1.AnnotationManagedBy: c.Plan.Box}
	for _, k := range []string{
		v1alpha1.AnnotationManagedSince, v1alpha1.AnnotationActiveSince, v1alpha1.AnnotationDone, v1alpha1.AnnotationCalled,
		v1alpha1.AnnotationOrphan, v1alpha1.AnnotationSnapshots, v1alpha1.AnnotationPatches, v1alpha1.AnnotationHookGeneration, v1alpha1.AnnotationProviders,
		v1alpha1.AnnotationHookConditions,
	} {
		if v := stored[k]; v != "" {
			annotations[k] = v
		}
	}
	if c.Marks.Unlisted {
		delete(annotations, v1alpha1.AnnotationSnapshots)
	}
	if own := apply.OwnFinalizers(c.Marks.Finalizers); own != "" {
		annotations[v1alpha1.AnnotationFinalizers] = own
	}
	if annotations[v1alpha1.AnnotationManagedSince] == "" {
		annotations[v1alpha1.AnnotationManagedSince] = c.Now.UTC().Format(time.RFC3339)
	}
	if note, noted := c.namespacesNote(); noted {
		annotations[v1alpha1.AnnotationNamespaces] = note
	}
	if back := stored[v1alpha1.AnnotationRolledBack]; back != "" && c.Plan.Rollback != nil && !c.Completed {
		annotations[v1alpha1.AnnotationRolledBack] = back
	}
	maps.Copy(annotations, c.Marks.added)
	fewer := c.Marks.Unlisted
	maps.DeleteFunc(annotations, func(k, v string) bool {
		gone := v == "" && slices.Contains(lists, k) // nothing is left of it
		fewer = fewer || gone && stored[k] != ""
		return gone
	})
	return apply.Marks{Finalizers: c.Marks.Finalizers, Labels: ownLabels(), Annotations: annotations, Fewer: fewer}
}

// Mark writes the marks if some are missing, and goes on with the answer. An object of others that needs none gets none.
func (c *Cycle) Mark(ctx context.Context) error {
	marks := c.wanted()
	if c.Plan.CRD.OfOthers {
		if marks = c.Marks.ofOthers(c.Plan, c.Stored, marks); len(marks.Labels) == 0 && !c.Plan.Holds(c.Stored) {
			return nil
		}
	}
	held := slices.Contains(c.Stored.GetFinalizers(), v1alpha1.Finalizer)
	answer, err := c.Ports.Marker.Mark(ctx, c.Stored, marks)
	if err != nil {
		return err
	}
	c.Marks.unconfirmed = c.Marks.unconfirmed || !held && slices.Contains(marks.Finalizers, v1alpha1.Finalizer)
	c.Stored = c.Plan.withoutCopied(answer)
	c.Owner.Resource = c.Stored
	return nil
}

// MarkWith writes the marks with one annotation more.
func (c *Cycle) MarkWith(ctx context.Context, key, value string) error {
	c.Marks.Annotate(key, value)
	return c.Mark(ctx)
}

// errOwnerGone ends the cycle of a resource that was gone before anything was made for it.
var errOwnerGone = errors.New("the resource was deleted while Orkestra took hold of it: nothing is made for it")

// EnsureOwnerExists asks whether a resource still exists that this cycle was the first to mark. It is called before the first children are
// made that the garbage collector would not delete with it. The API server may remove a resource although our finalizer was just added, if
// the deletion was under way. If this process then ends before the watch tells, the next one never learns that the resource existed, and
// its children stay for ever. It costs one request in the life of a resource.
func (c *Cycle) EnsureOwnerExists(ctx context.Context) error {
	if !c.Marks.unconfirmed {
		return nil
	}
	gone, err := c.Ports.Marker.Gone(ctx, c.Stored)
	if err != nil {
		return err
	}
	if gone {
		return errOwnerGone
	}
	c.Marks.unconfirmed = false
	return nil
}
