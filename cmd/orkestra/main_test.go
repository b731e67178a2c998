package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/app"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// orkestra runs the binary's commands. Files are those of their tests.
func orkestra(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, app.NewCommand(app.Options{}), stdin, args...)
}

func TestUnknownCommandsAreGuessed(t *testing.T) {
	for name, args := range map[string][]string{
		"a slip":            {"vaildate"},
		"a slip with flags": {"vaildate", "-f", "box.yaml"},
		"a beginning":       {"valid"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", args...)
			g.Expect(code).To(Equal(exit.Usage))
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(And(ContainSubstring(`unknown command "`+args[0]+`" for "orkestra"`), ContainSubstring("Did you mean this?\n\tvalidate\n")))
		})
	}
}

// Every command says in the words of the others what arguments it wants: those of cobra name neither what is wanted nor what was found. Where there are
// commands below, an unknown one is called so.
func TestWrongArgumentsAreToldInOneWay(t *testing.T) {
	for _, command := range app.NewCommand(app.Options{}).Commands() {
		for _, args := range [][]string{nil, {"a"}, {"a", "b"}, {"a", "b", "c"}} {
			err := command.ValidateArgs(args)
			if err == nil || command.HasSubCommands() {
				continue
			}
			NewWithT(t).Expect(err).To(MatchError(Or(HavePrefix("wanted "), HavePrefix("give files with -f: "))), "orkestra %s %q", command.Name(), args)
		}
	}
}

func TestVersionSaysWhatItWasTestedWith(t *testing.T) {
	g := NewWithT(t)
	stdout, _, code := orkestra(t, "", "version")
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(Equal("orkestra dev (commit none, " + runtime.Version() + ", tested with Kubernetes 1.36)\n"))
}

// The reference of the command line has every command.
func TestEveryCommandIsInTheReference(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "cli.md"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	rows := regexp.MustCompile("(?m)^\\| `.*$").FindAllString(string(page), -1)
	for _, command := range app.NewCommand(app.Options{}).Commands() {
		found := regexp.MustCompile("`" + regexp.QuoteMeta(command.Name()) + "[ `]").MatchString(strings.Join(rows, "\n"))
		NewWithT(t).Expect(found).To(BeTrue(), "docs/reference/cli.md has no row for orkestra "+command.Name())
	}
}

// The help says what is read, with whose rights, and what is checked with it.
func TestHelpSaysWhatTheClusterIsAskedFor(t *testing.T) {
	for command, reads := range map[string]string{
		"validate": "CustomResourceDefinitions that no file holds (rights: get, and list to suggest a name)",
		"render":   "what the box reads and --with does not give: objects of cross, Secrets of calls, Namespaces (rights: get, list)",
	} {
		t.Run(command, func(t *testing.T) {
			g := NewWithT(t)
			help, _, code := orkestra(t, "", command, "--help")
			g.Expect(code).To(BeZero())
			words := strings.Join(strings.Fields(help), " ")
			g.Expect(words).To(And(ContainSubstring(reads), ContainSubstring("with the rights of the kubeconfig's user, not the manager's"),
				ContainSubstring("that the CRD is there and serves the box's version"), ContainSubstring("Nothing is written")))
			_, flag, _ := strings.Cut(help, "--cluster  ")
			flag, _, _ = strings.Cut(flag, "\n")
			g.Expect(flag).To(ContainSubstring("ask the API server"), "the flag's own line")
		})
	}
}
