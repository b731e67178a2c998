package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/orkspace/orkestra/cmd/orkestra/manager"
	"github.com/orkspace/orkestra/controllers/drain"
	"github.com/orkspace/orkestra/controllers/inspect"
)

// Manager says whether one is at work, by its Lease.
type Manager struct {
	// State is "running", "away" or "unknown".
	State string `json:"state"`
	// Holder of the Lease.
	Holder string `json:"holder,omitempty"`
	// Message says why nobody is at work, or why that is not known; empty where one is.
	Message string `json:"message,omitempty"`
}

// The states of a manager.
const (
	ManagerRunning = "running"
	ManagerAway    = "away"
	ManagerUnknown = "unknown"
)

// Manager reads the Lease of the leader, and what else tells of one where nobody holds it.
func (i *Inspector) Manager(ctx context.Context) Manager {
	m, over := i.session.leader(ctx, i.Now())
	if m.State == ManagerAway {
		return i.without(ctx, m, m.Message, over)
	}
	return m
}

// leader reads the Lease. Where it is away, the message is a clause on the Lease, and over is when that had run out.
func (s *Session) leader(ctx context.Context, now time.Time) (m Manager, over time.Time) {
	at := types.NamespacedName{Namespace: s.inspecting.ManagerNamespace, Name: drain.LeaseName}
	lease := &coordinationv1.Lease{}
	err := s.cluster.Client.Get(ctx, at, lease)
	switch {
	case apierrors.IsNotFound(err):
		return Manager{State: ManagerUnknown, Message: fmt.Sprintf("Whether a manager is at work is not known: there is no Lease %q. "+
			"None has run in that namespace (name another by --manager-namespace), or it runs with --leader-elect=false", at)}, over
	case err != nil:
		return Manager{State: ManagerUnknown, Message: "Whether a manager is at work is not known: " + inspect.Message(err)}, over
	}
	m = Manager{State: ManagerAway}
	if lease.Spec.HolderIdentity != nil {
		m.Holder = *lease.Spec.HolderIdentity
	}
	life := manager.LeaseDuration
	if s := lease.Spec.LeaseDurationSeconds; s != nil {
		life = time.Duration(*s) * time.Second
	}
	renewed := renewedAt(lease)
	if renewed == nil {
		m.Message = fmt.Sprintf("Lease %q was never renewed", at)
		return m, lease.CreationTimestamp.Time
	}
	switch since := duration.HumanDuration(now.Sub(*renewed)); {
	case m.Holder == "":
		m.Message = fmt.Sprintf("Lease %q has had no holder for %s", at, since)
	case now.Sub(*renewed) < -life:
		m.State = ManagerUnknown
		m.Message = fmt.Sprintf("Whether a manager is at work is not known: Lease %q was renewed %s in the future, by the clock of the API server. Compare that of the manager's node", at, duration.HumanDuration(renewed.Sub(now)))
	case now.Sub(*renewed) > life:
		m.Message = fmt.Sprintf("%s has not renewed Lease %q for %s", m.Holder, at, since)
	default:
		m.State = ManagerRunning
	}
	return m, renewed.Add(life)
}

// renewedAt is when a Lease was renewed last; nil: never, or by somebody who leaves no time. The API server notes it where it keeps who wrote which field: that
// is its own clock's, while renewTime is that of the manager's node, which may be wrong.
func renewedAt(lease *coordinationv1.Lease) *time.Time {
	var last *time.Time
	for _, entry := range lease.ManagedFields {
		if entry.Time == nil || entry.FieldsV1 == nil || !strings.Contains(entry.FieldsV1.GetRawString(), `"f:renewTime"`) {
			continue
		}
		if at := entry.Time.Time; last == nil || at.After(*last) {
			last = &at
		}
	}
	if last == nil && lease.Spec.RenewTime != nil {
		last = &lease.Spec.RenewTime.Time
	}
	return last
}

// without says what is known of a manager that does not hold the Lease. One that runs with --leader-elect=false leaves an old Lease as it is: what
// was written after that was over tells of it. One that has let go may end its last writes until then.
func (i *Inspector) without(ctx context.Context, m Manager, lease string, over time.Time) Manager {
	if at, what := i.written(ctx); at.After(over) {
		m.State, m.Message = ManagerUnknown, fmt.Sprintf("%s, and yet a manager was at work %s ago: %s. One that runs with --leader-elect=false, "+
			"or in another namespace (name it by --manager-namespace), leaves that Lease as it is", lease, duration.HumanDuration(max(0, i.Now().Sub(at))), what)
		return m
	}
	m.State, m.Message = ManagerAway, fmt.Sprintf("No manager is at work, or it runs with --leader-elect=false and has had nothing to write: %s. "+
		"What statuses say may be as old as that", lease)
	return m
}

// written says when a manager last wrote how a box fares, as far as the caller may read that, and what it wrote.
func (i *Inspector) written(ctx context.Context) (last time.Time, what string) {
	note := func(at metav1.Time, format string, args ...any) {
		if at.After(last) {
			last, what = at.Time, fmt.Sprintf(format, args...)
		}
	}
	boxes, _ := i.Boxes()
	for n := range boxes {
		name, status := boxes[n].Name, &boxes[n].Status
		for _, c := range status.Conditions {
			note(c.LastTransitionTime, "the condition %s of OperatorBox %q is of then", c.Type, name)
		}
		health, _ := i.Health(ctx, name)
		for _, c := range health.Status.Conditions {
			note(c.LastTransitionTime, "the condition %s of CRDHealth %q is of then", c.Type, name)
		}
		if reconciled := health.Status.LastReconcile; reconciled != nil {
			note(*reconciled, "CRDHealth %q shows a reconcile of then", name)
		}
	}
	return last, what
}
