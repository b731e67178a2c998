package engine

import (
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// resultOf names what a cycle came to, for metrics.
func resultOf(run *pipeline.Run, st *state) string {
	switch {
	case st.class != "":
		return string(st.class)
	case len(run.Waits) > 0:
		return metrics.ResultWaiting
	default:
		return metrics.ResultSuccess
	}
}
