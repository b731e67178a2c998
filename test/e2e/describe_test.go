package e2e_test

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook/protocol"
)

// table runs kubectl get, and gives the columns of its output by their headers.
func table(ctx context.Context, args ...string) []map[string]string {
	GinkgoHelper()
	out, err := cluster.Kubectl(ctx, append([]string{"get"}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	GinkgoWriter.Println(out)
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	starts := regexp.MustCompile(`\S+( \S+)*`).FindAllStringIndex(lines[0], -1)
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, at := range starts {
			end := len(line)
			if i+1 < len(starts) {
				end = min(end, starts[i+1][0])
			}
			row[lines[0][at[0]:at[1]]] = strings.TrimSpace(line[min(at[0], end):end])
		}
		rows = append(rows, row)
	}
	return rows
}

// headers are the columns of kubectl get, in order.
func headers(ctx context.Context, args ...string) []string {
	GinkgoHelper()
	out, err := cluster.Kubectl(ctx, append([]string{"get"}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	first, _, _ := strings.Cut(out, "\n")
	return regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(first), -1)
}

var _ = Describe("What kubectl shows", func() {
	It("of boxes and their health", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, atMostTen))
		w.website(ctx, "good", `{replicas: 1}`)
		w.settled(ctx, "good")
		for _, name := range []string{"a", "b", "c"} {
			w.website(ctx, name, `{replicas: 11}`)
		}
		inState(ctx, w.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		revision := getBox(ctx, Default, w.id).Status.Revision
		const age = `^\d+[smh].*$`

		Expect(headers(ctx, "obox")).To(Equal([]string{"NAME", "CRD", "READY", "REASON", "REVISION", "RESOURCES", "FAILING", "AGE"}))
		Eventually(func(g Gomega) {
			g.Expect(table(ctx, "obox", w.id)).To(HaveExactElements(And(
				HaveKeyWithValue("NAME", w.id), HaveKeyWithValue("CRD", w.crdName()), HaveKeyWithValue("READY", "True"),
				HaveKeyWithValue("REASON", "Running"), HaveKeyWithValue("REVISION", revision), HaveKeyWithValue("RESOURCES", "4"),
				HaveKeyWithValue("FAILING", "3"), HaveKeyWithValue("AGE", MatchRegexp(age)))))
		}).WithContext(ctx).Should(Succeed())
		Expect(headers(ctx, "obox", "-o", "wide")).To(Equal([]string{"NAME", "CRD", "READY", "REASON", "REVISION", "RESOURCES", "FAILING", "AGE", "MESSAGE"}))
		Expect(table(ctx, "obox", w.id, "-o", "wide")).To(HaveExactElements(HaveKeyWithValue("MESSAGE", "the sub-controller runs")))

		Expect(headers(ctx, "crdhealth")).To(Equal([]string{"NAME", "STATE", "CRD", "RESOURCES", "SETTLED", "FAILING", "FAILURES", "LAST RECONCILE", "AGE"}))
		Eventually(func(g Gomega) {
			g.Expect(table(ctx, "crdhealth", w.id)).To(HaveExactElements(And(
				HaveKeyWithValue("NAME", w.id), HaveKeyWithValue("STATE", "Degraded"), HaveKeyWithValue("CRD", w.crdName()),
				HaveKeyWithValue("RESOURCES", "4"), HaveKeyWithValue("SETTLED", "1"), HaveKeyWithValue("FAILING", "3"),
				HaveKeyWithValue("FAILURES", "3"), HaveKeyWithValue("LAST RECONCILE", MatchRegexp(age)), HaveKeyWithValue("AGE", MatchRegexp(age)))))
		}).WithContext(ctx).Should(Succeed())
		Expect(headers(ctx, "crdh", "-o", "wide")).To(Equal([]string{"NAME", "STATE", "CRD", "RESOURCES", "SETTLED", "FAILING", "FAILURES",
			"LAST RECONCILE", "AGE", "WORKERS", "QUEUE", "REVISION", "MESSAGE"}))
		Expect(table(ctx, "crdh", w.id, "-o", "wide")).To(HaveExactElements(And(
			HaveKeyWithValue("WORKERS", "3"), HaveKeyWithValue("QUEUE", MatchRegexp(`^\d+$`)), HaveKeyWithValue("REVISION", revision), // as it was when it was written
			HaveKeyWithValue("MESSAGE", MatchRegexp(`^at least 3 reconciles in a row failed; websites `+w.namespace+`/[abc]: validation: spec.replicas: at most ten \(found 11\)$`)))))

		By("reading both kinds by their category")
		out, err := cluster.Kubectl(ctx, "get", "orkestra", "-o", "name")
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Fields(out)).To(ContainElements("operatorbox.orkestra.orkspace.io/"+w.id, "crdhealth.orkestra.orkspace.io/"+w.id))
	})

	It("of resources that are queued, while all workers are busy", func(ctx context.Context) {
		w, s, release := newWorld(ctx), newHookServer((*httptest.Server).StartTLS), make(chan struct{})
		s.trusted(ctx, w)
		s.says(func(*protocol.Request) *protocol.Response {
			<-release
			return &protocol.Response{Children: []protocol.Child{}}
		})
		DeferCleanup(sync.OnceFunc(func() { close(release) })) // before the server waits for its requests
		w.running(ctx, w.box(ctx, s.hookedBy(", timeout: 30s", ", workers: 2")))
		names := strings.Split("abcdef", "")
		for _, name := range names {
			w.website(ctx, name, `{}`)
		}
		for _, kind := range []string{"obox", "crdhealth"} {
			Eventually(func(g Gomega) {
				g.Expect(table(ctx, kind, w.id)).To(HaveExactElements(And(HaveKeyWithValue("RESOURCES", "6"), HaveKeyWithValue("FAILING", "0"))))
			}).WithContext(ctx).Should(Succeed())
		}
		Expect(s.heard()).To(HaveLen(2), "the others were not looked at")

		By("two of them going before they are looked at")
		for _, name := range names[4:] {
			Expect(kube.Delete(ctx, w.ref(name))).To(Succeed())
		}
		Eventually(func(g Gomega) {
			g.Expect(table(ctx, "crdhealth", w.id)).To(HaveExactElements(HaveKeyWithValue("RESOURCES", "4")))
		}).WithContext(ctx).Should(Succeed())
	})

	It("of a resource that fails", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, atMostTen))
		w.website(ctx, "web", `{replicas: 11}`)
		w.fails(ctx, "web", v1alpha1.ReasonValidationFailed, "found 11")
		message := "validation: spec.replicas: at most ten (found 11)"
		w.saysEvent(ctx, w.namespace, "web", v1alpha1.ReasonReconcileError, message)
		out, err := cluster.Kubectl(ctx, "describe", "websites."+w.group, "web", "-n", w.namespace)
		Expect(err).NotTo(HaveOccurred())
		GinkgoWriter.Println(out)
		Expect(conditionsIn(out)).To(And(
			HaveKeyWithValue("Ready", And(HaveKeyWithValue("Status", "False"), HaveKeyWithValue("Reason", "ReconcileError"), HaveKeyWithValue("Message", message))),
			HaveKeyWithValue("Reconciling", And(HaveKeyWithValue("Status", "False"), HaveKeyWithValue("Reason", "Settled"), HaveKeyWithValue("Message", "nothing is under way"))),
			HaveKeyWithValue("Stalled", And(HaveKeyWithValue("Status", "True"), HaveKeyWithValue("Reason", "ValidationFailed"), HaveKeyWithValue("Message", message)))))
		Expect(out).To(MatchRegexp(`Warning +ReconcileError +\S+.* +orkestra +` + regexp.QuoteMeta(message)))

		By("mending it")
		w.website(ctx, "web", `{replicas: 1}`)
		w.settled(ctx, "web")
		w.saysEvent(ctx, w.namespace, "web", v1alpha1.ReasonRecovered, "everything that box "+w.id+" declares is so")
		_, err = cluster.Kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=60s", "-n", w.namespace, "websites."+w.group+"/web")
		Expect(err).NotTo(HaveOccurred())
	})

	It("of a box with mistakes", func(ctx context.Context) {
		w := newWorld(ctx)
		w.box(ctx, severalMistakes.spec)
		boxShows(ctx, w.id, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCompileFailed, "mistakes")
		Expect(table(ctx, "obox", w.id, "-o", "wide")).To(HaveExactElements(And(
			HaveKeyWithValue("READY", "False"), HaveKeyWithValue("REASON", "CompileFailed"), HaveKeyWithValue("MESSAGE", HavePrefix("10 mistakes: spec.cross[0].apiVersion: ")))))
		out, err := cluster.Kubectl(ctx, "describe", "obox", w.id)
		Expect(err).NotTo(HaveOccurred())
		GinkgoWriter.Println(out)
		Expect(conditionsIn(out)).To(And(
			HaveKeyWithValue("Compiled", And(HaveKeyWithValue("Status", "False"), HaveKeyWithValue("Message", severalMistakes.message))),
			HaveKeyWithValue("CRDEstablished", And(HaveKeyWithValue("Status", "True"), HaveKeyWithValue("Message", "the CRD is served")))))
	})
})

// conditionsIn reads the conditions that kubectl describe writes.
func conditionsIn(described string) map[string]map[string]string {
	out := map[string]map[string]string{}
	entry := map[string]string{}
	inside := false
	for line := range strings.Lines(described) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case strings.TrimSpace(line) == "Conditions:":
			inside = true
		case !inside:
		case key == "Last Transition Time":
			entry = map[string]string{}
		case key == "Type":
			out[strings.TrimSpace(value)] = entry
		default:
			entry[key] = strings.TrimSpace(value)
		}
	}
	return out
}
