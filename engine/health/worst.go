package health

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

const maxFailing = 10 // entries of CRDHealth's failing list

// worstList keeps the failing resources that CRDHealth lists. It is cheap for the workers: a failure compares with ten entries, and what
// needs a walk over all resources waits for the next export.
type worstList struct {
	list []*resource // sorted by worse
	// stale: a resource left the list while others waited for its place. The next export fills it.
	stale bool
}

// rank puts a resource in its place. It must not have fewer failures than when it was ranked last: drop it first. It says whether the
// list names other resources now.
func (w *worstList) rank(r *resource) bool {
	if w.stale { // what made it stale has told of a change already
		return false
	}
	entered := !r.listed
	switch {
	case r.listed:
	case len(w.list) < maxFailing:
		w.list = append(w.list, r)
	case worse(r, w.list[maxFailing-1]) < 0:
		w.list[maxFailing-1].listed = false
		w.list[maxFailing-1] = r
	default:
		return false
	}
	r.listed = true
	slices.SortFunc(w.list, worse)
	return entered
}

// drop takes a resource off the list; failing is the number of resources that still fail. It says whether it was listed.
func (w *worstList) drop(r *resource, failing int) bool {
	if !r.listed {
		return false
	}
	r.listed = false
	w.list = slices.DeleteFunc(w.list, func(l *resource) bool { return l == r })
	if failing > len(w.list) {
		w.stale = true
	}
	return true
}

// export copies the list, filling it first where it is stale.
func (w *worstList) export(all map[types.NamespacedName]*resource) []v1alpha1.FailingResource {
	if w.stale {
		w.stale = false
		for _, r := range all {
			if r.any() {
				w.rank(r)
			}
		}
	}
	var out []v1alpha1.FailingResource
	for _, r := range w.list {
		out = append(out, v1alpha1.FailingResource{
			ResourceReference:   v1alpha1.ResourceReference{Namespace: r.name.Namespace, Name: r.name.Name},
			ConsecutiveFailures: r.failures,
			Reason:              r.reason,
			Step:                r.step,
			Message:             r.message,
			Since:               metav1.NewTime(r.since),
		})
	}
	return out
}

// worse orders: most failures in a row, then the oldest, then by name.
func worse(a, b *resource) int {
	return cmp.Or(
		cmp.Compare(b.failures, a.failures),
		a.since.Compare(b.since),
		cmp.Compare(a.name.Namespace, b.name.Namespace),
		cmp.Compare(a.name.Name, b.name.Name),
	)
}
