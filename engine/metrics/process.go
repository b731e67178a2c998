package metrics

import (
	"fmt"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The series of the process, which are registered apart from those of boxes.
const (
	nameLeader    = "orkestra_leader"
	nameHeartbeat = "orkestra_leader_heartbeat_timestamp_seconds"
	nameBuildInfo = "orkestra_build_info"
)

// Build says what the binary was made from.
type Build struct {
	Version, Commit string
}

// Lead says whether a process leads. A process that loses the lead exits.
type Lead struct {
	// Elected is closed once it leads.
	Elected <-chan struct{}
	// Renewed gives when the lease was last renewed.
	Renewed func() time.Time
}

func (l Lead) leads() bool {
	select {
	case <-l.Elected:
		return true
	default:
		return false
	}
}

// RegisterProcess registers the series of the process: what it was built from, whether it leads, and since when that was last renewed. It
// fails where a series is registered already, and then none stays.
func RegisterProcess(registry prometheus.Registerer, build Build, lead Lead) error {
	d := newDescriptions()
	info := d.gauge(nameBuildInfo)
	info.WithLabelValues(build.Version, build.Commit, runtime.Version()).Set(1)
	leader, heartbeat := &reading{desc: d.desc(nameLeader)}, &reading{desc: d.desc(nameHeartbeat)}
	leader.set(func() (float64, bool) {
		if lead.leads() {
			return 1, true
		}
		return 0, true
	})
	heartbeat.set(func() (float64, bool) {
		if !lead.leads() {
			return 0, false
		}
		return float64(lead.Renewed().UnixMilli()) / 1000, true
	})
	all := []prometheus.Collector{info, leader, heartbeat}
	for i, c := range all {
		if err := registry.Register(c); err != nil {
			for _, done := range all[:i] {
				registry.Unregister(done)
			}
			return fmt.Errorf("registering metrics of the process: %w", err)
		}
	}
	return nil
}
