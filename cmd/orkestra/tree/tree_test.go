package tree

import (
	"fmt"
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

// cluster is that of the tests of `orkestra status`.
const cluster = "../status/testdata/cluster.yaml"

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func forbid(parts ...string) func(string) int {
	return func(path string) int {
		if slices.ContainsFunc(parts, func(part string) bool { return strings.HasSuffix(path, part) }) {
			return http.StatusForbidden
		}
		return 0
	}
}

// decorate adds a box over Deployments, with a selector.
func decorate(s *shared.APIServer, spec map[string]any) {
	spec["crd"] = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}
	spec["onReconcile"] = map[string]any{"configmaps": []any{map[string]any{"id": "page", "name": "{{ .metadata.name }}-dec"}}}
	crd := map[string]any{"name": "deployments.apps", "version": "v1", "kind": "Deployment", "established": true}
	s.Objects = append(s.Objects, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "OperatorBox", "metadata": map[string]any{"name": "decorator", "uid": "decorator"},
		"spec": spec, "status": map[string]any{"crd": crd},
	}})
}

// TestTreeGolden compares what is printed with the golden files; UPDATE_GOLDEN=true writes them.
func TestTreeGolden(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		change func(*shared.APIServer)
		code   int
	}{
		"all":      {code: exit.No},
		"resource": {args: []string{"shop/flowers"}, code: exit.No},
		"box":      {args: []string{"shops"}, code: exit.No},
		"json":     {args: []string{"-o", "json"}, code: exit.No},
		"yaml":     {args: []string{"shop/flowers", "-o", "yaml"}, code: exit.No},
		"no-rights": {args: []string{"-n", "default"}, code: exit.No, change: func(s *shared.APIServer) {
			s.Refuse = forbid("/pods", "/leases/orkestra-leader", "/secrets")
		}},
		"no-right-to-list-boxes": {args: []string{"shop/flowers"}, code: exit.No, change: func(s *shared.APIServer) { s.Refuse = forbid("/operatorboxes") }},
		"no-right-to-resources":  {code: exit.No, change: func(s *shared.APIServer) { s.Refuse = forbid("/shops") }},
		"not-selected-by-labels": {args: []string{"shop/flowers"}, code: exit.No, change: func(s *shared.APIServer) {
			decorate(s, map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"expose": "yes"}}})
		}},
		"not-selected-by-annotations": {code: exit.No, change: func(s *shared.APIServer) {
			decorate(s, map[string]any{"annotationSelector": map[string]any{"matchAnnotations": map[string]any{"expose": "yes"}}})
		}},
		"not-selected-itself": {args: []string{"deployment/flowers"}, change: func(s *shared.APIServer) {
			decorate(s, map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"expose": "yes"}}})
		}},
		"no-resources": {args: []string{"-n", "team-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := &shared.APIServer{Objects: shared.Objects(t, cluster)}
			if tc.change != nil {
				tc.change(server)
			}
			stdout, stderr, code := shared.Run(t, NewCommand(clock), "", append([]string{"tree", "--kubeconfig", server.Start(t)}, tc.args...)...)
			g.Expect(code).To(Equal(tc.code), stdout+stderr)
			g.Expect(stdout).NotTo(Or(ContainSubstring("hunter2"), ContainSubstring("aHVudGVyMg")), "what Secrets hold is not shown")
			got := fmt.Sprintf("$ orkestra tree %s\n%s--- standard error\n%s--- exit code %d\n", strings.Join(tc.args, " "), stdout, stderr, code)
			shared.Golden(t, name+".txt", got)
		})
	}
}

func TestTreeSaysWhyThereIsNothingToSay(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		change func(*shared.APIServer)
		code   int
		want   string
	}{
		"two arguments":      {args: []string{"a/b", "c/d"}, code: exit.Usage, want: `wanted at most one argument BOX or KIND/NAME, such as website/hello, got 2: "a/b", "c/d"`},
		"no name":            {args: []string{"shop/"}, code: exit.Usage, want: `"shop/": wanted BOX, or KIND/NAME`},
		"an absent box":      {args: []string{"shop"}, code: exit.No, want: `OperatorBox "shop" not found, did you mean "shops"?`},
		"an unknown format":  {args: []string{"-o", "wide"}, code: exit.Usage, want: `--output "wide": wanted json or yaml`},
		"an unknown kind":    {args: []string{"shpo/flowers"}, code: exit.No, want: `did you mean "shop"?`},
		"an absent resource": {args: []string{"shop/weeds"}, code: exit.No, want: `shops.demo.example.com "weeds" not found in namespace "default"`},
		"no boxes": {code: exit.No, want: "there are no OperatorBoxes", change: func(s *shared.APIServer) {
			s.Objects = slices.DeleteFunc(s.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "OperatorBox" })
			s.Objects = append(s.Objects, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "orkestra.orkspace.io/v1alpha1", "kind": "CRDHealth", "metadata": map[string]any{"name": "a"}}})
		}},
		"no right to boxes, and no mark": {args: []string{"shop/flowers"}, code: exit.No, want: `error: Shop "flowers": no box has come to it yet, and whether one serves shops.demo.example.com is not known: listing OperatorBoxes: `, change: func(s *shared.APIServer) {
			s.Refuse = forbid("/operatorboxes")
			for _, obj := range s.Objects {
				if obj.GetKind() == "Shop" {
					obj.SetAnnotations(nil)
				}
			}
		}},
		"no right to boxes": {code: exit.No, want: "error: listing OperatorBoxes: ", change: func(s *shared.APIServer) { s.Refuse = forbid("/operatorboxes") }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := &shared.APIServer{Objects: shared.Objects(t, cluster)}
			if tc.change != nil {
				tc.change(server)
			}
			stdout, stderr, code := shared.Run(t, NewCommand(clock), "", append([]string{"tree", "--kubeconfig", server.Start(t)}, tc.args...)...)
			g.Expect(code).To(Equal(tc.code), stdout+stderr)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}

// A resource of a box may be a child of another: its own children are shown.
func TestTreeGoesIntoResourcesOfOtherBoxes(t *testing.T) {
	g := NewWithT(t)
	objects := shared.Objects(t, cluster, "testdata/mall.yaml")
	for _, obj := range objects {
		if obj.GetKind() == "Shop" {
			obj.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "mall", v1alpha1.LabelBox: "malls"})
			obj.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: "inner"})
		}
	}
	server := &shared.APIServer{Objects: objects}
	stdout, stderr, code := shared.Run(t, NewCommand(clock), "", "tree", "mall/north", "--kubeconfig", server.Start(t))
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stderr).To(BeEmpty())
	g.Expect(stdout).To(MatchRegexp(`(?s)OperatorBox/malls .*\n└─Mall/default/north .*\n  └─Shop/flowers .*\n    ├─page \(ConfigMap\) .*\n    │ └─ReplicaSet/flowers-7f47 `))
}

// What a resource patches is shown by what it has noted, with whether the patch stands there.
func TestTreeShowsPatches(t *testing.T) {
	g := NewWithT(t)
	objects := shared.Objects(t, cluster)
	for _, obj := range objects {
		switch {
		case obj.GetKind() == "Shop":
			obj.SetAnnotations(map[string]string{v1alpha1.AnnotationManagedBy: "shops", v1alpha1.AnnotationPatches: `[
				{"id":"a","apiVersion":"v1","kind":"ConfigMap","namespace":"default","name":"flowers-old"},
				{"id":"b","apiVersion":"v1","kind":"ConfigMap","namespace":"default","name":"flowers-old"},
				{"id":"c","apiVersion":"apps/v1","kind":"Deployment","namespace":"default","name":"gone"},
				{"id":"d","apiVersion":"v1","kind":"Secret","namespace":"default","name":"flowers-token"},
				{"id":"e","apiVersion":"v1","kind":"ConfigMap","namespace":"team-b","name":"far"}]`})
		case obj.GetName() == "flowers-old":
			obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: v1alpha1.PatchManager("flowers", "a"), Operation: metav1.ManagedFieldsOperationApply}})
		}
	}
	server := &shared.APIServer{Objects: objects, Refuse: forbid("/secrets/flowers-token")}
	stdout, stderr, code := shared.Run(t, NewCommand(clock), "", "tree", "shop/flowers", "--kubeconfig", server.Start(t))
	g.Expect(code).To(Equal(exit.No), stderr)
	g.Expect(strings.Join(strings.Fields(stdout), " ")).To(And(
		ContainSubstring("ConfigMap/flowers-old - - patch a: Undeclared: it stands, and is to be taken back "),
		Not(ContainSubstring("patch b")), Not(ContainSubstring("patch c")), // nothing is left of them
		ContainSubstring("Secret/flowers-token Unknown - patch d: ")))

	for _, obj := range objects {
		if obj.GetKind() == "OperatorBox" { // what it declares is not known then
			obj.Object["spec"].(map[string]any)["onReconcile"] = map[string]any{"configmaps": []any{map[string]any{"name": "{{ .spec.none }}"}}}
			delete(obj.Object["status"].(map[string]any), "revision")
		}
	}
	stdout, stderr, _ = shared.Run(t, NewCommand(clock), "", "tree", "shop/flowers", "--kubeconfig", server.Start(t))
	g.Expect(strings.Join(strings.Fields(stdout), " ")).To(And(
		ContainSubstring("ConfigMap/flowers-old True - patched by a "),
		ContainSubstring("ConfigMap/flowers-old False - patch b: Missing: noted, and not set "),
		ContainSubstring("Deployment/gone False - patch c: Missing: it does not exist "),
		ContainSubstring("ConfigMap/team-b/far False - patch e: Missing: it does not exist"),
		ContainSubstring("Secret/flowers-token Unknown - patch d: ")), stderr)
}

func TestTreeOfABoxWhoseDefinitionCannotBeRead(t *testing.T) {
	g := NewWithT(t)
	objects := shared.Objects(t, cluster)
	for _, obj := range objects {
		if obj.GetKind() == "OperatorBox" {
			obj.Object["spec"] = map[string]any{"crd": map[string]any{"definition": map[string]any{"group": "demo.example.com"}}}
			delete(obj.Object, "status")
		}
	}
	server := &shared.APIServer{Objects: objects}
	stdout, stderr, code := shared.Run(t, NewCommand(clock), "", "tree", "--kubeconfig", server.Start(t))
	g.Expect(code).To(Equal(exit.No), stderr)
	g.Expect(stdout).To(ContainSubstring(`: its crd.definition can't be read, and it has installed no CRD`))
}

// A box is named as for other commands, and shown alone. Its name is enough where boxes may not be listed.
func TestTreeOfABox(t *testing.T) {
	g := NewWithT(t)
	server := &shared.APIServer{Objects: shared.Objects(t, cluster), Refuse: forbid("/operatorboxes")}
	decorate(server, map[string]any{})
	config := server.Start(t)
	var first string
	for _, named := range []string{"shops", "box/shops", "boxes/shops", "operatorbox/shops", "obox/shops"} {
		stdout, stderr, code := shared.Run(t, NewCommand(clock), "", "tree", named, "--kubeconfig", config)
		g.Expect(code).To(Equal(exit.No), stdout+stderr)
		if first == "" {
			first = stdout
		}
		g.Expect(stdout).To(And(Equal(first), ContainSubstring("OperatorBox/shops "), ContainSubstring("Shop/default/flowers "), Not(ContainSubstring("decorator"))), named)
	}
}
