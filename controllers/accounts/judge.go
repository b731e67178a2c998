package accounts

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/identity"
)

// Known are the accounts as which boxes may act. A Store is one.
type Known interface {
	// UID gives the UID of an account; empty: there is none. An error is ErrNotAllowed or ErrOwn, or says why it is not
	// known.
	UID(name types.NamespacedName) (types.UID, error)
	// Namespaces are those whose accounts boxes may use, sorted.
	Namespaces() []string
}

// Judge says which account a box is to act as, to be pinned in its status; nil: as the manager, unless each box must name an account. A
// problem says why it can't act.
func Judge(box *v1alpha1.OperatorBox, known Known, required bool) (*v1alpha1.ServiceAccountStatus, identity.Problem) {
	ref := box.Spec.ServiceAccountRef
	switch {
	case ref == nil && required:
		return nil, identity.Problem{Reason: v1alpha1.ReasonAccountRequired,
			Message: "spec.serviceAccountRef: wanted a ServiceAccount, found none: the manager runs with --require-service-account, and no box may act as the manager"}
	case ref == nil:
		return nil, identity.Problem{}
	}
	uid, err := known.UID(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	switch {
	case errors.Is(err, ErrNotAllowed):
		return nil, identity.Problem{Reason: v1alpha1.ReasonAccountNotAllowed, Message: fmt.Sprintf(
			"spec.serviceAccountRef.namespace: wanted a namespace whose accounts boxes may use (%s), found %q: name an account there, or have the manager's flag --box-namespaces name this namespace",
			strings.Join(known.Namespaces(), ", "), ref.Namespace)}
	case errors.Is(err, ErrOwn):
		return nil, identity.Problem{Reason: v1alpha1.ReasonAccountNotAllowed, Message: fmt.Sprintf(
			"spec.serviceAccountRef: wanted an account that is for boxes, found %s, which is the manager's own: a box that acts as it has all rights of the manager; make an account for the box, and name that",
			identity.Of(box))}
	case err != nil:
		return nil, identity.Problem{Reason: v1alpha1.ReasonAccountUnknown, Message: fmt.Sprintf(
			"%s can't be looked up: %v; the manager needs get, list and watch on serviceaccounts in namespace %q", identity.Of(box), err, ref.Namespace)}
	}
	return judge(box, uid)
}

// judge says whether a box may act as the account that has this UID now; empty: there is none.
func judge(box *v1alpha1.OperatorBox, uid types.UID) (*v1alpha1.ServiceAccountStatus, identity.Problem) {
	ref, pinned, account := box.Spec.ServiceAccountRef, box.Status.ServiceAccount, identity.Of(box)
	now := &v1alpha1.ServiceAccountStatus{Name: ref.Name, Namespace: ref.Namespace, UID: uid}
	switch {
	case uid == "":
		return nil, identity.Problem{Reason: v1alpha1.ReasonAccountMissing, Message: fmt.Sprintf(
			"%s does not exist, and nothing is written for the box: make it, or name another in spec.serviceAccountRef", account)}
	case uid == ref.UID || uid == types.UID(box.Annotations[v1alpha1.AnnotationConfirmAccount]):
		return now, identity.Problem{}
	case ref.UID != "":
		return nil, identity.Problem{Reason: v1alpha1.ReasonAccountChanged, Message: fmt.Sprintf(
			"spec.serviceAccountRef.uid: wanted the UID of %s, which is %q, found %q: if the box may act as this account, write its UID there", account, uid, ref.UID)}
	case pinned == nil || pinned.Name != ref.Name || pinned.Namespace != ref.Namespace, pinned.UID == uid:
		return now, identity.Problem{}
	}
	return nil, identity.Problem{Reason: v1alpha1.ReasonAccountChanged, Message: fmt.Sprintf(
		"%s was deleted and made again: its UID was %q and is %q now; if the box may act as the new account, set the annotation %s: %q on the box, or spec.serviceAccountRef.uid",
		account, pinned.UID, uid, v1alpha1.AnnotationConfirmAccount, uid)}
}
