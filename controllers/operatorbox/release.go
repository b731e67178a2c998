package operatorbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/release"
)

// finalizeInterval is how long a deleted box waits without an event before it is reconciled again. The engine tells when a resource
// is let go, and the watch of CRDs when one is gone; this is for what neither of them sees.
const finalizeInterval = 30 * time.Second

// How the message begins that says what a box still waits for: while it is being deleted, while the manager is being drained, and while it has to
// do otherwise than it did.
const (
	whileDeleted = "the box is being deleted and "
	whileDrained = "the manager is being drained and "
	whileStopped = "the box is to stop, or to start anew, and "
)

// drained is the message of a box that a drain has let go completely.
const drained = "the manager is drained: no resource of the box is held, their children stay; " +
	"orkestra drain --undo, or installing Orkestra again, makes the box go on"

// releaser lets go of what boxes hold: when they are deleted, and when the manager is drained.
type releaser struct {
	Ports

	hold      *holder
	crd       *finder
	claim     *claimer
	history   *historian
	run       *runner
	admission *enforcer
	status    *recorder
}

// finalize lets go of everything that a deleted box holds: its resources lose Orkestra's marks, their children stay, unless
// the box asks for more. Then the box goes.
func (r *releaser) finalize(ctx context.Context, s *scope) (stop bool, err error) {
	s.silent = true
	if !controllerutil.ContainsFinalizer(s.box, v1alpha1.Finalizer) {
		return true, r.forget(ctx, s.box.Name)
	}
	if !r.Engine.Leading() {
		return true, r.Engine.Remove(s.box.Name)
	}
	if _, err := r.status.misread(ctx, s); err != nil {
		return false, err
	}
	r.status.warn(s.box)
	if err := r.admission.lift(ctx, s); err != nil {
		return false, err
	}
	blocker, err := r.releaseAll(ctx, s)
	if err != nil {
		return false, err
	}
	if blocker != "" {
		s.silent, s.requeueAfter = false, finalizeInterval
		s.notReady(health.Stopped, v1alpha1.ReasonDeletionBlocked, whileDeleted+blocker)
		return true, nil
	}
	if err := r.claim.handOver(ctx, s.box, s.crdName); err != nil {
		return false, err
	}
	if err := r.Engine.Remove(s.box.Name); err != nil {
		return false, err
	}
	r.history.drop(ctx, s.box.Name)
	if err := r.hold.removeFinalizer(ctx, s.box); err != nil {
		return false, err
	}
	return true, r.forget(ctx, s.box.Name)
}

// drain brings a box of an installation that is being drained to its end: its resources lose Orkestra's marks and are not
// marked again, deletions that are under way are finished, children stay, and then the box itself is let go. It does not go
// away, so that Orkestra can go on where it was.
func (r *releaser) drain(ctx context.Context, s *scope) (stop bool, err error) {
	if !r.Engine.Leading() {
		s.silent = true
		return true, r.Engine.Remove(s.box.Name)
	}
	var blocker string
	err = r.admission.lift(ctx, s)
	if err == nil {
		blocker, err = r.releaseResources(ctx, s)
	}
	if err == nil && blocker == "" {
		err = r.hold.removeFinalizer(ctx, s.box)
	}
	switch {
	case s.showStuck(err):
	case err != nil:
		s.failed = err
		s.notReady(health.Suspended, v1alpha1.ReasonDraining, err.Error())
	case blocker != "":
		s.requeueAfter = finalizeInterval
		s.notReady(health.Suspended, v1alpha1.ReasonDraining, whileDrained+blocker)
	default:
		s.notReady(health.Suspended, v1alpha1.ReasonDrained, drained)
	}
	return true, nil
}

// releaseAll lets go of what a deleted box holds in the cluster, and says what it waits for; empty: it holds nothing any more.
func (r *releaser) releaseAll(ctx context.Context, s *scope) (string, error) {
	waits, err := r.releaseResources(ctx, s)
	if err != nil || waits != "" {
		return waits, err
	}
	return r.crd.installer.remove(ctx, s)
}

// releaseResources takes the marks off the resources of a box, and says what it waits for; empty: no resource has marks any more.
func (r *releaser) releaseResources(ctx context.Context, s *scope) (waits string, err error) {
	if waits, err = r.serveRelease(ctx, s); err != nil || waits != "" || r.Engine.Plan(s.box.Name) == nil {
		return waits, err
	}
	how, cause := r.how(s)
	if how == release.Resources && s.account.problem.Reason != "" {
		return s.awaitsAccount(), nil
	}
	var refused *apply.RefusedError
	left, err := r.Engine.Release(ctx, s.box.Name, how, cause)
	switch {
	case errors.Is(err, release.ErrFilling):
		return "waits for its caches to fill", nil
	case errors.As(err, &refused):
		return "waits: " + err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("releasing the resources of OperatorBox %q: %w", s.box.Name, err)
	case len(left) > 0 && s.account.problem.Reason != "":
		return awaiting(left) + "; " + s.account.problem.Message, nil
	case len(left) > 0:
		return awaiting(left), nil
	}
	return "", nil
}

// awaitsAccount says that a deleted box that takes its CRD with it can't, without its account.
func (s *scope) awaitsAccount() string {
	return "its resources and their CRD are deleted as its account: " + s.account.problem.Message + "; or set spec.crd.deletionPolicy: Retain"
}

// how says how the resources of a box are let go, and what their conditions say afterwards.
func (r *releaser) how(s *scope) (release.Mode, release.Cause) {
	how := release.Marks
	switch {
	case !s.deleted:
		return how, release.Drained()
	case deletesCRD(s.box, s.live):
		how = release.Resources
	case s.box.Annotations[v1alpha1.AnnotationCleanup] == v1alpha1.True:
		how = release.Children
	}
	return how, release.BoxDeleted(s.box.Name, how)
}

// awaiting names resources that are not let go yet, the first of them where there are many.
func awaiting(left []types.NamespacedName) string {
	const most = 3
	names := make([]string, 0, most+1)
	for _, name := range left[:min(most, len(left))] {
		names = append(names, strings.TrimPrefix(name.String(), "/"))
	}
	if more := len(left) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return "waits for resources that are not let go yet: " + strings.Join(names, ", ")
}

// serveRelease makes sure that the box runs a plan that serves deletions alone, and says what it waits for; empty: for nothing. The old
// plan is stopped first, and waited for, so that nothing marks a resource again that has been let go.
func (r *releaser) serveRelease(ctx context.Context, s *scope) (waits string, err error) {
	box := s.box
	if holder, err := r.Claims.Take(ctx, box, s.crdName); err != nil {
		return "", err
	} else if holder != box.Name {
		return "", nil // it never ran: another box has the resources
	}
	live, err := r.CRDs.Of(ctx, box, s.crdName)
	if apierrors.IsNotFound(err) || err == nil && crds.NotEstablished(live) != "" {
		return "", r.Engine.Remove(box.Name)
	}
	if err != nil {
		return "", err
	}
	s.live = live
	s.established()
	if _, ok := crds.OwnVersion(box, live); !ok {
		s.crdReason, s.crdMessage = v1alpha1.ReasonCRDVersionNotServed, crds.NotServed(box, live)
	}
	picked, ok := r.run.anyVersion(box, live)
	if !ok {
		if err := r.Engine.Remove(box.Name); err != nil {
			return "", err
		}
		if len(box.Status.WatchedNamespaces) == 0 {
			return "", nil // in none of them may a resource be marked
		}
		return fmt.Sprintf("waits for CustomResourceDefinition %q to serve a version again: without one, its resources can't be let go", live.Name), nil
	}
	going := picked.Going || deletesCRD(box, live) || picked.Kind.Version != crds.WorkedIn(box, live)
	running := r.run.runningPlan(box, live)
	if running != nil && running.CleanupOnly && s.account.run(running) == running && (running.CRD.Going || !going) {
		return "", nil
	}
	var plan *pipeline.Plan
	if running != nil {
		plan = running.ForCleanup()
	} else if plan, err = r.run.cleanupPlan(ctx, s, picked); err != nil {
		return "", fmt.Errorf("compiling OperatorBox %q for its deletion: %w", box.Name, err)
	}
	if going {
		plan = plan.ForGoingCRD()
	}
	if err := r.Engine.Remove(box.Name); err != nil {
		return "", err
	}
	return "", r.run.ensure(ctx, s, plan)
}

// forget drops everything that is known of a box that is gone. Those that waited for its CRD are reconciled. They wait on where the box does
// not stop: it is still at work on what they would get.
func (r *releaser) forget(ctx context.Context, name string) error {
	r.hold.held.Delete(name)
	if err := r.Engine.Remove(name); err != nil {
		return err
	}
	r.Reports.Forget(name)
	r.CRDs.Forget(name)
	return r.claim.offer(ctx, r.Claims.Release(name))
}
