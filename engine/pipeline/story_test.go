package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/rollback"
)

var errFixed = &apply.RefusedError{Reason: v1alpha1.ReasonInvalidChild, Message: "spec.template can't be changed"}

// sameTemplate says whether a child can be made what is wanted in place: a Job can't get another template.
func sameTemplate(live, wanted *unstructured.Unstructured) bool {
	podsOf := func(o *unstructured.Unstructured) any {
		spec, _ := o.Object["spec"].(map[string]any)
		return spec["template"]
	}
	return live.GetKind() != jobKind.Kind || reflect.DeepEqual(podsOf(live), podsOf(wanted))
}

// there gives the child that is in the place of another one; nil: there is none.
func (w *world) there(wanted *unstructured.Unstructured) *unstructured.Unstructured {
	all := w.list(wanted.GroupVersionKind(), "u1")
	if at := slices.IndexFunc(all, func(c *unstructured.Unstructured) bool { return sameObject(c, wanted) }); at >= 0 {
		return all[at]
	}
	return nil
}

// strictAboutJobs has the world do with Jobs what the API server does: their templates stay.
func strictAboutJobs(p *ports) {
	p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
		live := p.there(child.Object)
		switch {
		case live == nil || child.Once || sameTemplate(live, child.Object):
		case child.Replace:
			p.remove("replace", live)
			return apply.Outcome{Action: apply.Replaced, Object: live}, nil
		default:
			return apply.Outcome{}, errFixed
		}
		return p.applyChild(ctx, owner, child)
	}
}

// strictDryRun is the dry run of a world that is strict about Jobs.
type strictDryRun struct{ *ports }

func (t strictDryRun) Apply(_ context.Context, _ apply.Owner, child apply.Child) (apply.Outcome, error) {
	live := t.there(child.Object)
	switch {
	case live == nil:
		return apply.Outcome{Action: apply.None, Object: child.Object}, nil
	case !child.Once && !child.Replace && !sameTemplate(live, child.Object):
		return apply.Outcome{}, errFixed
	default:
		return apply.Outcome{Action: apply.None, Object: live}, nil
	}
}

func (strictDryRun) Delete(context.Context, *unstructured.Unstructured) error { return nil }
func (strictDryRun) Orphan(context.Context, apply.Owner, *unstructured.Unstructured) error {
	return nil
}

func (strictDryRun) Expire(_ context.Context, job *unstructured.Unstructured, _ int64) (apply.Outcome, error) {
	return apply.Outcome{Action: apply.None, Object: job}, nil
}

func (strictDryRun) Mark(ctx context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
	return (*apply.DryRun)(nil).Mark(ctx, resource, marks)
}

// story is the life of a resource whose Jobs end, and go, and whose spec changes.
type story struct {
	*gomega.WithT

	p      *ports
	plan   *Plan
	stored *unstructured.Unstructured
	log    []string

	snapshot  *rollback.Snapshot // of the last success; nil: there was none
	succeeded bool               // at this generation
	clean     bool               // the dry run had nothing against this generation
	back      bool               // it has gone back to the snapshot
}

func (s *story) cycle() (*Run, error) {
	ports := s.p.ports()
	if s.back {
		r := s.plan.NewRunTo(*s.snapshot, s.stored, now, ports)
		r.Succeeded = true
		err := s.plan.GoBack(context.Background(), r)
		r.Inputs = r.Inputs.As(&s.plan.Plan, r.Stored)
		return r, err
	}
	if !s.succeeded && !s.clean {
		ports.DryRun = strictDryRun{s.p}
	}
	r := s.plan.NewRun(s.stored, now, ports)
	r.Succeeded = s.succeeded
	err := s.plan.Execute(context.Background(), r)
	s.clean = s.clean || r.DryRunPassed
	res, err := r.Result(context.Background(), err)
	switch failed := err != nil && AsStepError(err).Stalls() || res.Stalled.Reason == v1alpha1.ReasonChildFailed; {
	case failed && s.plan.Rollback != nil && s.snapshot != nil && !s.succeeded:
		s.back = true
		s.log = append(s.log, "goes back")
	case err == nil && r.Completed && len(r.Waits) == 0 && res.Ready.Status == metav1.ConditionTrue:
		s.snapshot, s.succeeded = new(r.Snapshot()), true
	}
	return r, err
}

// runUntilIdle runs cycles as events would. One more, which nobody asks for, must find nothing to do.
func (s *story) runUntilIdle() {
	for cycles := 0; ; cycles++ {
		s.Expect(cycles).To(gomega.BeNumerically("<", 40), "the cycles don't come to an end\n%s", s.log)
		wasBack := s.back
		last, lastErr := s.cycle()
		s.stored = last.Stored
		if s.back != wasBack || !last.Inputs.Unchanged(&s.plan.Plan, s.stored, s.p, now) {
			continue
		}
		s.p.done()
		forced, err := s.cycle()
		s.Expect(s.p.done()).To(gomega.BeEmpty(), "%s", s.log)
		s.Expect(forced.Waits).To(gomega.Equal(last.Waits), "%s", s.log)
		s.Expect(fmt.Sprint(err)).To(gomega.Equal(fmt.Sprint(lastErr)), "%s", s.log)
		return
	}
}

// randomEvent lets something happen: to a Job, or to the spec.
func (s *story) randomEvent(rnd *rand.Rand) {
	jobs := s.p.list(jobKind, "u1")
	if len(jobs) == 0 || rnd.IntN(5) == 0 {
		image := []string{"a", "b", "c"}[rnd.IntN(3)]
		s.log = append(s.log, "image "+image)
		s.stored = s.stored.DeepCopy()
		s.stored.Object["spec"] = map[string]any{"image": image}
		s.stored.SetGeneration(s.stored.GetGeneration() + 1)
		s.succeeded, s.clean, s.back = false, false, false
		return
	}
	job := jobs[rnd.IntN(len(jobs))]
	how := []batchv1.JobConditionType{"", batchv1.JobFailed, batchv1.JobComplete, batchv1.JobComplete}[rnd.IntN(4)]
	switch {
	case how == "":
		s.log = append(s.log, job.GetName()+" goes")
		s.p.remove("gone", job)
	case settle.JobState(job) == "":
		s.log = append(s.log, fmt.Sprintf("%s %s", job.GetName(), how))
		s.p.edit(job.GetName(), endJob(string(how)))
	}
}

func TestNothingIsLeftToDoWhateverBecomesOfJobs(t *testing.T) {
	back := false
	for seed := range uint64(250) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		box := boxOfJobs(rnd)
		p := newPorts()
		strictAboutJobs(p)
		s := &story{WithT: gomega.NewWithT(t), p: p, plan: planOf(t, box), stored: website(t, "image: a"), log: []string{fmt.Sprintf("seed %d:\n%s", seed, box)}}
		s.runUntilIdle()
		for range 8 {
			s.randomEvent(rnd)
			s.runUntilIdle()
		}
		back = back || strings.Contains(strings.Join(s.log, " "), "goes back")
	}
	gomega.NewWithT(t).Expect(back).To(gomega.BeTrue(), "some go back")
}
