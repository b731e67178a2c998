package manager

import (
	"fmt"
	"net"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/drain"
)

// The lease of the leader (docs/design/recovery.md, "Several processes"). A follower takes it when it has not been renewed for
// LeaseDuration; a leader that could not renew it for renewDeadline ends. It tries every retryPeriod.
const (
	// LeaseDuration is how long a lease holds that is not renewed.
	LeaseDuration = 15 * time.Second

	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// leaderLock is the lease that processes of one installation compete for.
type leaderLock struct {
	resourcelock.LeaseLock

	// events is told when a process begins and ceases to lead. nil: nobody is told.
	events events.EventRecorder
}

// newLeaderLock makes the lock, with a client and a connection of its own: however many requests of boxes wait for their turn,
// or hang, the lease is renewed. where gives the annotations that say where the process serves the Control Center.
func newLeaderLock(config *rest.Config, namespace string, where func() map[string]string) (*leaderLock, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("asking for the name of this machine: %w", err)
	}
	own := rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	own.QPS, own.Burst, own.RateLimiter = -1, 0, nil // it sends one request at a time, every few seconds
	// A request that hangs must leave time for another before the deadline.
	own.Timeout = renewDeadline / 2
	// client-go shares connections among equal configurations. A dialer of its own makes this one different.
	own.Dial = (&net.Dialer{Timeout: own.Timeout, KeepAlive: LeaseDuration}).DialContext
	client, err := coordinationv1client.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("making a client for the lease: %w", err)
	}
	return &leaderLock{LeaseLock: resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: drain.LeaseName},
		Client:     placed{LeasesGetter: client, where: where},
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}}, nil
}

// RecordEvent implements resourcelock.Interface.
func (l *leaderLock) RecordEvent(what string) {
	if l.events == nil {
		return
	}
	lease := &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"},
		ObjectMeta: l.LeaseMeta,
	}
	l.events.Eventf(lease, nil, corev1.EventTypeNormal, v1alpha1.ReasonLeaderElection, "Elect", "%s %s", l.Identity(), what)
}
