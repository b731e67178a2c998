package stage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr/budget"
)

func TestClasses(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	deployments := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	cases := map[string]struct {
		err    error
		class  Class
		reason string
	}{
		"409 conflict":                          {apierrors.NewConflict(secrets, "a", errors.New("the object has been modified")), Transient, ""},
		"409 exists":                            {apierrors.NewAlreadyExists(secrets, "a"), Transient, ""},
		"429":                                   {apierrors.NewTooManyRequests("slow down", 1), Transient, ""},
		"500":                                   {apierrors.NewInternalError(errors.New("etcd")), Transient, ""},
		"503":                                   {apierrors.NewServiceUnavailable("starting"), Transient, ""},
		"504":                                   {apierrors.NewServerTimeout(secrets, "patch", 1), Transient, ""},
		"unreachable":                           {errors.New("dial tcp: connection refused"), Transient, ""},
		"deadline":                              {context.DeadlineExceeded, Transient, ""},
		"404":                                   {apierrors.NewNotFound(secrets, "a"), Transient, ""},
		"422":                                   {apierrors.NewInvalid(deployments, "a", field.ErrorList{field.Invalid(field.NewPath("spec"), 1, "immutable")}), Refused, v1alpha1.ReasonInvalidChild},
		"400":                                   {apierrors.NewBadRequest("unknown field"), Refused, v1alpha1.ReasonInvalidChild},
		"413":                                   {apierrors.NewRequestEntityTooLargeError("3 MiB"), Refused, v1alpha1.ReasonInvalidChild},
		"403 quota":                             {apierrors.NewForbidden(secrets, "a", errors.New("exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1")), Transient, ""},
		"403 RBAC":                              {apierrors.NewForbidden(secrets, "a", errors.New(`User "system:serviceaccount:a:b" cannot patch resource "secrets" in API group "" in the namespace "x"`)), Permission, v1alpha1.ReasonForbidden},
		"403 with causes":                       {answer(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "a" is forbidden: violates PodSecurity "restricted:latest"`, metav1.StatusCause{Field: "spec"}), Refused, v1alpha1.ReasonAdmissionDenied},
		"403 with causes, that talks like RBAC": {answer(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "a" is forbidden: hostPath cannot be used`, metav1.StatusCause{Field: "spec"}), Refused, v1alpha1.ReasonAdmissionDenied},
		"403 of a policy":                       {answer(http.StatusForbidden, metav1.StatusReasonForbidden, `secrets "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`), Refused, v1alpha1.ReasonAdmissionDenied},
		"403 of a webhook":                      {answer(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "a.example.com" denied the request: no`), Refused, v1alpha1.ReasonAdmissionDenied},
		"403 of a webhook that speaks of a quota": {answer(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "a.example.com" denied the request: exceeded quota`), Refused, v1alpha1.ReasonAdmissionDenied},
		"403 of a webhook that says cannot":       {answer(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "a.example.com" denied the request: this cannot be`), Refused, v1alpha1.ReasonAdmissionDenied},
		"403 of a policy that talks like RBAC":    {answer(http.StatusForbidden, metav1.StatusReasonForbidden, `secrets "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: User "u" cannot get resource "x" in API group ""`), Refused, v1alpha1.ReasonAdmissionDenied},
		"422 of a webhook":                        {answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, `admission webhook "a.example.com" denied the request: no`), Refused, v1alpha1.ReasonAdmissionDenied},
		"403 terminating namespace": {answer(http.StatusForbidden, metav1.StatusReasonForbidden, `configmaps "a" is forbidden: unable to create new content in namespace x because it is being terminated`,
			metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}), Transient, ""},
		"kind that is not installed":     {&meta.NoKindMatchError{GroupKind: deployments}, Transient, ""},
		"resource that is not installed": {&meta.NoResourceMatchError{PartialResource: schema.GroupVersionResource{Resource: "a"}}, Transient, ""},
		"a limit of a template":          {NewPermanent(v1alpha1.ReasonTemplateError, &budget.ExceededError{Limit: "time", Size: "1s"}), Permanent, v1alpha1.ReasonBudgetExceeded},
		"a stage's own":                  {NewPermanent(v1alpha1.ReasonValidationFailed, errors.New("no")), Permanent, v1alpha1.ReasonValidationFailed},
		"two of one name":                {NewPermanent(v1alpha1.ReasonDuplicateChild, errors.New("two")), Refused, v1alpha1.ReasonDuplicateChild},
		"a child that is not ours":       {&apply.RefusedError{Reason: v1alpha1.ReasonNotOwned, Message: "is not ours"}, Refused, v1alpha1.ReasonNotOwned},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			for _, err := range []error{tc.err, fmt.Errorf("applying Secret %q: %w", "a", tc.err)} {
				e := Classify(StepOnReconcile, err)
				g.Expect(e.Class).To(gomega.Equal(tc.class))
				g.Expect(e.Reason).To(gomega.Equal(tc.reason))
				g.Expect(e.Stalls()).To(gomega.Equal(tc.reason != ""), "what stalls has a reason, and only that")
				g.Expect(errors.Is(e, tc.err)).To(gomega.BeTrue())
			}
		})
	}
}

func TestStepErrorIsOneLine(t *testing.T) {
	g := gomega.NewWithT(t)
	e := Classify("onCreate", errors.New("a\nb"))
	g.Expect(e.Error()).To(gomega.Equal("onCreate: a b"))
	g.Expect(AsStepError(fmt.Errorf("around: %w", e))).To(gomega.BeIdenticalTo(e))
	g.Expect(AsStepError(errors.New("x")).Step).To(gomega.Equal("reconcile"))
}

func TestBudgetOf(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a limit of a template":   {&budget.ExceededError{Limit: budget.Output}, "output"},
		"a name of several words": {fmt.Errorf("evaluating: %w", budget.Over(budget.CELTime)), "time_of_cel"},
		"what all resources make": {&budget.PoolError{Limit: 1}, "pool"},
		"too many of something":   {NewPermanent(v1alpha1.ReasonBudgetExceeded, errors.New("too many")), "objects"},
		"something else":          {NewPermanent(v1alpha1.ReasonTemplateError, errors.New("wrong")), ""},
		"something that may pass": {errors.New("cut off"), ""},
	} {
		gomega.NewWithT(t).Expect(BudgetOf(Classify("step", tc.err))).To(gomega.Equal(tc.want), name)
	}
	gomega.NewWithT(t).Expect(BudgetOf(nil)).To(gomega.BeEmpty())
}
