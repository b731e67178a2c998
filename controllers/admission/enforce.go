package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/admission"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// Judge counts the resources of a box that break a rule, as engine.Engine does.
type Judge interface {
	Judge(box string, breaks func(*unstructured.Unstructured) bool) (total, breaking int32, ok bool)
}

// Enforcer has the API server enforce what boxes ask for.
type Enforcer struct {
	// Store keeps the policies.
	Store *Store
	// Client writes to the status of boxes which policies they may have.
	Client client.Client
	// Rights says whether the manager may write policies.
	Rights access.Holder
	// Judge counts living resources.
	Judge Judge
}

// Enforcement is what the API server enforces of a box.
type Enforcement struct {
	// Status and Condition are what the box shows.
	Status    *v1alpha1.AdmissionStatus
	Condition metav1.Condition
	// RequeueAfter is when to look again without an event; zero: never.
	RequeueAfter time.Duration
}

// not says why the rules are not enforced.
func (e *Enforcement) not(reason, message string) {
	e.Condition.Status, e.Condition.Reason, e.Condition.Message = metav1.ConditionFalse, reason, message
	e.Status.Enforced = false
}

// MayHave says whether the API server may have policies of a box: its status names them before they are made. Where policies are watched,
// those of a box whose status was lost are found too.
func (e *Enforcer) MayHave(box *v1alpha1.OperatorBox) bool {
	return box.Status.Admission != nil || e.Store.Watches()
}

// Unchanged says that the policies of a box stay as they are, because it does not run its spec.
func Unchanged(box *v1alpha1.OperatorBox, reason string) *Enforcement {
	stays := &Enforcement{Status: former(box), Condition: metav1.Condition{Type: v1alpha1.ConditionAdmissionEnforced}}
	enforced := stays.Status.Enforced
	stays.not(reason, "the box does not run its spec: the policies stay as they are")
	stays.Status.Enforced = enforced
	return stays
}

// Lifted says that a box has no policies, because it does not run.
func Lifted(reason string) *Enforcement {
	lifted := &Enforcement{Status: &v1alpha1.AdmissionStatus{}, Condition: metav1.Condition{Type: v1alpha1.ConditionAdmissionEnforced}}
	lifted.not(reason, "the box does not run: it has no policies")
	return lifted
}

// Lift deletes the policies of a box. note says why they can't be deleted: the garbage collector deletes them with the box then.
func (e *Enforcer) Lift(ctx context.Context, box *v1alpha1.OperatorBox) (note string, err error) {
	if !e.MayHave(box) || !e.Store.Supports(false) {
		return "", nil
	}
	missing, err := e.Rights.Missing(ctx, access.Everywhere(Rules(e.Store.Supports(true))...))
	switch {
	case err != nil:
		return "", err
	case len(missing) == 0:
		return "", e.Store.Remove(ctx, box)
	case len(former(box).Policies) > 0:
		return fmt.Sprintf("the admission policies of the box can't be deleted: %s", access.Sentence(access.Missing{Rights: missing})), nil
	}
	return "", nil
}

// former is the admission status of a box as it was.
func former(box *v1alpha1.OperatorBox) *v1alpha1.AdmissionStatus {
	if box.Status.Admission == nil {
		return &v1alpha1.AdmissionStatus{}
	}
	return box.Status.Admission.DeepCopy()
}

// Apply brings the policies of a box to what the plan says that it runs. With an error, the box shows what is known all the same.
func (e *Enforcer) Apply(ctx context.Context, box *v1alpha1.OperatorBox, plan *pipeline.Plan) (*Enforcement, error) {
	mutation := e.Store.Supports(true)
	compiled := admission.Compile(plan.Admission, mutation)
	policies := compiled.Policies()
	out := &Enforcement{
		Status: &v1alpha1.AdmissionStatus{Enforced: true, Policies: Names(box, policies), Rules: compiled.Places(), Existing: former(box).Existing},
		Condition: metav1.Condition{
			Type: v1alpha1.ConditionAdmissionEnforced, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonEnforced,
			Message: "the API server enforces the rules that status.admission names",
		},
	}
	may, err := e.mayWrite(ctx, box, mutation, out)
	if err == nil && may {
		err = e.write(ctx, box, policies, out, func() (admissionregistrationv1.ValidationAction, error) {
			return e.judge(ctx, box, plan, compiled, policies, out)
		})
	}
	taken, isTaken := errors.AsType[*TakenError](err)
	refused, isRefused := errors.AsType[*RefusedError](err)
	switch {
	case isTaken:
		out.not(v1alpha1.ReasonPolicyNameTaken, taken.Error())
	case isRefused:
		out.not(v1alpha1.ReasonPolicyRefused, refused.Error())
	case err != nil:
		out.not(v1alpha1.ReasonRetrying, err.Error())
		return out, err
	case out.Condition.Status == metav1.ConditionFalse:
	case compiled.Spec().Mutation && !mutation:
		out.not(v1alpha1.ReasonAdmissionUnsupported,
			"the API server has no MutatingAdmissionPolicy: it needs Kubernetes 1.36; defaults are set in the reconcile alone")
		out.Status.Enforced = policies.Deny != nil
	case len(out.Status.Policies) == 0:
		out.not(v1alpha1.ReasonNothingToEnforce, "no rule of the box can be a policy's: status.admission.rules says why")
	}
	return out, nil
}

// mayWrite says whether policies can be written at all.
func (e *Enforcer) mayWrite(ctx context.Context, box *v1alpha1.OperatorBox, mutation bool, out *Enforcement) (bool, error) {
	if !e.Store.Supports(false) {
		out.Status.Policies = nil
		out.not(v1alpha1.ReasonAdmissionUnsupported, "the API server has no ValidatingAdmissionPolicy: it needs Kubernetes 1.30; the rules are checked in the reconcile")
		return false, nil
	}
	missing, err := e.Rights.Missing(ctx, access.Everywhere(Rules(mutation)...))
	if err != nil || len(missing) == 0 {
		return err == nil, err
	}
	out.Status.Policies, out.RequeueAfter = former(box).Policies, access.RetryInterval
	out.not(v1alpha1.ReasonForbidden, access.Sentence(access.Missing{Rights: missing})+"; the chart's value trust.admission grants it")
	return false, nil
}

// write makes the policies do what judge says.
func (e *Enforcer) write(
	ctx context.Context, box *v1alpha1.OperatorBox, policies admission.Policies, out *Enforcement,
	judge func() (admissionregistrationv1.ValidationAction, error),
) error {
	if err := e.announce(ctx, box, out.Status); err != nil {
		return err
	}
	action, err := judge()
	if err != nil || action == "" {
		return err
	}
	return e.Store.Apply(ctx, box, policies, action)
}

// announce writes to the box's status which policies it may have, before they are made.
func (e *Enforcer) announce(ctx context.Context, box *v1alpha1.OperatorBox, next *v1alpha1.AdmissionStatus) error {
	known := former(box).Policies
	if !slices.ContainsFunc(next.Policies, func(name string) bool { return !slices.Contains(known, name) }) {
		return nil
	}
	base := box.DeepCopy()
	box.Status.Admission = former(box)
	box.Status.Admission.Enforced = false
	for _, name := range next.Policies {
		if !slices.Contains(known, name) {
			box.Status.Admission.Policies = append(box.Status.Admission.Policies, name)
		}
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := e.Client.Status().Patch(ctx, box, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("writing which policies OperatorBox %q has to its status: %w", box.Name, err)
	}
	return nil
}

// judge says what the policy that refuses is to do: it audits until all living resources have been counted by its rules, and where the box
// asks for that, until none breaks one. Empty: what is enforced stays as it is meanwhile.
func (e *Enforcer) judge(
	ctx context.Context, box *v1alpha1.OperatorBox, plan *pipeline.Plan, compiled *admission.Compiled, policies admission.Policies, out *Enforcement,
) (admissionregistrationv1.ValidationAction, error) {
	state, err := e.Store.State(ctx, box, policies)
	if err != nil {
		return "", err
	}
	known := out.Status.Existing
	enforced := state.Current && state.Enforced
	if policies.Deny == nil || enforced && known != nil && known.Breaking == 0 {
		return admissionregistrationv1.Deny, nil
	}
	total, breaking, ok := e.Judge.Judge(box.Name, func(obj *unstructured.Unstructured) bool { return plan.Breaks(ctx, compiled, obj) })
	if ok {
		out.Status.Existing = &v1alpha1.AdmissionExisting{Total: total, Breaking: breaking}
	}
	switch {
	case enforced:
		return admissionregistrationv1.Deny, nil
	case !ok:
		out.not(v1alpha1.ReasonCountingResources, "the rules are enforced when the living resources have been judged by them")
	case compiled.Spec().RequireClean && breaking > 0:
		out.RequeueAfter = access.RetryInterval
		out.not(v1alpha1.ReasonResourcesBreakRules,
			fmt.Sprintf("%d of %d resources break a rule: the rules are enforced when none does, because requireClean is set", breaking, total))
	default:
		return admissionregistrationv1.Deny, nil
	}
	if state.Enforced {
		out.Condition.Message += "; until then, those of the former spec are"
		return "", nil
	}
	return admissionregistrationv1.Audit, nil
}
