package cycle

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/pipeline"
)

func TestTriggers(t *testing.T) {
	onError, onDegrade := &pipeline.Rollback{OnError: true, Failures: 3}, &pipeline.Rollback{OnDegrade: true}
	byCount, within := &pipeline.Rollback{Failures: 3}, &pipeline.Rollback{Failures: 3, Within: time.Minute}
	for name, tc := range map[string]struct {
		rule     *pipeline.Rollback
		class    pipeline.Class
		failures int
		every    time.Duration
		touched  bool
		marked   bool
		degraded bool
		want     string
	}{
		"rollBackOnError, nothing changed":                   {rule: onError, class: pipeline.Permanent, failures: 1},
		"rollBackOnError, permanent":                         {rule: onError, class: pipeline.Permanent, failures: 1, touched: true, want: triggerError},
		"rollBackOnError, refused":                           {rule: onError, class: pipeline.Refused, failures: 1, touched: true, want: triggerError},
		"rollBackOnError, transient":                         {rule: onError, class: pipeline.Transient, failures: 2, touched: true},
		"rollBackOnError, transient, often enough":           {rule: onError, class: pipeline.Transient, failures: 3, touched: true, want: triggerFailures},
		"rollBackOnError, transient, nothing changed":        {rule: onError, class: pipeline.Transient, failures: 9},
		"rollBackOnError, panic, often enough":               {rule: onError, class: pipeline.Panic, failures: 3, touched: true, want: triggerFailures},
		"rollBackOnError, a right, often enough":             {rule: onError, class: pipeline.Permission, failures: 3, touched: true, want: triggerFailures},
		"rollBackOnError, still rolled back":                 {rule: onError, class: pipeline.Refused, failures: 1, marked: true, want: triggerError},
		"rollBackOnError, still rolled back, transient":      {rule: onError, class: pipeline.Transient, failures: 1, marked: true},
		"rollBackOnError, degraded":                          {rule: onError, class: pipeline.Transient, failures: 1, touched: true, degraded: true},
		"default trigger, permanent":                         {rule: onDegrade, class: pipeline.Permanent, failures: 1, touched: true},
		"default trigger, degraded":                          {rule: onDegrade, class: pipeline.Transient, failures: 1, degraded: true, want: triggerDegraded},
		"default trigger, still rolled back":                 {rule: onDegrade, class: pipeline.Permanent, failures: 1, marked: true, want: triggerError},
		"default trigger, still rolled back, transient":      {rule: onDegrade, class: pipeline.Transient, failures: 99, marked: true},
		"trigger, permanent":                                 {rule: byCount, class: pipeline.Permanent, failures: 1, want: triggerError},
		"trigger, transient":                                 {rule: byCount, class: pipeline.Transient, failures: 2},
		"trigger, transient, often enough":                   {rule: byCount, class: pipeline.Transient, failures: 3, every: time.Hour, want: triggerFailures},
		"trigger, degraded":                                  {rule: byCount, class: pipeline.Transient, failures: 1, degraded: true},
		"trigger within a time, transient, too slow":         {rule: within, class: pipeline.Transient, failures: 9, every: 31 * time.Second},
		"trigger within a time, transient, just fast enough": {rule: within, class: pipeline.Transient, failures: 9, every: 30 * time.Second, want: triggerFailures},
		"trigger within a time, refused":                     {rule: within, class: pipeline.Refused, failures: 1, want: triggerError},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			var a attempts
			for i := range tc.failures {
				now = now.Add(tc.every)
				a.note(&pipeline.StepError{Class: tc.class}, tc.touched && i == 0, now, tc.rule.Failures)
			}
			NewWithT(t).Expect(a.trigger(tc.rule, tc.marked, tc.degraded, now)).To(Equal(tc.want))
		})
	}
}

func TestAttemptsBeginAnew(t *testing.T) {
	g := NewWithT(t)
	rule := &pipeline.Rollback{Failures: 2}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	failed := &pipeline.StepError{Class: pipeline.Transient}
	var a attempts
	a.renew(attemptKey{generation: 1, revision: "a"}, false)
	g.Expect(a.touched).To(BeFalse(), "a process that knows of nothing unlike the snapshot")
	a.note(failed, true, now, rule.Failures)
	a.renew(attemptKey{generation: 1, revision: "a"}, true)
	g.Expect(a.failures).To(HaveLen(1), "the same attemptKey goes on")

	a.renew(attemptKey{generation: 2, revision: "a"}, true)
	g.Expect(a).To(Equal(attempts{of: attemptKey{generation: 2, revision: "a"}, touched: true}), "what was changed is still changed")
	a.note(failed, false, now, rule.Failures)
	g.Expect(a.trigger(rule, false, false, now)).To(BeEmpty(), "one generation's failures are not another's")
	a.note(nil, false, now, rule.Failures)
	a.note(failed, false, now, rule.Failures)
	g.Expect(a.trigger(rule, false, false, now)).To(BeEmpty(), "in a row")

	var fresh attempts
	fresh.renew(attemptKey{generation: 2, revision: "a"}, true)
	g.Expect(fresh.touched).To(BeTrue(), "a former process may have changed children since the snapshot")
}
