package actions

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// world is a cluster with the box "shops" and the resource "flowers", and somebody who may do all.
type world struct{ *shared.APIServer }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{&shared.APIServer{
		Objects: shared.Objects(t, "../status/testdata/cluster.yaml"), Allow: func(authorizationv1.SubjectAccessReviewSpec) bool { return true },
	}}
	w.box().SetResourceVersion("1")
	w.renewed(time.Now())
	return w
}

// renewed says when the manager has renewed its Lease.
func (w *world) renewed(at time.Time) {
	w.object("Lease", "orkestra-leader").Object["spec"].(map[string]any)["renewTime"] = at.UTC().Format(metav1.RFC3339Micro)
}

func (w *world) object(kind, name string) *unstructured.Unstructured {
	return w.Objects[slices.IndexFunc(w.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })]
}

func (w *world) box() *unstructured.Unstructured  { return w.object("OperatorBox", "shops") }
func (w *world) shop() *unstructured.Unstructured { return w.object("Shop", "flowers") }

func (w *world) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	for _, command := range NewCommands(clock) {
		if command.Name() == args[0] {
			return shared.Run(t, command, "", append(args, "--kubeconfig", w.Start(t))...)
		}
	}
	t.Fatalf("there is no command %q", args[0])
	return "", "", 0
}

func (w *world) suspend(yes bool) { w.box().Object["spec"].(map[string]any)["suspend"] = yes }

func (w *world) annotate(key, value string) {
	annotations := w.shop().GetAnnotations()
	annotations[key] = value
	w.shop().SetAnnotations(annotations)
}

const patchOfBox, patchOfShop = "PATCH /apis/orkestra.orkspace.io/v1alpha1/operatorboxes/shops", "PATCH /apis/demo.example.com/v1/namespaces/default/shops/flowers"

// Each command writes what the Control Center writes, once, or says why not and writes nothing.
func TestActions(t *testing.T) {
	const rolledBack = `{"generation":1,"revision":"shops-1","snapshot":"s","held":true}`
	for name, tc := range map[string]struct {
		args   []string
		change func(*world)
		wrote  string
		want   string
		check  func(Gomega, *world)
	}{
		"suspend": {args: []string{"suspend", "shops"}, wrote: patchOfBox, want: "operatorbox/shops is suspended: its resources and children stay as they are", check: func(g Gomega, w *world) {
			g.Expect(w.box().Object["spec"]).To(HaveKeyWithValue("suspend", true))
		}},
		"suspend, by its kind":    {args: []string{"suspend", "obox/shops"}, wrote: patchOfBox, want: "operatorbox/shops is suspended"},
		"suspend, suspended":      {args: []string{"suspend", "shops"}, change: func(w *world) { w.suspend(true) }, want: `OperatorBox "shops": it is suspended already`},
		"suspend, absent":         {args: []string{"suspend", "shop"}, want: `OperatorBox "shop" not found, did you mean "shops"?`},
		"suspend, without rights": {args: []string{"suspend", "shops"}, change: func(w *world) { w.Allow = nil }, want: `you may not patch operatorboxes.orkestra.orkspace.io "shops"`},
		"suspend, in Git": {args: []string{"suspend", "shops"}, want: "Flux manages this box", change: func(w *world) {
			w.box().SetLabels(map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps"})
		}},
		"suspend a resource": {args: []string{"suspend", "shop/flowers"}, want: `"shop/flowers": a resource is paused: orkestra pause shop/flowers`},
		"resume": {args: []string{"resume", "shops"}, change: func(w *world) { w.suspend(true) }, wrote: patchOfBox, want: "operatorbox/shops goes on", check: func(g Gomega, w *world) {
			g.Expect(w.box().Object["spec"]).NotTo(HaveKey("suspend"))
		}},
		"resume a resource": {args: []string{"resume", "shop/flowers"}, change: func(w *world) { w.annotate(v1alpha1.AnnotationPaused, "true") }, wrote: patchOfShop, want: "shop/flowers goes on", check: func(g Gomega, w *world) {
			g.Expect(w.shop().GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationPaused))
		}},
		"pause": {args: []string{"pause", "shops.demo.example.com/flowers"}, wrote: patchOfShop, want: "shop/flowers is paused: nothing is made or corrected", check: func(g Gomega, w *world) {
			g.Expect(w.shop().GetAnnotations()).To(And(HaveKeyWithValue(v1alpha1.AnnotationPaused, "true"), Not(HaveKey(v1alpha1.AnnotationLastAction))))
		}},
		"pause a box, by its kind": {args: []string{"pause", "obox/shops"}, want: `"shops": a box is suspended: orkestra suspend shops`},
		"pause, absent":            {args: []string{"pause", "shop/weeds"}, want: `shops.demo.example.com "weeds" not found in namespace "default"`},
		"pause a child":            {args: []string{"pause", "cm/flowers-old"}, want: `ConfigMap "flowers-old" is no resource of a box, but a child`},
		"reconcile": {args: []string{"reconcile", "shop/flowers"}, wrote: patchOfShop, want: "shop/flowers is marked for a reconcile, which the manager does at once", check: func(g Gomega, w *world) {
			g.Expect(w.shop().GetAnnotations()).To(HaveKey(v1alpha1.AnnotationReconcileAt))
		}},
		"reconcile, paused":        {args: []string{"reconcile", "shop/flowers"}, change: func(w *world) { w.annotate(v1alpha1.AnnotationPaused, "true") }, want: `Shop "flowers": it is paused`},
		"release":                  {args: []string{"release", "shop/flowers"}, change: func(w *world) { w.annotate(v1alpha1.AnnotationRolledBack, rolledBack) }, wrote: patchOfShop, want: "shop/flowers is released"},
		"release, not rolled back": {args: []string{"release", "shop/flowers"}, want: `Shop "flowers": it is not rolled back`},
		"refused by a server": {args: []string{"reconcile", "shop/flowers"}, want: `reading Shop "default/flowers": no right`, change: func(w *world) {
			w.Refuse = func(path string) int {
				if strings.HasSuffix(path, "/shops/flowers") {
					return http.StatusForbidden
				}
				return 0
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			if tc.change != nil {
				tc.change(w)
			}
			stdout, stderr, code := w.run(t, tc.args...)
			if tc.wrote == "" {
				g.Expect(code).To(Equal(exit.No))
				g.Expect(stdout).To(BeEmpty())
				g.Expect(stderr).To(And(HavePrefix("error: "), ContainSubstring(tc.want)))
				g.Expect(w.Wrote).To(BeEmpty())
				return
			}
			g.Expect(code).To(BeZero(), stderr)
			g.Expect(stdout).To(And(HavePrefix(tc.want), HaveSuffix("\n")))
			g.Expect(w.Wrote).To(HaveExactElements(tc.wrote))
			if tc.check != nil {
				tc.check(g, w)
			}
		})
	}
}

// One that fails holds up none, and each is named.
func TestOneThatFailsHoldsUpNone(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	stdout, stderr, code := w.run(t, "reconcile", "shop/weeds", "shop/flowers", "shpo/flowers")
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stdout).To(Equal("shop/flowers is marked for a reconcile, which the manager does at once\n"))
	g.Expect(stderr).To(And(ContainSubstring(`"weeds" not found`), ContainSubstring(`did you mean "shop"?`)))
	g.Expect(w.Wrote).To(HaveExactElements(patchOfShop))
}

// Without a manager nothing comes of an order until one is there, and the answer says so. The Lease tells, and is read once for all that is ordered.
func TestWithoutAManager(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	w.renewed(time.Now().Add(-5 * time.Minute))
	reads, refuse := 0, 0
	w.Refuse = func(path string) int {
		if strings.Contains(path, "/leases/") {
			reads++
			return refuse
		}
		return 0
	}
	const want = `shop/flowers is marked for a reconcile. No manager seems to be at work (orkestra-5d8f has not renewed Lease "orkestra-system/orkestra-leader" for 5m): it is done when one is` + "\n"
	stdout, stderr, code := w.run(t, "reconcile", "shop/flowers", "shop/flowers")
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(Equal(want + want))
	g.Expect(reads).To(Equal(1))

	stdout, _, _ = w.run(t, "pause", "shop/flowers")
	g.Expect(stdout).To(HavePrefix("shop/flowers is paused: nothing is made or corrected"))
	g.Expect(reads).To(Equal(1), "that is so whoever is at work")

	refuse = http.StatusForbidden
	w.shop().SetAnnotations(nil)
	stdout, _, _ = w.run(t, "reconcile", "shop/flowers")
	g.Expect(stdout).To(Equal("shop/flowers is marked for a reconcile, which the manager does at once\n"), "who may not read the Lease does not know")
}

func TestUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no box":                  {[]string{"suspend"}, "wanted BOX..."},
		"no name":                 {[]string{"pause", "shop/"}, `"shop/": wanted BOX, or KIND/NAME`},
		"pause a box":             {[]string{"pause", "shops"}, `"shops": a box is suspended: orkestra suspend shops`},
		"reconcile a box":         {[]string{"reconcile", "shops"}, `"shops": a box reconciles its resources by itself`},
		"release a box":           {[]string{"release", "shops"}, "A box goes back by orkestra rollback shops"},
		"revisions of none":       {[]string{"revisions"}, "wanted one argument BOX, got none"},
		"revisions of a resource": {[]string{"revisions", "shop/flowers"}, `"shop/flowers": wanted the name of a box`},
		"rollback of two":         {[]string{"rollback", "a", "b"}, "wanted one argument BOX, got 2: \"a\", \"b\""},
		"an unknown format":       {[]string{"rollback", "a", "-o", "wide"}, `--output "wide": wanted json or yaml`},
		"another one":             {[]string{"revisions", "a", "-o", "name"}, `--output "name": wanted json, wide or yaml`},
		"wide, of one":            {[]string{"revisions", "a", "--revision", "1", "-o", "wide"}, "wanted json or yaml with --revision"},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			stdout, stderr, code := w.run(t, tc.args...)
			g.Expect(code).To(Equal(exit.Usage), stderr)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(And(HavePrefix("error: "), ContainSubstring(tc.want)))
		})
	}
}
