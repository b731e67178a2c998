package render

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// moment is what changes in the output with the time.
var moment = regexp.MustCompile(`"?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"?`)

// Files of this package's tests, and of those of validate.
const (
	renders  = "testdata/"
	boxes    = "../validate/testdata/"
	websites = boxes + "website.crd.yaml"
	// A sample with a webhook, which is a Service with a certificate of its own.
	subnets = "../../../config/samples/webhook/"
	// A sample that serves StatefulSets of others.
	servicepod = "../../../config/samples/ports/servicepod/"
)

// revisionDigits is what changes in the output whenever a default of the API does.
var revisionDigits = regexp.MustCompile(`-[0-9a-f]{10}\b`)

// orkestra runs the command as the binary does.
func orkestra(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, NewCommand(nil), stdin, args...)
}

// apiServer has the CRD of the websites, the kind Region, which is cluster-scoped, and a ConfigMap. CRDs are answered with a status.
func apiServer(t *testing.T, status int) string {
	t.Helper()
	server := &shared.APIServer{Objects: shared.Objects(t, websites, boxes+"cluster.yaml"), Refuse: func(path string) int {
		switch {
		case strings.HasSuffix(path, "/secret"):
			return http.StatusForbidden
		case strings.Contains(path, "/customresourcedefinitions/") && status != http.StatusOK:
			return status
		default:
			return 0
		}
	}}
	return server.Start(t)
}

// TestRenderGolden compares what is printed with the golden files; UPDATE_GOLDEN=true writes them.
func TestRenderGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"render":           {"-f", renders + "shop.yaml", "-r", renders + "flowers.yaml"},
		"with-children":    {"-f", renders + "shop.yaml", "-r", renders + "flowers.yaml", "--with", renders + "ready.yaml", "--status"},
		"json":             {"-f", renders + "reads.yaml", "--crd", renders + "shop.yaml", "-r", renders + "asks.yaml", "--with", renders + "answers.yaml", "-o", "json"},
		"no-answer":        {"-f", renders + "reads.yaml", "--crd", renders + "shop.yaml", "-r", renders + "asks.yaml"},
		"no-source":        {"-f", renders + "reads.yaml", "--crd", renders + "shop.yaml", "-r", renders + "flowers.yaml"},
		"wrong-resource":   {"-f", renders + "shop.yaml", "-r", renders + "wrong.yaml"},
		"wrong-keys":       {"-f", renders + "shop.yaml", "-r", renders + "keys.yaml"},
		"with-wrong-keys":  {"-f", renders + "shop.yaml", "-r", renders + "flowers.yaml", "--with", renders + "keys.yaml"},
		"collision":        {"-f", renders + "shop.yaml", "-r", renders + "collides.yaml"},
		"other-version":    {"-f", renders + "shop.yaml", "-r", renders + "older.yaml"},
		"not-served":       {"-f", renders + "shop.yaml", "-r", renders + "ready.yaml"},
		"wrong-box":        {"-f", boxes + "unknown-path.yaml", "--crd", websites, "-r", renders + "flowers.yaml"},
		"crd-not-known":    {"-f", renders + "reads.yaml", "-r", renders + "asks.yaml"},
		"with-nothing":     {"-f", renders + "shop.yaml", "-r", renders + "flowers.yaml", "--with", websites},
		"of-others":        {"-f", servicepod + "box.yaml", "-r", servicepod + "resource.yaml"},
		"webhook":          {"-f", subnets + "box.yaml", "--crd", subnets + "crd.yaml", "-r", subnets + "resource.yaml"},
		"webhook-answers":  {"-f", subnets + "box.yaml", "--crd", subnets + "crd.yaml", "-r", subnets + "resource.yaml", "--with", renders + "webhook.yaml", "--status"},
		"webhook-wrong":    {"-f", subnets + "box.yaml", "--crd", subnets + "crd.yaml", "-r", subnets + "resource.yaml", "--with", renders + "webhook-wrong.yaml"},
		"providers":        {"-f", renders + "provides.yaml", "--crd", renders + "shop.yaml", "-r", renders + "flowers.yaml"},
		"provided":         {"-f", renders + "provides.yaml", "--crd", renders + "shop.yaml", "-r", renders + "flowers.yaml", "--with", renders + "provided.yaml"},
		"provided-some":    {"-f", renders + "provides.yaml", "--crd", renders + "shop.yaml", "-r", renders + "flowers.yaml", "--with", renders + "provided-some.yaml"},
		"provided-wrong":   {"-f", renders + "provides.yaml", "--crd", renders + "shop.yaml", "-r", renders + "flowers.yaml", "--with", renders + "provided-wrong.yaml"},
		"unasked-keys":     {"-f", renders + "reads.yaml", "--crd", renders + "shop.yaml", "-r", renders + "asks.yaml", "--with", renders + "unasked-keys.yaml"},
		"unasked-outputs":  {"-f", renders + "provides.yaml", "--crd", renders + "shop.yaml", "-r", renders + "flowers.yaml", "--with", renders + "unasked-outputs.yaml"},
		"with-no-metadata": {"-f", renders + "shop.yaml", "-r", renders + "flowers.yaml", "--with", renders + "nameless.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", append([]string{"render"}, args...)...)
			got := "$ orkestra render " + strings.Join(args, " ") + "\n" + stdout + "--- standard error\n" + stderr
			if code != 0 {
				got += "--- exit code 1\n"
				g.Expect(code).To(Equal(exit.No))
			}
			got = moment.ReplaceAllString(revisionDigits.ReplaceAllString(got, "-0123456789"), "<time>")
			shared.Golden(t, name+".txt", got)
			again, _, _ := orkestra(t, "", append([]string{"render"}, args...)...)
			g.Expect(moment.ReplaceAllString(again, "")).To(Equal(moment.ReplaceAllString(stdout, "")), "the output is deterministic")
		})
	}
}

func TestRenderWrongUse(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no -r":               {[]string{"-f", renders + "shop.yaml"}, `required flag(s) "resource" not set`},
		"no resource":         {[]string{"-f", renders + "shop.yaml", "-r", renders + "empty.yaml"}, "no resource in testdata/empty.yaml"},
		"an unknown format":   {[]string{"-f", "a", "-r", "b", "-o", "text"}, `--output "text": wanted yaml or json`},
		"two standard inputs": {[]string{"-f", "-", "-r", "-"}, "standard input is given to more than one flag"},
		"no box":              {[]string{"-f", renders + "flowers.yaml", "-r", renders + "flowers.yaml"}, "no OperatorBox in"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, stderr, code := orkestra(t, "", append([]string{"render"}, tc.args...)...)
			g.Expect(code).To(Equal(exit.Usage))
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}

func TestRenderPrintsObjectsThatCanBeRead(t *testing.T) {
	g := NewWithT(t)
	stdout, _, code := orkestra(t, "", "render", "-f", renders+"shop.yaml", "-r", renders+"flowers.yaml")
	g.Expect(code).To(BeZero())
	for doc := range strings.SplitSeq(stdout, "\n---\n") {
		var obj map[string]any
		g.Expect(yaml.UnmarshalStrict([]byte(doc), &obj)).To(Succeed())
		g.Expect(obj).To(And(HaveKey("kind"), HaveKey("metadata")))
	}
}

func TestRenderReadsOtherObjectsFromTheCluster(t *testing.T) {
	g := NewWithT(t)
	box := `{apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox, metadata: {name: a}, spec: {crd: {name: websites.demo.example.com},
		cross: [{name: one, apiVersion: v1, kind: ConfigMap, selector: {name: settings}}, {name: all, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: b}}}],
		onReconcile: {configmaps: [{data: {one: "{{ .cross.one.data.color }}", all: "{{ len .cross.all }}"}}]}}}`
	resource := filepath.Join(t.TempDir(), "website.yaml")
	g.Expect(os.WriteFile(resource, []byte(`{apiVersion: demo.example.com/v1, kind: Website, metadata: {name: shop, namespace: team-a}, spec: {image: a}}`), 0o600)).To(Succeed())
	args := []string{"render", "-f", "-", "-r", resource, "--cluster", "--context", "test", "--kubeconfig"}
	stdout, stderr, code := orkestra(t, box, append(args, apiServer(t, http.StatusOK))...)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(And(ContainSubstring("one: blue"), ContainSubstring(`all: "1"`)))

	given := filepath.Join(t.TempDir(), "settings.yaml")
	g.Expect(os.WriteFile(given, []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: team-a, labels: {a: b}}, data: {color: red}}`), 0o600)).To(Succeed())
	stdout, stderr, code = orkestra(t, box, append(args, apiServer(t, http.StatusOK), "--with", given)...)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(And(ContainSubstring("one: red"), ContainSubstring(`all: "1"`)))

	_, stderr, code = orkestra(t, strings.Replace(box, "name: settings", "name: secret", 1), append(args, apiServer(t, http.StatusOK))...)
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stderr).To(ContainSubstring(`error: reading ConfigMap "team-a/secret": `))
}

// What a webhook of Metacontroller answers is taken as it is, and what else a box declares is rendered in any case.
func TestWebhooksAreNotCalled(t *testing.T) {
	const box = `{apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox, metadata: {name: a}, spec: {crd: {name: websites.demo.example.com},
		onReconcile: {configmaps: [{name: own, data: {a: b}}]},
		reconciler: {hooks: {resources: [{kind: ConfigMap}], webhook: {url: "https://hooks.example.com", protocol: Metacontroller,
			auth: {secretRef: {name: token}}, caBundle: {name: ca}, secrets: [{name: login, key: password}]}}}}}`
	g, folder := NewWithT(t), t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(folder, name)
		g.Expect(os.WriteFile(name, []byte(text), 0o600)).To(Succeed())
		return name
	}
	args := []string{"render", "-f", "-", "--crd", websites, "-r", write("website.yaml", `{apiVersion: demo.example.com/v1, kind: Website, metadata: {name: shop, namespace: team-a}, spec: {image: a}}`)}
	stdout, stderr, code := orkestra(t, box, args...)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(ContainSubstring("name: own"))
	g.Expect(stderr).To(ContainSubstring(`Website "shop": waits: hook: the webhook is not called here, so that what it makes is not known: give its answer by --with, as webhook: {children: []}`))

	stdout, stderr, code = orkestra(t, box, append(args, "--with", write("answer.yaml", `webhook: {children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: said}, data: {a: b}}]}`))...)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(And(ContainSubstring("name: own"), ContainSubstring("name: said")))
	g.Expect(stderr).NotTo(ContainSubstring("waits"))
}

// A box with a constructor declares nothing: the resource is checked, and nothing is made up.
func TestABoxWithAConstructorHasNothingToRender(t *testing.T) {
	const legacy = "../../../config/samples/legacy/"
	g := NewWithT(t)
	out, notes, code := orkestra(t, "", "render", "-f", legacy+"box.yaml", "--crd", legacy+"crd.yaml", "-r", legacy+"resource.yaml")
	g.Expect(code).To(BeZero())
	g.Expect(out).To(BeEmpty())
	g.Expect(notes).To(ContainSubstring(`Proxy "edge": it is reconciled by the constructor example.com/legacy/controllers.NewProxyReconciler, which is compiled into a manager and is not run here: there is nothing to render`))
	g.Expect(notes).NotTo(ContainSubstring("Ready="))
}
