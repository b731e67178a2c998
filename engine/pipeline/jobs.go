package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// lifeTimeField is the life time of a finished Job, in its spec.
const lifeTimeField = "ttlSecondsAfterFinished"

// fieldStatus is the status of an object, and of a condition.
const fieldStatus = "status"

// statusConditions is where conditions stand in a status.
const statusConditions = "conditions"

// fieldData is where a Secret holds its content.
const fieldData = "data"

// fieldType is the name of the field that tells conditions apart, and Secrets and Services of several types.
const fieldType = "type"

// takeLifeTime removes the life time from a rendered Job: it would go before its end was seen, and run again. nil: it has none.
func takeLifeTime(job *unstructured.Unstructured) any {
	spec, _ := job.Object["spec"].(map[string]any)
	seconds := spec[lifeTimeField]
	delete(spec, lifeTimeField)
	return seconds
}

// runMark stands between the hash and the name in what a Job's completion is noted with.
const runMark = " "

// runOf is what the completion of a Job is noted with: the hash of what is declared, and which object it is.
func (r *Run) runOf(job *unstructured.Unstructured) string {
	return drift.Hash(job) + runMark + r.ChildName(job)
}

// jobNameOf gives the object of a run, as childName does. A Job under another name is another Job.
func jobNameOf(run string) string {
	_, name, _ := strings.Cut(run, runMark)
	return name
}

// prepareJob decides what becomes of a rendered Job. nil: nothing.
func (r *Run) prepareJob(ctx context.Context, in instance, obj *unstructured.Unstructured) (*pending, error) {
	seconds := takeLifeTime(obj)
	run := r.runOf(obj)
	annotate(obj, v1alpha1.AnnotationRun, run)
	if err := r.stands.add(obj, in); err != nil {
		return nil, err
	}
	live := r.children.at(keyOf(obj))
	done, err := r.completion(ctx, in, live, run)
	if err != nil {
		return nil, err
	}
	r.declareRun(in, live, done, run)
	w := &pending{of: in, child: in.child(obj), job: true}
	ran := ""
	if live != nil {
		ran = live.GetAnnotations()[v1alpha1.AnnotationRun]
	}
	switch {
	case in.Once:
		rememberLifeTime(obj, seconds)
		return w, nil
	case done == run:
		if live == nil {
			return nil, nil
		}
		giveLifeTime(obj, seconds)
		return w, nil
	case jobNameOf(done) == jobNameOf(run) && !in.Replace:
		return nil, nil // it is left as it is, and is not run again
	case in.Replace && ran != "" && ran != run && live.GetDeletionTimestamp() == nil:
		return nil, r.replaceJob(ctx, in, live)
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
func (r *Run) completion(ctx context.Context, in instance, live *unstructured.Unstructured, run string) (string, error) {
	marks := doneMarks(r.Stored)
	if live == nil || jobState(live) != batchv1.JobComplete {
		return marks[in.id], nil
	}
	ran := cmp.Or(live.GetAnnotations()[v1alpha1.AnnotationRun], run)
	if marks[in.id] == ran {
		return ran, nil
	}
	marks[in.id] = ran
	return ran, r.remember(ctx, marks)
}

// replaceJob deletes a Job that runs, or ran, with something else than what is declared now. It is made again when it is gone.
func (r *Run) replaceJob(ctx context.Context, in instance, live *unstructured.Unstructured) error {
	if err := r.Ports.Applier.Delete(ctx, live); err != nil {
		return err
	}
	r.note(live, apply.Replaced)
	r.awaitsReplaced(in, live.GetKind(), r.ChildName(live))
	return nil
}

// finishKept does for a living Job that is made once what its end asks for: it is noted, and then it gets its life time.
func (r *Run) finishKept(ctx context.Context, in instance, live *unstructured.Unstructured) error {
	if live.GetDeletionTimestamp() != nil || jobState(live) != batchv1.JobComplete {
		return nil
	}
	if _, err := r.completion(ctx, in, live, r.runOf(live)); err != nil {
		return err
	}
	return r.expire(ctx, live)
}

// siblingNoted says whether the end of another living Job of an instance is noted: one of each has room in the mark, and which of them it
// is must not change with every cycle. There are two where the name has changed before the resource was Active.
func (r *Run) siblingNoted(in instance, job *unstructured.Unstructured) bool {
	noted := jobNameOf(doneMarks(r.Stored)[in.id])
	return noted != r.ChildName(job) && slices.ContainsFunc(r.children.find(in), func(other *unstructured.Unstructured) bool {
		return r.ChildName(other) == noted
	})
}

// expireFinished gives what onDelete has finished, and noted, its life time.
func (r *Run) expireFinished(ctx context.Context, in instance) error {
	if !in.IsJob() {
		return nil
	}
	for _, live := range r.children.find(in) {
		if live.GetDeletionTimestamp() == nil && jobState(live) == batchv1.JobComplete {
			if err := r.expire(ctx, live); err != nil {
				return err
			}
		}
	}
	return nil
}

// expire gives a Job that is made once, and whose end is noted, the life time that it was made with.
func (r *Run) expire(ctx context.Context, live *unstructured.Unstructured) error {
	text, promised := live.GetAnnotations()[v1alpha1.AnnotationLifeTime]
	if _, found, _ := unstructured.NestedFieldNoCopy(live.Object, "spec", lifeTimeField); found || !promised {
		return nil
	}
	seconds, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return stage.NewPermanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("annotation %s of Job %q: wanted seconds, got %q: remove it, or mend it",
			v1alpha1.AnnotationLifeTime, r.ChildName(live), text))
	}
	out, err := r.Ports.Applier.Expire(ctx, live, seconds)
	if err != nil {
		return err
	}
	r.note(out.Object, out.Action)
	return nil
}

// forget drops the marks of Jobs whose declaration, or item, is gone. It runs in cycles without error only.
func (r *Run) forget(ctx context.Context) error {
	if r.Stored.GetAnnotations()[v1alpha1.AnnotationDone] == "" || r.Restoring {
		return nil
	}
	marks := doneMarks(r.Stored)
	before := len(marks)
	for id := range marks {
		d := r.Plan.declared.Of(id)
		if d == nil || !d.IsJob() || d.Loop != nil && r.stands.expanded[d] && !r.stands.met[id] {
			delete(marks, id)
		}
	}
	if len(marks) == before {
		return nil
	}
	if r.children.viewed {
		r.ReconcileAt(r.Now) // what was seen of their Jobs is no longer so, and no event tells
	}
	return r.remember(ctx, marks)
}
