package metrics

import (
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Build says what the binary was made from.
type Build struct {
	Version, Commit string
}

// RegisterProcess registers the series of the process: what it was built from, and whether it leads. It leads once elected is closed; a
// process that loses the lead exits. It fails where a series is registered already, and then none stays.
func RegisterProcess(registry prometheus.Registerer, build Build, elected <-chan struct{}) error {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "orkestra_build_info", Help: "1, with what the binary was built from as labels",
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "go_version": runtime.Version()},
	})
	info.Set(1)
	leader := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "orkestra_leader", Help: "1 where the process leads, and so writes; 0 where it stands by",
	}, func() float64 {
		select {
		case <-elected:
			return 1
		default:
			return 0
		}
	})
	if err := registry.Register(info); err != nil {
		return fmt.Errorf("registering metrics of the process: %w", err)
	}
	if err := registry.Register(leader); err != nil {
		registry.Unregister(info)
		return fmt.Errorf("registering metrics of the process: %w", err)
	}
	return nil
}
