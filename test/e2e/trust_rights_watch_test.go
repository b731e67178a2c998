package e2e_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// stoppable is a clock that can be stopped: what was noted then never grows old. Its timers go on.
type stoppable struct {
	clock.RealClock

	at atomic.Pointer[time.Time]
}

func (c *stoppable) stop() { now := time.Now(); c.at.Store(&now) }

// Now implements clock.PassiveClock.
func (c *stoppable) Now() time.Time {
	if at := c.at.Load(); at != nil {
		return *at
	}
	return time.Now()
}

// Since implements clock.PassiveClock.
func (c *stoppable) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// readsRights says whether a manager has asked for roles or their bindings.
func (p *process) readsRights() bool {
	p.requests.mu.Lock()
	defer p.requests.mu.Unlock()
	return slices.ContainsFunc(p.requests.all, func(r request) bool { return strings.HasPrefix(r.path, "/apis/rbac.authorization.k8s.io/") })
}

var _ = Describe("Roles and their bindings", func() {
	It("are watched once a right is missing: what waits for it goes on when it is given, not when a refusal has grown old", func(ctx context.Context) {
		stopped := &stoppable{}
		replaceManager(func(s *settings) { s.orkestra.Clock = stopped })
		w, other := newWorld(ctx), newWorld(ctx)
		obj := other.ref("settings")
		obj.SetNamespace(w.namespace)
		obj.Object["spec"] = map[string]any{"mode": "one"}
		Expect(kube.Create(ctx, obj)).To(Succeed())
		a := w.account(ctx, children("", "configmaps"))
		w.box(ctx, a.ref()+`
cross: [{name: settings, apiVersion: `+other.group+`/v1, kind: Website, selector: {name: "{{ .spec.mode }}"}}]
onReconcile:
  configmaps: [{data: {a: "{{ .cross.settings.spec.mode }}"}}]`)
		w.running(ctx, w.id)
		Expect(manager.readsRights()).To(BeFalse(), "no right is missing")
		w.website(ctx, "web", `{mode: settings}`)
		boxShows(ctx, w.id, v1alpha1.ConditionPermissionsGranted, metav1.ConditionFalse, v1alpha1.ReasonForbidden, `may not get websites.`+other.group)
		Eventually(manager.readsRights).WithContext(ctx).Should(BeTrue())
		stopped.stop()

		rule := v1alpha1.RequiredRule{PolicyRule: may(other.group, "websites", "get"), Namespaces: []string{w.namespace}}
		rule.ResourceNames = []string{"settings"}
		a.boundAs(ctx, "reader", rule)
		w.hasData(ctx, "web", map[string]string{"a": "one"})
		boxShows(ctx, w.id, v1alpha1.ConditionPermissionsGranted, metav1.ConditionTrue, v1alpha1.ReasonGranted, "no right is missing")
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.vanished(ctx, "web")
		Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed())
	})
})
