package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// moment is what changes in the output with the time.
var moment = regexp.MustCompile(`"?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"?`)

const renders = "testdata/render/"

// TestRenderGolden compares what is printed with the golden files; UPDATE_GOLDEN=true writes them.
func TestRenderGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"render":                  {"-f", renders + "shop.yaml", "-r", renders + "flowers.yaml"},
		"render-with-children":    {"-f", renders + "shop.yaml", "-r", renders + "flowers.yaml", "--with", renders + "ready.yaml", "--status"},
		"render-json":             {"-f", renders + "reads.yaml", "--crd", renders + "shop.yaml", "-r", renders + "asks.yaml", "--with", renders + "answers.yaml", "-o", "json"},
		"render-no-answer":        {"-f", renders + "reads.yaml", "--crd", renders + "shop.yaml", "-r", renders + "asks.yaml"},
		"render-no-source":        {"-f", renders + "reads.yaml", "--crd", renders + "shop.yaml", "-r", renders + "flowers.yaml"},
		"render-wrong-resource":   {"-f", renders + "shop.yaml", "-r", renders + "wrong.yaml"},
		"render-collision":        {"-f", renders + "shop.yaml", "-r", renders + "collides.yaml"},
		"render-other-version":    {"-f", renders + "shop.yaml", "-r", renders + "older.yaml"},
		"render-not-served":       {"-f", renders + "shop.yaml", "-r", renders + "ready.yaml"},
		"render-wrong-box":        {"-f", fixtures + "unknown-path.yaml", "--crd", websites, "-r", renders + "flowers.yaml"},
		"render-crd-not-known":    {"-f", renders + "reads.yaml", "-r", renders + "asks.yaml"},
		"render-with-nothing":     {"-f", renders + "shop.yaml", "-r", renders + "flowers.yaml", "--with", websites},
		"render-with-no-metadata": {"-f", renders + "shop.yaml", "-r", renders + "flowers.yaml", "--with", renders + "nameless.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", append([]string{"render"}, args...)...)
			got := "$ orkestra render " + strings.Join(args, " ") + "\n" + stdout + "--- standard error\n" + stderr
			if code != 0 {
				got += "--- exit code 1\n"
				g.Expect(code).To(Equal(exitNo))
			}
			got = moment.ReplaceAllString(revisionDigits.ReplaceAllString(got, "-0123456789"), "<time>")
			golden := filepath.Join("testdata", "golden", name+".txt")
			if os.Getenv("UPDATE_GOLDEN") == "true" {
				g.Expect(os.WriteFile(golden, []byte(got), 0o600)).To(Succeed())
			}
			g.Expect(cmp.Diff(read(g, golden), got)).To(BeEmpty())
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
		"no resource":         {[]string{"-f", renders + "shop.yaml", "-r", renders + "empty.yaml"}, "no resource in testdata/render/empty.yaml"},
		"an unknown format":   {[]string{"-f", "a", "-r", "b", "-o", "text"}, `--output "text": wanted yaml or json`},
		"two standard inputs": {[]string{"-f", "-", "-r", "-"}, "standard input is given to more than one flag"},
		"no box":              {[]string{"-f", renders + "flowers.yaml", "-r", renders + "flowers.yaml"}, "no OperatorBox in"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, stderr, code := orkestra(t, "", append([]string{"render"}, tc.args...)...)
			g.Expect(code).To(Equal(exitUsage))
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

func TestEveryBuiltInKindHasAScope(t *testing.T) {
	g := NewWithT(t)
	for kind, clusterScoped := range map[string]bool{"Namespace": true, "Pod": false, "PersistentVolume": true, "Secret": false} {
		scope, known := builtInScope(corev1.SchemeGroupVersion.WithKind(kind))
		g.Expect(known).To(BeTrue(), kind)
		g.Expect(scope).To(Equal(clusterScoped), kind)
	}
	_, known := builtInScope(corev1.SchemeGroupVersion.WithKind("Unheard"))
	g.Expect(known).To(BeFalse())
}
