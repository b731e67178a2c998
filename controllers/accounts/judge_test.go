package accounts

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func pinnedTo(name string, uid types.UID) *v1alpha1.ServiceAccountStatus {
	return &v1alpha1.ServiceAccountStatus{Namespace: "team", Name: name, UID: uid}
}

func TestWhichAccountABoxActsAs(t *testing.T) {
	for name, tc := range map[string]struct {
		pinned    *v1alpha1.ServiceAccountStatus
		wanted    types.UID // in the spec
		confirmed string
		live      types.UID
		reason    string
		message   string
	}{
		"the first":                {live: "one"},
		"the same":                 {pinned: pinnedTo("ann", "one"), live: "one"},
		"another name before":      {pinned: pinnedTo("bob", "two"), live: "one"},
		"another namespace before": {pinned: &v1alpha1.ServiceAccountStatus{Namespace: "other", Name: "ann", UID: "two"}, live: "one"},
		"none": {
			pinned: pinnedTo("ann", "one"), reason: v1alpha1.ReasonAccountMissing,
			message: "ServiceAccount team/ann does not exist, and nothing is written for the box: make it, or name another in spec.serviceAccountRef",
		},
		"none, although confirmed": {pinned: pinnedTo("ann", "one"), confirmed: "", reason: v1alpha1.ReasonAccountMissing, message: "does not exist"},
		"made again": {
			pinned: pinnedTo("ann", "one"), live: "two", reason: v1alpha1.ReasonAccountChanged,
			message: `ServiceAccount team/ann was deleted and made again: its UID was "one" and is "two" now; if the box may act as the new account, set the annotation orkestra.orkspace.io/confirm-account: "two" on the box, or spec.serviceAccountRef.uid`,
		},
		"made again and confirmed":         {pinned: pinnedTo("ann", "one"), live: "two", confirmed: "two"},
		"made again, the former confirmed": {pinned: pinnedTo("ann", "one"), live: "two", confirmed: "one", reason: v1alpha1.ReasonAccountChanged, message: `is "two" now`},
		"made again and named":             {pinned: pinnedTo("ann", "one"), live: "two", wanted: "two"},
		"made again, the former named": {
			pinned: pinnedTo("ann", "one"), live: "two", wanted: "one", reason: v1alpha1.ReasonAccountChanged,
			message: `spec.serviceAccountRef.uid: wanted the UID of ServiceAccount team/ann, which is "two", found "one"`,
		},
		"another than the one that is named": {live: "two", wanted: "one", reason: v1alpha1.ReasonAccountChanged, message: `found "one"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			box := &v1alpha1.OperatorBox{}
			box.Spec.ServiceAccountRef = &v1alpha1.ServiceAccountReference{Namespace: "team", Name: "ann", UID: tc.wanted}
			box.Status.ServiceAccount = tc.pinned
			box.Annotations = map[string]string{v1alpha1.AnnotationConfirmAccount: tc.confirmed}
			pin, problem := judge(box, tc.live)
			g.Expect(problem.Reason).To(Equal(tc.reason))
			g.Expect(problem.Message).To(ContainSubstring(tc.message))
			if tc.reason == "" {
				g.Expect(pin).To(Equal(pinnedTo("ann", tc.live)))
			} else {
				g.Expect(pin).To(BeNil())
			}
		})
	}
}

// knows says the same of each account.
type knows struct {
	uid types.UID
	err error
}

func (k knows) UID(types.NamespacedName) (types.UID, error) { return k.uid, k.err }

func (knows) Namespaces() []string { return []string{"other", "team"} }

func TestWhyABoxActsAsNoAccount(t *testing.T) {
	for name, tc := range map[string]struct {
		known  knows
		reason string
		text   string
	}{
		"another namespace": {
			knows{err: ErrNotAllowed}, v1alpha1.ReasonAccountNotAllowed,
			`spec.serviceAccountRef.namespace: wanted a namespace whose accounts boxes may use (other, team), found "team": name an account there, or have the manager's flag --box-namespaces name this namespace`,
		},
		"the manager's own": {
			knows{err: ErrOwn}, v1alpha1.ReasonAccountNotAllowed,
			"spec.serviceAccountRef: wanted an account that is for boxes, found ServiceAccount team/ann, which is the manager's own: a box that acts as it has all rights of the manager; make an account for the box, and name that",
		},
		"not known": {
			knows{err: errNotAsked}, v1alpha1.ReasonAccountUnknown,
			"ServiceAccount team/ann can't be looked up: which account the manager itself has is not known yet; the manager needs",
		},
		"none": {knows{}, v1alpha1.ReasonAccountMissing, "ServiceAccount team/ann does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			box := &v1alpha1.OperatorBox{}
			box.Spec.ServiceAccountRef = &v1alpha1.ServiceAccountReference{Namespace: "team", Name: "ann"}
			pin, problem := Judge(box, tc.known, true)
			g.Expect(pin).To(BeNil())
			g.Expect(problem.Reason).To(Equal(tc.reason))
			g.Expect(problem.Message).To(HavePrefix(tc.text))
		})
	}
}
