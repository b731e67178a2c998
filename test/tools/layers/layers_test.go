// Package layers_test plants imports in an empty copy of the tree and sees which ones the linter reports, so that no rule of the
// layers is a glob that matches nothing.
package layers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/orkspace/orkestra"
	root   = "../../.."
)

// leaves may import the API and engine/suggest, and nothing else of ours.
var leaves = []string{
	"kinds/shape", "hook", "provider", "metrics", "tracing", "drift", "status", "health", "decoding", "external", "watch", "rings", "suggest",
}

// stubs stand for modules of others.
var stubs = []string{
	"github.com/aws/smithy-go", "github.com/coreos/go-oidc/v3/oidc", "go.mongodb.org/mongo-driver/v2/bson", "github.com/pkg/errors", "github.com/stretchr/testify/assert", "go.opentelemetry.io/otel/trace", "k8s.io/api/core/v1", "k8s.io/client-go/rest",
	"k8s.io/apimachinery/pkg/apis/meta/v1", "sigs.k8s.io/controller-runtime/pkg/client", "sigs.k8s.io/controller-runtime/pkg/scheme",
}

// plant is an import in a file of a folder, and the list of depguard that forbids it; none if it is allowed.
type plant struct {
	folder, imported, list string
	test                   bool // the file is a test
}

func (p plant) String() string {
	return fmt.Sprintf("%s imports %s", p.folder, p.imported)
}

// ours returns the import path of a folder.
func ours(folder string) string {
	return module + "/" + folder
}

func TestLayersForbid(t *testing.T) {
	// The list "engine" reports the reconcilers first, but not in tests; there, the others must.
	plants := []plant{
		{folder: "api/v1alpha1", imported: ours("engine/suggest"), list: "api"},
		{folder: "api/v1alpha1", imported: "k8s.io/client-go/rest", list: "api"},
		{folder: "api/v1alpha1", imported: "sigs.k8s.io/controller-runtime/pkg/client", list: "api"},
		{folder: "engine/provider/helm", imported: ours("engine/health"), list: "providers"},
		{folder: "engine/provider/helm", imported: ours("controllers"), list: "providers", test: true},
		{folder: "engine/provider/helm/render", imported: ours("engine"), list: "providers"},
		{folder: "cmd/orkestra/app", imported: ours("engine/provider/helm"), list: "drivers"},
		{folder: "engine/web/person", imported: ours("engine/web/api"), list: "webperson"},
		{folder: "engine/web/answers", imported: ours("engine/web/person"), list: "webanswers"},
		{folder: "engine/web/manual", imported: ours("engine/pipeline"), list: "webmanual"},
		{folder: "engine/web/signin", imported: ours("engine/web/view"), list: "websignin"},
		{folder: "engine/web", imported: ours("engine/web/signin"), list: "webrows"},
		{folder: "engine/web/mcp", imported: ours("engine/web/view"), list: "webmcp"},
		{folder: "cmd/orkestra/importer/kro", imported: ours("cmd/orkestra/files"), list: "importer"},
		{folder: "cmd/orkestra/importer/katalog", imported: "os", list: "importer"},
		{folder: "cmd/orkestra/initialize/derive", imported: ours("cmd/orkestra/files"), list: "importer"},
		{folder: "cmd/orkestra/initialize/derive", imported: "os/exec", list: "importer"},
		{folder: "controllers/serve", imported: "github.com/coreos/go-oidc/v3/oidc", list: "oidc"},
		{folder: "engine/history", imported: ours("engine/cycle"), list: "history"},
		{folder: "engine/look", imported: ours("engine/cycle"), list: "look"},
		{folder: "controllers/center", imported: ours("engine/look"), list: "center"},
		{folder: "controllers/inspect", imported: ours("engine"), list: "center"},
		{folder: "controllers/act", imported: ours("engine/look"), list: "center"},
		{folder: "engine/provision", imported: "github.com/aws/smithy-go", list: "drivers"},
		{folder: "engine/provider", imported: "go.mongodb.org/mongo-driver/v2/bson", list: "drivers", test: true},
		{folder: "engine/cycle", imported: "go.opentelemetry.io/otel/trace", list: "spans"},
		{folder: "cmd/orkestra/manager", imported: "go.opentelemetry.io/otel/trace", list: "spans"},
		{folder: "engine/access", imported: ours("engine/watch"), list: "access"},
		{folder: "engine/access", imported: ours("engine"), list: "access"},
		{folder: "engine/access", imported: ours("controllers"), list: "access", test: true},
		{folder: "engine/kinds", imported: ours("engine/expr"), list: "kinds"},
		{folder: "engine/kinds", imported: ours("engine"), list: "kinds"},
		{folder: "engine/kinds", imported: ours("controllers"), list: "kinds", test: true},
		{folder: "engine/apply", imported: ours("engine/watch"), list: "apply"},
		{folder: "engine/apply", imported: ours("engine"), list: "apply"},
		{folder: "engine/apply", imported: ours("controllers"), list: "apply", test: true},
		{folder: "engine/when", imported: ours("engine/pipeline"), list: "when"},
		{folder: "engine/when", imported: ours("engine"), list: "when"},
		{folder: "engine/when", imported: ours("controllers"), list: "when", test: true},
		{folder: "engine/admission", imported: ours("engine/expr"), list: "admission"},
		{folder: "engine/admission", imported: ours("engine"), list: "admission"},
		{folder: "engine/admission", imported: ours("controllers"), list: "admission", test: true},
		{folder: "engine/autoscale", imported: ours("engine/pipeline"), list: "when"},
		{folder: "engine/autoscale", imported: ours("engine"), list: "when"},
		{folder: "engine/discovery", imported: ours("engine/watch"), list: "discovery"},
		{folder: "engine/discovery", imported: ours("engine"), list: "discovery"},
		{folder: "engine/discovery", imported: ours("controllers"), list: "discovery", test: true},
		{folder: "engine/monitor", imported: ours("engine/watch"), list: "monitor"},
		{folder: "engine/monitor", imported: ours("engine"), list: "monitor"},
		{folder: "engine/monitor", imported: ours("controllers"), list: "monitor", test: true},
		{folder: "engine/contention", imported: ours("engine/pipeline"), list: "contention"},
		{folder: "engine/contention", imported: ours("engine"), list: "contention"},
		{folder: "engine/contention", imported: ours("controllers"), list: "contention", test: true},
		{folder: "engine/boxschema", imported: ours("engine/pipeline"), list: "boxspec"},
		{folder: "engine/boxspec", imported: ours("engine"), list: "boxspec"},
		{folder: "engine/boxspec", imported: ours("engine/pipeline"), list: "boxspec"},
		{folder: "engine/boxspec", imported: ours("controllers"), list: "boxspec", test: true},
		{folder: "engine/pipeline/check", imported: ours("engine/pipeline"), list: "compile"},
		{folder: "engine/pipeline/compile", imported: ours("engine/pipeline"), list: "compile"},
		{folder: "engine/pipeline/compile", imported: ours("engine"), list: "pipeline"},
		{folder: "engine/pipeline/declare", imported: ours("engine/pipeline"), list: "declare"},
		{folder: "engine/pipeline/children", imported: ours("engine/pipeline"), list: "children"},
		{folder: "engine/pipeline/children", imported: ours("engine/pipeline/outside"), list: "children"},
		{folder: "engine/pipeline/declare", imported: ours("engine/pipeline/stage"), list: "declare"},
		{folder: "engine/pipeline/stage", imported: ours("engine/pipeline"), list: "stage"},
		{folder: "engine/pipeline/outside", imported: ours("engine/pipeline/declare"), list: "outside"},
		{folder: "engine/pipeline/outcome", imported: ours("engine/pipeline/children"), list: "outcome"},
		{folder: "engine/pipeline/deletion", imported: ours("engine/pipeline/outside"), list: "deletion"},
		{folder: "engine/pipeline/overview", imported: ours("engine/pipeline/outcome"), list: "overview"},
		{folder: "engine/pipeline/patches", imported: ours("engine/pipeline/deletion"), list: "patches"},
		{folder: "engine/pipeline/hooks", imported: ours("engine/pipeline/deletion"), list: "hooks"},
		{folder: "engine/hook/protocol", imported: ours("engine/external"), list: "protocol"},
		{folder: "engine/hook/protocol", imported: ours("controllers"), list: "protocol", test: true},
		{folder: "engine/pipeline/providers", imported: ours("engine/pipeline/deletion"), list: "provided"},
		{folder: "engine/provision", imported: ours("engine/pipeline"), list: "provision"},
		{folder: "engine/provision", imported: ours("controllers"), list: "provision", test: true},
		{folder: "engine/pipeline/rollout", imported: ours("engine/pipeline/children"), list: "rollout"},
		{folder: "engine/pipeline/graph", imported: ours("engine/pipeline/children"), list: "graph"},
		{folder: "engine/web/view", imported: ours("engine/pipeline/stage"), list: "webview"},
		{folder: "engine/pipeline/refusal", imported: ours("engine/pipeline/children"), list: "refusal"},
		{folder: "engine/pipeline/whole", imported: ours("engine/pipeline/children"), list: "whole"},
		{folder: "engine/pipeline/settle", imported: ours("engine/pipeline/children"), list: "settle"},
		{folder: "engine/pipeline/items", imported: ours("engine/pipeline/children"), list: "items"},
		{folder: "engine/rollback", imported: ours("engine/watch"), list: "rollback"},
		{folder: "engine/rollback", imported: ours("engine"), list: "rollback"},
		{folder: "engine/rollback", imported: ours("controllers"), list: "rollback", test: true},
		{folder: "engine/pipeline", imported: ours("engine"), list: "pipeline"},
		{folder: "engine/pipeline", imported: ours("engine/watch"), list: "pipeline"},
		{folder: "engine/pipeline", imported: ours("controllers"), list: "pipeline", test: true},
		{folder: "controllers/operatorbox", imported: ours("controllers/crdhealth"), list: "controllers"},
		{folder: "controllers/operatorbox", imported: ours("controllers/webhook"), list: "controllers"},
		{folder: "controllers/webhook", imported: ours("engine/apply"), list: "webhook"},
		{folder: "controllers/webhook", imported: ours("engine"), list: "webhook"},
		{folder: "controllers/certificates", imported: ours("api/v1alpha1"), list: "certificates"},
		{folder: "engine/cleanup", imported: ours("engine"), list: "cycle"},
		{folder: "engine/cycle", imported: ours("engine"), list: "cycle"},
		{folder: "engine/cycle", imported: ours("controllers"), list: "cycle", test: true},
		{folder: "engine/inventory", imported: ours("engine"), list: "cycle"},
		{folder: "engine", imported: ours("controllers"), list: "engine"},
		{folder: "engine/expr", imported: ours("controllers"), list: "engine"},
		{folder: "engine/expr/functions", imported: ours("engine"), list: "expressions"},
		{folder: "engine/expr/cel", imported: ours("controllers"), list: "expressions", test: true},
		{folder: "engine/kinds", imported: ours("engine/expr/budget"), list: "kinds"},
		{folder: "cmd/orkestra", imported: "sort", list: "everywhere"},
		{folder: "controllers", imported: "sort", list: "everywhere", test: true},
		{folder: "test/e2e", imported: "github.com/stretchr/testify/assert", list: "everywhere", test: true},
		{folder: "engine", imported: "github.com/pkg/errors", list: "everywhere"},
	}
	for i, leaf := range leaves {
		plants = append(plants,
			plant{folder: "engine/" + leaf, imported: ours("engine"), list: "leaves"},
			plant{folder: "engine/" + leaf, imported: ours("controllers"), list: "leaves", test: true})
		if i > 0 { // any other leaf, but no cycle
			plants = append(plants, plant{folder: "engine/" + leaf, imported: ours("engine/" + leaves[i-1]), list: "leaves"})
		}
	}
	expectReported(t, plants)
	// On their own: the other way round stands above.
	expectReported(t, []plant{
		{folder: "controllers/crdhealth", imported: ours("controllers/operatorbox"), list: "controllers"},
		{folder: "engine/expr", imported: ours("engine/kinds"), list: "expressions"},
	})
}

func expectReported(t *testing.T, plants []plant) {
	t.Helper()
	found := lint(t, plants)
	for i, p := range plants {
		if !slices.ContainsFunc(found[i], func(text string) bool { return strings.Contains(text, "list '"+p.list+"'") }) {
			t.Errorf("%s: the list %q did not report it; reported: %q", p, p.list, found[i])
		}
	}
}

func TestLayersAllow(t *testing.T) {
	plants := []plant{
		{folder: "api/v1alpha1", imported: "k8s.io/apimachinery/pkg/apis/meta/v1"},
		{folder: "api/v1alpha1", imported: "k8s.io/api/core/v1"},
		{folder: "api/v1alpha1", imported: "sigs.k8s.io/controller-runtime/pkg/scheme"},
		{folder: "api/v1alpha1", imported: "slices"},
		{folder: "engine/provider/helm", imported: ours("engine/provider")},
		{folder: "engine/provider/helm", imported: ours("engine/suggest")},
		{folder: "engine/provider/helm", imported: "github.com/aws/smithy-go"},
		{folder: "cmd/orkestra-providers", imported: ours("engine/provider/helm")},
		{folder: "cmd/orkestra/importer/kro", imported: ours("cmd/orkestra/importer/draft")},
		{folder: "cmd/orkestra/importer", imported: ours("cmd/orkestra/files")},
		{folder: "cmd/orkestra/initialize/derive", imported: ours("cmd/orkestra/importer/draft")},
		{folder: "cmd/orkestra/initialize", imported: "os/exec"},
		{folder: "engine/tracing", imported: "go.opentelemetry.io/otel/trace"},
		{folder: "cmd/orkestra/process", imported: "go.opentelemetry.io/otel/trace"},
		{folder: "engine/cycle", imported: "go.opentelemetry.io/otel/trace", test: true},
		{folder: "engine/cycle", imported: ours("engine/tracing")},
		{folder: "engine/kinds", imported: ours("engine/kinds/shape")},
		{folder: "engine/apply", imported: ours("engine/drift")},
		{folder: "engine/expr", imported: ours("engine/expr/cel")},
		{folder: "engine/expr/cel", imported: ours("engine/expr/budget")},
		{folder: "engine/expr/functions", imported: ours("engine/value")},
		{folder: "engine/when", imported: ours("engine/expr")},
		{folder: "engine/when", imported: ours("engine/suggest")},
		{folder: "engine/admission", imported: ours("engine/when")},
		{folder: "engine/pipeline", imported: ours("engine/expr")},
		{folder: "engine/pipeline/declare", imported: ours("engine/pipeline/compile")},
		{folder: "engine/pipeline/children", imported: ours("engine/pipeline/declare")},
		{folder: "engine/pipeline/stage", imported: ours("engine/pipeline/compile")},
		{folder: "engine/pipeline/outside", imported: ours("engine/pipeline/stage")},
		{folder: "engine/pipeline/outcome", imported: ours("engine/pipeline/stage")},
		{folder: "engine/pipeline/deletion", imported: ours("engine/pipeline/children")},
		{folder: "engine/pipeline/overview", imported: ours("engine/pipeline/children")},
		{folder: "engine/pipeline/patches", imported: ours("engine/pipeline/children")},
		{folder: "engine/pipeline/hooks", imported: ours("engine/pipeline/children")},
		{folder: "engine/pipeline/hooks", imported: ours("engine/hook")},
		{folder: "engine/pipeline/hooks", imported: ours("engine/pipeline/outside")},
		{folder: "engine/hook/protocol", imported: ours("engine/hook")},
		{folder: "engine/pipeline/providers", imported: ours("engine/pipeline/outside")},
		{folder: "engine/provision", imported: ours("engine/provider")},
		{folder: "engine/pipeline/rollout", imported: ours("engine/pipeline/declare")},
		{folder: "engine/pipeline/graph", imported: ours("engine/pipeline/providers")},
		{folder: "engine/web/view", imported: ours("engine/pipeline/graph")},
		{folder: "engine/web/view", imported: ours("engine/health")},
		{folder: "engine/web/person", imported: ours("engine/web/answers")},
		{folder: "engine/pipeline/refusal", imported: ours("engine/pipeline/declare")},
		{folder: "engine/pipeline/whole", imported: ours("engine/pipeline/declare")},
		{folder: "engine/pipeline/settle", imported: ours("engine/pipeline/declare")},
		{folder: "engine/pipeline/items", imported: ours("engine/pipeline/declare")},
		{folder: "engine/rollback", imported: ours("engine/pipeline/stage")},
		{folder: "engine/pipeline", imported: ours("engine/suggest")},
		{folder: "engine/pipeline", imported: ours("engine/when")},
		{folder: "engine/pipeline", imported: ours("engine/autoscale")},
		{folder: "engine/autoscale", imported: ours("engine/when")},
		{folder: "engine", imported: ours("engine/pipeline")},
		{folder: "engine", imported: ours("engine/watch")},
		{folder: "engine", imported: ours("engine/suggest")},
		{folder: "controllers", imported: ours("engine")},
		{folder: "cmd/orkestra", imported: ours("controllers")},
		{folder: "test/e2e", imported: ours("controllers"), test: true},
	}
	for _, leaf := range leaves {
		plants = append(plants, plant{folder: "engine/" + leaf, imported: ours("api/v1alpha1")})
		if leaf != "suggest" {
			plants = append(plants, plant{folder: "engine/" + leaf, imported: ours("engine/suggest")})
		}
	}
	found := lint(t, plants)
	for i, p := range plants {
		if len(found[i]) > 0 {
			t.Errorf("%s: reported, but it is allowed: %q", p, found[i])
		}
	}
}

// lint returns, for each plant, what depguard says of it.
func lint(t *testing.T, plants []plant) [][]string {
	t.Helper()
	dir := t.TempDir()
	config, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, ".golangci.yml", string(config))
	writeModules(t, dir)
	files := map[string]int{}
	for i, p := range plants {
		name := filepath.Join(p.folder, fmt.Sprintf("plant%d.go", i))
		if p.test {
			name = filepath.Join(p.folder, fmt.Sprintf("plant%d_test.go", i))
		}
		files[name] = i
		write(t, dir, name, fmt.Sprintf("package planted\n\nimport _ %q\n", p.imported))
		if folder, ok := strings.CutPrefix(p.imported, module+"/"); ok {
			write(t, dir, filepath.Join(folder, "empty.go"), "package planted\n")
		}
	}
	found := make([][]string, len(plants))
	for file, texts := range run(t, dir) {
		i, ok := files[file]
		if !ok {
			t.Fatalf("the linter reports %q, where nothing was planted: %q", file, texts)
		}
		found[i] = texts
	}
	return found
}

// writeModules makes a module of the product's name, and one for each stub.
func writeModules(t *testing.T, dir string) {
	t.Helper()
	names := map[string]bool{}
	for _, stub := range stubs {
		// The first two parts are a module here, or three on the forge.
		parts := strings.SplitN(stub, "/", 4)
		name := strings.Join(parts[:min(2, len(parts))], "/")
		if parts[0] == "github.com" {
			name = strings.Join(parts[:3], "/")
		}
		names[name] = true
		write(t, dir, filepath.Join("stubs", stub, "stub.go"), "package stub\n")
		write(t, dir, filepath.Join("stubs", name, "go.mod"), "module "+name+"\n\ngo 1.26\n")
	}
	mod := "module " + module + "\n\ngo 1.26\n"
	for _, name := range slices.Sorted(maps.Keys(names)) {
		mod += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => ./stubs/%s\n", name, name, name)
	}
	write(t, dir, "go.mod", mod)
}

// run returns what depguard says, by file.
func run(t *testing.T, dir string) map[string][]string {
	t.Helper()
	linter, err := filepath.Abs(filepath.Join(root, "bin", "golangci-lint"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(linter); err != nil {
		t.Fatalf("finding the linter: %v; run make bin/golangci-lint", err)
	}
	command := exec.CommandContext(t.Context(), linter, "run", "--enable-only=depguard", "--issues-exit-code=0",
		"--output.json.path=stdout", "--show-stats=false", "--allow-parallel-runners", "./...")
	command.Dir = dir
	// A cache that is shared names the files of former runs.
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOLANGCI_LINT_CACHE="+t.TempDir())
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("running the linter: %v\n%s", err, stderr.String())
	}
	var result struct {
		Issues []struct {
			FromLinter string `json:"FromLinter"`
			Text       string `json:"Text"`
			Pos        struct {
				Filename string `json:"Filename"`
			} `json:"Pos"`
		} `json:"Issues"`
	}
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("reading what the linter says: %v\n%s", err, out)
	}
	found := map[string][]string{}
	for _, issue := range result.Issues {
		if issue.FromLinter != "depguard" {
			t.Fatalf("%s: %s: %s", issue.FromLinter, issue.Pos.Filename, issue.Text)
		}
		found[issue.Pos.Filename] = append(found[issue.Pos.Filename], issue.Text)
	}
	return found
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
