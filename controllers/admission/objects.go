// Package admission keeps the admission policies of boxes as the boxes want them: it writes, corrects and deletes the policies and
// bindings that belong to a box, and touches no others.
package admission

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/admission"
)

// The kinds of policies. Each has a binding of its name.
const (
	kindValidating        = "ValidatingAdmissionPolicy"
	kindValidatingBinding = "ValidatingAdmissionPolicyBinding"
	kindMutating          = "MutatingAdmissionPolicy"
	kindMutatingBinding   = "MutatingAdmissionPolicyBinding"
)

// namePrefix and warnSuffix are what policies are named by, around the name of their box.
const (
	namePrefix = "orkestra-"
	warnSuffix = "-warn"
)

// Name is the name of the policies of a box.
func Name(box string) string { return namePrefix + box }

func warnName(box string) string { return Name(box) + warnSuffix }

// Rules are the rights that writing policies takes. RBAC can't confine them to names, so they are granted on purpose alone.
func Rules(mutation bool) []rbacv1.PolicyRule {
	resources := []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"}
	if mutation {
		resources = append(resources, "mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
	}
	return []rbacv1.PolicyRule{{
		APIGroups: []string{admissionregistrationv1.GroupName}, Resources: resources, Verbs: []string{"get", "list", "watch", "create", "update", "delete"},
	}}
}

// object is an object of a box: one that it wants, or one that it must not have.
type object struct {
	kind string
	want client.Object
	has  bool // whether the box wants it
}

// String names the object as a status does.
func (o object) String() string { return o.kind + "/" + o.want.GetName() }

// objectsOf are all objects that a box can have, policies before their bindings. deny is what the binding of the policy that refuses does.
func objectsOf(box *v1alpha1.OperatorBox, p admission.Policies, deny admissionregistrationv1.ValidationAction) []object {
	return slices.Concat(
		validating(box, Name(box.Name), p.Deny, deny),
		validating(box, warnName(box.Name), p.Warn, admissionregistrationv1.Warn),
		mutating(box, Name(box.Name), p.Defaults),
	)
}

func validating(
	box *v1alpha1.OperatorBox, name string, spec *admissionregistrationv1.ValidatingAdmissionPolicySpec, action admissionregistrationv1.ValidationAction,
) []object {
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metadata(box, name)}
	if spec != nil {
		policy.Spec = *spec
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metadata(box, name)}
	binding.Spec.PolicyName, binding.Spec.ValidationActions = name, []admissionregistrationv1.ValidationAction{action}
	return []object{{kind: kindValidating, want: policy, has: spec != nil}, {kind: kindValidatingBinding, want: binding, has: spec != nil}}
}

func mutating(box *v1alpha1.OperatorBox, name string, spec *admissionregistrationv1.MutatingAdmissionPolicySpec) []object {
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metadata(box, name)}
	if spec != nil {
		policy.Spec = *spec
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metadata(box, name)}
	binding.Spec.PolicyName = name
	return []object{{kind: kindMutating, want: policy, has: spec != nil}, {kind: kindMutatingBinding, want: binding, has: spec != nil}}
}

// metadata has the box own the object: the API server's garbage collector deletes it with the box, whatever becomes of the manager.
func metadata(box *v1alpha1.OperatorBox, name string) metav1.ObjectMeta {
	isController := true
	return metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelBox: box.Name},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "OperatorBox", Name: box.Name, UID: box.UID, Controller: &isController,
		}},
	}
}

// TakenError says that an object of a name exists and is not the box's.
type TakenError struct {
	Object, Owner string
	// Policy is the name of the policy of Orkestra that the object is, by which it guards the cluster; empty: it is none.
	Policy string
}

// Error says whose the object is, and what to do.
func (e *TakenError) Error() string {
	owner := "nobody's of Orkestra"
	switch {
	case e.Policy != "":
		return fmt.Sprintf("%s exists and is Orkestra's own policy %s: leave it, and give the box another name", e.Object, e.Policy)
	case e.Owner != "":
		owner = "that of " + e.Owner
	}
	return fmt.Sprintf("%s exists and is %s: delete it, or give the box another name", e.Object, owner)
}

// RefusedError says that the API server refuses a policy.
type RefusedError struct {
	Object string
	Err    error
}

// Error gives the words of the API server.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the API server refuses %s: %v", e.Object, e.Err)
}

// Unwrap gives the error of the API server.
func (e *RefusedError) Unwrap() error { return e.Err }
