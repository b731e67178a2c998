package children

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

// A template or a gate that reads a Job means the Job as it is declared now. One that ran with something else, and is to run again, is
// hidden from them: otherwise what waits for a migration would go ahead because the migration of an earlier spec has completed.

// Jobs are the Jobs of a resource in one cycle: what has completed, and which are to run as they are declared now.
type Jobs struct {
	cycle *Cycle
	runs  map[string]string // those that are to run, by id; "": it can't be told yet with what
	// itemsUnknown are loops whose items can't be told yet: any Job of theirs may be one that is to run again.
	itemsUnknown map[*declare.Declaration]bool
	// considered are declarations whose turn in the cycle has come, or for which postpone has stood in because they were read before.
	considered map[*declare.Declaration]bool
}

func newJobs(c *Cycle) Jobs {
	return Jobs{cycle: c, runs: map[string]string{}, itemsUnknown: map[*declare.Declaration]bool{}, considered: map[*declare.Declaration]bool{}}
}

// outdated says whether a Job that ran with something is to run again, with something else. Earlier versions did not note with what.
func (j *Jobs) outdated(id, ran string) bool {
	run, due := j.runs[id]
	return due && ran != "" && ran != run || j.itemsUnknown[j.cycle.Declared.Of(id)]
}

// declareRun notes what a Job is to have run with. One that is left as it is, or is corrected in place, counts as it is.
func (j *Jobs) declareRun(in Instance, live *unstructured.Unstructured, done, run string) {
	kept := jobNameOf(done) == jobNameOf(run) || live != nil
	delete(j.runs, in.ID)
	if in.Replace || in.Rerun && !sameValues(done, run) || !kept {
		j.runs[in.ID] = run
	}
	j.cycle.Living.forgetView()
}

// postpone notes that a Job, or each Job of a loop, does not act now, though it is to run before what reads it. What has completed counts
// only where it is what is declared now.
func (j *Jobs) postpone(ctx context.Context, in Instance) {
	if !in.IsJob() || in.Once || j.cycle.Restoring {
		return
	}
	if in.ForAll() {
		instances, err := j.cycle.Instances(ctx, in.Declaration)
		j.itemsUnknown[in.Declaration] = err != nil
		j.cycle.Living.forgetView()
		for _, each := range instances {
			j.postpone(ctx, each)
		}
		return
	}
	if res, err := in.Ask(ctx, j.cycle); err == nil && !res.Open && res.Choice {
		return // it is not to run
	}
	same, err := in.Identity(ctx, j.cycle)
	if err == nil && !in.Replace && !in.Rerun && (j.cycle.Living.at(keyOf(same)) != nil || jobNameOf(DoneMarks(j.cycle.Stored)[in.ID]) == j.cycle.ChildName(same)) {
		return // it is left as it is, or corrected in place
	}
	run := ""
	if obj, err := in.Render(ctx, j.cycle); err == nil {
		takeLifeTime(obj)
		run = j.runOf(obj)
	}
	if sameValues(DoneMarks(j.cycle.Stored)[in.ID], run) {
		return // it has completed for these values
	}
	j.runs[in.ID] = run
	j.cycle.Living.forgetView()
}

// foresee is postpone for Jobs that are read before their turn has come: by a call, by a group that runs earlier, or in a ring.
func (j *Jobs) foresee(ctx context.Context, read []*declare.Declaration) {
	for _, d := range read {
		if !d.IsJob() || j.considered[d] {
			continue
		}
		j.considered[d] = true
		j.foresee(ctx, d.Children)
		j.postpone(ctx, InstanceOf(d))
	}
}

// visible gives the children that templates see: all that live, but for Jobs that are to run again; and stand-ins for Jobs that have
// completed and are gone, as their life time asks for: what waits for their end must not close again.
func (l *Living) visible() []*unstructured.Unstructured {
	r := l.cycle
	marks := DoneMarks(r.Stored)
	var out []*unstructured.Unstructured
	for _, child := range l.All() {
		id := IDOf(child)
		if d := r.Declared.Of(id); d == nil || !d.IsJob() {
			out = append(out, child)
			continue
		}
		if r.Restoring && marks[id] != "" {
			continue // it had completed when the snapshot was taken, and is not run again
		}
		delete(marks, id)
		if !r.Jobs.outdated(id, child.GetAnnotations()[v1alpha1.AnnotationRun]) {
			out = append(out, child)
		}
	}
	living := len(out)
	for _, id := range slices.Sorted(maps.Keys(marks)) {
		if d := r.Declared.Of(id); d != nil && d.IsJob() && !r.Jobs.outdated(id, marks[id]) {
			out = append(out, r.Jobs.ended(d, id, jobNameOf(marks[id])))
		}
	}
	if len(out) > living {
		slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int { return cmp.Compare(l.place(a), l.place(b)) })
	}
	return out
}

// ended is what templates see of a Job that has completed and is gone.
func (j *Jobs) ended(d *declare.Declaration, id, name string) *unstructured.Unstructured {
	job := &unstructured.Unstructured{Object: map[string]any{fieldStatus: map[string]any{
		"succeeded":      int64(1),
		statusConditions: []any{map[string]any{fieldType: string(batchv1.JobComplete), fieldStatus: string(metav1.ConditionTrue)}},
	}}}
	job.SetGroupVersionKind(d.Kinds.Only())
	job.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: id})
	if namespace, rest, elsewhere := strings.Cut(name, "/"); elsewhere {
		job.SetNamespace(namespace)
		job.SetName(rest)
	} else {
		job.SetNamespace(j.cycle.Home())
		job.SetName(name)
	}
	return job
}
