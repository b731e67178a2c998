package audit

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// parsed reads an object in YAML.
func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	NewWithT(t).Expect(yaml.Unmarshal([]byte(text), &out)).To(Succeed())
	return out
}

// cluster has four boxes for one CRD.
const cluster = "testdata/cluster.yaml"

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// audit runs the command.
func audit(t *testing.T, server *shared.APIServer, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, NewCommand(clock), "", append([]string{"audit", "--kubeconfig", server.Start(t)}, args...)...)
}

func server(t *testing.T) *shared.APIServer {
	t.Helper()
	return &shared.APIServer{Objects: shared.Objects(t, cluster), Allow: rights}
}

// rights are what some may do: the account of team B all but to delete ConfigMaps, and jane what a member of team B may.
func rights(spec authorizationv1.SubjectAccessReviewSpec) bool {
	r := spec.ResourceAttributes
	switch spec.User {
	case "system:serviceaccount:team-b:shop":
		return spec.UID == "shop-b" && slices.Contains(spec.Groups, "system:serviceaccounts:team-b") && slices.Equal(spec.Extra["orkestra.orkspace.io/box"], []string{"team-b"}) &&
			r.Verb != "delete"
	case "jane":
		return slices.Contains(spec.Groups, "team-b") && slices.Contains(spec.Groups, "system:authenticated") &&
			(r.Verb == "update" && r.Resource == "operatorboxes" || r.Verb == "impersonate" && r.Namespace == "team-b" && r.Name == "shop" || r.Verb == "operate" && r.Group == "demo.example.com")
	default:
		return false
	}
}

// forbid refuses to answer for paths that end so.
func forbid(suffixes ...string) func(string) int {
	return func(path string) int {
		if slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) }) {
			return http.StatusForbidden
		}
		return 0
	}
}

// TestAuditGolden compares what is printed with the golden files; UPDATE_GOLDEN=true writes them.
func TestAuditGolden(t *testing.T) {
	both := []string{"--box-namespaces", "team-a,team-b"}
	for name, tc := range map[string]struct {
		args   []string
		change func(*shared.APIServer)
		code   int
	}{
		"all":                   {args: both, code: exit.No},
		"json":                  {args: append([]string{"-o", "json"}, both...), code: exit.No},
		"yaml":                  {args: append([]string{"team-b", "-o", "yaml"}, both...), code: exit.No},
		"accounts-required":     {args: append([]string{"shops", "--require-service-account"}, both...), code: exit.No},
		"namespace-not-allowed": {args: []string{"team-a", "--box-namespaces", "orkestra-system"}, code: exit.No},
		"one-namespace":         {args: []string{"shops", "-n", "team-b"}, code: exit.No},
		"as-jane":               {args: append([]string{"--as", "jane", "--as-group", "team-b"}, both...), code: exit.No},
		"as-an-account":         {args: append([]string{"team-b", "--as", "system:serviceaccount:team-b:ci"}, both...), code: exit.No},
		"no-rights": {args: both, code: exit.No, change: func(s *shared.APIServer) {
			s.Refuse = forbid("/serviceaccounts/shop", "/shops", "/subjectaccessreviews")
		}},
		"no-right-to-list-boxes": {args: append([]string{"team-b", "shops", "team-b"}, both...), code: exit.No, change: func(s *shared.APIServer) { s.Refuse = forbid("/operatorboxes") }},
		"no-right-to-reviews":    {args: append([]string{"--as", "jane"}, both...), code: exit.No, change: func(s *shared.APIServer) { s.Refuse = forbid("/subjectaccessreviews") }},
		"nothing-found": {args: append([]string{"team-b"}, both...), change: func(s *shared.APIServer) {
			s.Allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return true }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), server(t)
			if tc.change != nil {
				tc.change(s)
			}
			stdout, stderr, code := audit(t, s, tc.args...)
			g.Expect(code).To(Equal(tc.code), stdout+stderr)
			g.Expect(s.Wrote).To(BeEmpty())
			got := fmt.Sprintf("$ orkestra audit %s\n%s--- standard error\n%s--- exit code %d\n", strings.Join(tc.args, " "), stdout, stderr, code)
			shared.Golden(t, name+".txt", got)
		})
	}
}

func TestAuditSaysWhyThereIsNothingToSay(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		change func(*shared.APIServer)
		code   int
		want   string
	}{
		"an unknown format":   {args: []string{"-o", "wide"}, code: exit.Usage, want: `--output "wide": wanted json or yaml`},
		"groups of nobody":    {args: []string{"--as-group", "a"}, code: exit.Usage, want: "--as-group: wanted with --as"},
		"an absent box":       {args: []string{"shops", "weeds"}, code: exit.No, want: `error: OperatorBox "weeds" not found`},
		"no right to boxes":   {code: exit.No, want: "error: listing OperatorBoxes: ", change: func(s *shared.APIServer) { s.Refuse = forbid("/operatorboxes") }},
		"no such kubeconfig":  {args: []string{"--kubeconfig", "none"}, code: exit.No, want: "error: "},
		"no Orkestra at all":  {code: exit.No, want: "has no OperatorBoxes: Orkestra is not installed there", change: func(s *shared.APIServer) { s.Objects = nil }},
		"more than one box":   {args: []string{"weeds", "herbs"}, code: exit.No, want: `error: OperatorBox "weeds" not found`},
		"a flag that is none": {args: []string{"--who"}, code: exit.Usage, want: "unknown flag: --who"},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), server(t)
			if tc.change != nil {
				tc.change(s)
			}
			stdout, stderr, code := audit(t, s, tc.args...)
			g.Expect(code).To(Equal(tc.code), stdout+stderr)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}

// No boxes are no fault.
func TestAuditOfNothing(t *testing.T) {
	g := NewWithT(t)
	s := &shared.APIServer{Objects: []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CRDHealth", "metadata": map[string]any{"name": "a"}}}}}
	stdout, stderr, code := audit(t, s)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(Equal("0 boxes, 0 with findings\n"))
}

// A message names few of many resources.
func TestAuditNamesFewResources(t *testing.T) {
	g, s := NewWithT(t), server(t)
	for n := range 7 {
		shop := s.Objects[len(s.Objects)-1].DeepCopy()
		shop.SetDeletionTimestamp(nil)
		shop.SetName(fmt.Sprintf("shop-%d", n))
		s.Objects = append(s.Objects, shop)
	}
	stdout, _, code := audit(t, s, "shops")
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stdout).To(ContainSubstring("ResourcesBreakRules: default/large, default/shop-0, default/shop-1, default/shop-2, default/shop-3 and 4 more: "))
	g.Expect(stdout).To(ContainSubstring("9 of 10"))
}

// What others write into a status is text on a terminal, and nothing else.
func TestAuditPrintsTextAlone(t *testing.T) {
	g, s := NewWithT(t), server(t)
	for _, obj := range s.Objects {
		if obj.GetKind() == "OperatorBox" && obj.GetName() == "shops" {
			obj.Object["status"] = map[string]any{"conditions": []any{map[string]any{
				"type": "PermissionsGranted", "status": "False", "reason": "\x1b[31mBad", "message": "one\ntwo", "lastTransitionTime": "2026-01-01T03:04:05Z"}}}
		}
	}
	stdout, _, _ := audit(t, s, "shops")
	g.Expect(stdout).To(And(ContainSubstring(`\x1b[31mBad: one two`), Not(ContainSubstring("\x1b"))))
}

// A box that can't be compiled, or whose CRD is not there, is judged in all other ways.
func TestAuditOfABoxThatCannotRun(t *testing.T) {
	for want, spec := range map[string]string{
		"the box does not compile: ": "{crd: {name: shops.demo.example.com}, validation: {rules: [{field: spec.nothing, operator: eq, value: a}]}}",
		"OperatorBox \"shops\": which resources break its rules is not known: not found": "{crd: {name: weeds.demo.example.com}, validation: {rules: [{field: spec.image, operator: eq, value: a}]}}",
		"its crd.definition can't be read":                                               "{crd: {definition: {group: a}}, validation: {rules: [{field: spec.image, operator: eq, value: a}]}}",
		`does not serve version "v9"; it serves v1`:                                      "{crd: {name: shops.demo.example.com, version: v9}, validation: {rules: [{field: spec.image, operator: eq, value: a}]}}",
	} {
		t.Run(want, func(t *testing.T) {
			g, s := NewWithT(t), server(t)
			for _, obj := range s.Objects {
				if obj.GetKind() == "OperatorBox" && obj.GetName() == "shops" {
					delete(obj.Object, "status")
					obj.Object["spec"] = parsed(t, spec)
				}
			}
			stdout, stderr, code := audit(t, s, "shops", "--require-service-account")
			g.Expect(code).To(Equal(exit.No), stderr)
			g.Expect(stdout).To(And(ContainSubstring(`OperatorBox "shops": which resources break its rules is not known: `), ContainSubstring(want), ContainSubstring("AccountRequired: ")))
		})
	}
}

// Of a box that no manager has looked at, nobody knows what it needs.
func TestAuditOfABoxThatIsNew(t *testing.T) {
	g, s := NewWithT(t), server(t)
	for _, obj := range s.Objects {
		if obj.GetName() == "team-b" {
			delete(obj.Object, "status")
		}
	}
	stdout, stderr, code := audit(t, s, "team-b", "--box-namespaces", "team-b")
	g.Expect(code).To(Equal(exit.No), stderr)
	g.Expect(stdout).To(ContainSubstring(`OperatorBox "team-b": what rights it needs is not known: its status has no requiredRules; the manager derives them when the box compiles`))
}

// Which account is the manager's own, only the manager can say.
func TestAuditOfABoxWithTheManagersOwnAccount(t *testing.T) {
	g, s := NewWithT(t), server(t)
	for _, obj := range s.Objects {
		if obj.GetName() == "team-b" {
			g.Expect(unstructured.SetNestedSlice(obj.Object, []any{map[string]any{
				"type": v1alpha1.ConditionPermissionsGranted, "status": "False", "reason": v1alpha1.ReasonAccountNotAllowed, "lastTransitionTime": "2026-01-01T03:04:05Z",
				"message": "spec.serviceAccountRef: wanted an account that is for boxes, found ServiceAccount team-b/shop, which is the manager's own",
			}}, "status", "conditions")).To(Succeed())
		}
	}
	stdout, stderr, code := audit(t, s, "team-b", "--box-namespaces", "team-b")
	g.Expect(code).To(Equal(exit.No), stderr)
	g.Expect(stdout).To(ContainSubstring("AccountNotAllowed: spec.serviceAccountRef: wanted an account that is for boxes"))
}

// Where the CRD of a box can't be told, its author is judged in all other ways.
func TestAuditOfAnAuthorOfABoxWithoutCRD(t *testing.T) {
	g, s := NewWithT(t), server(t)
	for _, obj := range s.Objects {
		if obj.GetName() == "team-c" {
			obj.Object["spec"] = parsed(t, "{crd: {definition: {group: a}}, admission: {validation: true}}")
		}
	}
	stdout, _, code := audit(t, s, "team-c", "--as", "joe")
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stdout).To(And(ContainSubstring("box-account: joe may not use the identity of the manager"), Not(ContainSubstring("box-crd")), Not(ContainSubstring("enforce"))))
}
