package view

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestAdviceOnWhatIsTriedAgain: an error that may pass has no reason of its own, so that its message says what to look at.
func TestAdviceOnWhatIsTriedAgain(t *testing.T) {
	for message, want := range map[string]struct{ todo, page string }{
		`onReconcile: applying PersistentVolumeClaim "a": persistentvolumeclaims "a" is forbidden: exceeded quota: no-volumes, requested: persistentvolumeclaims=1`: {"The ResourceQuota that is named has no room.", "#ready"},
		`onReconcile: applying ConfigMap "a": Internal error occurred: failed calling webhook "x.example.com": Post "https://x.y.svc": connection refused`:          {"An admission webhook of the cluster does not answer.", "#ready"},
		`external: quota: GET https://quota.example.com: answered 503 Service Unavailable, expected 200`:                                                            {"The service does not answer as the box expects.", "external.md#when-a-call-fails"},
		`external: quota: GET https://quota.example.com: no answer: connection refused`:                                                                             {"The service does not answer as the box expects.", "external.md#when-a-call-fails"},
		`hook: the license server is full`:                                          {"The hook has failed, in its own words", "webhooks.md#waiting-and-failing"},
		`hook: panic: index out of range`:                                           {"This is a mistake in code", "#ready"},
		`constructor: no room`:                                                      {"The reconciler of the box's constructor has failed", "constructor.md#what-the-box-does-with-an-answer"},
		`providers: bucket: timeout`:                                                {"The service of the provider fails", "providers.md#what-a-service-says"},
		`outputs: bucket: timeout`:                                                  {"The service of the provider fails", "providers.md#what-a-service-says"},
		`onReconcile: applying ConfigMap "a": context deadline exceeded`:            {"The API server, or what it asks, does not answer in time.", "#ready"},
		`onReconcile: applying ConfigMap "external: ": something that nobody knows`: {"It is tried again by itself, after pauses that grow. If the message stays, look at", "#ready"},
	} {
		for _, reason := range []string{"ReconcileError", "Retrying"} {
			todo, page := Advice(reason, message)
			g := NewWithT(t)
			g.Expect(todo).To(HavePrefix(want.todo), message)
			g.Expect(todo).To(ContainSubstring("It is tried again by itself, after pauses that grow."), message)
			if reason == "ReconcileError" || want.page != "#ready" {
				g.Expect(page).To(HaveSuffix(want.page), message)
			}
		}
		todo, _ := Advice("NotOwned", message)
		NewWithT(t).Expect(todo).To(HavePrefix("If nobody controls"), "a reason of its own says it better")
	}
}

// TestAdviceOnABox: what keeps it from running, and nothing where it is well.
func TestAdviceOnABox(t *testing.T) {
	g := NewWithT(t)
	for reason, want := range map[string]string{"CRDMissing": "Create the CustomResourceDefinition", "CompileFailed": "Mend the mistakes", "Forbidden": "Grant", "Degraded": "Open the worst"} {
		todo, page := BoxAdvice(reason, true)
		g.Expect(todo).To(HavePrefix(want), reason)
		g.Expect(page).To(HavePrefix(documentation), reason)
	}
	todo, page := BoxAdvice("", true)
	g.Expect(todo + page).To(And(HavePrefix("New resources wait"), HaveSuffix("dependencies.md#see-what-is-awaited")))
	for _, nothing := range []string{"", "Running", "a reason of tomorrow"} {
		todo, page = BoxAdvice(nothing, nothing != "")
		g.Expect(todo+page).To(BeEmpty(), nothing)
	}
}
