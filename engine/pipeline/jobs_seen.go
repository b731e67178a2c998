package pipeline

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

// What reads a Job reads the Job that is declared now. One that ran with something else, and is to run again, is not there for templates
// and gates: what waits for a migration would go out before it otherwise, answered by the migration of an earlier spec.

// dueJobs are the Jobs that are to run as they are declared now.
type dueJobs struct {
	runs    map[string]string             // by id; "": it can't be told yet with what
	unnamed map[*declare.Declaration]bool // loops whose items can't be told yet
	told    map[*declare.Declaration]bool // whose turn has come, or was foreseen
}

func newDueJobs() dueJobs {
	return dueJobs{runs: map[string]string{}, unnamed: map[*declare.Declaration]bool{}, told: map[*declare.Declaration]bool{}}
}

// outdated says whether a Job that ran with something is to run again, with something else. Earlier versions did not note with what.
func (r *Run) outdated(id, ran string) bool {
	run, due := r.due.runs[id]
	return due && ran != "" && ran != run || r.due.unnamed[r.Plan.declared.Of(id)]
}

// declareRun notes what a Job is to have run with. One that is left as it is, or is corrected in place, counts as it is.
func (r *Run) declareRun(in instance, live *unstructured.Unstructured, done, run string) {
	kept := jobNameOf(done) == jobNameOf(run) || live != nil
	delete(r.due.runs, in.id)
	if in.Replace || !kept {
		r.due.runs[in.id] = run
	}
	r.children.unsee()
}

// postpone notes that a Job, or each Job of a loop, does not act now, though it is to run before what reads it. What has completed counts
// only where it is what is declared now.
func (r *Run) postpone(ctx context.Context, in instance) {
	if !in.IsJob() || in.Once || r.Restoring {
		return
	}
	if in.Loop != nil && in.item == nil {
		instances, err := r.instances(ctx, in.Declaration)
		r.due.unnamed[in.Declaration] = err != nil
		r.children.unsee()
		for _, each := range instances {
			r.postpone(ctx, each)
		}
		return
	}
	if res, err := r.ask(ctx, in); err == nil && !res.Open && res.Choice {
		return // it is not to run
	}
	same, err := in.nameplate(ctx, r)
	if err == nil && !in.Replace && (r.children.at(keyOf(same)) != nil || jobNameOf(doneMarks(r.Stored)[in.id]) == r.ChildName(same)) {
		return // it is left as it is, or corrected in place
	}
	run := ""
	if obj, err := in.render(ctx, r); err == nil {
		takeLifeTime(obj)
		run = r.runOf(obj)
	}
	r.due.runs[in.id] = run
	r.children.unsee()
}

// foresee does so for Jobs that are read before their turn has come: by a call, by a group that runs earlier, or in a ring.
func (r *Run) foresee(ctx context.Context, read []*declare.Declaration) {
	for _, d := range read {
		if !d.IsJob() || r.due.told[d] {
			continue
		}
		r.due.told[d] = true
		r.foresee(ctx, d.Children)
		r.postpone(ctx, instanceOf(d))
	}
}

// seen gives the children that templates see: all that live, but for Jobs that are to run again; and stand-ins for Jobs that have
// completed and are gone, as their life time asks for: what waits for their end must not close again.
func (c *children) seen() []*unstructured.Unstructured {
	r := c.run
	marks := doneMarks(r.Stored)
	var out []*unstructured.Unstructured
	for _, child := range c.All() {
		id := idOf(child)
		if d := r.Plan.declared.Of(id); d == nil || !d.IsJob() {
			out = append(out, child)
			continue
		}
		if r.Restoring && marks[id] != "" {
			continue // it had completed when the snapshot was taken, and is not run again
		}
		delete(marks, id)
		if !r.outdated(id, child.GetAnnotations()[v1alpha1.AnnotationRun]) {
			out = append(out, child)
		}
	}
	living := len(out)
	for _, id := range slices.Sorted(maps.Keys(marks)) {
		if d := r.Plan.declared.Of(id); d != nil && d.IsJob() && !r.outdated(id, marks[id]) {
			out = append(out, r.endedJob(d, id, jobNameOf(marks[id])))
		}
	}
	if len(out) > living {
		slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int { return cmp.Compare(c.place(a), c.place(b)) })
	}
	return out
}

// endedJob is what templates see of a Job that has completed and is gone.
func (r *Run) endedJob(d *declare.Declaration, id, name string) *unstructured.Unstructured {
	job := &unstructured.Unstructured{Object: map[string]any{fieldStatus: map[string]any{
		"succeeded":      int64(1),
		statusConditions: []any{map[string]any{fieldType: string(batchv1.JobComplete), fieldStatus: string(metav1.ConditionTrue)}},
	}}}
	job.SetGroupVersionKind(d.GVK)
	job.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: id})
	if namespace, rest, elsewhere := strings.Cut(name, "/"); elsewhere {
		job.SetNamespace(namespace)
		job.SetName(rest)
	} else {
		job.SetNamespace(r.Stored.GetNamespace())
		job.SetName(name)
	}
	return job
}
