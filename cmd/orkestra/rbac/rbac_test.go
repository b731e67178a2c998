package rbac

import (
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

const (
	box      = "testdata/box.yaml"
	websites = "../validate/testdata/website.crd.yaml"
)

func orkestra(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, NewCommand(nil), stdin, args...)
}

func TestRolesOfABox(t *testing.T) {
	for name, tc := range map[string]struct {
		golden string
		args   []string
	}{
		"as YAML":                {"roles.yaml", nil},
		"as JSON":                {"roles.json", []string{"-o", "json"}},
		"for another account":    {"other.yaml", []string{"--account", "team-b/other"}},
		"of boxes that share it": {"two.yaml", []string{"-f", "testdata/second.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", append([]string{"rbac", "-f", box, "--crd", websites}, tc.args...)...)
			g.Expect(stderr).To(BeEmpty())
			g.Expect(code).To(BeZero())
			shared.Golden(t, tc.golden, stdout)
		})
	}
}

func TestWhatCannotBeAnswered(t *testing.T) {
	without := "apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: plain}\nspec: {crd: {name: websites.demo.example.com}}\n"
	for name, tc := range map[string]struct {
		stdin  string
		args   []string
		code   int
		stderr string
	}{
		"no account":        {without, []string{"-f", "-", "--crd", websites}, exit.Usage, `error: OperatorBox "plain" names no account: set spec.serviceAccountRef, or give --account NAMESPACE/NAME`},
		"a wrong account":   {without, []string{"-f", "-", "--account", "shop"}, exit.Usage, `error: --account "shop": wanted NAMESPACE/NAME of a ServiceAccount`},
		"a CRD not known":   {without, []string{"-f", "-", "--account", "a/b"}, exit.Usage, `error: OperatorBox "plain": its CRD is not known, and the rights depend on it: give --crd or --cluster`},
		"no box":            {"{}", []string{"-f", "-"}, exit.Usage, "error: no OperatorBox in standard input"},
		"an output unknown": {without, []string{"-f", "-", "-o", "text"}, exit.Usage, `error: --output "text": wanted yaml or json`},
		"a wrong box":       {without + "nonsense: {}\n", []string{"-f", "-", "--account", "a/b"}, exit.No, "nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, tc.stdin, append([]string{"rbac"}, tc.args...)...)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.stderr))
			g.Expect(code).To(Equal(tc.code))
		})
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	g := NewWithT(t)
	var asked []authorizationv1.SubjectAccessReviewSpec
	config := reviewing(t, func(spec authorizationv1.SubjectAccessReviewSpec) bool {
		asked = append(asked, spec)
		return spec.ResourceAttributes.Resource != "configmaps"
	})
	stdout, stderr, code := orkestra(t, "", "rbac", "-f", box, "--crd", websites, "--cluster", "--kubeconfig", config, "--context", "test")
	g.Expect(code).To(Equal(exit.No), stderr)
	shared.Golden(t, "roles.yaml", stdout)
	g.Expect(stderr).To(Equal(`OperatorBox "shop": ServiceAccount team-a/shop may not create/delete/get/patch configmaps in namespace "team-a"` + "\n"))
	g.Expect(asked).To(HaveEach(HaveField("User", "system:serviceaccount:team-a:shop")))

	config = reviewing(t, func(authorizationv1.SubjectAccessReviewSpec) bool { return true })
	_, stderr, code = orkestra(t, "", "rbac", "-f", box, "--crd", websites, "--cluster", "--kubeconfig", config, "--context", "test")
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stderr).To(BeEmpty())
}

// reviewing is an API server that answers reviews, as a kubeconfig.
func reviewing(t *testing.T, allows func(authorizationv1.SubjectAccessReviewSpec) bool) string {
	t.Helper()
	return (&shared.APIServer{Objects: shared.Objects(t, websites), Allow: allows}).Start(t)
}
