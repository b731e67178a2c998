package generate

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

const (
	root  = "../../.."
	boxes = "testdata/boxes.yaml"
)

func orkestra(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, NewCommand(), stdin, append([]string{"generate", "registry"}, args...)...)
}

// write writes files into a folder, by their names.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// box is one with a part of a spec, on one line.
func box(name, spec string) string {
	return "---\napiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: " + name + "}\nspec: {crd: {name: " + name + "s.demo.example.com}, " + spec + "}\n"
}

// withHooks is a box with hooks.
func withHooks(name, hooks string) string { return box(name, "reconciler: {hooks: {"+hooks+"}}") }

// TestProgramIsBuilt builds what is generated in a module that has nothing else, and asks it which functions it has.
func TestProgramIsBuilt(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	product, err := filepath.Abs(root)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.CopyFS(folder, os.DirFS("testdata/operator"))).To(Succeed())
	write(t, folder, map[string]string{
		"go.mod": "module example.com/operator\n\ngo 1.26.0\n\nrequire " + ownModule + " v0.0.0\n\nreplace " + ownModule + " => " + product + "\n",
		"go.sum": read(t, root, "go.sum"),
	})
	binary := filepath.Join(t.TempDir(), "manager")
	for program, into := range map[string]string{".": binary, "cmd/manager": os.DevNull} {
		stdout, stderr, code := orkestra(t, "", "-f", boxes, "-o", filepath.Join(folder, program))
		g.Expect(code).To(BeZero(), stderr)
		g.Expect(stdout).To(HaveSuffix("2 API types, 2 functions with hooks, 1 constructor\n"), "nothing is to be got")
		command(t, folder, "go", "build", "-mod=mod", "-o", into, "./"+program)
	}
	g.Expect(strings.Split(command(t, folder, binary, "manager", "--list-functions"), "\n")).To(Equal([]string{
		"hooks        example.com/operator/cache/hooks.Cache",
		"hooks        example.com/operator/database/hooks.Database",
		"constructor  example.com/operator/queue.New", "",
	}))
	g.Expect(command(t, folder, "gofmt", "-l", ".")).To(BeEmpty())
	g.Expect(read(t, folder, "Dockerfile")).To(And(ContainSubstring(": docker build -t IMAGE .\n"), ContainSubstring("-o /orkestra .\n")))
	g.Expect(read(t, folder, "cmd/manager/Dockerfile")).To(And(ContainSubstring(": docker build -f cmd/manager/Dockerfile -t IMAGE .\n"), ContainSubstring("-o /orkestra ./cmd/manager\n")))
}

// command runs a command in a folder.
func command(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestSampleIsGenerated: the registry of the sample with Go code is what the command makes of its box.
func TestSampleIsGenerated(t *testing.T) {
	g := NewWithT(t)
	folder, sample := t.TempDir(), filepath.Join(root, "config/samples/database")
	g.Expect(os.CopyFS(folder, os.DirFS(filepath.Join(sample, "manager")))).To(Succeed())
	stdout, stderr, code := orkestra(t, "", "-f", filepath.Join(sample, "box.yaml"), "-o", folder)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(Equal("kept " + filepath.Join(folder, registryFile) + "\n1 API type, 1 function with hooks, 0 constructors\n"))
	g.Expect(read(t, sample, "manager", mainFile)).To(Equal(mainProgram))
}

// TestSecondRunChangesNothing, whatever the order of the boxes, and neither does it touch what a user has made of the program.
func TestSecondRunChangesNothing(t *testing.T) {
	g := NewWithT(t)
	folder := filepath.Join(t.TempDir(), "manager")
	one, two := withHooks("one", "location: example.com/a/hooks, function: One"), withHooks("two", "location: example.com/b/hooks, function: Two")
	stdout, _, code := orkestra(t, one+two, "-f", "-", "-o", folder)
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(Equal("wrote " + filepath.Join(folder, registryFile) + "\nwrote " + filepath.Join(folder, mainFile) + "\nwrote " + filepath.Join(folder, dockerFile) +
		"\n0 API types, 2 functions with hooks, 0 constructors\nnext, in " + folder + ":\n  go mod init MODULE\n  go get " + ownModule + "\n  go get example.com/a/hooks\n  go get example.com/b/hooks\n"))
	first := read(t, folder, registryFile)
	g.Expect(first).To(And(ContainSubstring("hooks \"example.com/a/hooks\"\n"), ContainSubstring("hooks2 \"example.com/b/hooks\"\n")))

	write(t, folder, map[string]string{mainFile: "package main\n\nfunc main() { mine() }\n\nfunc mine() {}\n", dockerFile: "FROM mine\n"})
	stdout, _, code = orkestra(t, two+one, "-f", "-", "-o", folder)
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(HavePrefix("kept " + filepath.Join(folder, registryFile) + "\n0 API types"))
	g.Expect(read(t, folder, registryFile)).To(Equal(first))
	g.Expect(read(t, folder, mainFile)).To(ContainSubstring("mine()"))

	// Without a box that names one, the registry gets empty; without main.go, it is made again, and the Dockerfile stays.
	g.Expect(os.Remove(filepath.Join(folder, mainFile))).To(Succeed())
	stdout, _, code = orkestra(t, box("plain", "onReconcile: {configmaps: [{}]}"), "-f", "-", "-o", folder)
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(And(HavePrefix("wrote "), ContainSubstring("wrote "+filepath.Join(folder, mainFile)), ContainSubstring("kept "+filepath.Join(folder, dockerFile))))
	g.Expect(read(t, folder, registryFile)).To(And(ContainSubstring("return hook.NewRegistry()"), Not(ContainSubstring("errors"))))
	g.Expect(read(t, folder, dockerFile)).To(Equal("FROM mine\n"))
}

// TestNamesOfPackages: what is derived, and what becomes of names that are taken.
func TestNamesOfPackages(t *testing.T) {
	for location, want := range map[string]string{
		"example.com/database/hooks":          "hooks",
		"example.com/database/api/v1":         "databasev1",
		"example.com/database/pkg/apis/db/v1": "dbv1",
		"example.com/op/v2":                   "opv2",
		"example.com/api/v1beta1":             "examplecomv1beta1",
		"gopkg.in/some-yaml.v3":               "someyamlv3",
		"example.com/type":                    "pkgtype",
		"example.com/2fa":                     "pkg2fa",
		"example.com/string":                  "string2",
		"example.com/errors":                  "errors2",
		"example.com/mine":                    "mine2",
		"example.com/r":                       "r2",
		"example.com/err":                     "err2",
		"example.com/registry":                "registry2",
		"example.com/hook":                    "hook2",
		"example.com/main":                    "main2",
		"example.com/init":                    "init2",
	} {
		n := newNames(map[string]string{"mine": "main.go"}, map[string]map[string]string{location: {}})
		if got := n.of[location]; got != want || len(n.notes) > 0 {
			t.Errorf("%s: got %s, wanted %s; %v", location, got, want, n.notes)
		}
	}
	g := NewWithT(t)
	n := newNames(nil, map[string]map[string]string{
		"example.com/a": {"same": "one"}, "example.com/b": {"same": "two"}, "example.com/c": {"z": "three", "c": "four"}, "example.com/same": {},
	})
	g.Expect(n.of).To(And(HaveKeyWithValue("example.com/a", "same"), HaveKeyWithValue("example.com/b", "same2"), HaveKeyWithValue("example.com/c", "c"), HaveKeyWithValue("example.com/same", "same3")))
	g.Expect(n.notes).To(Equal([]string{
		`example.com/b is imported as same2, and not as same, which OperatorBox "two" wants: the name is taken`,
		`example.com/c is imported as c, and not as z, which OperatorBox "three" wants: boxes give several aliases`,
	}))
	for _, alias := range []string{"mine", "string", "r", "err", "registry", "main", "init"} {
		n := newNames(map[string]string{"mine": "main.go"}, map[string]map[string]string{"example.com/a": {alias: "one"}})
		g.Expect(n.of).To(HaveKeyWithValue("example.com/a", alias+"2"))
		g.Expect(n.notes).To(ConsistOf(HaveSuffix("the name is taken")), alias)
	}
	// What boxes ask for comes before what the generated code would take itself.
	n = newNames(nil, map[string]map[string]string{"example.com/a": {"hook": "one"}, "example.com/b": {"errors": "two"}})
	g.Expect(n.notes).To(BeEmpty())
	g.Expect(n.of).To(And(HaveKeyWithValue(hookPackage, "hook2"), HaveKeyWithValue(errorsPackage, "errors2")))
}

// TestMistakesOfBoxes are named with file, line, box and field, and nothing is written.
func TestMistakesOfBoxes(t *testing.T) {
	const types = "reconciler: {hooks: {location: example.com/h, function: F}}, apiTypes: "
	for name, tc := range map[string]struct{ text, want string }{
		"no location":        {withHooks("a", "function: F"), `stdin:5: OperatorBox "a": spec.reconciler.hooks.location: Required value: say the Go import path of the package`},
		"no function":        {withHooks("a", "location: example.com/h"), `stdin:5: OperatorBox "a": spec.reconciler.hooks.function: Required value: say the name of the Go function, such as DatabaseHooks`},
		"no import path":     {withHooks("a", `location: "../hooks", function: F`), `spec.reconciler.hooks.location: Invalid value: "../hooks": wanted the Go import path of a package, such as example.com/database/hooks: `},
		"not exported":       {withHooks("a", "location: example.com/h, function: f"), `spec.reconciler.hooks.function: Invalid value: "f": wanted the name of an exported Go function, such as DatabaseHooks`},
		"a keyword":          {withHooks("a", "location: example.com/h, function: F, alias: type"), `spec.reconciler.hooks.alias: Invalid value: "type": wanted a Go identifier, such as databasev1`},
		"a blank":            {withHooks("a", "location: example.com/h, function: F, alias: _"), `spec.reconciler.hooks.alias: Invalid value: "_": wanted a Go identifier, such as databasev1`},
		"the program":        {withHooks("a", "location: example.com/program, function: F"), `spec.reconciler.hooks.location: Invalid value: "example.com/program": that is the program itself, which can't be imported: put the code into a package of its own, such as example.com/program/hooks`},
		"a constructor":      {box("a", "reconciler: {default: false, constructor: {location: example.com/h}}"), "spec.reconciler.constructor.function: Required value: say the name of the Go function"},
		"no type":            {box("a", types+"{location: example.com/h}"), "spec.apiTypes.object: Required value: say the name of the Go type, such as Database"},
		"an odd list":        {box("a", types+"{location: example.com/h, object: A, objectList: lists}"), `spec.apiTypes.objectList: Invalid value: "lists": wanted the name of an exported Go type, such as DatabaseList`},
		"types of nothing":   {box("a", types+"{object: A}"), "spec.apiTypes.location: Required value: say the Go import path of the package"},
		"a misspelling":      {withHooks("a", "location: example.com/h, function: F, allias: x"), `spec.reconciler.hooks.allias: unknown field, did you mean "alias"?`},
		"another type":       {withHooks("a", "location: example.com/h, function: 5"), "spec.reconciler.hooks.function: want string, got integer; put it in quotes"},
		"no YAML":            {"a: [", "stdin:1: not YAML: "},
		"the same box twice": {withHooks("a", "location: example.com/h, function: F") + withHooks("a", "location: example.com/h, function: G"), `stdin:9: OperatorBox "a": metadata.name: another OperatorBox of this name is in stdin:2`},
		"another version":    {strings.Replace(withHooks("a", "location: example.com/h, function: F"), "v1alpha1", "v1", 1), `apiVersion: "orkestra.orkspace.io/v1" has no OperatorBox`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			folder := t.TempDir()
			write(t, folder, map[string]string{"go.mod": "module example.com\n"})
			stdout, stderr, code := orkestra(t, tc.text, "-f", "-", "-o", filepath.Join(folder, "program"))
			g.Expect(code).To(Equal(exit.No))
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
			g.Expect(strings.Count(stderr, "\n")).To(Equal(1), "one mistake: %s", stderr)
			g.Expect(filepath.Join(folder, "program")).NotTo(BeADirectory())
		})
	}
}

// TestFoldersThatCannotBeUsed are left as they are.
func TestFoldersThatCannotBeUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a library":           {map[string]string{"a.go": "package a\n"}, "has the package a: wanted the folder of a program, or an empty one"},
		"a syntax error":      {map[string]string{"a.go": "package main\n\nfunc {\n"}, "a.go:3:6: "},
		"a registry of yours": {map[string]string{"a.go": "package main\n\nvar registry = 1\n"}, "a.go declares registry, which zz_generated_registry.go is to have: remove it there, or rename it"},
		"a file of yours":     {map[string]string{registryFile: "package main\n"}, "zz_generated_registry.go was not generated by this command, and would be lost: rename or remove it"},
		"no go.mod":           {map[string]string{"go.mod": "module (\n"}, "go.mod:"},
		"a go.mod of nothing": {map[string]string{"go.mod": "go 1.26\n"}, "go.mod names no module"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			folder := t.TempDir()
			write(t, folder, tc.files)
			stdout, stderr, code := orkestra(t, withHooks("a", "location: example.com/h, function: F"), "-f", "-", "-o", folder)
			g.Expect(code).To(Equal(exit.No))
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
			left, err := os.ReadDir(folder)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(left).To(HaveLen(len(tc.files)))
		})
	}
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "file")
	write(t, filepath.Dir(file), map[string]string{"file": ""})
	_, stderr, code := orkestra(t, withHooks("a", "location: example.com/h, function: F"), "-f", "-", "-o", file)
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stderr).To(ContainSubstring("not a directory"))
	_, stderr, code = orkestra(t, "{}", "-f", "-", "-o", t.TempDir())
	g.Expect(code).To(Equal(exit.Usage))
	g.Expect(stderr).To(ContainSubstring("no OperatorBox in standard input"))
}

// TestModulesThatGoModHas are not to be got: go get would take newer ones.
func TestModulesThatGoModHas(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	write(t, folder, map[string]string{"go.mod": "module example.com/own\n\nrequire (\n\texample.com/has v1.0.0\n\t" + ownModule + " v0.1.0\n)\n"})
	stdout, _, code := orkestra(t, withHooks("a", "location: example.com/own/h, function: F")+withHooks("b", "location: example.com/has/h, function: F")+
		withHooks("c", "location: example.com/hasnot, function: F")+withHooks("d", "location: example.com/has, function: F"), "-f", "-", "-o", filepath.Join(folder, "below"))
	g.Expect(code).To(BeZero())
	_, next, _ := strings.Cut(stdout, "next")
	g.Expect(next).To(Equal(", in " + filepath.Join(folder, "below") + ":\n  go get example.com/hasnot\n"))
}

// TestModulesThatAreElsewhere are not copied into the image: the Dockerfile and a note say what to do.
func TestModulesThatAreElsewhere(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	write(t, folder, map[string]string{"go.mod": "module example.com/own\n\nreplace (\n\texample.com/up => ../up\n\texample.com/abs v1.0.0 => /src/abs\n\texample.com/below => ./below\n\texample.com/dots => ./below/../other\n\texample.com/fork => example.com/mine v1.2.3\n)\n"})
	_, stderr, code := orkestra(t, withHooks("a", "location: example.com/own/h, function: F"), "-f", "-", "-o", filepath.Join(folder, "cmd", "manager"))
	g.Expect(code).To(BeZero())
	note := func(module, at string) string {
		return "note: go.mod replaces " + module + " by " + at + ", outside of its own folder: an image of that folder alone is built after \"go mod vendor\"\n"
	}
	g.Expect(stderr).To(Equal(note("example.com/up", "../up") + note("example.com/abs", "/src/abs")))
	said := regexp.MustCompile(`(?m)^# go\.mod replaces (\S+) by`).FindAllStringSubmatch(read(t, folder, "cmd/manager/Dockerfile"), -1)
	g.Expect(said).To(HaveExactElements(HaveExactElements(Not(BeEmpty()), "example.com/up"), HaveExactElements(Not(BeEmpty()), "example.com/abs")))
}

// TestDockerfilesAgree: the one that is written builds with what the product's builds with.
func TestDockerfilesAgree(t *testing.T) {
	from := regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+)`)
	NewWithT(t).Expect(from.FindAllStringSubmatch(dockerfile(".", nil), -1)).To(HaveEach(WithTransform(func(m []string) string { return m[1] },
		BeElementOf(images(from, read(t, root, "Dockerfile"))))))
}

func images(from *regexp.Regexp, text string) []string {
	var out []string
	for _, m := range from.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}
