package status

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/engine/boxspec"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// clock stands two seconds behind the last renewal of the Lease.
func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// world is a cluster with the shop "flowers", which a test changes.
type world struct{ *shared.APIServer }

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{&shared.APIServer{Objects: shared.Objects(t, "testdata/cluster.yaml")}}
}

// object gives an object of the cluster.
func (w *world) object(kind, name string) *unstructured.Unstructured {
	for _, obj := range w.Objects {
		if obj.GetKind() == kind && obj.GetName() == name {
			return obj
		}
	}
	panic(kind + " " + name) // a mistake in a test
}

// set sets a field of an object.
func (w *world) set(kind, name string, value any, fields ...string) {
	if err := unstructured.SetNestedField(w.object(kind, name).Object, value, fields...); err != nil {
		panic(err)
	}
}

// remove takes objects out of the cluster.
func (w *world) remove(kind string) {
	var left []*unstructured.Unstructured
	for _, obj := range w.Objects {
		if obj.GetKind() != kind {
			left = append(left, obj)
		}
	}
	w.Objects = left
}

// decorate makes the box one over Deployments, with a selector.
func (w *world) decorate(spec map[string]any) {
	spec["crd"] = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}
	spec["onReconcile"] = map[string]any{"configmaps": []any{map[string]any{"id": "page", "data": map[string]any{"a": "b"}}}}
	w.object("OperatorBox", "shops").Object["spec"] = spec
	w.set("OperatorBox", "shops", map[string]any{"name": "deployments.apps", "version": "v1", "kind": "Deployment", "established": true}, "status", "crd")
	w.remove("ConfigMap")
}

// addPage makes the child that such a box declares.
func (w *world) addPage() {
	w.add("ConfigMap", "flowers")
	child := w.object("ConfigMap", "flowers")
	child.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "web", v1alpha1.LabelBox: "shops"})
	child.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: "page"})
}

// forbid refuses to answer for paths that hold one of these.
func (w *world) forbid(parts ...string) {
	w.Refuse = func(path string) int {
		for _, part := range parts {
			if strings.Contains(path, part) {
				return http.StatusForbidden
			}
		}
		return 0
	}
}

// status runs the command.
func (w *world) status(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, NewCommand(clock), "", append([]string{"status", "--kubeconfig", w.Start(t)}, args...)...)
}

// doesNotCompile has the box of shops say something that is no field.
func doesNotCompile(w *world) {
	w.set("OperatorBox", "shops", "shops.demo.example.com", "spec", "crd", "name")
	w.set("OperatorBox", "shops", []any{map[string]any{"image": "a", "nonsense": "b"}}, "spec", "onReconcile", "deployments")
	w.set("OperatorBox", "shops", []any{map[string]any{"type": "Ready", "status": "False", "reason": "CompileFailed", "message": "spec.onReconcile.deployments[0].nonsense: unknown field",
		"lastTransitionTime": "2026-01-01T03:04:05Z"}}, "status", "conditions")
}

// TestStatusGolden compares what is printed with the golden files; UPDATE_GOLDEN=true writes them.
func TestStatusGolden(t *testing.T) {
	ready := func(w *world) {
		w.set("Shop", "flowers", []any{
			map[string]any{"type": "Ready", "status": "True", "reason": "ReconcileSucceeded", "message": "", "observedGeneration": int64(2), "lastTransitionTime": "2026-01-01T03:04:05Z"},
			map[string]any{"type": "Reconciling", "status": "True", "reason": "WaitingForGate", "message": "page: children.web.status.readyReplicas: wanted at least 1, actual absent",
				"lastTransitionTime": "2026-01-01T03:04:05Z"},
		}, "status", "conditions")
	}
	for name, tc := range map[string]struct {
		args   []string
		change func(*world)
		code   int
	}{
		"failed":           {args: []string{"shop/flowers"}, code: exit.No},
		"wide":             {args: []string{"shp/flowers", "-o", "wide"}, code: exit.No},
		"json":             {args: []string{"shops.demo.example.com/flowers", "-o", "json"}, code: exit.No},
		"yaml":             {args: []string{"Shop/flowers", "-o", "yaml"}, code: exit.No},
		"ready":            {args: []string{"shops/flowers", "-n", "default"}, change: ready},
		"of-somebody-else": {args: []string{"shop/flowers"}, change: func(w *world) { ready(w); w.object("Shop", "flowers").SetAnnotations(nil) }, code: exit.No},
		"older-status":     {args: []string{"shop/flowers"}, change: func(w *world) { ready(w); w.object("Shop", "flowers").SetGeneration(3) }, code: exit.No},
		"manager-away": {args: []string{"shop/flowers"}, change: func(w *world) {
			ready(w)
			w.set("Lease", "orkestra-leader", "2026-01-02T02:59:05.000000Z", "spec", "renewTime")
		}},
		"manager-released": {args: []string{"shop/flowers"}, change: func(w *world) { ready(w); w.set("Lease", "orkestra-leader", "", "spec", "holderIdentity") }},
		"never-installed":  {args: []string{"shop/flowers"}, change: func(w *world) { ready(w); w.remove("Lease") }},
		"no-rights": {args: []string{"shop/flowers"}, change: func(w *world) {
			w.forbid("/secrets", "/leases", "/configmaps/settings")
		}, code: exit.No},
		"box-does-not-compile": {args: []string{"shop/flowers"}, change: doesNotCompile, code: exit.No},
		"box-never-compiled": {args: []string{"shop/flowers"}, change: func(w *world) {
			doesNotCompile(w)
			w.set("Shop", "flowers", map[string]any{}, "status")
		}, code: exit.No},
		"deleting": {args: []string{"shop/flowers"}, change: func(w *world) {
			w.set("Shop", "flowers", "2026-01-02T03:04:00Z", "metadata", "deletionTimestamp")
			w.set("Secret", "flowers-token", "2026-01-02T03:04:00Z", "metadata", "deletionTimestamp")
			w.object("Secret", "flowers-token").SetFinalizers([]string{"example.com/hold"})
		}, code: exit.No},
		"not-selected": {args: []string{"shop/flowers"}, change: func(w *world) {
			ready(w)
			w.set("OperatorBox", "shops", map[string]any{"matchLabels": map[string]any{"a": "b"}}, "spec", "selector")
		}},
		"of-others-not-selected-by-labels": {args: []string{"deployment/flowers"}, change: func(w *world) {
			w.decorate(map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"expose": "yes"}}})
		}},
		"of-others-not-selected-by-annotations": {args: []string{"deployment/flowers"}, change: func(w *world) {
			w.decorate(map[string]any{"annotationSelector": map[string]any{"matchAnnotations": map[string]any{"expose": "yes"}}})
		}},
		"of-others-not-selected-json": {args: []string{"deployment/flowers", "-o", "json"}, change: func(w *world) {
			w.decorate(map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"expose": "yes"}}})
		}},
		"of-others-left": {args: []string{"deployment/flowers"}, change: func(w *world) {
			w.decorate(map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"expose": "yes"}}})
			w.addPage()
		}},
		"of-others-deleting": {args: []string{"deployment/flowers"}, change: func(w *world) {
			w.decorate(map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"expose": "yes"}}})
			w.addPage()
			w.set("Deployment", "flowers", "2026-01-02T03:04:00Z", "metadata", "deletionTimestamp")
			w.object("Deployment", "flowers").SetFinalizers([]string{v1alpha1.Finalizer})
		}, code: exit.No},
		"of-others-of-a-second-box": {args: []string{"deployment/flowers"}, change: func(w *world) {
			w.decorate(map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"expose": "yes"}}})
			second := w.object("OperatorBox", "shops").DeepCopy()
			second.SetName("third")
			second.SetUID("third")
			w.Objects = append(w.Objects, second)
			w.set("OperatorBox", "third", map[string]any{"matchLabels": map[string]any{"expose": "no"}}, "spec", "selector")
			w.object("Deployment", "flowers").SetLabels(map[string]string{"expose": "no"})
		}, code: exit.No},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			if tc.change != nil {
				tc.change(w)
			}
			stdout, stderr, code := w.status(t, tc.args...)
			g.Expect(code).To(Equal(tc.code), stderr)
			g.Expect(stdout).NotTo(Or(ContainSubstring("hunter2"), ContainSubstring("aHVudGVyMg")), "what Secrets hold is not shown")
			got := fmt.Sprintf("$ orkestra status %s\n%s--- standard error\n%s--- exit code %d\n", strings.Join(tc.args, " "), stdout, stderr, code)
			golden := filepath.Join("testdata", "golden", name+".txt")
			if os.Getenv("UPDATE_GOLDEN") == "true" {
				g.Expect(os.WriteFile(golden, []byte(got), 0o600)).To(Succeed())
			}
			want, err := os.ReadFile(golden)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cmp.Diff(string(want), got)).To(BeEmpty())
		})
	}
}

// What others write into a status is text on a terminal, and nothing else.
func TestStatusPrintsTextAlone(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	w.set("Shop", "flowers", []any{map[string]any{"type": "Ready", "status": "False", "reason": "\x1b[31mBad", "message": "one\ntwo\x1b[2J",
		"observedGeneration": int64(2), "lastTransitionTime": "2026-01-01T03:04:05Z"}}, "status", "conditions")
	w.set("OperatorBox", "shops", []any{map[string]any{"type": "Ready", "status": "False", "reason": "CompileFailed", "message": "x\x1b[2J",
		"lastTransitionTime": "2026-01-01T03:04:05Z"}}, "status", "conditions")
	stdout, stderr, code := w.status(t, "shop/flowers")
	g.Expect(code).To(Equal(exit.No), stderr)
	g.Expect(stdout).To(And(HavePrefix(`Shop default/flowers is not ready: \x1b[31mBad: one two\x1b[2J`+"\n"), ContainSubstring(`CompileFailed: x\x1b[2J`+"\n"),
		Not(ContainSubstring("\x1b"))))
}

// The declarations are those of the revision that runs, and not those that the box has now.
func TestStatusCompilesTheRevisionThatRuns(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	former := &v1alpha1.OperatorBox{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(w.object("OperatorBox", "shops").Object, former)).To(Succeed())
	data, err := boxspec.Data(former)
	g.Expect(err).NotTo(HaveOccurred())
	revision := boxspec.RevisionOf("shops", data)
	kept := &unstructured.Unstructured{}
	g.Expect(kept.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": %s,
		"metadata": {"namespace": "orkestra-system", "name": %q, "labels": {%q: "shops"}}}`, data, revision, v1alpha1.LabelRevisionOf))).To(Succeed())
	w.Objects = append(w.Objects, kept)
	w.set("OperatorBox", "shops", revision, "status", "revision")
	w.set("OperatorBox", "shops", map[string]any{"configmaps": []any{map[string]any{"id": "new"}}}, "spec", "onReconcile")

	stdout, stderr, code := w.status(t, "shop/flowers")
	g.Expect(code).To(Equal(exit.No), stderr)
	g.Expect(stdout).To(And(ContainSubstring("Box: shops, revision "+revision+"\n"), ContainSubstring("\nweb "), Not(ContainSubstring("\nnew "))))

	w.remove("ControllerRevision")
	stdout, _, _ = w.status(t, "shop/flowers")
	g.Expect(stdout).To(ContainSubstring(fmt.Sprintf(`What the box declares is not known: revision %q of box "shops" is no longer kept`, revision)))
}

// A resource that was rolled back has the children of a snapshot.
func TestStatusOfAResourceThatWasRolledBack(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	box := &v1alpha1.OperatorBox{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(w.object("OperatorBox", "shops").Object, box)).To(Succeed())
	mark := fmt.Sprintf(`{"generation": 2, "revision": "a", "snapshot": "flowers-1", "toGeneration": 1, "toRevision": %q, "since": "2026-01-01T03:04:05Z", "class": "Refused"}`, boxspec.Revision(box))
	w.object("Shop", "flowers").SetAnnotations(map[string]string{v1alpha1.AnnotationRolledBack: mark})
	stdout, stderr, code := w.status(t, "shop/flowers")
	g.Expect(code).To(Equal(exit.No), stderr)
	g.Expect(stdout).To(And(
		ContainSubstring(`with the spec of today, not with that it was rolled back to: ControllerRevision "flowers-1" is gone`), ContainSubstring("\nweb ")))
}

// Its snapshot is in the manager's namespace, and is read without the key: the mark has the hash of what it holds.
func TestStatusEvaluatesTheSnapshotThatAResourceWasRolledBackTo(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	box := &v1alpha1.OperatorBox{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(w.object("OperatorBox", "shops").Object, box)).To(Succeed())
	data := map[string]any{"box": "shops", "revision": boxspec.Revision(box), "generation": int64(1),
		"metadata": map[string]any{"name": "flowers", "namespace": "default", "uid": "flowers"}, "spec": w.object("Shop", "flowers").Object["spec"]}
	content, err := json.Marshal([]any{"flowers", 1, data})
	g.Expect(err).NotTo(HaveOccurred())
	hash := fmt.Sprintf("%x", sha256.Sum256(content))
	kept := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": int64(1), "data": data}}
	kept.SetNamespace("orkestra-system")
	kept.SetName("flowers-" + hash[:32])
	kept.SetLabels(map[string]string{v1alpha1.LabelSnapshot: v1alpha1.True, v1alpha1.LabelOwnerUID: "flowers"})
	kept.SetAnnotations(map[string]string{v1alpha1.AnnotationSignature: "of a key that is not here"})
	w.Objects = append(w.Objects, kept)
	mark := fmt.Sprintf(`{"generation": 2, "revision": "a", "snapshot": %q, "snapshotHash": %q, "toGeneration": 1, "toRevision": %q, "since": "2026-01-01T03:04:05Z", "class": "Refused"}`,
		kept.GetName(), hash, boxspec.Revision(box))
	w.object("Shop", "flowers").SetAnnotations(map[string]string{v1alpha1.AnnotationRolledBack: mark})
	stdout, stderr, code := w.status(t, "shop/flowers")
	g.Expect(code).To(Equal(exit.No), stderr)
	g.Expect(stdout).To(And(ContainSubstring("Its children are those of generation 1: it was rolled back"), Not(ContainSubstring("with the spec of today")), ContainSubstring("\nweb ")))

	kept.Object["data"].(map[string]any)["generation"] = int64(7)
	stdout, _, _ = w.status(t, "shop/flowers")
	g.Expect(stdout).To(ContainSubstring("with the spec of today, not with that it was rolled back to: ControllerRevision"))
}

// TestStatusOfAConstructor: the status is the reconciler's, and need not say whether the resource is ready. Nothing is called ready that nobody has called so.
func TestStatusOfAConstructor(t *testing.T) {
	const alone = "its reconciler writes no condition Ready. The box runs, and its health does not name it among "
	ready := func(fields map[string]any) map[string]any {
		c := map[string]any{"type": "Ready", "status": "True", "reason": "Serving", "message": "", "lastTransitionTime": "2026-01-01T03:04:05Z"}
		maps.Copy(c, fields)
		return map[string]any{"conditions": []any{c}}
	}
	started := func(status, reason, message string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "Started", "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T03:04:05Z"}}}
	}
	running := started("True", "Running", "")
	running["resources"] = map[string]any{"total": int64(1)}
	says := func(message string) map[string]any {
		s := started("True", "Running", "")
		s["conditions"] = append(s["conditions"].([]any), map[string]any{"type": "Ready", "status": "True", "reason": "Healthy", "message": message, "lastTransitionTime": "2026-01-01T03:04:05Z"})
		return s
	}
	overdue := says("the box works; but 1 of 2 workers is in a reconcile")
	overdue["overdue"] = []any{map[string]any{"namespace": "default", "name": "flowers"}}
	failing := started("True", "Running", "")
	failing["failing"] = []any{map[string]any{"namespace": "default", "name": "flowers", "reason": "ReconcileError", "step": "constructor", "message": "no key", "consecutiveFailures": int64(3)}}
	others := started("True", "Running", "")
	others["failing"] = []any{map[string]any{"namespace": "team-a", "name": "flowers", "reason": "ReconcileError", "step": "constructor", "message": "no key", "consecutiveFailures": int64(3)}}
	others["resources"] = map[string]any{"total": int64(20), "failing": int64(12)}
	for name, tc := range map[string]struct {
		status, health map[string]any
		change         func(*world)
		want           string
		code           int
	}{
		"nothing is said":             {health: running, want: "Whether Shop default/flowers is ready is not known: Unseen: " + alone + "those that fail\n", code: exit.No},
		"it may be at its first call": {health: says("the box works"), want: "Whether Shop default/flowers is ready is not known: Unseen: its status has no condition Ready. The box runs, and no reconcile of any resource has ended yet: ", code: exit.No},
		"its first call does not end": {health: overdue, want: "Shop default/flowers is not ready: Overdue: a reconcile of it is past its deadline and does not end: what runs in it does not heed its context\n", code: exit.No},
		"a later call does not end":   {status: ready(map[string]any{"observedGeneration": int64(2)}), health: overdue, want: "Shop default/flowers is ready\nBox: "},
		"not all failures are named":  {health: others, want: "Whether Shop default/flowers is ready is not known: Unseen: " + alone + "the 1 that it lists of 12 that fail\n", code: exit.No},
		"it fails":                    {health: failing, want: "Shop default/flowers is not ready: ReconcileError: constructor: no key\n", code: exit.No},
		"it fails, and was ready":     {status: ready(map[string]any{"observedGeneration": int64(2)}), health: failing, want: "Shop default/flowers is not ready: ReconcileError: constructor: no key\n", code: exit.No},
		"it is ready":                 {status: ready(map[string]any{"observedGeneration": int64(2)}), health: running, want: "Shop default/flowers is ready\n"},
		"of an older generation":      {status: ready(map[string]any{"observedGeneration": int64(1)}), health: running, want: "Shop default/flowers is not ready: Outdated: its status is that of generation 1, and generation 2 is there\n", code: exit.No},
		"the status is older": {status: func() map[string]any { s := ready(nil); s["observedGeneration"] = int64(1); return s }(), health: running,
			want: "Shop default/flowers is not ready: Outdated: its status is that of generation 1, and generation 2 is there\n", code: exit.No},
		"of no generation": {status: ready(nil), health: running, want: "Shop default/flowers is ready\n"},
		"the constructor fails": {status: ready(map[string]any{"observedGeneration": int64(2)}), health: started("False", "ConstructorFailed", "no key"),
			want: "Whether Shop default/flowers is ready is not known: NotRunning: the reconciler of the box is not at work: ConstructorFailed: no key, and what the status says may be of the time before it\n", code: exit.No},
		"it was never at work": {health: map[string]any{}, want: "Whether Shop default/flowers is ready is not known: NotRunning: the reconciler of the box is not at work, and", code: exit.No},
		"its own word": {status: ready(map[string]any{"status": "False", "observedGeneration": int64(2)}), health: started("False", "Starting", ""),
			want: "Shop default/flowers is not ready: Serving\n", code: exit.No},
		"no health":              {want: "Whether Shop default/flowers is ready is not known: Unseen: its status has no condition Ready, and the health of the box is not known: ", code: exit.No},
		"no health, but a state": {status: ready(map[string]any{"observedGeneration": int64(2)}), want: "Shop default/flowers is ready\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			box := w.object("OperatorBox", "shops")
			box.Object["spec"] = map[string]any{"crd": map[string]any{"name": "shops.demo.example.com"}, "reconciler": map[string]any{
				"default": false, "constructor": map[string]any{"location": "example.com/op", "function": "New", "resources": []any{map[string]any{"kind": "ConfigMap"}}},
			}}
			w.object("Shop", "flowers").Object["status"] = tc.status
			if tc.status == nil {
				delete(w.object("Shop", "flowers").Object, "status")
			}
			w.remove("CRDHealth")
			if tc.health != nil {
				w.Objects = append(w.Objects, &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CRDHealth", "metadata": map[string]any{"name": "shops"}, "status": tc.health,
				}})
			}
			stdout, stderr, code := w.status(t, "shop/flowers")
			g.Expect(code).To(Equal(tc.code), stdout+stderr)
			g.Expect(stdout).To(HavePrefix(tc.want))
			note := "Its status does not say of which generation it is: it has no observedGeneration\n"
			g.Expect(strings.Contains(stdout, note)).To(Equal(name == "of no generation"), stdout)
		})
	}
}

// TestStatusOfAnObjectOfOthers goes by what the box declares for it: the object's own status is not the box's, and has no condition Ready.
func TestStatusOfAnObjectOfOthers(t *testing.T) {
	for want, there := range map[string]bool{
		"Deployment default/flowers is not ready: Missing: page": false,
		"Deployment default/flowers is ready\n":                  true,
	} {
		t.Run(want, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			w.decorate(map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"expose": "yes"}}})
			w.object("Deployment", "flowers").SetLabels(map[string]string{"expose": "yes"})
			if there {
				w.addPage()
			}
			stdout, stderr, code := w.status(t, "deployment/flowers")
			g.Expect(stdout).To(HavePrefix(want), stderr)
			g.Expect(code).To(Equal(map[bool]int{true: 0, false: 1}[there]))
		})
	}
}

func TestStatusSaysWhyThereIsNothingToSay(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, tc := range map[string]struct {
		args   []string
		change func(*world)
		code   int
		want   string
	}{
		"no argument":       {code: exit.Usage, want: "wanted one argument KIND/NAME, such as website/hello, got none"},
		"two arguments":     {args: []string{"shop", "flowers"}, code: exit.Usage, want: "wanted one argument KIND/NAME, got 2: say shop/flowers"},
		"no name":           {args: []string{"shop"}, code: exit.Usage, want: `"shop": wanted KIND/NAME, such as website/hello`},
		"too many slashes":  {args: []string{"a/b/c"}, code: exit.Usage, want: `"a/b/c": wanted KIND/NAME`},
		"an unknown format": {args: []string{"shop/a", "-o", "xml"}, code: exit.Usage, want: `--output "xml": wanted json, wide or yaml`},
		"an unknown kind":   {args: []string{"shpo/flowers"}, code: exit.No, want: `the server doesn't have a resource type "shpo", did you mean "shop"?`},
		"an unknown group":  {args: []string{"shops.other.example.com/flowers"}, code: exit.No, want: `the server doesn't have a resource type "shops.other.example.com"`},
		"an absent one":     {args: []string{"shop/weeds"}, code: exit.No, want: `error: shops.demo.example.com "weeds" not found in namespace "default"`},
		"another namespace": {args: []string{"shop/flowers", "-n", "team-a"}, code: exit.No, want: `error: shops.demo.example.com "flowers" not found in namespace "team-a"`},
		"a kind of no box":  {args: []string{"cm/settings"}, change: func(w *world) { w.add("ConfigMap", "settings") }, code: exit.No, want: `ConfigMap "settings": no OperatorBox serves configmaps`},
		"a child": {args: []string{"cm/flowers-old"}, code: exit.No,
			want: `ConfigMap "flowers-old" is no resource of a box, but a child: it was made by the box "shops" for "flowers"; ask for that`},
		"a box that is gone": {args: []string{"shop/flowers"}, change: func(w *world) { w.set("OperatorBox", "shops", "others.demo.example.com", "spec", "crd", "name") }, code: exit.No,
			want: `OperatorBox "shops", which held it, is gone: nobody keeps the resource and its children. Make a box for shops.demo.example.com, or delete the resource`},
		"no right to the resource": {args: []string{"shop/flowers"}, change: func(w *world) { w.forbid("/shops/") }, code: exit.No, want: `error: reading Shop "default/flowers": no right`},
		"no right to boxes":        {args: []string{"cm/flowers-page"}, change: func(w *world) { w.add("ConfigMap", "flowers-page"); w.forbid("/operatorboxes") }, code: exit.No, want: `listing OperatorBoxes: `},
		"no Orkestra":              {args: []string{"cm/a"}, change: func(w *world) { w.remove("OperatorBox") }, code: exit.No, want: "has no OperatorBoxes: Orkestra is not installed there"},
		"no kubeconfig":            {args: []string{"shop/flowers", "--kubeconfig", "none"}, code: exit.No, want: "error: "},
		"nobody answers":           {args: []string{"shop/flowers", "--kubeconfig", shared.Kubeconfig(t, gone.URL)}, code: exit.No, want: "error: "},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			if tc.change != nil {
				tc.change(w)
			}
			stdout, stderr, code := w.status(t, tc.args...)
			g.Expect(code).To(Equal(tc.code), stdout+stderr)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}

// add adds an object that nobody made for a resource.
func (w *world) add(kind, name string) {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("v1")
	obj.SetKind(kind)
	obj.SetNamespace("default")
	obj.SetName(name)
	w.Objects = append(w.Objects, obj)
}
