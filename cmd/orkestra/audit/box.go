package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	known "github.com/orkspace/orkestra/controllers/accounts"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
)

// errNoRules says that the status of a box does not say which rights the box needs.
var errNoRules = errors.New("its status has no requiredRules; the manager derives them when the box compiles")

// mostNamed is how many resources a message names.
const mostNamed = 5

// box is what was found of one.
type box struct {
	// Name of the box, and the CRD that it serves.
	Name string `json:"name"`
	CRD  string `json:"crd"`
	// ActsAs is "the manager", or the account.
	ActsAs string `json:"actsAs"`
	// Findings are what is wrong.
	Findings []finding `json:"findings"`
	// Resources are counted by the validation rules that the API server could enforce. Absent: there are no such rules, or it is not known.
	Resources *resources `json:"resources,omitempty"`
}

// resources counts those of a box.
type resources struct {
	// Total is the number of resources that the box selects.
	Total int `json:"total"`
	// Breaking names those that break a rule.
	Breaking []string `json:"breaking"`
}

// finding is one thing that is wrong.
type finding struct {
	// Reason in one word: a reason of the box's conditions, or the name of the policy that would refuse the box.
	Reason string `json:"reason"`
	// Message says what is wrong, and what to do.
	Message string `json:"message"`
}

// counted says how many resources break a rule.
func (b *box) counted() string {
	if b.Resources == nil {
		return "-"
	}
	return fmt.Sprintf("%d of %d", len(b.Resources.Breaking), b.Resources.Total)
}

func (b *box) found(reason, message string) {
	b.Findings = append(b.Findings, finding{Reason: reason, Message: message})
}

// judge judges boxes. It is used by one goroutine.
type judge struct {
	*session.Inspector

	ctx       context.Context //nolint:containedctx // accounts.Known takes none: the manager reads a cache
	accounts  *accounts
	reviews   *reviews
	required  bool
	namespace string // of the resources that are counted; empty: all
	user      *subject
	notes     []string
}

func newJudge(ctx context.Context, i *session.Inspector, f *flags) *judge {
	namespaces := slices.Sorted(slices.Values(f.boxNamespaces))
	j := &judge{
		Inspector: i, ctx: ctx, required: f.required, namespace: f.Namespace,
		accounts: &accounts{ctx: ctx, client: i.Client(), allowed: slices.Compact(namespaces)}, reviews: &reviews{client: i.Client()},
	}
	if f.user != "" {
		j.user = userOf(f.user, f.groups)
	}
	return j
}

// unknown notes what could not be asked.
func (j *judge) unknown(b *v1alpha1.OperatorBox, what string, err error) {
	j.notes = append(j.notes, fmt.Sprintf("OperatorBox %q: %s is not known: %v", b.Name, what, err))
}

// judge says what is wrong with a box.
func (j *judge) judge(b *v1alpha1.OperatorBox) *box {
	out := &box{Name: b.Name, CRD: cmp.Or(crds.NameOf(b), "-"), ActsAs: identity.Of(b).String(), Findings: []finding{}}
	pin, problem := known.Judge(b, j.accounts, j.required)
	switch {
	case problem.Reason == v1alpha1.ReasonAccountUnknown:
		j.unknown(b, "its account", j.accounts.failed)
	case problem.Reason != "":
		out.found(problem.Reason, problem.Message)
	case pin != nil:
		out.shown(b, v1alpha1.ConditionPermissionsGranted, v1alpha1.ReasonAccountNotAllowed) // the manager alone knows its own account, and its flags
		j.rights(b, out, identity.Account{Namespace: pin.Namespace, Name: pin.Name, UID: pin.UID})
	default:
		out.shown(b, v1alpha1.ConditionPermissionsGranted, "")
	}
	out.shown(b, v1alpha1.ConditionPoliciesInstalled, "")
	out.shown(b, v1alpha1.ConditionReady, v1alpha1.ReasonCRDClaimed)
	if j.user != nil {
		j.author(b, out)
	}
	j.count(b, out)
	return out
}

// shown finds what the manager has written to a condition of the box that is not True. A reason restricts it to that one.
func (b *box) shown(of *v1alpha1.OperatorBox, condition, reason string) {
	c := meta.FindStatusCondition(of.Status.Conditions, condition)
	if c != nil && c.Status != metav1.ConditionTrue && (reason == "" || c.Reason == reason) {
		b.found(c.Reason, c.Message)
	}
}

// rights finds the rights that the box needs and its account lacks.
func (j *judge) rights(b *v1alpha1.OperatorBox, out *box, account identity.Account) {
	who := &subject{user: account.User(), uid: string(account.UID), groups: account.Groups(), extra: identity.Extra(b.Name)}
	if len(b.Status.RequiredRules) == 0 {
		j.unknown(b, "what rights it needs", errNoRules)
	}
	var missing []string
	for _, right := range access.Rights(b.Status.RequiredRules) {
		allowed, err := j.reviews.allowed(j.ctx, who, right, right.Name)
		if err != nil {
			j.unknown(b, "what its account may do", err)
			return
		}
		if !allowed {
			missing = append(missing, right.String())
		}
	}
	if len(missing) > 0 {
		out.found(v1alpha1.ReasonForbidden, fmt.Sprintf("%s lacks rights that the box needs: %s; grant them, or take out of the box what needs them",
			account, strings.Join(missing, ", ")))
	}
}

// count counts the resources that break rules of the box.
func (j *judge) count(b *v1alpha1.OperatorBox, out *box) {
	judged, err := j.Judge(j.ctx, b, j.namespace)
	switch {
	case err != nil:
		j.unknown(b, "which resources break its rules", err)
	case judged != nil:
		out.Resources = &resources{Total: judged.Total, Breaking: append([]string{}, judged.Breaking...)}
	}
	if judged == nil || len(judged.Breaking) == 0 {
		return
	}
	named, more := judged.Breaking, ""
	if len(named) > mostNamed {
		named, more = named[:mostNamed], fmt.Sprintf(" and %d more", len(named)-mostNamed)
	}
	out.found(v1alpha1.ReasonResourcesBreakRules, fmt.Sprintf("%s%s: their next change is refused where the API server enforces the rules of the box; mend them first",
		strings.Join(named, ", "), more))
}
