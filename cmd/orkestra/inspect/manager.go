package inspect

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/orkspace/orkestra/cmd/orkestra/manager"
	"github.com/orkspace/orkestra/controllers/drain"
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

// Manager reads the Lease of the leader.
func (i *Inspector) Manager(ctx context.Context) Manager {
	at := types.NamespacedName{Namespace: i.manager, Name: drain.LeaseName}
	lease := &coordinationv1.Lease{}
	err := i.cluster.Client.Get(ctx, at, lease)
	switch {
	case apierrors.IsNotFound(err):
		return Manager{State: ManagerUnknown, Message: fmt.Sprintf("Whether a manager is at work is not known: there is no Lease %q. "+
			"None has run in that namespace (name another by --manager-namespace), or it runs with --leader-elect=false", at)}
	case err != nil:
		return Manager{State: ManagerUnknown, Message: "Whether a manager is at work is not known: " + oneLine(message(err))}
	}
	m := Manager{State: ManagerRunning}
	if lease.Spec.HolderIdentity != nil {
		m.Holder = *lease.Spec.HolderIdentity
	}
	life := manager.LeaseDuration
	if s := lease.Spec.LeaseDurationSeconds; s != nil {
		life = time.Duration(*s) * time.Second
	}
	renewed := lease.Spec.RenewTime
	switch {
	case renewed == nil:
		m.State, m.Message = ManagerAway, fmt.Sprintf("No manager is at work: Lease %q was never renewed", at)
	case m.Holder == "":
		m.State, m.Message = ManagerAway, fmt.Sprintf("No manager is at work: Lease %q has had no holder for %s. What statuses say is as old as that",
			at, duration.HumanDuration(i.now.Sub(renewed.Time)))
	case i.now.Sub(renewed.Time) > life:
		m.State, m.Message = ManagerAway, fmt.Sprintf("No manager is at work: %s has not renewed Lease %q for %s. What statuses say is as old as that",
			m.Holder, at, duration.HumanDuration(i.now.Sub(renewed.Time)))
	}
	return m
}
