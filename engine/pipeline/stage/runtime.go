package stage

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/autoscale"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// The defaults of a box's runtime, for boxes that did not pass through an API server.
const (
	defaultWorkers          = 3
	defaultResync           = time.Minute
	defaultFailureThreshold = 5
)

// Runtime holds the limits of a sub-controller, with every default filled in.
type Runtime struct {
	// Workers is the number of concurrent reconciles.
	Workers int
	// QueueDepth is the number of keys in the queue above which others wait outside; 0: no limit.
	QueueDepth int
	// Fair says that namespaces take turns in the queue.
	Fair bool
	// Resync is the time within which each resource is reconciled once more.
	Resync time.Duration
	// FailureThreshold is the number of failures in a row that degrade the box.
	FailureThreshold int32
	// Autoscale replaces the first three while its conditions hold; nil: nothing does.
	Autoscale *autoscale.Rule
}

// Limits are those that autoscale may replace.
func (r Runtime) Limits() autoscale.Limits {
	return autoscale.Limits{Workers: r.Workers, QueueDepth: r.QueueDepth, Resync: r.Resync}
}

// CompileRuntime compiles how the sub-controller of a box runs.
func CompileRuntime(b *compile.Box) Runtime {
	s := &b.Spec.RuntimeSpec
	r := Runtime{
		Workers: defaultWorkers, QueueDepth: int(s.Queue.MaxDepth), Fair: s.Queue.Fairness == v1alpha1.FairnessNamespace,
		Resync: defaultResync, FailureThreshold: defaultFailureThreshold,
	}
	if s.Workers != nil {
		r.Workers = int(*s.Workers)
	}
	if s.Resync != nil && s.Resync.Duration > 0 {
		r.Resync = s.Resync.Duration
	}
	if s.FailureThreshold != nil {
		r.FailureThreshold = *s.FailureThreshold
	}
	checkFairness(b)
	if s.Autoscale != nil {
		rule, errs := autoscale.Compile(s.Autoscale, r.Limits(), field.NewPath("spec", "autoscale"))
		r.Autoscale = rule
		b.Fail(errs...)
	}
	return r
}

// checkFairness checks who is next in the queue.
func checkFairness(b *compile.Box) {
	given, at := cmp.Or(b.Spec.Queue.Fairness, v1alpha1.FairnessNone), field.NewPath("spec", "queue", "fairness")
	b.OneOf(string(given), []string{string(v1alpha1.FairnessNone), string(v1alpha1.FairnessNamespace)}, at)
	if given == v1alpha1.FairnessNamespace && !b.Env.CRD.Namespaced {
		b.Fail(field.Invalid(at, given, fmt.Sprintf("resources of %s have no namespaces: nobody could take turns", b.Env.CRD.Kind.Kind)))
	}
}
