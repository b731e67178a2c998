package children

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// lifeTimeField is the life time of a finished Job, in its spec.
const lifeTimeField = "ttlSecondsAfterFinished"

// fieldStatus is the status of an object, and of a condition.
const fieldStatus = "status"

// statusConditions is where conditions stand in a status.
const statusConditions = "conditions"

// fieldType is the name of the field that tells conditions apart, and Secrets and Services of several types.
const fieldType = "type"

// takeLifeTime removes the life time from a rendered Job: it would go before its end was seen, and run again. nil: it has none.
func takeLifeTime(job *unstructured.Unstructured) any {
	spec, _ := job.Object["spec"].(map[string]any)
	seconds := spec[lifeTimeField]
	delete(spec, lifeTimeField)
	return seconds
}

// What stands between the parts of what a Job's completion is noted with.
const (
	runSeparator   = " "
	valueSeparator = "/"
)

// runOf is what the completion of a Job is noted with: the hash of what is declared, that of the values of rerunOn where there are some, and
// which object it is.
func (j *Jobs) runOf(job *unstructured.Unstructured) string {
	run := drift.Hash(job)
	if values := job.GetAnnotations()[v1alpha1.AnnotationRerunOn]; values != "" {
		run += valueSeparator + values
	}
	return run + runSeparator + j.cycle.ChildName(job)
}

// sameValues says whether two runs of a Job are for the same values of rerunOn.
func sameValues(a, b string) bool {
	values := valuesOf(a)
	return values != "" && values == valuesOf(b) && jobNameOf(a) == jobNameOf(b)
}

// valuesOf is the hash of the values that a run is for; empty: there is none.
func valuesOf(run string) string {
	hashes, _, _ := strings.Cut(run, runSeparator)
	_, values, _ := strings.Cut(hashes, valueSeparator)
	return values
}

// jobNameOf gives the name of a run's object, as ChildName does. A Job under another name is another Job.
func jobNameOf(run string) string {
	_, name, _ := strings.Cut(run, runSeparator)
	return name
}

// prepare decides what is written of a rendered Job; nil: nothing. A Job runs once for what is declared: the hash of that is noted on the
// resource when the Job completes, and another hash makes it run again only if its name changes too, or with replace.
func (j *Jobs) prepare(ctx context.Context, in Instance, obj *unstructured.Unstructured) (*pending, error) {
	seconds := takeLifeTime(obj)
	run := j.runOf(obj)
	annotate(obj, v1alpha1.AnnotationRun, run)
	if err := j.cycle.applied.add(obj, in); err != nil {
		return nil, err
	}
	live := j.cycle.Living.at(keyOf(obj))
	done, err := j.completion(ctx, in, live, run)
	if err != nil {
		return nil, err
	}
	j.declareRun(in, live, done, run)
	w := &pending{in: in, child: in.Child(obj)}
	ran := ""
	if live != nil {
		ran = live.GetAnnotations()[v1alpha1.AnnotationRun]
	}
	switch {
	case in.Once:
		rememberLifeTime(obj, seconds) // it is not applied again, so expire reads it from the Job
		return w, nil
	case done == run:
		if live == nil {
			return nil, nil // it is gone, as its life time asked for
		}
		giveLifeTime(obj, seconds)
		return w, nil
	case sameValues(done, run), jobNameOf(done) == jobNameOf(run) && !in.Replace && !in.Rerun:
		return nil, nil // it is left as it is, and is not run again
	case (in.Replace || in.Rerun) && ran != "" && ran != run && live.GetDeletionTimestamp() == nil:
		return nil, j.replace(ctx, in, live)
	default:
		return w, nil
	}
}

func annotate(obj *unstructured.Unstructured, name, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	obj.SetAnnotations(annotations)
}

// rememberLifeTime notes on a Job that is made once how long it is to stay when it has finished.
func rememberLifeTime(job *unstructured.Unstructured, seconds any) {
	if n, ok := seconds.(int64); ok {
		annotate(job, v1alpha1.AnnotationLifeTime, strconv.FormatInt(n, 10))
	}
}

func giveLifeTime(job *unstructured.Unstructured, seconds any) {
	if spec, ok := job.Object["spec"].(map[string]any); ok && seconds != nil {
		spec[lifeTimeField] = seconds
	}
}

// completion gives the run with which a Job has completed, and notes it on the resource when it is seen for the first time. It is
// "" for one that has not.
func (j *Jobs) completion(ctx context.Context, in Instance, live *unstructured.Unstructured, run string) (string, error) {
	marks := DoneMarks(j.cycle.Stored)
	if live == nil || settle.JobState(live) != batchv1.JobComplete {
		return marks[in.ID], nil
	}
	// Earlier versions did not write on a Job with what it runs.
	ran := cmp.Or(live.GetAnnotations()[v1alpha1.AnnotationRun], run)
	if marks[in.ID] == ran {
		return ran, nil
	}
	marks[in.ID] = ran
	return ran, j.cycle.Remember(ctx, marks)
}

// replace deletes a Job that runs, or ran, with something else than what is declared now. It is made again when it is gone.
func (j *Jobs) replace(ctx context.Context, in Instance, live *unstructured.Unstructured) error {
	if err := j.cycle.Ports.Applier.Delete(ctx, live); err != nil {
		return err
	}
	j.cycle.Wrote(live, apply.Replaced)
	in.awaitsReplaced(j.cycle, live.GetKind(), j.cycle.ChildName(live))
	return nil
}

// finishKept does for a living Job that is made once what its end asks for: it is noted, and then it gets its life time.
func (j *Jobs) finishKept(ctx context.Context, in Instance, live *unstructured.Unstructured) error {
	if live.GetDeletionTimestamp() != nil || settle.JobState(live) != batchv1.JobComplete {
		return nil
	}
	if _, err := j.completion(ctx, in, live, j.runOf(live)); err != nil {
		return err
	}
	return j.expire(ctx, live)
}

// siblingNoted says whether the end of another living Job of an instance is noted: one of each has room in the mark, and which of them it
// is must not change with every cycle. There are two where the name has changed before the resource was Active.
func (j *Jobs) siblingNoted(in Instance, job *unstructured.Unstructured) bool {
	noted := jobNameOf(DoneMarks(j.cycle.Stored)[in.ID])
	return noted != j.cycle.ChildName(job) && slices.ContainsFunc(j.cycle.Living.Find(in), func(other *unstructured.Unstructured) bool {
		return j.cycle.ChildName(other) == noted
	})
}

// ExpireFinished gives what onDelete has finished, and noted, its life time.
func (j *Jobs) ExpireFinished(ctx context.Context, in Instance) error {
	if !in.IsJob() {
		return nil
	}
	for _, live := range j.cycle.Living.Find(in) {
		if live.GetDeletionTimestamp() == nil && settle.JobState(live) == batchv1.JobComplete {
			if err := j.expire(ctx, live); err != nil {
				return err
			}
		}
	}
	return nil
}

// expire gives a Job that is made once, and whose end is noted, the life time that it was made with.
func (j *Jobs) expire(ctx context.Context, live *unstructured.Unstructured) error {
	text, promised := live.GetAnnotations()[v1alpha1.AnnotationLifeTime]
	if _, found, _ := unstructured.NestedFieldNoCopy(live.Object, "spec", lifeTimeField); found || !promised {
		return nil
	}
	seconds, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return stage.NewPermanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("annotation %s of Job %q: wanted seconds, got %q: remove it, or mend it",
			v1alpha1.AnnotationLifeTime, j.cycle.ChildName(live), text))
	}
	if alone, err := j.cycle.leavesAlone(ctx, live); err != nil || alone {
		return err
	}
	out, err := j.cycle.Ports.Applier.Expire(ctx, live, seconds)
	if err != nil {
		return err
	}
	j.cycle.Wrote(out.Object, out.Action)
	return nil
}

// forget drops the marks of Jobs whose declaration, or item, is gone. It runs in cycles without error only.
func (j *Jobs) forget(ctx context.Context) error {
	if j.cycle.Stored.GetAnnotations()[v1alpha1.AnnotationDone] == "" || j.cycle.Restoring {
		return nil
	}
	marks := DoneMarks(j.cycle.Stored)
	before := len(marks)
	for id := range marks {
		d := j.cycle.Declared.Of(id)
		if d == nil || !d.IsJob() || d.Loop != nil && j.cycle.applied.expanded[d] && !j.cycle.applied.instances[id] {
			delete(marks, id)
		}
	}
	if len(marks) == before {
		return nil
	}
	if j.cycle.Living.viewed {
		j.cycle.ReconcileAt(j.cycle.Now) // templates have seen their Jobs, which are gone now, and no event says so
	}
	return j.cycle.Remember(ctx, marks)
}

// DoneMarks reads which Jobs of a resource have completed, by declaration and hash, and what of its clean-up is finished. A mark that
// someone broke is no mark.
func DoneMarks(resource *unstructured.Unstructured) map[string]string {
	marks := map[string]string{}
	if err := json.Unmarshal([]byte(resource.GetAnnotations()[v1alpha1.AnnotationDone]), &marks); err != nil {
		return map[string]string{}
	}
	return marks
}

// Remember marks on the resource what a restart must not forget: what has finished, and that its children are to stay.
func (c *Cycle) Remember(ctx context.Context, finished map[string]string) error {
	if !maps.Equal(finished, DoneMarks(c.Stored)) {
		b, err := json.Marshal(finished)
		if err != nil {
			return fmt.Errorf("encoding marks: %w", err)
		}
		c.Marks.Annotate(v1alpha1.AnnotationDone, string(b))
	}
	if c.Orphans() {
		c.Marks.Annotate(v1alpha1.AnnotationOrphan, v1alpha1.True)
	}
	if !c.Marks.New() {
		return nil
	}
	return c.Mark(ctx)
}

// Orphans says whether the children are to stay (kubectl delete --cascade=orphan). The garbage collector takes its finalizer
// off as soon as it has done its part, so it is enough to have seen it once.
func (c *Cycle) Orphans() bool {
	return c.Orphan || slices.Contains(c.Stored.GetFinalizers(), metav1.FinalizerOrphanDependents) ||
		c.Stored.GetAnnotations()[v1alpha1.AnnotationOrphan] == v1alpha1.True
}
