package flux

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	base "github.com/orkspace/orkestra/test/plane"
)

// further are values that a user adds later. The drain ends soon, so that one that fails does.
const further = `
    logLevel: debug
    drain: {timeout: 5s}
    trust: {webhook: {enabled: true}}`

// TestHelm goes through the life of a HelmRelease of the chart.
func TestHelm(t *testing.T) {
	w := newHelmWorld(t)
	w.publish(t, released, root+"/charts/orkestra")
	w.release(t)
	began := time.Now()
	objects := w.install(t, w.binary)
	w.steps.Add("the chart, and an operator that waits for it, in one commit, until all are healthy", time.Since(began), objects, w.differences(t))

	w.value(t)
	w.edited(t)
	w.contradicts(t)
	w.held(t)
	w.uninstalled(t)
	w.installedAgain(t)
	w.withoutHook(t)
	w.steps.Write(t, root+"/.reports/flux-helm.md")
}

// value changes values in Git: the manager says more, and the webhook is installed.
func (w *helmWorld) value(t *testing.T) {
	t.Helper()
	before, others := w.children(t), w.others(t)
	w.release(t, values, values+further)
	commit, began := w.commit(t, "Say more, and judge boxes where they are applied"), time.Now()
	objects := w.settled(t, commit)
	took := time.Since(began)
	if args := w.Kubectl(t, "get", "deployment/orkestra", "-n", system, "-o", "jsonpath={.spec.template.spec.containers[0].args}"); !strings.Contains(args, "--log-level=debug") {
		t.Errorf("the HelmRelease is Ready, and the manager's arguments are %s", args)
	}
	now := w.others(t)
	for other := range strings.SplitSeq(others, "\n") {
		if !strings.Contains(now, other) {
			t.Errorf("%s is another after values of the Deployments were changed", other)
		}
	}
	w.rollout(t, w.binary)
	// The webhook writes its certificate into two objects of the chart, of which Flux must not think that somebody has edited them.
	w.webhook = w.run(t, w.binary, "orkestra-webhook")
	base.Eventually(t, "the webhook has written its certificate", func() error {
		bundle := w.Kubectl(t, "get", "validatingwebhookconfiguration/orkestra-webhook", "-o", "jsonpath={.webhooks[0].clientConfig.caBundle}")
		key := w.Kubectl(t, "get", "secret/orkestra-webhook-certificate", "-n", system, "-o", `jsonpath={.data.tls\.key}`)
		if bundle == "" || key == "" {
			return fmt.Errorf("the configuration has %d bytes of an authority, and the Secret %d of a key", len(bundle), len(key))
		}
		return nil
	})
	w.steps.Add("values are changed, until the release is upgraded", took, objects, w.differences(t))
	same(t, "the children", "new values", before, w.children(t))
}

// edited has somebody change objects of the chart by hand, and delete one.
func (w *helmWorld) edited(t *testing.T) {
	t.Helper()
	look := func() string {
		return w.Kubectl(t, "get", "-o", "jsonpath={range .items[*]}{.kind} {.rules} {.spec}{\"\\n\"}{end}", "-n", system, "clusterrole/orkestra-manager",
			"deployment/orkestra", "validatingadmissionpolicybinding/orkestra-marks")
	}
	before := look()
	w.Kubectl(t, "patch", "clusterrole/orkestra-manager", "--type=json", "-p", `[{"op":"remove","path":"/rules/0"}]`)
	w.Kubectl(t, "patch", "deployment/orkestra", "-n", system, "--type=json", "-p", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"somebody:1"}]`)
	w.Kubectl(t, "delete", "validatingadmissionpolicybinding/orkestra-marks")
	began := time.Now()
	base.Eventually(t, "what was edited is put back", func() error {
		w.again(t, "helmrelease", "orkestra")
		if now, err := w.Cluster.Kubectl(t.Context(), "get", "validatingadmissionpolicybinding/orkestra-marks"); err != nil {
			return fmt.Errorf("%s%w", now, err)
		}
		if now := look(); now != before {
			return fmt.Errorf("it is\n%s\nwanted\n%s", now, before)
		}
		return nil
	})
	w.steps.Add("two objects of the chart are edited, and one is deleted, until they are put back", time.Since(began), 3, w.differences(t))
}

// contradicts commits values that the chart refuses.
func (w *helmWorld) contradicts(t *testing.T) {
	t.Helper()
	const sentence = "replicaCount above 1 needs leaderElection.enabled: without a lease all replicas would reconcile"
	before := w.children(t)
	w.release(t, values, values+further+"\n    replicaCount: 2\n    leaderElection: {enabled: false}")
	commit, began := w.commit(t, "Ask for what can't be"), time.Now()
	base.Eventually(t, "the HelmRelease says what is wrong", func() error {
		if _, ready, said := w.reconciled(t, "helmrelease", "orkestra"); ready != "False" || !strings.Contains(said, sentence) {
			return fmt.Errorf("Ready %s, %s; wanted False, and %q", ready, said, sentence)
		}
		return nil
	})
	took := time.Since(began)
	// Flux tries again and again, so that for what waits for it, the HelmRelease is in progress.
	w.fails(t, commit, "orkestra", "HelmRelease/flux-system/orkestra status: 'InProgress'")
	w.steps.Add("values contradict each other, until the HelmRelease says which", took, 1, "–")
	commit, began = w.git.Revert(t), time.Now()
	w.fetch(t)
	objects := w.settled(t, commit)
	w.steps.Add("the commit is reverted, until all are healthy", time.Since(began), objects, w.differences(t))
	same(t, "the children", "values that the chart refuses", before, w.children(t))
}

// held takes the HelmRelease out of Git while the manager lacks a right that it needs to let go of the resource: nothing is removed.
func (w *helmWorld) held(t *testing.T) {
	t.Helper()
	children := w.children(t)
	w.schedule(t, false) // the Pods of the hook are the test's to run
	w.Kubectl(t, "patch", "kustomization/shop", "-n", "flux-system", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	w.Kubectl(t, "delete", "clusterrole/orkestra-shop")
	w.git.Remove(t, "orkestra/orkestra.yaml")
	w.git.Put(t, "orkestra/kustomization.yaml", "empty.yaml")
	w.commit(t, "Without Orkestra")
	began := time.Now()
	for range 2 { // the Job has a second try
		if printed, drained := w.hook(t, w.binary); drained || !strings.Contains(printed, "operatorbox/shop") {
			t.Fatalf("the hook of the uninstall has drained: %t, and printed\n%s\nwanted that it fails, and names operatorbox/shop", drained, printed)
		}
	}
	base.Eventually(t, "the HelmRelease says that the uninstall has failed", func() error {
		if _, ready, said := w.reconciled(t, "helmrelease", "orkestra"); ready != "False" || !strings.HasPrefix(said, "UninstallFailed: ") || !strings.Contains(said, "orkestra-drain") {
			return fmt.Errorf("Ready %s, %s; wanted False, UninstallFailed, and the name of the Job", ready, said)
		}
		return nil
	})
	w.steps.Add("the HelmRelease is removed while the drain lacks a right, until it says that the uninstall has failed", time.Since(began), 1, "–")
	w.Kubectl(t, "get", "-n", system, "deployment/orkestra", "serviceaccount/orkestra", "service/orkestra-metrics")
	same(t, "the children", "an uninstall that fails", children, w.children(t))
}

// uninstalled gives the right back: Flux tries again, and the chart goes. The box and its resource stay in Git, and in the cluster.
func (w *helmWorld) uninstalled(t *testing.T) {
	t.Helper()
	children, stored, began := w.children(t), w.stored(t), time.Now()
	w.Kubectl(t, "patch", "kustomization/shop", "-n", "flux-system", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	w.Kubectl(t, "apply", "--server-side", "--field-manager=kustomize-controller", "-f", "testdata/shop-role.yaml")
	w.drained(t)
	w.away(t, children, stored)
	w.webhook.Stop()
	w.schedule(t, true)
	w.steps.Add("the drain has its right, until the chart is uninstalled", time.Since(began), 1, w.world.differences(t, []string{"orkestra"}))
}

// withoutHook drains by hand, and has the HelmRelease leave the hook out.
func (w *helmWorld) withoutHook(t *testing.T) {
	t.Helper()
	w.release(t, "  driftDetection:", "  uninstall: {disableHooks: true}\n  driftDetection:")
	w.settled(t, w.commit(t, "Drain by hand"))
	children, stored, began := w.children(t), w.stored(t), time.Now()
	drain := exec.CommandContext(t.Context(), w.binary, "drain", "-n", system, "--kubeconfig", w.Cluster.Kubeconfig())
	if printed, err := drain.CombinedOutput(); err != nil {
		t.Fatalf("orkestra drain: %v\n%s", err, printed)
	}
	w.git.Remove(t, "orkestra/orkestra.yaml")
	w.git.Put(t, "orkestra/kustomization.yaml", "empty.yaml")
	w.commit(t, "Without Orkestra, and without its hook")
	w.away(t, children, stored)
	w.steps.Add("the HelmRelease is removed after a drain by hand, until the chart is uninstalled", time.Since(began), 1, w.world.differences(t, []string{"orkestra"}))
}

// away waits until the chart is uninstalled: nothing of it is left but its CRDs, and nothing else has gone or is held.
func (w *helmWorld) away(t *testing.T, children, stored string) {
	t.Helper()
	w.gone(t, "-n", "flux-system", "helmrelease/orkestra", "helmchart/flux-system-orkestra")
	w.manager.Stop()
	w.gone(t, "-A", "-l", "app.kubernetes.io/part-of=orkestra", ofChart+",deployments,jobs,flowschemas,validatingadmissionpolicies,validatingadmissionpolicybindings,"+
		"validatingwebhookconfigurations,secrets")
	for _, object := range []string{"operatorbox/shop", "shop/web"} {
		if held := w.Kubectl(t, "get", object, "-n", "apps", "-o", "jsonpath={.metadata.finalizers}"); held != "" {
			t.Errorf("%s has the finalizers %s after the uninstall; wanted none", object, held)
		}
	}
	same(t, "the children", "the uninstall", children, w.children(t))
	same(t, "what is stored", "the uninstall", stored, w.stored(t))
}

// drained runs the Pods of the hook, whose Job Flux makes anew after one that has failed, until one succeeds.
func (w *helmWorld) drained(t *testing.T) {
	t.Helper()
	for range 4 {
		if printed, drained := w.hook(t, w.binary); drained {
			if !strings.Contains(printed, "operatorbox/shop: drained") {
				t.Errorf("the hook of the uninstall has printed\n%s\nwanted that operatorbox/shop is drained", printed)
			}
			return
		}
	}
	t.Fatal("the hook of the uninstall fails, although nothing holds it up any more")
}

// installedAgain puts the HelmRelease back: Orkestra goes on where it was.
func (w *helmWorld) installedAgain(t *testing.T) {
	t.Helper()
	children, stored := w.children(t), w.stored(t)
	w.git.Remove(t, "orkestra/kustomization.yaml")
	w.release(t)
	commit, began := w.commit(t, "With Orkestra again"), time.Now()
	w.manager = w.run(t, w.binary, "orkestra")
	objects := w.settled(t, commit)
	w.Kubectl(t, "wait", "--for=jsonpath={.metadata.finalizers[0]}=orkestra.orkspace.io/cleanup", "--timeout=3m", "-n", "apps", "shop/web", "operatorbox/shop")
	w.steps.Add("the HelmRelease is back, until Orkestra holds the resource again", time.Since(began), objects, w.differences(t))
	same(t, "the children", "installing again", children, w.children(t))
	same(t, "what is stored", "installing again", stored, w.stored(t))
}
