package bench_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/health"
)

// sideBox makes three ConfigMaps, with one text that a benchmark changes.
const sideBox = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: applied}
spec:
  crd: {name: applieds.noise.example.com}
  resync: %s
  onReconcile:
    configmaps: [{name: "{{ .metadata.name }}-a", data: {host: "{{ .spec.host }}"}}, {name: "{{ .metadata.name }}-b", data: {a: %q}}, {name: "{{ .metadata.name }}-c", data: {c: d}}]
`

// oftenResynced is the resync of the step in which nothing is to be done, and usual the other one.
const (
	oftenResynced = 5 * time.Second
	usualResync   = 10 * time.Hour
)

// configMaps is the kind of the children.
var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"} //nolint:gochecknoglobals // a constant

// elsewhere is the host that somebody else writes into children, by the patch drifted.
const elsewhere = "drifted"

var drifted = client.RawPatch("application/merge-patch+json", []byte(`{"data":{"host":"`+elsewhere+`"}}`)) //nolint:gochecknoglobals // a constant

// measureSides has binaries make, repair and delete resources, in turns.
func measureSides(b *testing.B, t *sheet) {
	b.Helper()
	p := newPlane(b)
	p.applyKinds(b, "Applied", "Chained", "Handwritten")
	_, err := p.cluster.KubectlApply(b.Context(), fmt.Sprintf(sideBox, usualResync, "b")+"---\n"+chainBox("chained", t.links))
	must(b, err)
	p.takeTurns(b, t, inSides, p.contenders(b, t), []step{
		{"new", true, (*turn).newOnes}, {"burst", true, (*turn).burst}, {"drift", true, (*turn).drift}, {"back", true, (*turn).back}, {"storm", true, (*turn).storm},
		{"template-change", false, (*turn).templateChange}, {"noop", false, (*turn).noOp}, {"chain", false, (*turn).chain}, {"restart", true, (*turn).restart},
		{"deleted", true, (*turn).deleted}, {"wide", false, (*turn).wide},
	}, (*turn).cleared)
}

// chainBox makes a chain of ConfigMaps: each waits for the one before it, and holds its UID.
func chainBox(name string, links int) string {
	return fmt.Sprintf("apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: %s}\nspec:\n  crd: {name: %ss.noise.example.com}\n  onReconcile:\n    configmaps:\n", name, name) + chainedChildren(links)
}

// chainedChildren are the declarations of such a box.
func chainedChildren(links int) string {
	b := &strings.Builder{}
	for i := range links {
		fmt.Fprintf(b, "    - {id: n%d, name: \"{{ .metadata.name }}-%d\"", i, i)
		if i > 0 {
			fmt.Fprintf(b, ", when: [{field: children.n%d.metadata.uid, operator: exists}], data: {before: \"{{ .children.n%d.metadata.uid }}\"}", i-1, i-1)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// named selects one object by its name.
func named(name string) client.ListOption { return client.MatchingFields{"metadata.name": name} }

// awaited does something, and gives the time until an object is as that should make it.
func (u *turn) awaited(kind schema.GroupVersionKind, name, wanted string, what func() error, done func(event watch.Event, now *unstructured.Unstructured) bool) (time.Duration, error) {
	u.b.Helper()
	follower, err := u.follow(u.b.Context(), kind, named(name))
	if err != nil {
		return 0, err
	}
	defer func() { follower.stop() }()
	began := time.Now()
	if err := what(); err != nil {
		return 0, err
	}
	err = follower.until(kind.Kind+" "+name+" "+wanted, done)
	return time.Since(began), err
}

// one makes a resource, and gives the time until it is Ready.
func (u *turn) one(obj *unstructured.Unstructured) (time.Duration, error) {
	u.b.Helper()
	return u.awaited(obj.GroupVersionKind(), obj.GetName(), "Ready", func() error { return u.kube.Create(u.b.Context(), obj) },
		func(_ watch.Event, now *unstructured.Unstructured) bool { return isReady(now) })
}

// stays makes a resource that later steps find, and gives the time until it is Ready.
func (u *turn) stays(obj *unstructured.Unstructured) (time.Duration, error) {
	u.b.Helper()
	took, err := u.one(obj)
	if err == nil {
		u.alive = append(u.alive, obj.GetName())
	}
	return took, err
}

// newOnes makes one resource after another.
func (u *turn) newOnes() error {
	made := func(name string) (time.Duration, error) { return u.stays(noiseOf(u.kind, name)) }
	if _, err := made(namesOf(u.kind, u.name+"-warm", 1)[0]); err != nil { // it serves from then on
		return err
	}
	took, _, counts, err := u.oneByOne(namesOf(u.kind, u.name+"-new", u.t.samples), made)
	if err != nil {
		return err
	}
	u.addTimes("new", took)
	u.addRequests("new", counts, len(took))
	return nil
}

// burst makes many at once.
func (u *turn) burst() error {
	var took time.Duration
	cpu, counts, err := u.spent(func() error {
		var err error
		took, err = u.made(u.b, u.kind, u.name+"-burst", u.t.burst)
		return err
	})
	u.alive = append(u.alive, namesOf(u.kind, u.name+"-burst", u.t.burst)...)
	if err != nil {
		return err
	}
	u.add("burst.time", took.Seconds())
	u.add("burst.rate", float64(u.t.burst)/took.Seconds())
	u.addRequests("burst", counts, u.t.burst)
	u.add("burst.cpu", milliseconds(cpu, u.t.burst))
	u.t.Note("Requests each in the burst, %s: %s.", u.column, listed(counts, u.t.burst))
	return nil
}

// wide makes as many at once, by a box with more workers.
func (u *turn) wide() error {
	box := fmt.Sprintf(sideBox, usualResync, "b")
	if _, err := u.cluster.KubectlApply(u.b.Context(), box+"  workers: 16\n"); err != nil {
		return err
	}
	took, err := u.made(u.b, u.kind, u.name+"-wide", u.t.burst)
	if err != nil {
		return err
	}
	u.add("wide.time", took.Seconds())
	_, err = u.cluster.KubectlApply(u.b.Context(), box)
	return err
}

// repaired does something to one child of each of some resources, one after another, and gives the times until it is as it should be, and the
// requests.
func (u *turn) repaired(suffix string, harm func(child *corev1.ConfigMap) error, mended func(before *corev1.ConfigMap, event watch.Event, now *unstructured.Unstructured) bool) (took times, counts map[string]int, err error) {
	u.b.Helper()
	took, _, counts, err = u.oneByOne(u.alive[:min(u.t.samples, len(u.alive))], func(name string) (time.Duration, error) {
		child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + suffix, Namespace: "default"}}
		if err := u.kube.Get(u.b.Context(), client.ObjectKeyFromObject(child), child); err != nil {
			return 0, err
		}
		before := child.DeepCopy()
		return u.awaited(configMaps, child.Name, "as it should be", func() error { return harm(child) }, func(event watch.Event, now *unstructured.Unstructured) bool {
			return now.GetResourceVersion() != before.ResourceVersion && mended(before, event, now)
		})
	})
	return took, counts, err
}

// drift changes a field of children.
func (u *turn) drift() error {
	took, counts, err := u.repaired("-a", func(child *corev1.ConfigMap) error {
		return u.kube.Patch(u.b.Context(), child, drifted, client.FieldOwner("rival"))
	}, func(before *corev1.ConfigMap, _ watch.Event, now *unstructured.Unstructured) bool {
		host, _, _ := unstructured.NestedString(now.Object, "data", "host")
		return host == before.Data["host"]
	})
	if err != nil {
		return err
	}
	u.addTimes("drift", took)
	u.addRequests("drift", counts, len(took))
	return nil
}

// back deletes children.
func (u *turn) back() error {
	took, _, err := u.repaired("-b", func(child *corev1.ConfigMap) error { return u.kube.Delete(u.b.Context(), child) },
		func(before *corev1.ConfigMap, event watch.Event, now *unstructured.Unstructured) bool {
			return event.Type == watch.Added && now.GetUID() != before.UID
		})
	if err != nil {
		return err
	}
	u.addTimes("back", took)
	return nil
}

// storm changes a field of one child of each resource at the same time. One that is not repaired is an error. An annotation tells the children
// that were changed, as nobody takes it off.
func (u *turn) storm() error {
	const annotation = "noise.example.com/storm"
	harm := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}},"data":{"host":%q}}`, annotation, u.name, elsewhere))
	took, counts, err := u.allChildren("-a", func() error {
		return each(u.alive, func(name string) error {
			child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-a", Namespace: "default"}}
			return u.kube.Patch(u.b.Context(), child, harm, client.FieldOwner("rival"))
		})
	}, func(now *unstructured.Unstructured) bool {
		host, _, _ := unstructured.NestedString(now.Object, "data", "host")
		return host != elsewhere && now.GetAnnotations()[annotation] == u.name
	})
	if err != nil {
		return err
	}
	u.add("storm.time", took.Seconds())
	u.addRequests("storm", counts, len(u.alive))
	return nil
}

// allChildren does something that concerns one child of each resource, and gives the time until all of them are as wanted, and the requests.
func (u *turn) allChildren(suffix string, do func() error, wanted func(now *unstructured.Unstructured) bool) (took time.Duration, counts map[string]int, err error) {
	missing := map[string]bool{}
	for _, name := range u.alive {
		missing[name+suffix] = true
	}
	_, counts, err = u.spent(func() error {
		follower, err := u.follow(u.b.Context(), configMaps)
		if err != nil {
			return err
		}
		defer func() { follower.stop() }()
		began, done := time.Now(), make(chan error, 1)
		go func() { done <- do() }()
		err = follower.until("all children as they should be", func(_ watch.Event, now *unstructured.Unstructured) bool {
			if wanted(now) {
				delete(missing, now.GetName())
			}
			return len(missing) == 0
		})
		took = time.Since(began)
		return errors.Join(<-done, err)
	})
	if err != nil {
		err = fmt.Errorf("%w; these are not: %v", err, slices.Sorted(maps.Keys(missing)))
	}
	return took, counts, err
}

// applyBox applies the box anew, and waits until it runs so.
func (u *turn) applyBox(resync time.Duration, text string) error {
	_, err := u.cluster.KubectlApply(u.b.Context(), fmt.Sprintf(sideBox, resync, text))
	return err
}

// templateChange changes one template, which one child of each resource has.
func (u *turn) templateChange() error {
	text := "changed in " + u.name
	took, counts, err := u.allChildren("-b", func() error {
		_, err := u.cluster.KubectlApply(u.b.Context(), u.define(text))
		return err
	}, func(now *unstructured.Unstructured) bool {
		a, _, _ := unstructured.NestedString(now.Object, "data", "a")
		return a == text
	})
	if err != nil {
		return err
	}
	u.add("template-change.time", took.Seconds())
	u.addRequests("template-change", counts, len(u.alive))
	u.t.Note("Requests each for a change of one template over %d resources, %s: %s.", len(u.alive), u.column, listed(counts, len(u.alive)))
	return nil
}

// late waits until what was counted of the work before is written, which is no part of the work that follows.
func (u *turn) late() {
	if !u.byHand {
		time.Sleep(health.SlowInterval)
	}
	u.counted()
}

// noOp has all resources reconciled again and again without a change.
func (u *turn) noOp() error {
	text := "changed in " + u.name
	if err := u.applyBox(oftenResynced, text); err != nil {
		return err
	}
	u.late()
	r, err := u.rests(u.t.idle)
	if err != nil {
		return err
	}
	cycles := int(float64(len(u.alive)) * float64(u.t.idle) / float64(oftenResynced))
	u.add("noop.requests", float64(r.requests))
	u.add("noop.cpu", milliseconds(r.cpu, cycles))
	if r.requests > 0 {
		u.t.Note("Requests in %s of resyncs of %d resources, %s: %s.", u.t.idle, len(u.alive), u.column, listed(r.counts, 1))
	}
	return u.applyBox(usualResync, text)
}

// chain makes resources whose children wait for each other, one after another.
func (u *turn) chain() error {
	took, _, counts, err := u.oneByOne(namesOf(u.chained, u.name, u.t.samples), func(name string) (time.Duration, error) {
		last := fmt.Sprintf("%s-%d", name, u.t.links-1)
		return u.awaited(configMaps, last, "there", func() error { return u.kube.Create(u.b.Context(), noiseOf(u.chained, name)) },
			func(event watch.Event, _ *unstructured.Unstructured) bool { return event.Type == watch.Added })
	})
	if err != nil {
		return err
	}
	u.add("chain.p50", took.quantile(0.5))
	u.addRequests("chain", counts, len(took))
	return nil
}

// restart ends the process and starts it again, once to see what it writes, and once for the time.
func (u *turn) restart() error {
	u.late()
	again := func() error {
		if err := u.process.stop(); err != nil {
			return err
		}
		u.audit.since(u.b, u.user)
		u.process = u.start(u.b)
		return nil
	}
	if err := again(); err != nil {
		return err
	}
	time.Sleep(u.t.idle) // whatever is written late is written by then
	counts, _ := u.audit.since(u.b, u.user)
	writes, reviews := split(counts)
	u.add("restart.writes", float64(writes))
	u.t.Note("Requests of a restart beside %d resources, %s: %d access reviews; %s.", len(u.alive), u.column, reviews, listed(counts, 1))
	if err := u.process.stop(); err != nil {
		return err
	}
	began, name := time.Now(), namesOf(u.kind, u.name+"-after", 1)[0]
	u.process = u.start(u.b)
	if _, err := u.stays(noiseOf(u.kind, name)); err != nil {
		return err
	}
	u.add("restart.time", time.Since(began).Seconds())
	return nil
}

// deleted deletes all resources.
func (u *turn) deleted() error {
	var took time.Duration
	_, counts, err := u.spent(func() error {
		follower, err := u.follow(u.b.Context(), noiseKind(u.kind))
		if err != nil {
			return err
		}
		defer func() { follower.stop() }()
		missing := map[string]bool{}
		for _, name := range u.alive {
			missing[name], follower.seen[name] = true, noiseOf(u.kind, name)
		}
		began := time.Now()
		if err := each(u.alive, func(name string) error { return u.kube.Delete(u.b.Context(), noiseOf(u.kind, name)) }); err != nil {
			return err
		}
		err = follower.until("all resources gone", func(event watch.Event, now *unstructured.Unstructured) bool {
			if event.Type == watch.Deleted {
				delete(missing, now.GetName())
			}
			return len(missing) == 0
		}, patience+time.Duration(len(missing))*slowest)
		took = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	u.add("deleted.time", took.Seconds())
	u.addRequests("deleted", counts, len(u.alive))
	u.alive = nil
	return nil
}

// cleared removes what the turn has made, so that the next contender begins as this one did. It waits for as long as something goes.
func (u *turn) cleared() error {
	ctx := u.b.Context()
	least, since := math.MaxInt, time.Now()
	for {
		var failed error
		for _, kind := range []string{u.kind, u.chained} {
			// The API server ends a deletion of thousands after a minute, so the rest is asked for again.
			failed = errors.Join(failed, u.kube.DeleteAllOf(ctx, noiseOf(kind, ""), client.InNamespace("default")))
		}
		left, err := u.count(ctx, configMaps.GroupVersion().WithKind("ConfigMapList"))
		left-- // kube-root-ca.crt stays
		switch failed = errors.Join(failed, err); {
		case failed == nil && left <= 0:
			return nil
		case err == nil && left < least:
			least, since = left, time.Now()
		case ctx.Err() != nil || time.Since(since) > patience:
			return errors.Join(failed, fmt.Errorf("%d ConfigMaps are left, and none has gone for %s", left, patience))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// none is an error while there is an object of a kind. The garbage collector takes processor time, too.
func (p *plane) none(ctx context.Context, kind schema.GroupVersionKind) error {
	n, err := p.count(ctx, kind)
	if err != nil {
		return err
	}
	if n > 0 {
		time.Sleep(200 * time.Millisecond)
		return fmt.Errorf("%d of %s are left, wanted none", n, kind.Kind)
	}
	return nil
}

// count is how many objects of a kind there are.
func (p *plane) count(ctx context.Context, kind schema.GroupVersionKind) (int, error) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(kind)
	err := p.kube.List(ctx, all, client.InNamespace("default"))
	return len(all.Items), err
}
