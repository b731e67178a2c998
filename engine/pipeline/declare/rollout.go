package declare

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// Rollout says how many items of a loop are changed at a time, and which ones first.
type Rollout struct {
	// Template gives how many; nil: Most does.
	Template *expr.Template
	// Most is a number of items, or a percentage of them.
	Most intstr.IntOrString
	// Descending says that the last item is changed first.
	Descending bool
}

// WantedOfRollout is what maxUnavailable may be.
const WantedOfRollout = "wanted a whole number from 1, or a percentage of the items from 1% to 100%"

// compileRollout compiles how the items of a loop are changed. base is the scope outside of the loop: the number is that of all items.
func compileRollout(base *expr.Scope, e *entry) {
	if e.ForEach == nil || e.ForEach.Rollout == nil {
		return
	}
	in, at := e.ForEach.Rollout, e.at.Child("forEach", "rollout")
	r := &Rollout{Most: intstr.FromInt32(1), Descending: in.Order == v1alpha1.RolloutDescending}
	e.d.Rollout = r
	if in.Order != "" {
		e.c.OneOf(string(in.Order), []string{string(v1alpha1.RolloutAscending), string(v1alpha1.RolloutDescending)}, at.Child("order"))
	}
	most := in.MaxUnavailable
	switch {
	case most == nil:
	case most.Type == intstr.String && expr.IsTemplate(most.StrVal):
		r.Template = e.c.Template(base, most.StrVal, at.Child("maxUnavailable"))
	case !MayRollOutBy(*most):
		e.c.Fail(field.Invalid(at.Child("maxUnavailable"), most.String(), WantedOfRollout+"; with less, nothing would ever be changed"))
	default:
		r.Most = *most
	}
}

// MayRollOutBy says whether items can be rolled out by so many at a time.
func MayRollOutBy(most intstr.IntOrString) bool {
	if most.Type == intstr.Int {
		return most.IntVal >= 1
	}
	percent, isPercent := strings.CutSuffix(most.StrVal, "%")
	n, err := strconv.Atoi(percent)
	return isPercent && err == nil && n >= 1 && n <= 100 && percent == strconv.Itoa(n)
}

// unfitForRollout says why what a declaration makes can't be changed in turn; "" where it can.
func (m *Mode) unfitForRollout(phase Phase, isJob, askedOnce bool) string {
	switch {
	case m.Rollout == nil:
		return ""
	case phase == OnDelete:
		return "a clean-up makes its objects once; deletion.ordered puts them in an order; remove rollout"
	case phase == OnRollback:
		return "what onRollback makes is there for the time of going back; remove rollout"
	case isJob:
		return "a Job runs to its end and is not changed meanwhile; remove rollout; what must come first is said by after"
	case m.Once:
		return "this object is made once and never changed, so that there is no change to roll out; " + mendOnce(phase, askedOnce, "rollout")
	default:
		return ""
	}
}

// ReadsMore says whether conditions read more than the object that they are asked of. What they ask then is asked of what is declared now, and
// says nothing of an object that does not have that yet.
func (r *Ready) ReadsMore() bool {
	return r != nil && slices.ContainsFunc(r.Gate.Paths(), func(p expr.Path) bool { return len(p) == 0 || p[0] != compile.RootObject })
}
