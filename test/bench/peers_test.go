package bench_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/test/bench/table"
)

// The contestants of the benchmark beside other tools.
const (
	kro        = "kro"
	kroTuned   = "kro, 16 workers"
	crossplane = "Crossplane"
)

const inPeers = "peers"

// peerRows are the lines of the table beside other tools. None has a budget: the other columns are there to compare with.
func peerRows() []table.Row {
	shared := map[string]table.Row{}
	for _, r := range rows(settings{}) {
		r.By, r.Bound = inPeers, table.Bound{}
		shared[r.ID] = r
	}
	var all []table.Row
	for _, id := range []string{
		"definition.p50", "definition.first", "new.p50", "new.p99", "new.requests", "burst.time", "burst.rate", "burst.requests", "burst.cpu",
		"drift.p50", "drift.p99", "drift.requests", "back.p50", "back.p99", "template-change.time", "template-change.requests", "chain.p50", "chain.requests",
		"restart.time", "restart.writes", "deleted.time", "deleted.requests", "many.time", "empty.rss", "many.rss", "many.cpu", "many.requests",
	} {
		all = append(all, shared[id])
	}
	return append(all,
		table.Row{ID: "touched.requests", Name: "a child gets an annotation of somebody else: requests", Exact: true, By: inPeers},
		table.Row{ID: "touched.cpu", Name: "the same: CPU", Unit: "ms", By: inPeers},
		table.Row{ID: "rest.requests", Name: "all resources settled: requests a minute", Exact: true, By: inPeers},
		table.Row{ID: "rest.cpu", Name: "the same: CPU", Unit: "% of a core", By: inPeers},
	)
}

// BenchmarkPeers runs other tools that make the same children, in turns with Orkestra on one control plane, each as its chart installs it, but
// for the election of a leader, where its column does not say otherwise. make bench-peers builds them.
func BenchmarkPeers(b *testing.B) {
	t := &sheet{table.New(peerRows(), ours, kro, kroTuned, crossplane), readSettings(b)}
	before := load()
	t.Began(inPeers)
	p := newPlane(b)
	p.takeTurns(b, t, inPeers, p.peers(b), []step{
		{"empty", false, (*turn).empty}, {"definition", false, (*turn).definition}, {"new", false, (*turn).newOfDefined}, {"burst", false, (*turn).burst},
		{"drift", false, (*turn).drift}, {"back", false, (*turn).back}, {"touched", false, (*turn).touched}, {"rest", false, (*turn).rest},
		{"template-change", false, (*turn).templateChange}, {"chain", false, (*turn).chain}, {"restart", false, (*turn).restart},
		{"deleted", false, (*turn).deleted}, {"many", false, (*turn).many},
	}, func(u *turn) error {
		if err := u.definedGone(); err != nil {
			return err
		}
		if err := u.cleared(); err != nil {
			return err
		}
		for _, kind := range []string{u.kind, u.chained} { // without its definition, nobody would take a finalizer away
			eventually(u.b, func() error { return u.none(u.b.Context(), noiseKind(kind+"List")) })
		}
		return u.undefined()
	})
	t.print(b, before)
}

// peers are Orkestra and the others, with what these need in the cluster.
func (p *plane) peers(b *testing.B) []*contender {
	b.Helper()
	p.applyFrom(b, "kro", "github.com/kubernetes-sigs/kro", "helm/crds")
	p.applyFrom(b, "crossplane", "github.com/crossplane/crossplane/v2", "cluster/crds")
	for _, name := range []string{ownNamespace, crossplaneNamespace} {
		must(b, p.kube.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	binary := func(name string) string { return filepath.Join("..", "..", "bin", name) }
	// kro's binary logs at debug level, and its chart does not. Its chart has it elect a leader, too, and Crossplane's: that is left out, since Crossplane
	// can do so in a Pod alone, and kro would wait for its own lease at each restart.
	byKRO := []string{binary("kro"), "--metrics-bind-address=0", "--health-probe-bind-address=0", "--zap-log-level=info", "--zap-encoder=console", "--zap-devel=false"}
	all := []*contender{
		{column: ours, short: "o", kind: "Applied", chained: "Chained", defining: boxDefinitions(), command: managerCommand(binary("orkestra"))},
		{column: kro, short: "k", kind: "Graphed", chained: "Graphchained", defining: graphDefinitions(), command: byKRO},
		{column: kroTuned, short: "t", kind: "Graphed", chained: "Graphchained", defining: graphDefinitions(), command: append(slices.Clone(byKRO),
			"--dynamic-controller-concurrent-reconciles=16", "--resource-graph-definition-concurrent-reconciles=16", "--graph-revision-concurrent-reconciles=16")},
		p.crossplane(b, binary("crossplane"), binary("crossplane-function")),
	}
	for _, c := range all {
		c.define = func(text string) string { return c.defining.text(noiseGroup, c.kind, text) }
	}
	p.admit(b, all)
	return all
}

// crossplane is Crossplane's core with a function beside it. The package manager has nothing to do: the function is a process of this machine, and
// what says where it answers is written here.
func (p *plane) crossplane(b *testing.B, core, function string) *contender {
	b.Helper()
	address, files := freeAddress(b), b.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	must(b, err)
	for name, data := range map[string][]byte{corev1.TLSCertKey: certificate, "ca.crt": certificate, corev1.TLSPrivateKeyKey: key} {
		must(b, os.WriteFile(filepath.Join(files, name), data, 0o600))
	}
	must(b, p.make(b, fmt.Sprintf(composingFunction, functionName)))
	revision := objectOf(revisionKind, functionName)
	status, err := json.Marshal(map[string]any{"status": map[string]any{"endpoint": address, "capabilities": []string{"composition"}}})
	must(b, err)
	must(b, p.kube.Status().Patch(b.Context(), revision, client.RawPatch("application/merge-patch+json", status)))
	return &contender{
		column: crossplane, short: "c", kind: "Composed", chained: "Composedchained", defining: compositeDefinitions(), byEnvironment: true,
		command: []string{core, "core", "start", "--enable-webhooks=false", "--metrics-port=0", "--health-probe-port=0", "--namespace=" + crossplaneNamespace,
			"--tls-client-certs-dir=" + files, "--tls-server-certs-dir=" + files, "--cache-dir=" + files},
		beside: []string{function, address, filepath.Join(files, corev1.TLSCertKey), filepath.Join(files, corev1.TLSPrivateKeyKey)},
	}
}

// applyFrom applies a folder of a Go module that one of the modules beside this package requires.
func (p *plane) applyFrom(b *testing.B, peer, module, folder string) {
	b.Helper()
	command := exec.CommandContext(b.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module)
	command.Dir = filepath.Join("peers", peer)
	dir, err := command.Output()
	must(b, err)
	_, err = p.cluster.Kubectl(b.Context(), "apply", "--server-side", "-f", filepath.Join(string(dir[:len(dir)-1]), folder))
	must(b, err)
	_, err = p.cluster.Kubectl(b.Context(), "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	must(b, err)
}

// newOfDefined tells the contender of its kinds, and makes one resource after another.
func (u *turn) newOfDefined() error {
	following, err := u.follow(u.b.Context(), u.defining.kinds[0], client.InNamespace(""))
	if err != nil {
		return err
	}
	defer func() { following.stop() }()
	for kind, text := range map[string]string{u.kind: u.define("b"), u.chained: u.defining.chain(noiseGroup, u.chained, u.t.links)} {
		if err := u.make(u.b, text); err != nil {
			return err
		}
		if err := u.defining.served(following, noiseGroup, lowered(kind)); err != nil {
			return err
		}
	}
	return u.newOnes()
}

// touched has somebody write something of their own into children, which is nothing to put right.
func (u *turn) touched() error {
	names := u.alive[:min(u.t.samples, len(u.alive))]
	cpu, counts, err := u.spent(func() error {
		for _, name := range names {
			child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-c", Namespace: "default"}}
			patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/seen":%q}}}`, u.name))
			if err := u.kube.Patch(u.b.Context(), child, patch, client.FieldOwner("visitor")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	u.addRequests("touched", counts, len(names))
	u.add("touched.cpu", milliseconds(cpu, len(names)))
	u.t.Note("Requests each for a touched child, %s: %s.", u.column, listed(counts, len(names)))
	return nil
}

// minutely is how many times BENCH_IDLE are more than a minute, as that is by default.
const minutely = 4

// rest looks at a process whose resources are all settled, for long enough that what is looked at again each minute is.
func (u *turn) rest() error {
	u.late()
	r, err := u.rests(minutely * u.t.idle)
	if err != nil {
		return err
	}
	u.add("rest.cpu", r.load())
	u.add("rest.requests", r.aMinute())
	u.t.Note("Requests in %s beside %d settled resources, %s: %s.", minutely*u.t.idle, len(u.alive), u.column, listed(r.counts, 1))
	return nil
}
