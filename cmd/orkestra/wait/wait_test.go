package wait

import (
	"cmp"
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/controllers/inspect"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

var shopKind = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Shop"}

func condition(kind, status string, generation int64) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": "Because", "message": "of " + kind, "observedGeneration": generation}
}

// shop is one at generation 2.
func shop(conditions ...any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
	obj.SetGroupVersionKind(shopKind)
	obj.SetNamespace("default")
	obj.SetName("flowers")
	obj.SetUID("flowers")
	obj.SetGeneration(2)
	return obj
}

func TestWhatIsWaitedFor(t *testing.T) {
	deleting := shop()
	deleting.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	deleting.SetFinalizers([]string{"example.com/held"})
	old := shop(map[string]any{"type": "Ready", "status": "True"})
	old.Object["status"].(map[string]any)["observedGeneration"] = int64(1)
	const ready = "condition=Ready"
	for name, tc := range map[string]struct {
		goal     string
		obj      *unstructured.Unstructured
		met      bool
		hopeless bool
		how      string
	}{
		"ready":                       {ready, shop(condition("Ready", "True", 2)), true, false, ""},
		"ready, in other letters":     {"condition=ready=true", shop(condition("Ready", "True", 2)), true, false, ""},
		"ready before the last edit":  {ready, shop(condition("Ready", "True", 1)), false, false, "Ready is True: Because: of Ready (of an older generation)"},
		"ready, by an older status":   {ready, old, false, false, "(of an older generation)"},
		"ready of no generation":      {ready, shop(map[string]any{"type": "Ready", "status": "True"}), true, false, ""},
		"not ready":                   {ready, shop(condition("Ready", "False", 2)), false, false, "Ready is False: Because: of Ready"},
		"stalled":                     {ready, shop(condition("Ready", "False", 2), condition("Stalled", "True", 2)), false, true, "Ready is False"},
		"stalled before an edit":      {ready, shop(condition("Ready", "False", 2), condition("Stalled", "True", 1)), false, false, "Ready is False"},
		"stalled, and not to be":      {"condition=Ready=False", shop(condition("Ready", "False", 2), condition("Stalled", "True", 2)), true, false, ""},
		"stalled, another condition":  {"condition=Other", shop(condition("Other", "False", 2), condition("Stalled", "True", 2)), false, false, "Other is False"},
		"no condition":                {ready, shop(), false, false, "it has no condition Ready"},
		"an object that is not there": {ready, nil, false, false, "it does not exist"},
		"gone":                        {"delete", nil, true, false, ""},
		"not deleted":                 {"delete", shop(), false, false, "nobody has deleted it"},
		"on its way":                  {"delete", deleting, false, false, "finalizers: example.com/held"},
		"there":                       {"create", shop(), true, false, ""},
		"not there":                   {"create", nil, false, false, "it does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			wanted, err := parse(tc.goal)
			g.Expect(err).NotTo(HaveOccurred())
			met, hopeless, how := wanted.met(tc.obj)
			g.Expect([]bool{met, hopeless}).To(Equal([]bool{tc.met, tc.hopeless}))
			g.Expect(how).To(ContainSubstring(tc.how))
		})
	}
}

// TestWhyAnObjectIsNotReady: the reason is that of Stalled, as status, get and tree have it.
func TestWhyAnObjectIsNotReady(t *testing.T) {
	of := func(kind, status, reason string, generation int64) map[string]any {
		c := condition(kind, status, generation)
		c["reason"] = reason
		return c
	}
	for name, tc := range map[string]struct {
		goal string // empty: Ready
		obj  *unstructured.Unstructured
		want string
	}{
		"stalled":                    {"", shop(of("Ready", "False", "ReconcileError", 2), of("Stalled", "True", "NotOwned", 2)), "Ready is False: NotOwned: of Ready"},
		"in other letters":           {"condition=ready", shop(of("Ready", "False", "ReconcileError", 2), of("Stalled", "True", "NotOwned", 2)), "Ready is False: NotOwned: of Ready"},
		"not stalled":                {"", shop(of("Ready", "False", "ReconcileError", 2), of("Stalled", "False", "NotStalled", 2)), "Ready is False: ReconcileError: of Ready"},
		"stalled before an edit":     {"", shop(of("Ready", "False", "ReconcileError", 2), of("Stalled", "True", "NotOwned", 1)), "Ready is False: ReconcileError: of Ready"},
		"both before an edit":        {"", shop(of("Ready", "False", "ReconcileError", 1), of("Stalled", "True", "NotOwned", 1)), "Ready is False: NotOwned: of Ready (of an older generation)"},
		"ready":                      {"condition=Ready=False", shop(of("Ready", "True", "Reconciled", 2), of("Stalled", "True", "NotOwned", 2)), "Ready is True: Reconciled: of Ready"},
		"another condition":          {"condition=Other", shop(of("Other", "False", "Because", 2), of("Stalled", "True", "NotOwned", 2)), "Other is False: Because: of Other"},
		"one that failed validation": {"", shared.Objects(t, "../../../test/gitops/testdata/website-validation-failed.yaml")[0], "Ready is False: ValidationFailed: validation: spec.replicas: at most ten (found 11)"},
	} {
		wanted, err := parse(cmp.Or(tc.goal, "condition=Ready"))
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		_, _, how := wanted.met(tc.obj)
		g.Expect(how).To(Equal(tc.want), name)
	}
	page, err := os.ReadFile("../../../docs/how-to/command-line.md")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(page)).To(ContainSubstring("error: Website \"team-a/hello\" goes no further by itself: Ready is False: ValidationFailed: validation: spec.replicas: at most ten (found 11)\n"))
}

func TestWaitUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing":              {nil, "wanted BOX or KIND/NAME"},
		"no name":              {[]string{"shop/"}, `"shop/": wanted BOX, or KIND/NAME`},
		"an unknown goal":      {[]string{"shop", "--for", "ready"}, `--for "ready": wanted condition=TYPE`},
		"no condition":         {[]string{"shop", "--for", "condition="}, `--for "condition="`},
		"no status":            {[]string{"shop", "--for", "condition=Ready="}, `--for "condition=Ready="`},
		"two statuses":         {[]string{"shop", "--for", "condition=Ready=True=False"}, `--for "condition=Ready=True=False"`},
		"a time without units": {[]string{"shop", "--timeout", "5"}, "--timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := shared.Run(t, NewCommand(time.Now), "", append([]string{"wait"}, tc.args...)...)
			g.Expect(code).To(Equal(exit.Usage), stderr)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}

// TestWaitLooksOnce runs the command against an API server.
func TestWaitLooksOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a box":              {[]string{"shops"}, 0, "operatorbox/shops: condition Ready=True is met\n"},
		"a resource":         {[]string{"shop/flowers"}, exit.No, `Shop "default/flowers" goes no further by itself: Ready is False: ChildFailed`},
		"another condition":  {[]string{"shop/flowers", "--for", "condition=RolledBack"}, exit.No, `Shop "default/flowers": condition RolledBack=True is not met: it has no condition RolledBack. No manager is at work, or it runs with --leader-elect=false`},
		"several":            {[]string{"shops", "shop/flowers", "--for", "create"}, 0, "operatorbox/shops: its creation is met\nshop/flowers: its creation is met\n"},
		"one that is absent": {[]string{"none", "shops"}, exit.No, "operatorbox/shops: condition Ready=True is met\nerror: OperatorBox \"none\" not found\n"},
		"one that is gone":   {[]string{"shop/weeds", "--for", "delete"}, 0, "shop/weeds: its deletion is met\n"},
		"an unknown kind":    {[]string{"shpo/flowers"}, exit.No, `the server doesn't have a resource type "shpo", did you mean "shop"?`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := &shared.APIServer{Objects: shared.Objects(t, "../status/testdata/cluster.yaml")}
			stdout, stderr, code := shared.Run(t, NewCommand(time.Now), "", append([]string{"wait", "--timeout", "0", "--kubeconfig", server.Start(t)}, tc.args...)...)
			g.Expect(code).To(Equal(tc.code), stdout+stderr)
			g.Expect(stdout + stderr).To(ContainSubstring(tc.want))
		})
	}
}

// TestWaitEndsAtOnceWhereNobodyWritesTheCondition: the CRD has no place for it. What somebody else writes is waited for, and what is there counts.
func TestWaitEndsAtOnceWhereNobodyWritesTheCondition(t *testing.T) {
	const never = `error: Shop "default/flowers" can't show the condition Ready: version v1 of shops.demo.example.com has no status subresource: results are in events and in CRDHealth only; orkestra status shop/flowers says how it fares` + "\n"
	subresources := func(versions []any) { delete(versions[0].(map[string]any), "subresources") }
	pruned := func(versions []any) {
		versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)["status"] = map[string]any{"type": "object"}
	}
	for name, tc := range map[string]struct {
		change func(versions []any)
		keep   bool // the status that is there
		args   []string
		code   int
		want   string
	}{
		"no subresource":            {subresources, false, []string{"--timeout", "5s"}, exit.No, never},
		"no conditions":             {pruned, false, []string{"--timeout", "5s"}, exit.No, `error: Shop "default/flowers" can't show the condition Ready: the schema of shops.demo.example.com does not know status.conditions`},
		"looking once":              {subresources, false, []string{"--timeout", "0"}, exit.No, never},
		"in other letters":          {subresources, false, []string{"--timeout", "5s", "--for", "condition=stalled=false"}, exit.No, "can't show the condition stalled: "},
		"a condition of others":     {subresources, false, []string{"--timeout", "0", "--for", "condition=Backed"}, exit.No, `Shop "default/flowers": condition Backed=True is not met: it has no condition Backed`},
		"a condition that is there": {subresources, true, []string{"--timeout", "0"}, exit.No, `Shop "default/flowers" goes no further by itself: Ready is False: ChildFailed`},
		"its creation":              {subresources, false, []string{"--timeout", "0", "--for", "create"}, 0, "shop/flowers: its creation is met\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := &shared.APIServer{Objects: shared.Objects(t, "../status/testdata/cluster.yaml")}
			for _, obj := range server.Objects {
				switch {
				case obj.GetKind() == "CustomResourceDefinition":
					versions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "versions")
					tc.change(versions)
					g.Expect(unstructured.SetNestedSlice(obj.Object, versions, "spec", "versions")).To(Succeed())
				case obj.GetKind() == "Shop" && !tc.keep:
					delete(obj.Object, "status")
				}
			}
			stdout, stderr, code := shared.Run(t, NewCommand(time.Now), "", append([]string{"wait", "--kubeconfig", server.Start(t), "shop/flowers"}, tc.args...)...)
			g.Expect(code).To(Equal(tc.code), stdout+stderr)
			g.Expect(stdout + stderr).To(ContainSubstring(tc.want))
		})
	}
}

// TestWaitAsksForTheManagerWhenTheTimeIsOver: it was at work when the command began, and is at work when it ends.
func TestWaitAsksForTheManagerWhenTheTimeIsOver(t *testing.T) {
	renewed := time.Date(2026, 1, 2, 3, 4, 3, 0, time.UTC)
	for name, tc := range map[string]struct {
		began, over time.Time
		away        bool
	}{
		"it goes on":    {renewed.Add(-time.Hour), renewed, false},
		"it has ended":  {renewed, renewed.Add(time.Hour), true},
		"it never ends": {renewed, renewed.Add(time.Second), false},
	} {
		g := NewWithT(t)
		asked := 0
		clock := func() time.Time {
			if asked++; asked == 1 {
				return tc.began
			}
			return tc.over
		}
		server := &shared.APIServer{Objects: shared.Objects(t, "../status/testdata/cluster.yaml")}
		_, stderr, code := shared.Run(t, NewCommand(clock), "", "wait", "--timeout", "0", "--kubeconfig", server.Start(t), "shop/flowers", "--for", "condition=RolledBack")
		g.Expect(code).To(Equal(exit.No), stderr)
		g.Expect(strings.Contains(stderr, "No manager is at work")).To(Equal(tc.away), name+": "+stderr)
	}
}

// waiting waits for a shop, and gives how it ended.
func waiting(t *testing.T, c client.WithWatch, text string, timeout time.Duration, away ...string) <-chan error {
	t.Helper()
	wanted, err := parse(text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		w := &waiter{client: c, timeout: timeout, away: func() string { return strings.Join(away, "") }}
		ended <- w.wait(ctx, inspect.Target{Kind: shopKind, Namespace: "default", Name: "flowers"}, wanted, "")
	}()
	synctest.Wait()
	return ended
}

func TestWaitEndsWhenTheObjectIsAsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		// The other one is ready, and is not waited for.
		other := shop(condition("Ready", "True", 2))
		other.SetName("other")
		other.SetUID("other")
		c := shared.Watched(runtime.NewScheme(), shop(condition("Ready", "False", 2)), other)
		ended := waiting(t, c, "condition=Ready", time.Hour)
		g.Expect(ended).NotTo(Receive())
		live := shop()
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
		live.Object["status"] = shop(condition("Ready", "True", 2)).Object["status"]
		g.Expect(c.Update(t.Context(), live)).To(Succeed())
		g.Expect(<-ended).To(Succeed())

		ended = waiting(t, c, "delete", time.Hour)
		g.Expect(ended).NotTo(Receive())
		g.Expect(c.Delete(t.Context(), live)).To(Succeed())
		g.Expect(<-ended).To(Succeed())

		ended = waiting(t, c, "create", time.Hour)
		g.Expect(ended).NotTo(Receive())
		g.Expect(c.Create(t.Context(), shop(condition("Ready", "False", 2)))).To(Succeed())
		g.Expect(<-ended).To(Succeed())

		// What is wrong is said when the time is over, and when it goes no further.
		ended = waiting(t, c, "condition=Ready", time.Minute)
		g.Expect(<-ended).To(MatchError(`Shop "default/flowers": timed out after 1m0s waiting for condition Ready=True: Ready is False: Because: of Ready`))
		ended = waiting(t, c, "condition=Ready", time.Minute, "Nobody is\nat work")
		g.Expect(<-ended).To(MatchError(HaveSuffix(`Ready is False: Because: of Ready. Nobody is at work`)))
		ended = waiting(t, c, "condition=Ready", time.Hour)
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
		live.Object["status"] = shop(condition("Ready", "False", 2), condition("Stalled", "True", 2)).Object["status"]
		g.Expect(c.Update(t.Context(), live)).To(Succeed())
		g.Expect(<-ended).To(MatchError(ContainSubstring("goes no further by itself: Ready is False")))
	})
}
