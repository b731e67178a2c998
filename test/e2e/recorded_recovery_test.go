package e2e_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Conditions of resources of boxes with rollback.
const (
	isBack  = ", RolledBack=True " + v1alpha1.ReasonRolledBack
	notBack = ", RolledBack=False "
)

var recoveryScenes = map[string]scene{
	"resources that were rolled back": {
		records: []string{
			"website-rolled-back", "website-rolled-back-retrying", "website-held", "website-no-snapshot", "website-recovered",
		},
		play: rolledBackResources,
	},
	"what depends on others": {
		records: []string{"website-dependency", "operatorbox-dependency", "crdhealth-dependency"},
		play: func(ctx context.Context, s *stage) {
			s.open(ctx)
			s.box(ctx, depends(`{name: `+s.id+`-db, condition: Healthy}`))
			const waits = "Ready=False WaitingForDependency, Reconciling=True WaitingForDependency, " + notStalled
			s.record(ctx, "website-dependency", s.website(ctx, "web", `{mode: a}`), "observed, "+waits)
			s.recordOf(ctx, s.id, "operatorbox-dependency", runs)
			s.recordOf(ctx, s.id, "crdhealth-dependency", isHealthy)
		},
	},
	"health without a box": {
		records: []string{"crdhealth-standalone-healthy", "crdhealth-standalone-degraded", "crdhealth-standalone-mistaken"},
		play: func(ctx context.Context, s *stage) {
			s.open(ctx)
			name := s.standalone(ctx, `[]`)
			s.recordOf(ctx, name, "crdhealth-standalone-healthy", isHealthy)
			s.website(ctx, "web", `{}`)
			s.recordOf(ctx, name, "crdhealth-standalone-degraded", "observed, Degraded, "+calm(v1alpha1.ReasonDegraded))
			s.merge(ctx, healthOf(name), `{"spec":{"healthyWhen":[{"field":"status.phaze","equals":"Up"}]}}`)
			s.recordOf(ctx, name, "crdhealth-standalone-mistaken", standsStill("Pending", v1alpha1.ReasonCompileFailed))
		},
	},
}

func rolledBackResources(ctx context.Context, s *stage) {
	s.open(ctx)
	var broken atomic.Bool
	replaceManager(via(func(next http.RoundTripper) http.RoundTripper { //nolint:contextcheck // a manager has a context of its own
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if broken.Load() && strings.HasSuffix(r.URL.Path, "/website-rolled-back-retrying-second") && !strings.Contains(r.URL.RawQuery, "dryRun") {
				return nil, errors.New("the network is broken")
			}
			return next.RoundTrip(r)
		})
	}))
	s.running(ctx, s.box(ctx, "rollBackOnError: true\nfailureThreshold: 3\nresync: 10m\n"+steps))
	s.labeled(ctx, "website-no-snapshot", badSteps, "one")
	const failed, refused = "observed, " + hasFailed, ", " + isSettled + ", Stalled=True " + v1alpha1.ReasonInvalidChild
	s.record(ctx, "website-no-snapshot", s.ref("website-no-snapshot"), failed+refused+notBack+v1alpha1.ReasonNoSnapshot)

	change := func(name, spec string) {
		s.labeled(ctx, name, goodSteps, "one")
		s.settled(ctx, name)
		s.labeled(ctx, name, spec, "two")
	}
	change("website-rolled-back", badSteps)
	s.record(ctx, "website-rolled-back", s.ref("website-rolled-back"), failed+refused+isBack)
	change("website-recovered", badSteps)
	s.rolledBack(ctx, "website-recovered", "")
	s.labeled(ctx, "website-recovered", `{image: "better", port: 81}`, "three")
	s.record(ctx, "website-recovered", s.ref("website-recovered"), "observed, "+allIsWell+notBack+v1alpha1.ReasonSettled)

	s.labeled(ctx, "website-rolled-back-retrying", goodSteps, "one")
	s.settled(ctx, "website-rolled-back-retrying")
	broken.Store(true)
	s.labeled(ctx, "website-rolled-back-retrying", `{image: "other", port: 81}`, "two")
	s.record(ctx, "website-rolled-back-retrying", s.ref("website-rolled-back-retrying"),
		failed+", Reconciling=True Retrying, "+notStalled+isBack)

	s.running(ctx, s.box(ctx, holding))
	change("website-held", badSteps)
	s.record(ctx, "website-held", s.ref("website-held"), failed+", "+isSettled+", Stalled=True "+v1alpha1.ReasonHeld+isBack)
}
