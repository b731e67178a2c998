package engine

import (
	"context"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/identity"
)

// A box that can't act as its account has a client that writes nothing, whatever its plan would do: no stage has to remember that.
func TestABoxWithoutItsAccountWritesNothing(t *testing.T) {
	g := NewWithT(t)
	var sent []string
	e, write := asking(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(storedWebsite)) // the client notices
	})
	full := serving(t, e, v1alpha1.OperatorBoxSpec{})
	g.Expect(write(t.Context(), full)).To(Succeed())
	g.Expect(sent).To(HaveLen(1), "it would be sent otherwise")

	problem := identity.Problem{Reason: v1alpha1.ReasonAccountMissing, Message: "the account is gone"}
	without, err := newBox(e, full.plan.Load().WithoutAccount(problem), Options{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(without.queue.ShutDown)
	g.Expect(write(t.Context(), without)).To(MatchError(&apply.RefusedError{Reason: problem.Reason, Message: problem.Message}))
	g.Expect(sent).To(HaveLen(1))
}

// The client of code acts as the account of its box, and only a manager with code makes one.
func TestTheClientOfCodeIsThatOfTheBox(t *testing.T) {
	g := NewWithT(t)
	var users []string
	e, _ := asking(t, func(w http.ResponseWriter, r *http.Request) {
		users = append(users, r.Header.Get("Impersonate-User"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)) // the client notices
	})
	account := v1alpha1.OperatorBoxSpec{ServiceAccountRef: &v1alpha1.ServiceAccountReference{Namespace: "team-a", Name: "shop"}}
	g.Expect(serving(t, e, account).clients.code).To(BeNil())
	var err error
	e.config.Code, err = hook.NewRegistry()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hook.AddHooks(e.config.Code, "a.F", func() hook.Hooks[*corev1.ConfigMap] {
		return hook.Hooks[*corev1.ConfigMap]{OnReconcile: func(context.Context, *hook.Call[*corev1.ConfigMap]) error { return nil }}
	})).To(Succeed())
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	e.config.Mapper = mapper
	full := serving(t, e, account)
	g.Expect(full.clients.code.Get(t.Context(), types.NamespacedName{Namespace: "team-a", Name: "a"}, &corev1.ConfigMap{})).To(Succeed())
	g.Expect(users).To(Equal([]string{"system:serviceaccount:team-a:shop"}))
	without, err := newBox(e, full.plan.Load().WithoutAccount(identity.Problem{Reason: v1alpha1.ReasonAccountMissing}), Options{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(without.queue.ShutDown)
	g.Expect(without.clients.code).To(BeNil(), "it would act as the manager")
}
