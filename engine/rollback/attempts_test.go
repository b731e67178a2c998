package rollback

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func TestTriggers(t *testing.T) {
	onError, onDegrade := &stage.Rollback{OnError: true, Failures: 3}, &stage.Rollback{OnDegrade: true}
	byCount, within := &stage.Rollback{Failures: 3}, &stage.Rollback{Failures: 3, Within: time.Minute}
	for name, tc := range map[string]struct {
		rule     *stage.Rollback
		class    stage.Class
		failures int
		every    time.Duration
		touched  bool
		marked   bool
		degraded bool
		want     string
	}{
		"rollBackOnError, nothing changed":                   {rule: onError, class: stage.Permanent, failures: 1},
		"rollBackOnError, permanent":                         {rule: onError, class: stage.Permanent, failures: 1, touched: true, want: TriggerError},
		"rollBackOnError, refused":                           {rule: onError, class: stage.Refused, failures: 1, touched: true, want: TriggerError},
		"rollBackOnError, transient":                         {rule: onError, class: stage.Transient, failures: 2, touched: true},
		"rollBackOnError, transient, often enough":           {rule: onError, class: stage.Transient, failures: 3, touched: true, want: TriggerFailures},
		"rollBackOnError, transient, nothing changed":        {rule: onError, class: stage.Transient, failures: 9},
		"rollBackOnError, panic, often enough":               {rule: onError, class: stage.Panic, failures: 3, touched: true, want: TriggerFailures},
		"rollBackOnError, a right, often enough":             {rule: onError, class: stage.Permission, failures: 3, touched: true, want: TriggerFailures},
		"rollBackOnError, still rolled back":                 {rule: onError, class: stage.Refused, failures: 1, marked: true, want: TriggerError},
		"rollBackOnError, still rolled back, transient":      {rule: onError, class: stage.Transient, failures: 1, marked: true},
		"rollBackOnError, degraded":                          {rule: onError, class: stage.Transient, failures: 1, touched: true, degraded: true},
		"default trigger, permanent":                         {rule: onDegrade, class: stage.Permanent, failures: 1, touched: true},
		"default trigger, degraded":                          {rule: onDegrade, class: stage.Transient, failures: 1, degraded: true, want: TriggerDegraded},
		"default trigger, still rolled back":                 {rule: onDegrade, class: stage.Permanent, failures: 1, marked: true, want: TriggerError},
		"default trigger, still rolled back, transient":      {rule: onDegrade, class: stage.Transient, failures: 99, marked: true},
		"trigger, permanent":                                 {rule: byCount, class: stage.Permanent, failures: 1, want: TriggerError},
		"trigger, transient":                                 {rule: byCount, class: stage.Transient, failures: 2},
		"trigger, transient, often enough":                   {rule: byCount, class: stage.Transient, failures: 3, every: time.Hour, want: TriggerFailures},
		"trigger, degraded":                                  {rule: byCount, class: stage.Transient, failures: 1, degraded: true},
		"trigger within a time, transient, too slow":         {rule: within, class: stage.Transient, failures: 9, every: 31 * time.Second},
		"trigger within a time, transient, just fast enough": {rule: within, class: stage.Transient, failures: 9, every: 30 * time.Second, want: TriggerFailures},
		"trigger within a time, refused":                     {rule: within, class: stage.Refused, failures: 1, want: TriggerError},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			var a Attempts
			for i := range tc.failures {
				now = now.Add(tc.every)
				a.Note(&stage.StepError{Class: tc.class}, tc.touched && i == 0, now, tc.rule.Failures)
			}
			NewWithT(t).Expect(a.Trigger(tc.rule, tc.marked, tc.degraded, now)).To(Equal(tc.want))
		})
	}
}

func TestAttemptsBeginAnew(t *testing.T) {
	g := NewWithT(t)
	rule := &stage.Rollback{Failures: 2}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	failed := &stage.StepError{Class: stage.Transient}
	var a Attempts
	a.Renew(Attempt{generation: 1, revision: "a"}, false)
	g.Expect(a.Touched).To(BeFalse(), "a process that knows of nothing unlike the snapshot")
	a.Note(failed, true, now, rule.Failures)
	a.Renew(Attempt{generation: 1, revision: "a"}, true)
	g.Expect(a.failures).To(HaveLen(1), "the same attempt goes on")

	a.Renew(Attempt{generation: 2, revision: "a"}, true)
	g.Expect(a).To(Equal(Attempts{Of: Attempt{generation: 2, revision: "a"}, Touched: true}), "what was changed is still changed")
	a.Note(failed, false, now, rule.Failures)
	g.Expect(a.Trigger(rule, false, false, now)).To(BeEmpty(), "one generation's failures are not another's")
	a.Note(nil, false, now, rule.Failures)
	a.Note(failed, false, now, rule.Failures)
	g.Expect(a.Trigger(rule, false, false, now)).To(BeEmpty(), "in a row")

	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "web", errors.New("changed"))
	a.Note(&stage.StepError{Class: stage.Transient, Err: fmt.Errorf("applying: %w", conflict)}, false, now, rule.Failures)
	g.Expect(a.Trigger(rule, false, false, now)).To(BeEmpty(), "a conflict is no failure of the generation")
	a.Note(failed, false, now, rule.Failures)
	g.Expect(a.Trigger(rule, false, false, now)).To(Equal(TriggerFailures), "and no success that ends a row of them")

	var fresh Attempts
	fresh.Renew(Attempt{generation: 2, revision: "a"}, true)
	g.Expect(fresh.Touched).To(BeTrue(), "a former process may have changed children since the snapshot")
}
