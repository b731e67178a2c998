package bench_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// connections are how many make resources at the same time.
const connections = 8

const burstBoxes = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: applied}
spec:
  crd: {name: applieds.noise.example.com}
  onReconcile:
    configmaps: [{name: "{{ .metadata.name }}-a", data: {host: "{{ .spec.host }}"}}, {name: "{{ .metadata.name }}-b", data: {a: b}}, {name: "{{ .metadata.name }}-c", data: {c: d}}]
---
apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: once}
spec:
  crd: {name: onces.noise.example.com}
  onReconcile:
    configmaps:
    - {once: true, name: "{{ .metadata.name }}-a", data: {host: "{{ .spec.host }}"}}
    - {once: true, name: "{{ .metadata.name }}-b", data: {a: b}}
    - {once: true, name: "{{ .metadata.name }}-c", data: {c: d}}
---
apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: accounted}
spec:
  crd: {name: accounteds.noise.example.com}
  serviceAccountRef: {name: accounted, namespace: default}
  onReconcile:
    configmaps: [{name: "{{ .metadata.name }}-a", data: {host: "{{ .spec.host }}"}}, {name: "{{ .metadata.name }}-b", data: {a: b}}, {name: "{{ .metadata.name }}-c", data: {c: d}}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: accounted, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: accounted}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
- {apiGroups: [noise.example.com], resources: [accounteds], verbs: [get, list, watch, patch]}
- {apiGroups: [noise.example.com], resources: [accounteds/status], verbs: [patch]}
- {apiGroups: [noise.example.com], resources: [accounteds/finalizers], verbs: [update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: accounted}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: accounted}
subjects: [{kind: ServiceAccount, name: accounted, namespace: default}]
`

// tally counts the requests of one client by what they are for. Watches, the lists before them, and the lease are not counted.
type tally struct {
	mu  sync.Mutex
	all map[string]int // guarded by mu
}

func (t *tally) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !uncounted(r.URL) {
			t.mu.Lock()
			t.all[r.Method+" "+purpose(r.URL.Path)]++
			t.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// purpose is the resource of a path, with its subresource.
func purpose(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	parts = parts[min(len(parts), map[bool]int{true: 2, false: 3}[parts[0] == "api"]):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	switch len(parts) {
	case 0:
		return "discovery"
	case 3:
		return parts[0] + "/" + parts[2]
	default:
		return parts[0]
	}
}

// since gives the counts since the last call, and their sum.
func (t *tally) since() (counts map[string]int, sum int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts, t.all = t.all, map[string]int{}
	return counts, total(counts)
}

// racer makes three ConfigMaps for each resource of its kind, in this process.
type racer struct {
	kind  string
	user  string
	tally *tally
	last  map[string]int // requests of its last turn
}

// race has a racer make many resources, and gives the time. Its requests are counted twice, and the row on both counts gets the difference.
func (w *world) race(b *testing.B, t *sheet, r *racer, turn string) time.Duration {
	b.Helper()
	r.tally.since()
	w.audit.since(b, r.user)
	took, err := w.made(b, r.kind, turn, t.burst)
	must(b, err)
	audited, _ := w.audit.quiet(b, r.user)
	r.last, _ = r.tally.since()
	t.Add("burst.audited", ours, float64(apart(audited, r.last)))
	return took
}

// applyKinds makes CRDs of the group noise.example.com, by their kinds.
func (p *plane) applyKinds(b *testing.B, kinds ...string) {
	b.Helper()
	var all strings.Builder
	for _, kind := range kinds {
		fmt.Fprintf(&all, noiseCRD, strings.ToLower(kind), kind)
	}
	_, err := p.cluster.KubectlApply(b.Context(), all.String())
	must(b, err)
	_, err = p.cluster.Kubectl(b.Context(), "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	must(b, err)
}

// measureBurst makes many resources at once, in turns for Orkestra with all defaults and for the controller written by hand, all in this process.
func measureBurst(b *testing.B, t *sheet) {
	b.Helper()
	w := newWorld(b)
	w.applyKinds(b, "Applied", "Once", "Accounted", "Handwritten", "Handheld")
	_, err := w.cluster.KubectlApply(b.Context(), burstBoxes)
	must(b, err)
	_, err = w.cluster.Kubectl(b.Context(), "wait", "--for=condition=Ready", "operatorbox", "--all", "--timeout=60s")
	must(b, err)
	applied, once := &racer{kind: "Applied", user: w.user, tally: &w.tally}, &racer{kind: "Once", user: w.user, tally: &w.tally}
	accounted := &racer{kind: "Accounted", user: w.user, tally: &w.tally} // the same as Applied, as an account
	written, held := w.startBaseline(b, "Handwritten"), w.startBaseline(b, "Handheld")
	all := []*racer{applied, once, written, held}
	w.warm(b, append(all, accounted))
	for turn := range t.turns {
		took := map[*racer]float64{}
		for _, r := range all {
			took[r] = w.race(b, t, r, fmt.Sprint("turn", turn)).Seconds()
		}
		t.Add("burst.applied", ours, float64(t.burst)/took[applied])
		t.Add("burst.applied", hand, float64(t.burst)/took[written])
		t.Add("burst.once", ours, float64(t.burst)/took[once])
		t.Add("burst.hands", ours, took[applied]/took[written])
		t.Add("burst.held", ours, took[applied]/took[held])
		own := once.last["PATCH onces"] + once.last["PATCH onces/status"] + once.last["POST configmaps"] + once.last["GET configmaps"]
		t.Add("burst.own", ours, float64(own)/float64(t.burst))
	}
	w.duels(b, t, accounted, applied)
	for _, r := range append(all, accounted) {
		t.Note("Requests each in the burst in this process, %s: %s.", r.kind, listed(r.last, t.burst))
	}
}

// warm has each make a resource, so that connections and caches are there.
func (w *world) warm(b *testing.B, all []*racer) {
	b.Helper()
	for _, r := range all {
		_, err := w.made(b, r.kind, "warm", 1)
		must(b, err)
		w.audit.quiet(b, r.user)
	}
}

// duels compares two, of which each begins every other time. Few of them say nothing on a machine that has other work: a single burst
// takes half as long again now and then.
func (w *world) duels(b *testing.B, t *sheet, one, against *racer) {
	b.Helper()
	for duel := range 3 * t.turns {
		both, took, sums := []*racer{one, against}, [2]float64{}, [2]float64{}
		for i := range both {
			who := (i + duel) % len(both)
			took[who] = w.race(b, t, both[who], fmt.Sprint("duel", duel)).Seconds()
			sums[who] = float64(total(both[who].last))
		}
		t.Add("burst.account", ours, took[0]/took[1])
		t.Add("burst.accounts", ours, sums[0]/sums[1])
	}
}
