package crdhealth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/words"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/monitor"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// standaloneInterval is the time after which a CRDHealth without a box is reconciled again though no event asked for it: rights may have
// been taken away, which no event tells.
const standaloneInterval = time.Minute

// Standalones serves CRDHealths that belong to no box: they show the health of CRDs that other operators run. It may be used by several
// goroutines, but by one at a time for one name.
type Standalones struct {
	// CRDs keeps the full CRDs.
	CRDs *crds.Store
	// Rights says what the manager may do.
	Rights access.Holder
	// Monitors look at the resources.
	Monitors Monitors

	mu     sync.Mutex
	checks map[string]compiledCheck // by CRDHealth; guarded by mu
}

// compiledCheck is what a spec compiled to, so that it is not compiled at every reconcile.
type compiledCheck struct {
	revision string
	check    *monitor.Check
	errs     field.ErrorList
}

// Monitors watches the resources of other operators. It is a monitor.Monitors, where each method is documented.
type Monitors interface {
	Report(name string) (health.Report, bool)
	Track(crd monitor.MonitoredCRD) error
	Untrack(name string)
}

// Observation is what is known of the resources of a CRD.
type Observation struct {
	// Report says how the resources fare.
	Report health.Report
	// Known is false where nothing is known yet, and the status that was written last is left as it is.
	Known bool
	// RequeueAfter is when to observe them again without an event.
	RequeueAfter time.Duration
}

// Observe makes sure that the resources of a CRD are watched, if they can be, and says how they fare.
func (s *Standalones) Observe(ctx context.Context, h *v1alpha1.CRDHealth) (Observation, error) {
	crd, report, err := s.find(ctx, h)
	if err != nil {
		return Observation{}, err
	}
	if crd == nil {
		s.Monitors.Untrack(h.Name)
		return Observation{Report: report, Known: true}, nil
	}
	checked := s.compile(h, crd)
	if len(checked.errs) > 0 {
		s.Monitors.Untrack(h.Name)
		return pending(h, v1alpha1.ReasonCompileFailed, words.Mistakes(checked.errs), 0), nil
	}
	missing, err := s.Rights.Missing(ctx, access.Everywhere(rbacv1.PolicyRule{
		APIGroups: []string{crd.Resource.Group}, Resources: []string{crd.Resource.Resource}, Verbs: []string{"list", "watch"},
	}))
	if err != nil {
		return Observation{}, err
	}
	if len(missing) > 0 {
		s.Monitors.Untrack(h.Name)
		return pending(h, v1alpha1.ReasonForbidden, access.Sentence(access.Missing{Rights: missing}), access.RetryInterval), nil
	}
	return s.track(h, crd, checked)
}

func (s *Standalones) track(h *v1alpha1.CRDHealth, crd *pipeline.CRD, checked compiledCheck) (Observation, error) {
	err := s.Monitors.Track(monitor.MonitoredCRD{Name: h.Name, CRD: *crd, Check: checked.check, Revision: checked.revision, Health: h.Status})
	if errors.Is(err, monitor.ErrNotStarted) {
		return Observation{RequeueAfter: staleDelay}, nil
	}
	if err != nil {
		return Observation{}, fmt.Errorf("looking at the resources of CRDHealth %q: %w", h.Name, err)
	}
	report, ok := s.Monitors.Report(h.Name)
	if !ok {
		return Observation{RequeueAfter: staleDelay}, nil
	}
	// While caches fill after a restart, what the last process has seen is the best that is known.
	filling := report.Phase == health.Starting && report.Message == ""
	held := filling && (h.Status.State == v1alpha1.HealthHealthy || h.Status.State == v1alpha1.HealthDegraded)
	return Observation{Report: report, Known: !held, RequeueAfter: standaloneInterval}, nil
}

// Forget stops watching for a name, and drops what is kept for it.
func (s *Standalones) Forget(name string) {
	s.Monitors.Untrack(name)
	s.CRDs.Forget(crdUser(name))
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.checks, name)
}

// crdUser is the name under which the CRD of a CRDHealth is kept. A box of the same name has its own.
func crdUser(name string) string { return "crdhealth/" + name }

// find gives the CRD in the version that is watched: the storage version if it is served, or else the first that is. nil: there
// is none, and the report says why.
func (s *Standalones) find(ctx context.Context, h *v1alpha1.CRDHealth) (*pipeline.CRD, health.Report, error) {
	name := h.Spec.CRD.Name
	crd, err := s.CRDs.Find(ctx, crdUser(h.Name), name)
	switch {
	case apierrors.IsNotFound(err):
		r := pending(h, v1alpha1.ReasonCRDMissing, s.CRDs.Missing(ctx, name), 0).Report
		if s := h.Status.State; s != "" && s != v1alpha1.HealthPending {
			r.Phase = health.Stopped
		}
		return nil, r, nil
	case err != nil:
		return nil, health.Report{}, fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
	}
	if why := crds.NotEstablished(crd); why != "" {
		return nil, pending(h, v1alpha1.ReasonCRDNotEstablished, why, 0).Report, nil
	}
	if picked, ok := crds.First(crd, ""); ok {
		return &picked, health.Report{}, nil
	}
	return nil, pending(h, v1alpha1.ReasonCRDVersionNotServed, fmt.Sprintf("CustomResourceDefinition %q serves no version", name), 0).Report, nil
}

// pending is what is known of a CRDHealth whose resources can't be watched.
func pending(h *v1alpha1.CRDHealth, reason, message string, requeueAfter time.Duration) Observation {
	report := health.Report{Phase: health.Pending, Reason: reason, Message: message, CRD: h.Spec.CRD.Name, Monitored: true}
	return Observation{Report: report, Known: true, RequeueAfter: requeueAfter}
}

func (s *Standalones) compile(h *v1alpha1.CRDHealth, crd *pipeline.CRD) compiledCheck {
	revision := fmt.Sprintf("%s/%d %s/%d/%s", h.UID, h.Generation, crd.UID, crd.Generation, crd.Kind.Version)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.checks[h.Name]; ok && known.revision == revision {
		return known
	}
	checked := compiledCheck{revision: revision}
	if crd.Resource.Group == v1alpha1.GroupName && crd.Resource.Resource == "crdhealths" {
		checked.errs = field.ErrorList{field.Invalid(field.NewPath("spec", "crd", "name"), crd.Name,
			"a CRDHealth can't show CRDHealths: each write of its own status would be one of those that it shows; name another CRD, such as operatorboxes."+v1alpha1.GroupName)}
	} else {
		checked.check, checked.errs = monitor.Compile(h.Spec.HealthyWhen, *crd, field.NewPath("spec", "healthyWhen"))
	}
	if s.checks == nil {
		s.checks = map[string]compiledCheck{}
	}
	s.checks[h.Name] = checked
	return checked
}

// standalone writes how the resources of another operator's CRD fare.
func (r *Reconciler) standalone(ctx context.Context, current *v1alpha1.CRDHealth) (ctrl.Result, error) {
	seen, err := r.Standalones.Observe(ctx, current)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !seen.Known && current.Status.State != "" {
		return ctrl.Result{RequeueAfter: seen.RequeueAfter}, nil
	}
	if !seen.Known {
		seen.Report = pending(current, "", "resources are not looked at yet", 0).Report
	}
	result, err := r.writeStatus(ctx, nil, current, seen.Report)
	return sooner(result, seen.RequeueAfter), err
}

// MarkWaiting marks the CRDHealths without a box that wait for a right, because rights may have changed.
func (r *Reconciler) MarkWaiting(ctx context.Context, mark func(name string)) {
	var list v1alpha1.CRDHealthList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "CRDHealths that wait for a right could not be listed; they ask for it again by themselves")
		return
	}
	for i := range list.Items {
		h := &list.Items[i]
		ready := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionReady)
		if standsAlone(h) && ready != nil && ready.Reason == v1alpha1.ReasonForbidden {
			mark(h.Name)
		}
	}
}

// standaloneFor gives the CRDHealths without a box that name a CRD.
func (r *Reconciler) standaloneFor(ctx context.Context, crd client.Object) []reconcile.Request {
	var list v1alpha1.CRDHealthList
	if err := r.Client.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "CRDHealths of a CRD could not be listed", "crd", crd.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if h := &list.Items[i]; h.Spec.OperatorBoxRef == nil && h.Spec.CRD.Name == crd.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: h.Name}})
		}
	}
	return requests
}
