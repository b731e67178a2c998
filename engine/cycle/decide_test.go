package cycle

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/pipeline"
)

// usual are the facts of a resource that is ours, and of which something has changed.
func usual(change func(*Facts)) Facts {
	f := Facts{Found: true, Held: true, Marked: true, Selected: true}
	if change != nil {
		change(&f)
	}
	return f
}

// unchanged are the facts of a resource of which nothing has changed.
func unchanged(change func(*Facts)) Facts {
	f := usual(nil)
	f.Unchanged, f.SeenUnchanged = true, true
	if change != nil {
		change(&f)
	}
	return f
}

func TestDecide(t *testing.T) {
	for name, tc := range map[string]struct {
		facts Facts
		want  Action
	}{
		"gone":                                {Facts{}, Forget},
		"our own write is not in the cache":   {usual(func(f *Facts) { f.AwaitsOwnWrite = true }), Await},
		"something has changed":               {usual(nil), Reconcile},
		"nothing has changed":                 {unchanged(nil), Skip},
		"the marks were taken off":            {unchanged(func(f *Facts) { f.Marked = false }), Reconcile},
		"deletions only":                      {usual(func(f *Facts) { f.CleanupOnly = true }), Ignore},
		"deletions only, and it is deleted":   {usual(func(f *Facts) { f.CleanupOnly, f.Deleting = true, true }), Reconcile},
		"deletions only, not selected either": {usual(func(f *Facts) { f.CleanupOnly, f.Selected = true, false }), Ignore},

		"not selected":                      {usual(func(f *Facts) { f.Selected = false }), Release},
		"not selected, and paused":          {usual(func(f *Facts) { f.Selected, f.Paused = false, true }), Release},
		"not selected, and let go just now": {usual(func(f *Facts) { f.Selected, f.Released = false, true }), Await},
		"not selected, and not ours":        {usual(func(f *Facts) { f.Selected, f.Held = false, false }), Forget},
		"not selected, and deleted":         {usual(func(f *Facts) { f.Selected, f.Deleting = false, true }), Reconcile},

		"deleted":                                {usual(func(f *Facts) { f.Deleting = true }), Reconcile},
		"deleted, and nothing has changed":       {unchanged(func(f *Facts) { f.Deleting, f.Marked = true, false }), Skip},
		"deleted, and held by others":            {usual(func(f *Facts) { f.Deleting, f.Held = true, false }), Ignore},
		"deleted, although it is paused":         {usual(func(f *Facts) { f.Deleting, f.Paused = true, true }), Reconcile},
		"deleted, although it is throttled":      {usual(func(f *Facts) { f.Deleting, f.Throttled = true, time.Second }), Reconcile},
		"paused":                                 {usual(func(f *Facts) { f.Paused = true }), ShowPaused},
		"paused, and nothing has changed":        {unchanged(func(f *Facts) { f.Paused = true }), ShowPaused},
		"paused, and about to go back":           {usual(func(f *Facts) { f.Paused, f.RollbackDue = true, true }), ShowPaused},
		"throttled":                              {usual(func(f *Facts) { f.Throttled = time.Second }), Delay},
		"throttled, and about to go back":        {usual(func(f *Facts) { f.Throttled, f.RollbackDue = time.Second, true }), Delay},
		"no longer throttled":                    {usual(func(f *Facts) { f.Throttled = -time.Second }), Reconcile},
		"found again after its write was missed": {usual(func(f *Facts) { f.Released = true }), Reconcile},

		"may pass, not due":             {unchanged(func(f *Facts) { f.Class = pipeline.Transient }), Skip},
		"may pass, due":                 {unchanged(func(f *Facts) { f.Class, f.Due = pipeline.Transient, true }), Retry},
		"may pass, changed":             {usual(func(f *Facts) { f.Class = pipeline.Transient }), Reconcile},
		"may pass, due and changed":     {usual(func(f *Facts) { f.Class, f.Due = pipeline.Transient, true }), Reconcile},
		"may pass, due, without inputs": {usual(func(f *Facts) { f.Class, f.Due, f.SeenUnchanged = pipeline.Transient, true, true }), Retry},
		"panicked, not due":             {unchanged(func(f *Facts) { f.Class = pipeline.Panic }), Skip},
		"panicked, due":                 {unchanged(func(f *Facts) { f.Class, f.Due = pipeline.Panic, true }), Retry},
		"refused just now":              {unchanged(func(f *Facts) { f.Class = pipeline.Refused }), Skip},
		"refused a resync ago":          {unchanged(func(f *Facts) { f.Class, f.ResyncOver = pipeline.Refused, true }), Retry},
		"refused, changed":              {usual(func(f *Facts) { f.Class, f.ResyncOver = pipeline.Refused, true }), Reconcile},
		"permanent":                     {unchanged(func(f *Facts) { f.Class, f.Due, f.ResyncOver = pipeline.Permanent, true, true }), Skip},
		"permanent, changed":            {usual(func(f *Facts) { f.Class = pipeline.Permanent }), Reconcile},
		"no right":                      {unchanged(func(f *Facts) { f.Class = pipeline.Permission }), Skip},
		"the right was granted":         {unchanged(func(f *Facts) { f.Class, f.Granted = pipeline.Permission, true }), Reconcile},
		"no right, changed":             {usual(func(f *Facts) { f.Class = pipeline.Permission }), Reconcile},

		"must go back":                   {usual(func(f *Facts) { f.RollbackDue = true }), RollBack},
		"must go back, nothing changed":  {unchanged(func(f *Facts) { f.RollbackDue = true }), RollBack},
		"going back failed, not due":     {unchanged(func(f *Facts) { f.RollbackDue, f.RollbackTried = true, true }), Skip},
		"going back failed, changed":     {usual(func(f *Facts) { f.RollbackDue, f.RollbackTried = true, true }), RollBack},
		"going back failed, due":         {unchanged(func(f *Facts) { f.RollbackDue, f.RollbackTried, f.Class, f.Due = true, true, pipeline.Transient, true }), RollBack},
		"went back, and fails once more": {usual(func(f *Facts) { f.RollbackDue, f.RolledBack = true, true }), RollBack},
		"went back":                      {usual(func(f *Facts) { f.RolledBack = true }), KeepRolledBack},
		"went back, nothing changed":     {unchanged(func(f *Facts) { f.RolledBack = true }), Skip},
		"went back, an attempt is due":   {usual(func(f *Facts) { f.RolledBack, f.AttemptDue = true, true }), Reconcile},
		"went back, a retry of that is due": {
			unchanged(func(f *Facts) { f.RolledBack, f.Class, f.Due = true, pipeline.Transient, true }), KeepRolledBack},
		"went back, attempt and retry are due": {
			unchanged(func(f *Facts) { f.RolledBack, f.AttemptDue, f.Class, f.Due = true, true, pipeline.Transient, true }), Retry},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := Decide(&tc.facts)
			g.Expect(got.Action).To(Equal(tc.want))
			g.Expect(got.Why).NotTo(BeEmpty())
			if tc.want == Delay {
				g.Expect(got.After).To(BeNumerically(">", 0))
			} else {
				g.Expect(got.After).To(BeZero())
			}
		})
	}
}

// BenchmarkDecide is what is asked of a resource of which nothing has changed.
func BenchmarkDecide(b *testing.B) {
	facts := unchanged(nil)
	b.ReportAllocs()
	for b.Loop() {
		if d := Decide(&facts); d.Action != Skip {
			b.Fatal(d)
		}
	}
}
