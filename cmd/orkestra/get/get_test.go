package get

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// server has the box "shops" with its health, the resource "flowers" that fails, one in another namespace that is paused, and a second box that has not
// run yet.
func server(t *testing.T) *shared.APIServer {
	t.Helper()
	s := &shared.APIServer{Objects: shared.Objects(t, "../status/testdata/cluster.yaml")}
	paused := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "demo.example.com/v1", "kind": "Shop"}}
	paused.SetNamespace("team-b")
	paused.SetName("books")
	paused.SetUID("books")
	paused.SetCreationTimestamp(metav1.NewTime(clock().Add(-time.Hour)))
	paused.SetAnnotations(map[string]string{v1alpha1.AnnotationPaused: "true"})
	second := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "OperatorBox", "spec": map[string]any{"crd": map[string]any{"name": "pages.demo.example.com"}},
		"metadata": map[string]any{"name": "pages", "uid": "pages", "creationTimestamp": "2026-01-02T03:04:00Z"},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": "False", "reason": "CRDNotFound", "message": "there is\nno such CRD", "lastTransitionTime": "2026-01-02T03:04:00Z"}}},
	}}
	health := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CRDHealth", "metadata": map[string]any{"name": "shops", "uid": "health"},
		"status": map[string]any{
			"state": "Degraded", "revision": "shops-1", "workers": int64(3), "queueDepth": int64(1), "lastReconcile": "2026-01-02T03:04:00Z",
			"resources": map[string]any{"total": int64(4), "ready": int64(1), "waiting": int64(1), "failing": int64(2)},
		},
	}}
	s.Objects = append(s.Objects, paused, second, health)
	return s
}

func run(t *testing.T, s *shared.APIServer, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, NewCommand(clock), "", append([]string{"get", "--kubeconfig", s.Start(t)}, args...)...)
}

const boxesTable = `NAME    KIND   STATE      REASON        SETTLED   FAILING   REVISION   AGE
pages   -      Unknown    CRDNotFound   -         -         -          5s
shops   Shop   Degraded   -             1/4       2         shops-1    24h
`

func TestGet(t *testing.T) {
	const flowers = "flowers   Failing   ChildFailed   24h     3m\n"
	for name, tc := range map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"boxes, by nothing":         {stdout: boxesTable},
		"boxes":                     {args: []string{"boxes"}, stdout: boxesTable},
		"boxes, by their kind":      {args: []string{"obox"}, stdout: boxesTable},
		"a box":                     {args: []string{"box", "shops"}, stdout: "NAME    KIND   STATE      REASON   SETTLED   FAILING   REVISION   AGE\nshops   Shop   Degraded   -        1/4       2         shops-1    24h\n"},
		"a box that is not there":   {args: []string{"boxes/shop"}, code: exit.No, stderr: "error: OperatorBox \"shop\" not found, did you mean \"shops\"?\n"},
		"resources":                 {args: []string{"shops"}, stdout: "NAME      STATE     REASON        SINCE   AGE\n" + flowers},
		"a resource":                {args: []string{"shop/flowers"}, stdout: "NAME      STATE     REASON        SINCE   AGE\n" + flowers},
		"one of two that are named": {args: []string{"shop", "flowers", "weeds"}, code: exit.No, stdout: "NAME      STATE     REASON        SINCE   AGE\n" + flowers, stderr: "error: shops.demo.example.com \"weeds\" not found in namespace \"default\"\n"},
		"resources of all":          {args: []string{"shp", "-A"}, stdout: "NAMESPACE   NAME      STATE     REASON        SINCE   AGE\ndefault     flowers   Failing   ChildFailed   24h     3m\nteam-b      books     Paused    -             -       60m\n"},
		"of a namespace":            {args: []string{"shops", "-n", "team-b"}, stdout: "NAME    STATE    REASON   SINCE   AGE\nbooks   Paused   -        -       60m\n"},
		"of an empty one":           {args: []string{"shops", "-n", "team-c"}, stderr: "No resources found in team-c namespace.\n"},
		"of a box":                  {args: []string{"shops", "--box", "shops"}, stdout: "NAME      STATE     REASON        SINCE   AGE\n" + flowers},
		"of another box":            {args: []string{"shops", "--box", "pages"}, code: exit.No, stderr: "error: OperatorBox \"pages\" does not serve shops.demo.example.com\n"},
		"of no box":                 {args: []string{"deploy"}, code: exit.No, stderr: "error: no OperatorBox serves deployments.apps: kubectl get deployments.apps shows its objects\n"},
		"boxes of a box":            {args: []string{"boxes", "--box", "shops"}, code: exit.No, stderr: "error: --box is for the resources of a box: name their kind, or a box by orkestra get boxes shops\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := run(t, server(t), tc.args...)
			g.Expect(code).To(Equal(tc.code), stderr)
			g.Expect(stdout).To(Equal(tc.stdout))
			g.Expect(stderr).To(Equal(tc.stderr))
		})
	}
}

// TestGetSaysWhyNothingIsKnown: where the status can't be written, no manager will say how a resource fares.
func TestGetSaysWhyNothingIsKnown(t *testing.T) {
	g, s := NewWithT(t), server(t)
	for _, obj := range s.Objects {
		switch obj.GetKind() {
		case "CustomResourceDefinition":
			versions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "versions")
			delete(versions[0].(map[string]any), "subresources")
			g.Expect(unstructured.SetNestedSlice(obj.Object, versions, "spec", "versions")).To(Succeed())
		case "Shop":
			delete(obj.Object, "status")
		}
	}
	const why = "version v1 of shops.demo.example.com has no status subresource: results are in events and in CRDHealth only"
	stdout, stderr, code := run(t, s, "shops", "-A", "-o", "wide")
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stderr).To(Equal("How these resources fare is not in their status: " + why + "\n"))
	g.Expect(stdout).To(And(MatchRegexp(`(?m)^default +flowers +Unknown +NoStatusSubresource .* `+why+`$`), MatchRegexp(`(?m)^team-b +books +Paused +- `)))
}

// TestGetSaysThatNoManagerIsAtWork: on standard error, beside tables alone.
func TestGetSaysThatNoManagerIsAtWork(t *testing.T) {
	for _, tc := range []struct {
		args []string
		says bool
	}{{nil, true}, {[]string{"shops"}, true}, {[]string{"shops", "-o", "wide"}, true}, {[]string{"-o", "json"}, false}, {[]string{"shops", "-o", "yaml"}, false}} {
		g, s := NewWithT(t), server(t)
		for _, obj := range s.Objects {
			if obj.GetKind() == "Lease" {
				obj.Object["spec"].(map[string]any)["renewTime"] = "2026-01-02T03:03:49.000000Z"
			}
		}
		stdout, stderr, code := run(t, s, tc.args...)
		g.Expect(code).To(BeZero(), stderr)
		g.Expect(stdout).To(And(Not(BeEmpty()), Not(ContainSubstring("No manager"))))
		want := ""
		if tc.says {
			want = "No manager is at work, or it runs with --leader-elect=false and has had nothing to write: orkestra-5d8f has not renewed Lease \"orkestra-system/orkestra-leader\" for 16s. What statuses say may be as old as that\n"
		}
		g.Expect(stderr).To(Equal(want), strings.Join(tc.args, " "))
	}
}

func TestGetWide(t *testing.T) {
	g := NewWithT(t)
	stdout, _, code := run(t, server(t), "-o", "wide")
	g.Expect(code).To(BeZero())
	g.Expect(strings.Split(stdout, "\n")).To(HaveExactElements(
		MatchRegexp(`^NAME +KIND +STATE +REASON +SETTLED +FAILING +REVISION +AGE +CRD +WORKERS +QUEUE +LAST RECONCILE +MESSAGE$`),
		MatchRegexp(`^pages +- +Unknown +CRDNotFound +- +- +- +5s +pages.demo.example.com +0 +0 +- +there is no such CRD$`),
		MatchRegexp(`^shops +Shop +Degraded +- +1/4 +2 +shops-1 +24h +shops.demo.example.com +3 +1 +5s$`), BeEmpty()))
	stdout, _, _ = run(t, server(t), "shops", "-o", "wide")
	g.Expect(stdout).To(MatchRegexp(`(?m)^flowers +Failing +ChildFailed +24h +3m +shops +Job "flowers-setup": BackoffLimitExceeded`))
}

func TestGetForPrograms(t *testing.T) {
	g := NewWithT(t)
	var list struct {
		Items []map[string]any `json:"items"`
	}
	stdout, _, _ := run(t, server(t), "-o", "json")
	g.Expect(json.Unmarshal([]byte(stdout), &list)).To(Succeed())
	g.Expect(list.Items).To(HaveExactElements(HaveKeyWithValue("name", "pages"), And(HaveKeyWithValue("name", "shops"), HaveKeyWithValue("state", "Degraded"))))
	stdout, _, _ = run(t, server(t), "shops", "-A", "-o", "json")
	g.Expect(json.Unmarshal([]byte(stdout), &list)).To(Succeed())
	g.Expect(list.Items).To(HaveExactElements(
		And(HaveKeyWithValue("name", "flowers"), HaveKeyWithValue("box", "shops"), HaveKeyWithValue("state", "Failing")), HaveKeyWithValue("state", "Paused")))
	stdout, _, _ = run(t, server(t), "shop/flowers", "-o", "yaml")
	g.Expect(stdout).To(And(HavePrefix("box: shops\n"), ContainSubstring("\nname: flowers\n")), "one that is named stands alone")
	stdout, _, code := run(t, server(t), "shops", "-n", "team-c", "-o", "json")
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(MatchJSON(`{"items": []}`))
}

// A box shows what it selects, of its own kind and of those of others; where what it selects is not known, all are shown, with a note.
func TestGetShowsWhatABoxSelects(t *testing.T) {
	g, s := NewWithT(t), server(t)
	box := s.Objects[1].Object["spec"].(map[string]any)
	box["selector"] = map[string]any{"matchLabels": map[string]any{"sells": "books"}}
	s.Objects[len(s.Objects)-3].SetLabels(map[string]string{"sells": "books"})
	stdout, stderr, code := run(t, s, "shops", "-A")
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(And(ContainSubstring("books"), Not(ContainSubstring("flowers"))))

	box["onReconcile"] = map[string]any{"configmaps": []any{map[string]any{"name": "{{ .spec.none }}"}}}
	stdout, stderr, code = run(t, s, "shops", "-A")
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(And(ContainSubstring("books"), ContainSubstring("flowers")))
	g.Expect(stderr).To(ContainSubstring(`Which objects OperatorBox "shops" selects is not known, and all are shown: `))
}

func TestGetSaysWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"an unknown kind":             {[]string{"shpo"}, exit.No, `the server doesn't have a resource type "shpo", did you mean "shop"?`},
		"an unknown format":           {[]string{"-o", "name"}, exit.Usage, `--output "name": wanted json, wide or yaml`},
		"two kinds":                   {[]string{"shop/a", "page/b"}, exit.Usage, `"page/b": wanted objects of one kind, shop`},
		"a kind behind a name":        {[]string{"shop", "shop/a"}, exit.Usage, `"shop shop/a": wanted KIND and names, or KIND/NAME`},
		"a name in all namespaces":    {[]string{"shop", "a", "-A"}, exit.Usage, "say its namespace by -n"},
		"one namespace and all":       {[]string{"shop", "-A", "-n", "a"}, exit.Usage, "all-namespaces namespace"},
		"what may not be listed":      {[]string{"shops", "-n", "locked"}, exit.No, "listing objects of kind Shop: no right"},
		"a watch of what may not be":  {[]string{"shops", "-n", "locked", "-w"}, exit.No, "listing objects of kind Shop: no right"},
		"a watch of one that is none": {[]string{"shops", "weeds", "-w"}, exit.No, `"weeds" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), server(t)
			s.Refuse = func(path string) int {
				if strings.Contains(path, "/namespaces/locked/") {
					return http.StatusForbidden
				}
				return 0
			}
			stdout, stderr, code := run(t, s, tc.args...)
			g.Expect(code).To(Equal(tc.code), stderr)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(And(HavePrefix("error: "), ContainSubstring(tc.want)))
		})
	}
}

// TestGetOfWhoMayNotList: a box or a resource that is named is read by its name, and so is the box that is named beside a kind.
func TestGetOfWhoMayNotList(t *testing.T) {
	const flowers = "NAME      STATE     REASON        SINCE   AGE\nflowers   Failing   ChildFailed   24h     3m\n"
	lists := []string{"/operatorboxes", "/crdhealths"}
	for name, tc := range map[string]struct {
		args           []string
		refused        []string
		code           int
		stdout, stderr string
	}{
		"a box":                 {[]string{"boxes", "shops"}, lists, 0, "NAME    KIND   STATE      REASON   SETTLED   FAILING   REVISION   AGE\nshops   Shop   Degraded   -        1/4       2         shops-1    24h\n", ""},
		"two boxes":             {[]string{"boxes", "shops", "pages"}, lists, 0, boxesTable, ""},
		"a box without health":  {[]string{"boxes", "shops"}, slices.Concat(lists, []string{"/crdhealths/shops"}), 0, "NAME    KIND   STATE     REASON   SETTLED   FAILING   REVISION   AGE\nshops   Shop   Unknown   -        -         -         -          24h\n", "How boxes fare is not known: reading CRDHealth \"shops\": no right\n"},
		"no box":                {[]string{"boxes", "shop"}, lists, exit.No, "", "error: OperatorBox \"shop\" not found\n"},
		"a box that is refused": {[]string{"boxes", "shops"}, slices.Concat(lists, []string{"/operatorboxes/shops"}), exit.No, "", "error: reading OperatorBox \"shops\": no right\n"},
		"all boxes":             {nil, lists, exit.No, "", "error: listing objects of kind CRDHealth: no right\n"},
		"resources":             {[]string{"shops"}, lists, exit.No, "", "error: listing OperatorBoxes: no right; name the box of shops.demo.example.com by --box\n"},
		"resources of a box":    {[]string{"shops", "--box", "shops"}, lists, 0, flowers, ""},
		"a resource of a box":   {[]string{"shops", "flowers", "--box", "shops"}, slices.Concat(lists, []string{"/namespaces/default/shops"}), 0, flowers, ""},
		"of a box that is none": {[]string{"shops", "--box", "none"}, lists, exit.No, "", "error: OperatorBox \"none\" not found\n"},
		"of another box":        {[]string{"shops", "--box", "pages"}, lists, exit.No, "", "error: OperatorBox \"pages\" does not serve shops.demo.example.com\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), server(t)
			s.Refuse = func(path string) int {
				if slices.ContainsFunc(tc.refused, func(end string) bool { return strings.HasSuffix(path, end) }) {
					return http.StatusForbidden
				}
				return 0
			}
			stdout, stderr, code := run(t, s, tc.args...)
			g.Expect(code).To(Equal(tc.code), stderr)
			g.Expect(stdout).To(Equal(tc.stdout))
			g.Expect(stderr).To(Equal(tc.stderr))
		})
	}
}

// What is followed is printed when it is shown otherwise, and when it is gone: not for each write.
func TestChangesArePrintedOnce(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	f := &flags{now: clock}
	p := &printer{flags: f, shelf: newBoxes(), out: &out, lines: map[string]line{}}
	objects := server(t).Objects
	put := func(obj *unstructured.Unstructured, gone bool) {
		if l, changes := p.shelf.put(obj, gone); changes {
			g.Expect(p.change(l)).To(Succeed())
		}
	}
	health, box := objects[len(objects)-1], objects[1]
	put(health, false)
	g.Expect(out.String()).To(BeEmpty(), "the box is not known yet")
	put(box, false)
	put(box, false)
	g.Expect(out.String()).To(Equal("shops   Shop   Degraded   -   1/4   2   shops-1   24h\n"))
	out.Reset()
	healed := health.DeepCopy()
	healed.Object["status"].(map[string]any)["state"] = "Healthy"
	put(healed, false)
	healed.Object["status"].(map[string]any)["successCount"] = int64(9)
	put(healed, false)
	g.Expect(out.String()).To(Equal("shops   Shop   Healthy    -   1/4   2   shops-1   24h\n"), "a counter that is not shown is no change")
	out.Reset()
	put(box, true)
	put(box, true)
	g.Expect(out.String()).To(Equal("shops   Shop   Deleted    -   1/4   2   shops-1   24h\n"))
	out.Reset()
	put(box, false)
	g.Expect(out.String()).To(HavePrefix("shops   Shop   Healthy"), "it was made again")
}
