package audit

import (
	"fmt"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
)

// What would refuse the box: a policy, or Kubernetes itself.
const (
	byAccountPolicy = "box-account"
	byCRDPolicy     = "box-crd"
	byRBAC          = "Forbidden"
)

// demand is a right that the author of a box needs.
type demand struct {
	right  access.Right
	name   string // of the object
	reason string
	// lack follows the name of the user.
	lack string
}

// author finds what keeps the user of --as from writing a box as it is.
func (j *judge) author(b *v1alpha1.OperatorBox, out *box) {
	for _, d := range demands(b) {
		allowed, err := j.reviews.allowed(j.ctx, j.user, d.right, d.name)
		if err != nil {
			j.unknown(b, "whether "+j.user.user+" could write it", err)
			return
		}
		if !allowed {
			out.found(d.reason, j.user.user+" "+d.lack)
		}
	}
}

// demands are the rights that RBAC, and the policies, want of the author of a box.
func demands(b *v1alpha1.OperatorBox) []demand {
	const resource = "operatorboxes"
	all := []demand{{
		right: access.Right{Verb: "update", Group: v1alpha1.GroupName, Resource: resource}, name: b.Name, reason: byRBAC,
		lack: "may not update the box: bind a role with the verb update on operatorboxes",
	}}
	if account := identity.Of(b); account.IsManager() {
		all = append(all, demand{
			right: access.Right{Verb: "use", Group: v1alpha1.GroupName, Resource: resource, Subresource: "manager-identity"}, name: b.Name, reason: byAccountPolicy,
			lack: "may not use the identity of the manager: name an account in spec.serviceAccountRef, or bind a role with the verb use on operatorboxes/manager-identity of orkestra.orkspace.io",
		})
	} else {
		all = append(all, demand{
			right: access.Right{Verb: "impersonate", Resource: "serviceaccounts", Namespace: account.Namespace}, name: account.Name, reason: byAccountPolicy,
			lack: fmt.Sprintf("may not impersonate %s: bind a role with the verb impersonate on that account", account),
		})
	}
	crd := crds.NameOf(b)
	if crd == "" {
		return all // its crd.definition can't be read: nobody could write it
	}
	plural, group, _ := strings.Cut(crd, ".")
	all = append(all, demand{
		right: access.Right{Verb: "operate", Group: group, Resource: plural}, reason: byCRDPolicy,
		lack: fmt.Sprintf("may not operate %s: bind a ClusterRole with the verb operate on that resource", crd),
	})
	if b.Spec.Admission != nil {
		all = append(all, demand{
			right: access.Right{Verb: "enforce", Group: group, Resource: plural}, reason: byAccountPolicy,
			lack: fmt.Sprintf("may not enforce rules on %s: bind a ClusterRole with the verb enforce on that resource, or leave spec.admission out", crd),
		})
	}
	return all
}
