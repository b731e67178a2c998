package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// linked links the product under the names by which kubectl finds a plugin and what completes its arguments.
func linked() (plugin, completer string) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	plugin, completer = filepath.Join(dir, "kubectl-orkestra"), filepath.Join(dir, "kubectl_complete-orkestra")
	for _, name := range []string{plugin, completer} {
		Expect(os.Symlink(built.path(), name)).To(Succeed())
	}
	return plugin, completer
}

// started starts a command that stays, and ends it behind the spec: to be told to stop is no failure of it.
func started(name string, args ...string) *gexec.Session {
	GinkgoHelper()
	process, err := gexec.Start(exec.Command(name, append(args, "--kubeconfig", cluster.Kubeconfig())...), GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		process.Signal(syscall.SIGTERM)
		Eventually(process).Should(gexec.Exit(0))
	})
	return process
}

var _ = Describe("The plugin of kubectl", func() {
	It("does what its page says, and shows what changes meanwhile", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, oneMap(1, "first")))
		w.running(ctx, w.box(ctx, oneMap(1, "second")))
		w.website(ctx, "hello", `{}`)
		w.settled(ctx, "hello")
		healthShows(ctx, w.id, func(g Gomega, h v1alpha1.CRDHealthStatus) {
			g.Expect(h.Resources.Ready).To(BeEquivalentTo(1), "counters follow a moment later")
		})
		plugin, completer := linked()

		By("completing names of the cluster")
		for typed, want := range map[string]string{
			"suspend " + w.id[:4]: w.id, "pause websites." + w.group + "/he": "websites." + w.group + "/hello", "status --namespace " + w.id[:4]: w.namespace, "resu": "resume",
		} {
			out, err := exec.CommandContext(ctx, completer, w.completing(typed)...).Output()
			Expect(err).NotTo(HaveOccurred(), typed)
			Expect(strings.Split(string(out), "\n")).To(ContainElement(HavePrefix(want)), typed)
		}

		rows := started(plugin, "get", "websites."+w.group, "-n", w.namespace, "--watch")
		Eventually(rows.Out).Should(gbytes.Say(`NAME +STATE +REASON +SINCE +AGE\nhello +Ready `))
		boxes := started(plugin, "get", "boxes", w.id, "--watch")
		Eventually(boxes.Out).Should(gbytes.Say(w.id + ` +Website +`))
		happens := started(plugin, "events", "websites."+w.group+"/hello", "-n", w.namespace, "--watch")
		Eventually(happens.Out).Should(gbytes.Say(`LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n`))

		By("running each command of the page")
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "command-line.md"))
		Expect(err).NotTo(HaveOccurred())
		here := strings.NewReplacer("websites", "websites."+w.group, "website/", "websites."+w.group+"/", "crdhealth/shop", "crdhealth/"+w.id, " shop", " "+w.id, "team-a", w.namespace)
		ran := 0
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				args, ok := strings.CutPrefix(strings.TrimSpace(line), "kubectl orkestra ")
				Expect(ok).To(BeTrue(), line)
				out, err := exec.CommandContext(ctx, plugin, append(strings.Fields(here.Replace(args)), "--kubeconfig", cluster.Kubeconfig(), "--manager-namespace", ownNamespace)...).CombinedOutput()
				GinkgoWriter.Println("kubectl orkestra", args, "\n"+string(out))
				Expect(err).NotTo(HaveOccurred(), "%s\n%s", args, out)
				w.did(ctx, args, string(out))
				ran++
			}
		}
		Expect(ran).To(BeNumerically(">=", 15))

		By("having seen it")
		Eventually(rows.Out).Should(gbytes.Say(`hello +Paused .*\nhello +Ready `))
		Eventually(boxes.Out).Should(gbytes.Say(`Suspended(.|\n)* Healthy `))
		Expect(kube.Delete(ctx, w.ref("hello"))).To(Succeed())
		Eventually(rows.Out).Should(gbytes.Say(`hello +Deleted `))
		Eventually(happens.Out).Should(gbytes.Say(` +Normal +\w+ +Website/hello +`))
	})
})

// completing are the arguments by which kubectl asks what could follow those that are typed: the last is not ended yet.
func (w *world) completing(typed string) []string {
	words := strings.Fields(typed)
	flags := []string{"--kubeconfig", cluster.Kubeconfig()}
	if len(words) == 1 {
		return words // a command
	}
	if words[1] != "--namespace" {
		flags = append(flags, "--namespace", w.namespace)
	}
	return append(append(words[:1:1], flags...), words[1:]...)
}

// did checks what a command of the page has printed, and done.
func (w *world) did(ctx context.Context, args, out string) {
	GinkgoHelper()
	live := func() map[string]string { return w.get(ctx, Default, "hello").GetAnnotations() }
	switch args {
	case "get":
		Expect(out).To(MatchRegexp(`(?m)^` + w.id + ` +Website +\w+ +\S+ +\d/1 `))
	case "get websites -n team-a":
		Expect(out).To(MatchRegexp(`(?m)^hello +Ready +-`))
	case "get website/hello -n team-a -o yaml":
		Expect(out).To(And(HavePrefix("box: "+w.id+"\n"), ContainSubstring("state: Ready\n")))
	case "wait shop website/hello -n team-a --timeout 2m":
		Expect(out).To(ContainSubstring("website/hello: condition Ready=True is met\n"))
	case "reconcile website/hello -n team-a":
		Expect(live()).To(HaveKey(v1alpha1.AnnotationReconcileAt))
	case "pause website/hello -n team-a":
		Expect(out).To(HavePrefix("website/hello is paused: "))
		Expect(live()).To(HaveKeyWithValue(v1alpha1.AnnotationPaused, "true"))
	case "resume website/hello -n team-a":
		Expect(live()).NotTo(HaveKey(v1alpha1.AnnotationPaused))
	case "suspend shop":
		inState(ctx, w.id, v1alpha1.HealthSuspended, v1alpha1.ReasonSuspended)
	case "resume shop":
		w.running(ctx, w.id)
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
	case "revisions shop -o wide":
		Expect(out).To(ContainSubstring("onReconcile.configmaps[0].data.value: \"first\" → \"second\"\n"))
	case "rollback shop --dry-run":
		Expect(out).To(Equal("onReconcile.configmaps[0].data.value\n- second\n+ first\n"))
		w.holds(ctx, "hello", "second")
	case "rollback shop":
		Expect(out).To(ContainSubstring("goes back to the former revision: revision 1, "))
		w.holds(ctx, "hello", "first")
	}
}
