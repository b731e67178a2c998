// Package dependencies_test compares the page that gives a reason for each dependency with the modules that there are.
package dependencies_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root = "../../.."
	page = root + "/docs/design/dependencies.md"
)

// row is a row of a table; its first cell names one module or several.
var (
	row  = regexp.MustCompile("(?m)^\\| (`.*`) \\| (.+) \\|$")
	name = regexp.MustCompile("`([^`]+)`")
)

// mod is what is read of go mod edit -json.
type mod struct {
	Require []struct {
		Path     string `json:"Path"`
		Indirect bool   `json:"Indirect"`
	} `json:"Require"`
	Tool []struct {
		Path string `json:"Path"`
	} `json:"Tool"`
}

func TestEachDependencyHasAReason(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for heading, folder := range map[string]string{
		"## The product: `go.mod`": ".", "## Tools: `test/tools/go.mod`": "test/tools", "## The local cluster: `test/cluster/go.mod`": "test/cluster",
		"## Other tools: `test/gitops/go.mod`": "test/gitops", "## Servers for providers: `test/providers/go.mod`": "test/providers", "## Alerts: `test/rules/go.mod`": "test/rules", "## Flux: `test/flux/controllers/go.mod`": "test/flux/controllers",
		"## Beside kro: `test/bench/peers/kro/go.mod`": "test/bench/peers/kro", "## Beside Crossplane: `test/bench/peers/crossplane/go.mod`": "test/bench/peers/crossplane",
		"## Argo CD: `test/argocd/controllers/go.mod`": "test/argocd/controllers",
		"## The browser: `test/browser/go.mod`":        "test/browser", "## The chart: `test/chart/go.mod`": "test/chart", "## Releases: `test/release/go.mod`": "test/release", "## krew: `test/release/krew/go.mod`": "test/release/krew", "## The site: `test/site/go.mod`": "test/site",
	} {
		t.Run(folder, func(t *testing.T) { compare(t, namedBelow(t, string(content), heading), read(t, folder)) })
	}
}

func TestEachPackageOfThePageHasAReason(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "engine/web/ui/package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Dependencies    map[string]string `json:"dependencies"`
		DevDependencies map[string]string `json:"devDependencies"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	required := slices.Sorted(maps.Keys(p.Dependencies))
	required = slices.Sorted(slices.Values(slices.AppendSeq(required, maps.Keys(p.DevDependencies))))
	named := slices.Sorted(slices.Values(namedBelow(t, string(content), "## The page: `engine/web/ui/package.json`")))
	if !slices.Equal(named, required) {
		t.Errorf("%s gives reasons for %v, and package.json asks for %v", page, named, required)
	}
}

// namedBelow gives what the tables below a heading name.
func namedBelow(t *testing.T, content, heading string) []string {
	t.Helper()
	_, section, found := strings.Cut(content, "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var named []string
	for _, cells := range row.FindAllStringSubmatch(section, -1) {
		for _, match := range name.FindAllStringSubmatch(cells[1], -1) {
			named = append(named, match[1])
		}
	}
	return named
}

func compare(t *testing.T, named []string, m mod) {
	t.Helper()
	if len(named) == 0 {
		t.Fatal("no module is named")
	}
	var required []string
	for _, module := range m.Require {
		required = append(required, module.Path)
		if !module.Indirect && !slices.Contains(named, module.Path) {
			t.Errorf("%s has no reason", module.Path)
		}
	}
	for _, tool := range m.Tool {
		if !slices.ContainsFunc(named, func(module string) bool { return strings.HasPrefix(tool.Path+"/", module+"/") }) {
			t.Errorf("the tool %s has no reason", tool.Path)
		}
	}
	for _, module := range named {
		if !slices.Contains(required, module) {
			t.Errorf("%s is named, but not required", module)
		}
	}
}

func read(t *testing.T, folder string) mod {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	command.Dir = filepath.Join(root, folder)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("reading go.mod of %q: %v", folder, err)
	}
	var m mod
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatalf("reading go.mod of %q: %v", folder, err)
	}
	return m
}
