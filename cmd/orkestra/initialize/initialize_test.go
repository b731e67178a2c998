package initialize

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/render"
	"github.com/orkspace/orkestra/cmd/orkestra/validate"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// children are the kinds of some manifests that are none of Kubernetes.
const children = "testdata/children.crd.yaml"

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

func orkestra(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, NewCommand(nil, noon), stdin, append([]string{"init"}, args...)...)
}

func TestInit(t *testing.T) {
	for name, args := range map[string][]string{
		"kind":  {"Website"},
		"chart": {"Website", "--group", "demo.example.com", "--from", "testdata/shop.yaml", "--from", "testdata/blog.yaml", "-n", "team-a"},
		"one":   {"Website", "--from", "testdata/shop.yaml"},
		"mixed": {"Thing", "--from", "testdata/mixed.yaml", "--name", "web"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", args...)
			shared.Golden(t, name+".yaml", stdout)
			shared.Golden(t, name+".txt", stderr)
			g.Expect(code).To(BeZero(), stderr)
			dir := t.TempDir()
			_, again, code := orkestra(t, "", append([]string{"-o", dir}, args...)...)
			g.Expect(code).To(BeZero())
			g.Expect(again).To(Equal(stderr), "it says the same each time")

			// What is written is valid, and a resource renders what is expected, for the other commands too.
			box, crd := filepath.Join(dir, "box.yaml"), filepath.Join(dir, "crd.yaml")
			out, notes, code := shared.Run(t, validate.NewCommand(nil, nil), "", "validate", "-f", box, "--crd", crd)
			g.Expect(code).To(BeZero(), out+notes)
			resources, err := filepath.Glob(filepath.Join(dir, "resource*.yaml"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(resources).NotTo(BeEmpty())
			for _, resource := range resources {
				out, notes, code := shared.Run(t, render.NewCommand(nil), "", "render", "-f", box, "--crd", crd, "--crd", children, "-r", resource)
				g.Expect(code).To(BeZero(), notes)
				want, err := os.ReadFile(strings.Replace(resource, "resource", "expected", 1))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(out).To(Equal(string(want)))
			}
		})
	}
}

// Where both streams are one, as on a terminal, the files stand before what is to be read of them, and the summary behind all.
func TestFilesAreNamedBeforeRemarks(t *testing.T) {
	g := NewWithT(t)
	var both bytes.Buffer
	cmd := NewCommand(nil, noon)
	cmd.SetOut(&both)
	cmd.SetErr(&both)
	dir := t.TempDir()
	cmd.SetArgs([]string{"Website", "--from", "testdata/shop.yaml", "-o", dir})
	g.Expect(cmd.ExecuteContext(t.Context())).To(Succeed())
	lines := strings.Split(strings.TrimSuffix(both.String(), "\n"), "\n")
	const files = 5
	g.Expect(len(lines)).To(BeNumerically(">", files+1), both.String())
	for i, line := range lines[:files] {
		g.Expect(line).To(HavePrefix("wrote "+dir), "line %d", i)
	}
	g.Expect(lines[files : len(lines)-1]).To(HaveEach(HavePrefix("testdata/shop.yaml:")))
	g.Expect(lines[len(lines)-1]).To(HavePrefix("1 resource: 0 errors, "))
}

func TestWrongUse(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no kind":                  {nil, "wanted the kind that the operator is to serve: orkestra init Website\n"},
		"two kinds":                {[]string{"A", "B"}, "wanted the kind that the operator is to serve"},
		"a small letter":           {[]string{"website"}, `KIND "website": wanted one word with a capital first letter, such as Website`},
		"no domain":                {[]string{"Website", "--group", "example"}, `--group "example": wanted a domain name, such as example.com`},
		"no version":               {[]string{"Website", "--version", "1"}, `--version "1": wanted a version, such as v1alpha1`},
		"a chart and manifests":    {[]string{"Website", "--chart", "a", "--from", "b"}, "--chart and --from don't go together"},
		"values of manifests":      {[]string{"Website", "--from", "a", "--values", "b"}, "--values goes with --chart"},
		"more names":               {[]string{"Website", "--from", "a", "--name", "b", "--name", "c"}, "--name is given 2 times, and --from 1 times"},
		"a name with capitals":     {[]string{"Website", "--name", "B"}, `--name "B": wanted the name of a resource`},
		"a namespace with dots":    {[]string{"Website", "-n", "a.b"}, `--namespace "a.b": wanted the name of a namespace`},
		"force without a folder":   {[]string{"Website", "--force"}, "--force goes with -o"},
		"no such file":             {[]string{"Website", "--from", "none.yaml"}, "none.yaml: no such file or directory"},
		"the folder of a chart":    {[]string{"Website", "--from", "testdata/chart"}, "--from testdata/chart: it is a chart: give it by --chart, and helm renders it"},
		"standard input twice":     {[]string{"Website", "--from", "-", "--from", "-"}, "standard input is given to --from twice"},
		"nothing on the input":     {[]string{"Website", "--from", "-"}, "no manifest in standard input"},
		"a folder without YAML":    {[]string{"Website", "--from", "derive"}, "no manifest in derive"},
		"a flag that is not known": {[]string{"Website", "--form", "a"}, "unknown flag: --form"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", tc.args...)
			g.Expect(code).To(Equal(exit.Usage), stderr)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}

// Nothing is lost: what is there stays, unless somebody says that it may go, and then all is written or nothing.
func TestAFolderIsNotOverwritten(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "website")
	stdout, _, code := orkestra(t, "", "Website", "-o", dir)
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(Equal("wrote " + dir + "/crd.yaml\nwrote " + dir + "/role.yaml\nwrote " + dir + "/box.yaml\nwrote " + dir + "/resource.yaml\nwrote " + dir + "/expected.yaml\n"))
	for name, mode := range map[string]os.FileMode{"box.yaml": 0o644, "resource.yaml": 0o600, "expected.yaml": 0o600} { // resources may hold secrets
		info, err := os.Stat(filepath.Join(dir, name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Mode().Perm()&^0o022).To(Equal(mode), name)
	}
	box := filepath.Join(dir, "box.yaml")
	g.Expect(os.Remove(filepath.Join(dir, "crd.yaml"))).To(Succeed())
	g.Expect(os.WriteFile(box, []byte("mine"), 0o600)).To(Succeed())

	stdout, stderr, code := orkestra(t, "", "Website", "-o", dir)
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stdout).To(BeEmpty())
	g.Expect(stderr).To(MatchRegexp(`^error: .*/role\.yaml is there already, and nothing was written: give another folder, or --force to replace it\n`))
	g.Expect(os.ReadFile(box)).To(BeEquivalentTo("mine"))
	g.Expect(filepath.Join(dir, "crd.yaml")).NotTo(BeAnExistingFile())

	_, _, code = orkestra(t, "", "Website", "-o", dir, "--force")
	g.Expect(code).To(BeZero())
	g.Expect(os.ReadFile(box)).To(ContainSubstring("kind: OperatorBox"))
}

// Each is one sentence with file, line and field, and no reason to stop.
func TestBadInput(t *testing.T) {
	const good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {a: b}\n---\n"
	for name, tc := range map[string]struct {
		file, want string
		code       int
	}{
		"no YAML":                 {good + "a: [\n", `stdin:6: error: not YAML: `, exit.No},
		"a key twice":             {good + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-b}\ndata: {a: b, a: c}\n", `stdin:9: error: data.a: duplicate key`, exit.No},
		"no object":               {good + "a: b\n", `stdin:6: error: apiVersion: left out: wanted group/version, or v1: this is no object of Kubernetes`, exit.No},
		"no kind":                 {good + "apiVersion: v1\n", `stdin:6: error: kind: left out: wanted a kind`, exit.No},
		"no name":                 {good + "apiVersion: v1\nkind: ConfigMap\n", `error: ConfigMap "": metadata.name: left out: wanted a name`, exit.No},
		"a name that is made":     {good + "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n", `metadata.generateName: left out: a child has a name`, exit.No},
		"an object twice":         {good + good, `stdin:8: error: ConfigMap "shop": metadata.name: left out: stdin:1 is the same object`, exit.No},
		"nothing to make":         {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", `stdin:1: error: there is no object that the box could make`, exit.No},
		"a namespace":             {good + "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", `stdin:7: Namespace "a": kind: left out: apply it apart: it has no namespace`, 0},
		"a CRD":                   {good + "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b.c}\n", `stdin:7: CustomResourceDefinition "a.b.c": kind: left out: apply it apart: `, 0},
		"a role":                  {good + "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: shop}\nrules: []\n", `Role "shop": kind: left out: apply it apart: Role grants rights`, 0},
		"a box":                   {good + "apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: shop}\n", `OperatorBox "shop": kind: left out: a box does not make boxes`, 0},
		"a hook of Helm":          {good + "apiVersion: v1\nkind: Pod\nmetadata: {name: shop-test, annotations: {helm.sh/hook: test}}\n", `stdin:8: Pod "shop-test": metadata.annotations[helm.sh/hook]: left out: Helm runs it as the hook test`, 0},
		"a status":                {good + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-b, uid: a}\nstatus: {a: b}\n", `stdin:9: ConfigMap "shop-b": status: left out: it is what the cluster says`, 0},
		"a kind not known":        {good + "apiVersion: other.example.com/v1\nkind: Thing\nmetadata: {name: shop}\nspec: {a: b}\n", `stdin:7: Thing "shop": kind: the kind is not one of Kubernetes`, 0},
		"another namespace":       {good + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-a, namespace: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-b, namespace: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-c, namespace: b}\n", `ConfigMap "shop-c": metadata.namespace: the child of every resource is in the namespace b`, 0},
		"a name of its own":       {good + "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}\n", `ConfigMap "shop": metadata.name: the name does not have that of the instance in it, other: two resources`, 0},
		"null":                    {good + "apiVersion: other.example.com/v1\nkind: Thing\nmetadata: {name: shop}\nspec: {a: null, b: {c: null}}\n", `stdin:9: Thing "shop": spec.a: null is left out, as if the field was not there: spec.a, spec.b.c`, 0},
		"null in a list":          {good + "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop, annotations: null}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b, args: [null, c]}]}}}\n", `Deployment "shop": spec.template.spec.containers[0].args[0]: null is left out of the list: spec.template.spec.containers[0].args[0]`, 0},
		"a word like the name":    {good + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-b}\ndata: {a: see shop}\n", `ConfigMap "shop-b": metadata.name: "shop" stays as it is in data.a: read whether it is the name of the resource`, 0},
		"a Secret":                {good + "apiVersion: v1\nkind: Secret\nmetadata: {name: shop}\nstringData: {password: hunter22}\n", `Secret "shop": data.password: what the Secret holds becomes a required field`, 0},
		"a template in a name":    {good + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'shop-{{ a }}'}\n", `metadata.name: left out: the name of an object can't hold {{`, exit.No},
		"a template in a key":     {good + "apiVersion: other.example.com/v1\nkind: Thing\nmetadata: {name: shop}\nspec: {'{{ a }}': b}\n", `left out: the name of a field can't hold {{ in a box`, exit.No},
		"metadata that is a list": {good + "apiVersion: v1\nkind: ConfigMap\nmetadata: []\n", `metadata.name: left out: wanted a name`, exit.No},
		"labels that are numbers": {good + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-b, labels: {a: 5}}\n", `error: `, exit.No},
		"a kind of two slashes":   {good + "apiVersion: a/b/c\nkind: Thing\nmetadata: {name: shop}\n", `apiVersion: left out: wanted group/version`, exit.No},
		"control characters":      {good + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"a\\u001b[31m\\n\"}\n", `a\x1b[31m`, exit.No},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, tc.file, "Website", "--from", "-")
			g.Expect(stderr).To(ContainSubstring(tc.want))
			g.Expect(code).To(Equal(tc.code), stdout+stderr)
			for line := range strings.Lines(strings.TrimSpace(stderr)) {
				g.Expect(line).To(Or(HavePrefix("stdin:"), HavePrefix("note: "), HavePrefix("0 "), HavePrefix("1 ")), stderr)
			}
		})
	}
}

// page is the guide of the command.
const page = "../../../docs/how-to/init.md"

// The page shows what the command makes of the manifests on it.
func TestPage(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(page)
	g.Expect(err).NotTo(HaveOccurred())
	var blocks []string
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, closed := strings.Cut(part, "```\n")
		g.Expect(closed).To(BeTrue())
		blocks = append(blocks, block)
	}
	g.Expect(blocks).To(HaveLen(5), "shop.yaml, blog.yaml, and of what is made the box, the CRD and a resource")
	dir := t.TempDir()
	args := []string{"Website"}
	for i, name := range []string{"shop.yaml", "blog.yaml"} {
		file := filepath.Join(dir, name)
		g.Expect(os.WriteFile(file, []byte(blocks[i]), 0o600)).To(Succeed())
		args = append(args, "--from", file, "--name", strings.TrimSuffix(name, ".yaml"))
	}
	stdout, stderr, code := orkestra(t, "", args...)
	g.Expect(code).To(BeZero(), stderr)
	for _, block := range blocks[2:] {
		g.Expect(unindented(stdout)).To(ContainSubstring(unindented(block)))
	}
}

// unindented is a text without what stands before each line.
func unindented(text string) string {
	return regexp.MustCompile(`(?m)^[ -]*`).ReplaceAllString(text, "")
}

// A Secret's value is in the resource alone: neither the CRD nor the box nor a remark has it.
func TestSecretsHaveNoDefault(t *testing.T) {
	g := NewWithT(t)
	stdout, stderr, code := orkestra(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: shop-db}\nstringData: {password: hunter22}\ndata: {key: aHVudGVyMjI=, raw: /w==}\n", "Website", "--from", "-", "--name", "shop")
	g.Expect(code).To(BeZero(), stderr)
	operator, resource, found := strings.Cut(stdout, "kind: Website\nmetadata:")
	g.Expect(found).To(BeTrue())
	for _, secret := range []string{"hunter22", "aHVudGVyMjI=", "/w=="} {
		g.Expect(operator + stderr).NotTo(ContainSubstring(secret))
	}
	g.Expect(resource).To(And(ContainSubstring("password: hunter22"), ContainSubstring("raw: /w==")))
	g.Expect(operator).To(And(ContainSubstring("password: '{{ b64enc .spec.password }}'"), ContainSubstring("raw: '{{ .spec.raw }}'")))
}

// Without helm, the command says how to do without.
func TestChartWithoutHelm(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("PATH", t.TempDir())
	_, stderr, code := orkestra(t, "", "Website", "--chart", "testdata/chart")
	g.Expect(code).To(Equal(exit.Usage))
	g.Expect(stderr).To(ContainSubstring("--chart: there is no helm on the PATH; where there is one: helm template NAME testdata/chart | orkestra init … --from - --name NAME"))
}

// helm is asked for each file of values, and named after it. What it says of a mistake is passed on.
func TestChart(t *testing.T) {
	g := NewWithT(t)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	said := filepath.Join(bin, "said")
	script := "#!/bin/sh\necho \"$*\" >> " + said + "\ncase $* in *bad*) echo 'Error: no such value' >&2; exit 1;; esac\n" +
		"while read -r line; do echo \"$line\"; done <<E\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: $2-web}\ndata: {values: $*}\nE\n"
	g.Expect(os.WriteFile(filepath.Join(bin, "helm"), []byte(script), 0o700)).To(Succeed())
	stdout, stderr, code := orkestra(t, "", "Website", "--chart", "testdata/chart", "--values", "testdata/values-shop.yaml", "--values", "Blog_2.yml", "-n", "team-a")
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(And(ContainSubstring("name: '{{ .metadata.name }}-web'"), ContainSubstring("name: shop\n"), ContainSubstring("name: blog-2\n")))
	g.Expect(os.ReadFile(said)).To(BeEquivalentTo("template shop testdata/chart --values testdata/values-shop.yaml --namespace team-a\ntemplate blog-2 testdata/chart --values Blog_2.yml --namespace team-a\n"))

	stdout, stderr, code = orkestra(t, "", "Website", "--chart", "testdata/chart", "--values", "bad.yaml")
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stdout).To(BeEmpty())
	g.Expect(stderr).To(ContainSubstring("error: helm template bad testdata/chart --values bad.yaml: exit status 1\nError: no such value"))
}

// FuzzInit looks for manifests that make the command panic, speak differently the second time, or make what does not render them, unnoticed.
func FuzzInit(f *testing.F) {
	shared.Fuzz(f, "testdata/*.yaml", func(t *testing.T, text string) (stdout, stderr string, code int) {
		t.Helper()
		return orkestra(t, text, "Thing", "--from", "-")
	})
}
