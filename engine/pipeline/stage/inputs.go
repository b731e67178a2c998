package stage

import (
	"crypto/sha256"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// Inputs are what a cycle read. While none of it changes, another cycle would do the same, and need not be run.
//
// Versions are noted when they are read, not when the cycle ends: what changes in between must be seen by the next cycle.
// What this cycle itself created is noted by the API server's answer, so that its own events change nothing; but not where a gate or a
// template has read before that it was absent. Then the event of its creation makes the next cycle run, which reads it.
type Inputs struct {
	plan     *Plan
	resource string
	children map[types.UID]string
	observed []observation
	// readChildren says whether any step read the children. One that failed before that is not helped by their changes.
	readChildren bool
	at           time.Time // of the cycle
	expires      time.Time
}

// written marks a child that this cycle wrote after it was read: a child that existed, since the answer may hold changes of others that
// no stage has seen yet, or one that was absent. Such an input counts as changed.
const written = ""

func newInputs(p *Plan, stored *unstructured.Unstructured, at time.Time) *Inputs {
	return &Inputs{plan: p, resource: fingerprint(p, stored), children: map[types.UID]string{}, at: at}
}

// observation is something that a cycle read of what the box does not own: one object, a list, whether a box runs,
// or how one stands that it depends on.
type observation struct {
	kind            schema.GroupVersionKind
	namespace, name string
	selector        labels.Selector // of a list
	box             string
	dependency      *Dependency
	seen            string // what was found: the versions, or nothing
}

// now says what there is to be found at this moment.
func (o *observation) now(observer Observer) string {
	switch {
	case o.dependency != nil:
		return o.dependency.Unmet(observer.Dependency(o.dependency.Name))
	case o.box != "":
		return observer.Box(o.box).String()
	case o.selector != nil:
		return versionsOf(observer.Select(o.kind, o.namespace, o.selector))
	default:
		return versionOf(observer.Get(o.kind, o.namespace, o.name))
	}
}

func versionOf(obj *unstructured.Unstructured) string {
	if obj == nil {
		return ""
	}
	return string(obj.GetUID()) + "/" + obj.GetResourceVersion()
}

func versionsOf(objects []*unstructured.Unstructured) string {
	// A list may be long, and each resource keeps what it has read.
	sum := sha256.New()
	for _, obj := range objects {
		sum.Write([]byte(versionOf(obj) + "\n"))
	}
	return string(sum.Sum(nil))
}

// Unchanged says whether everything that was read is still the same.
func (in *Inputs) Unchanged(p *Plan, stored *unstructured.Unstructured, read Reader, now time.Time) bool {
	return in != nil && in.Difference(p, stored, read, now) == Difference{}
}

// Difference is the first thing that has changed since it was read; the zero value: nothing has. It names no object, since who is told of it may not
// be allowed to see that.
type Difference struct {
	// What has changed, in words.
	What string
	// Kind of the object that it was, or the name of the box; empty: it was none.
	Kind string
}

// String gives it in words.
func (d Difference) String() string {
	if d.Kind == "" {
		return d.What
	}
	return d.What + " " + d.Kind
}

// Difference finds what has changed since it was read.
func (in *Inputs) Difference(p *Plan, stored *unstructured.Unstructured, read Reader, now time.Time) Difference {
	switch {
	case in.plan != p:
		return Difference{What: "a change of the box, of its limits, or of kinds that it uses"}
	case in.resource != fingerprint(p, stored):
		if stored.GetDeletionTimestamp() != nil {
			return Difference{What: "the deletion of the resource"}
		}
		return Difference{What: "a change of the resource"}
	case in.expired(now):
		return Difference{What: "the time that the last reconcile has named"}
	}
	for i := range in.observed {
		if o := &in.observed[i]; o.now(read) != o.seen {
			return o.difference()
		}
	}
	if !in.readChildren {
		return Difference{}
	}
	count, changed := 0, false
	for _, kind := range read.Kinds() {
		for uid, version := range read.Versions(kind, stored) {
			count++
			if v := in.children[uid]; v == written || v != version {
				changed = true // to return from here would put the answer on the heap, in each reconcile that has nothing to do
				break
			}
		}
		if changed {
			return Difference{What: "a change of a child of kind", Kind: kind.Kind}
		}
	}
	if count != len(in.children) {
		return Difference{What: "a child that is gone"}
	}
	return Difference{}
}

// difference says what has changed of what was observed.
func (o *observation) difference() Difference {
	switch {
	case o.dependency != nil:
		return Difference{What: "a change of what the box depends on:", Kind: o.dependency.Name}
	case o.box != "":
		return Difference{What: "the start or the end of the box", Kind: o.box}
	default:
		return Difference{What: "a change of what it reads, of kind", Kind: o.kind.Kind}
	}
}

// StatusWritten takes our own status write out of what counts as a change: answer is the resource as it is after that.
func (in *Inputs) StatusWritten(stored, answer *unstructured.Unstructured) {
	if in == nil || !in.plan.ReadsStatus {
		return
	}
	seen := *stored
	seen.Object = maps.Clone(stored.Object)
	seen.Object["status"] = answer.Object["status"]
	in.resource = fingerprint(in.plan, &seen)
}

// SameResource says whether the resource itself is as it was: its generation, labels and annotations, and the plan. Its children and
// its status may have changed.
func (in *Inputs) SameResource(p *Plan, stored *unstructured.Unstructured) bool {
	return in != nil && in.plan == p && strings.HasPrefix(in.resource, authored(stored))
}

// expired says whether the inputs have changed by themselves. Where the clock has been set back since, nobody knows how long that
// would take.
func (in *Inputs) expired(now time.Time) bool {
	return !in.expires.IsZero() && (!now.Before(in.expires) || now.Before(in.at))
}

// Expires is when the inputs change by themselves; zero: never.
func (in *Inputs) Expires() time.Time {
	if in == nil {
		return time.Time{}
	}
	return in.expires
}

// fingerprint is what counts as an input of a resource: its status only for boxes that read it.
func fingerprint(p *Plan, stored *unstructured.Unstructured) string {
	text := authored(stored)
	if p.ReadsStatus {
		// Maps encode in the order of their keys.
		if status, err := json.Marshal(stored.Object["status"]); err == nil {
			text += string(status)
		}
	}
	return text
}

// authored is what people write of a resource: not our own marks.
func authored(stored *unstructured.Unstructured) string {
	var b strings.Builder
	b.WriteString(string(stored.GetUID()))
	b.WriteByte('/')
	b.WriteString(strconv.FormatInt(Edition(stored), 10))
	if stored.GetDeletionTimestamp() != nil {
		// What is left to finish is an input of a deletion.
		b.WriteString("/deleting")
		b.WriteString(strings.Join(stored.GetFinalizers(), ","))
	}
	writeSorted(&b, stored.GetLabels())
	writeSorted(&b, stored.GetAnnotations())
	b.WriteByte(0) // SameResource compares prefixes: without an end, "a=1" would match "a=12"
	return b.String()
}

// Edition tells the specs of a resource apart: it is its generation, or, of a kind whose objects have none, such as ConfigMaps and Services, a hash
// of all that is neither metadata nor status.
func Edition(resource *unstructured.Unstructured) int64 {
	if generation := resource.GetGeneration(); generation != 0 {
		return generation
	}
	return Content(resource)
}

// Content is a hash of all of a resource that is neither metadata nor status. What is noted on an object of others goes by it: the generation of a
// Deployment also counts changes of annotations, so that a note of it would change it.
func Content(resource *unstructured.Unstructured) int64 {
	content := maps.Clone(resource.Object)
	delete(content, "metadata")
	delete(content, compile.RootStatus)
	text, err := json.Marshal(content) // maps encode in the order of their keys
	if err != nil {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write(text) // a hash takes all that it is given
	return int64(h.Sum64() >> 1)
}

func writeSorted(b *strings.Builder, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if ourMarks[k] && (k != v1alpha1.AnnotationOrphan || m[k] == v1alpha1.True) { // people write it, too, and not always well
			continue
		}
		b.WriteByte('\n')
		b.WriteString(k)
		b.WriteByte('=')
		b.WriteString(m[k])
	}
}

// ReadChildren notes the versions of the children, when they are first read.
func (in *Inputs) ReadChildren(list []*unstructured.Unstructured) {
	if in.readChildren {
		return
	}
	in.readChildren = true
	for _, child := range list {
		in.children[child.GetUID()] = child.GetResourceVersion()
	}
}

// Wrote notes that the cycle wrote a child. fresh says that the answer is all that there is to know of it: the cycle made it, and nothing
// has read before that it was absent.
func (in *Inputs) Wrote(child *unstructured.Unstructured, fresh bool) {
	version := written
	if fresh {
		version = child.GetResourceVersion()
	}
	in.children[child.GetUID()] = version
}

// Observed says how many things were read that the box does not own.
func (in *Inputs) Observed() int { return len(in.observed) }

// Get gives an object that the box does not own, or nil, and makes it an input.
func (in *Inputs) Get(from Observer, kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	obj := from.Get(kind, namespace, name)
	in.observed = append(in.observed, observation{kind: kind, namespace: namespace, name: name, seen: versionOf(obj)})
	return obj
}

// Select gives the objects that a selector selects, and makes them an input.
func (in *Inputs) Select(from Observer, kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	objects := from.Select(kind, namespace, selector)
	in.observed = append(in.observed, observation{kind: kind, namespace: namespace, selector: selector, seen: versionsOf(objects)})
	return objects
}

// Box gives the kind that another box serves, an empty one while it does not run, and makes that an input.
func (in *Inputs) Box(from Observer, name string) schema.GroupVersionKind {
	kind := from.Box(name)
	in.observed = append(in.observed, observation{box: name, seen: kind.String()})
	return kind
}

// Unmet says what a dependency lacks, and makes that an input.
func (in *Inputs) Unmet(from Observer, d *Dependency) string {
	unmet := d.Unmet(from.Dependency(d.Name))
	in.observed = append(in.observed, observation{dependency: d, seen: unmet})
	return unmet
}

// ForgetDependencies takes them out of the inputs: what is Active does not wait for them any more.
func (in *Inputs) ForgetDependencies() {
	in.observed = slices.DeleteFunc(in.observed, func(o observation) bool { return o.dependency != nil })
}

// Take adds what another cycle of the resource has observed since it was last asked, and when that expires.
func (in *Inputs) Take(other *Inputs) {
	in.observed = append(in.observed, other.observed...)
	other.observed = nil
	in.ExpireAt(other.expires)
}

// As gives the inputs of a cycle that ran another plan, or another spec, as those of a plan for a resource as it is stored.
func (in *Inputs) As(p *Plan, stored *unstructured.Unstructured) *Inputs {
	as := *in
	as.plan, as.resource = p, fingerprint(p, stored)
	return &as
}

// ExpireAt makes the inputs change by themselves at a moment, or earlier; zero: they don't.
func (in *Inputs) ExpireAt(t time.Time) {
	if !t.IsZero() && (in.expires.IsZero() || t.Before(in.expires)) {
		in.expires = t
	}
}
