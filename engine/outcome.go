package engine

import (
	"github.com/orkspace/orkestra/engine/apply"
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

// verbCreate is the verb of a request that makes something.
const verbCreate = "create"

// verbOf names the request behind an action, for metrics.
func verbOf(action apply.Action) string {
	switch action {
	case apply.Created:
		return verbCreate
	case pipeline.Pruned:
		return "delete"
	default:
		return "apply"
	}
}
