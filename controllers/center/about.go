package center

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/engine/web/api"
)

// About is what events are looked for: a resource and its children.
type About struct {
	// UIDs are those of the objects.
	UIDs map[types.UID]bool
	// Workloads are the children that have Pods. No cache has those Pods, so they are known by the names that Kubernetes' controllers give them.
	Workloads []Workload
}

// Workload is a child that has Pods.
type Workload struct{ Kind, Name string }

// suffixes are the ends of the names of what the controllers of Kubernetes make for a workload: by the kind of the workload, and of what is made. Random
// names are of the letters of k8s.io/apimachinery/pkg/util/rand.
var suffixes = map[string]map[string]*regexp.Regexp{ //nolint:gochecknoglobals // a constant
	"Deployment":  {"ReplicaSet": ends(hash), kindPod: ends(hash + random)},
	"ReplicaSet":  {kindPod: ends(random)},
	"DaemonSet":   {kindPod: ends(random)},
	"StatefulSet": {kindPod: ends(`-\d+`)},
	"Job":         {kindPod: ends(`(-\d+)?` + random)},
	"CronJob":     {"Job": ends(`-\d+`), kindPod: ends(`-\d+` + random)},
}

const (
	kindPod = "Pod"

	random = `-[bcdfghjklmnpqrstvwxz2456789]{5}`
	hash   = `-[bcdfghjklmnpqrstvwxz2456789]{1,10}`
)

func ends(pattern string) *regexp.Regexp { return regexp.MustCompile("^" + pattern + "$") }

// AboutResource gives what events about a resource are about.
func AboutResource(of *inspect.Resource) About {
	about := About{UIDs: map[types.UID]bool{of.UID(): true}}
	for _, d := range of.Declarations {
		child := d.Child()
		if child == nil {
			continue
		}
		about.UIDs[child.GetUID()] = true
		if suffixes[d.Kind] != nil {
			about.Workloads = append(about.Workloads, Workload{Kind: d.Kind, Name: child.GetName()})
		}
	}
	return about
}

// Has says whether an event is about one of the objects. What Pods say counts where it is a warning: the rest is noise beside that of the resource.
func (a About) Has(e *corev1.Event) bool {
	if a.UIDs[e.InvolvedObject.UID] {
		return true
	}
	return e.Type == corev1.EventTypeWarning && a.makes(e.InvolvedObject.Kind, e.InvolvedObject.Name)
}

// makes says whether one of the workloads makes an object of a name.
func (a About) makes(kind, name string) bool {
	return slices.ContainsFunc(a.Workloads, func(w Workload) bool {
		end, is := strings.CutPrefix(name, w.Name)
		pattern := suffixes[w.Kind][kind]
		return is && pattern != nil && pattern.MatchString(end)
	})
}

// awaitsChild are the reasons for which a resource waits for a child, or has one that failed: what the Pods of children say may be why. For another reason
// it would be something of the time before.
var awaitsChild = map[string]bool{ //nolint:gochecknoglobals // a constant
	v1alpha1.ReasonChildrenNotCurrent: true, v1alpha1.ReasonChildFailed: true, v1alpha1.ReasonWaitingForGate: true, v1alpha1.ReasonRollingOut: true,
}

// maxWarnings is how many warnings stand beside a cause.
const maxWarnings = 3

// warnings gives the newest ones of some events that are about what workloads make, each once.
func (a About) warnings(events []api.Event) []api.Event {
	var out []api.Event
	for _, e := range events {
		kind, name, _ := strings.Cut(e.Object, "/")
		told := slices.ContainsFunc(out, func(o api.Event) bool { return o.Reason == e.Reason && o.Message == e.Message })
		if e.Type == corev1.EventTypeWarning && !told && a.makes(kind, name) {
			out = append(out, e)
		}
		if len(out) == maxWarnings {
			break
		}
	}
	return out
}

// key tells a set of objects from others: who sees other children of a resource sees other events.
func (a About) key() string {
	sum := sha256.New()
	for _, uid := range slices.Sorted(maps.Keys(a.UIDs)) {
		_, _ = sum.Write([]byte(uid + "\n")) // it never fails
	}
	for _, w := range a.Workloads {
		_, _ = sum.Write([]byte(w.Kind + "/" + w.Name + "\n"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
