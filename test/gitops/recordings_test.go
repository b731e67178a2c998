package gitops_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// verdict is what each tool is to say of an object.
type verdict struct {
	kstatus, flux, argo string
}

// The verdicts that there are, by the tables in docs/how-to/flux.md and docs/how-to/argocd.md. Only the last four are not the
// same for all tools: Argo CD has a word of its own for what somebody stopped on purpose, Flux has none for what is being
// deleted, and kstatus takes an object without a status for one that has nothing to wait for.
var (
	inProgress  = verdict{"InProgress", "InProgress", "Progressing"}
	current     = verdict{"Current", "Current", "Healthy"}
	failed      = verdict{"Failed", "Failed", "Degraded"}
	terminating = verdict{"Terminating", "InProgress", "Progressing"}
	paused      = verdict{"Current", "Current", "Suspended"}
	stopped     = verdict{"InProgress", "InProgress", "Suspended"}
	silent      = verdict{"Current", "Unknown", "Progressing"}
)

// verdicts are those on the recordings.
var verdicts = map[string]verdict{
	"operatorbox-new":                 inProgress,
	"operatorbox-crd-missing":         inProgress,
	"operatorbox-crd-gone":            inProgress,
	"operatorbox-starting":            inProgress,
	"operatorbox-changed":             inProgress,
	"operatorbox-running":             current,
	"operatorbox-degraded":            current, // the box does what it should; how its resources fare is in its CRDHealth
	"operatorbox-dependency":          current, // it runs; its new resources wait
	"operatorbox-suspended":           stopped,
	"operatorbox-compile-failed":      failed,
	"operatorbox-compile-failed-runs": failed,
	"operatorbox-claimed":             failed,
	"operatorbox-version-not-served":  failed,
	"operatorbox-crd-not-owned":       failed,
	"operatorbox-forbidden":           failed,
	"operatorbox-deleting":            terminating,

	"crdhealth-new":                 inProgress,
	"crdhealth-pending":             inProgress,
	"crdhealth-starting":            inProgress,
	"crdhealth-stopped":             inProgress, // its CRD is gone: the box goes on when that is back
	"crdhealth-box-deleting":        inProgress,
	"crdhealth-healthy":             current,
	"crdhealth-dependency":          current, // to wait is no failure
	"crdhealth-standalone-healthy":  current,
	"crdhealth-standalone-degraded": inProgress, // its own operator may be at work
	"crdhealth-standalone-mistaken": failed,
	"crdhealth-suspended":           stopped,
	"crdhealth-degraded":            failed,
	"crdhealth-claimed":             failed,
	"crdhealth-forbidden":           failed,
	"crdhealth-compile-failed":      failed,
	"crdhealth-compile-failed-runs": failed, // what runs works, but it is not what the box asks for

	"website-new":                    inProgress,
	"website-new-without-default":    silent,
	"website-gate":                   inProgress,
	"website-gate-not-ready":         inProgress,
	"website-cross":                  inProgress,
	"website-children":               inProgress,
	"website-retrying":               inProgress,
	"website-terminating-child":      inProgress,
	"website-dependency":             inProgress,
	"website-rolled-back-retrying":   inProgress,
	"website-rolled-back":            failed,
	"website-held":                   failed,
	"website-no-snapshot":            failed,
	"website-recovered":              current,
	"website-changed":                inProgress,
	"website-ready":                  current,
	"website-no-generation":          current,
	"website-paused":                 paused,
	"website-paused-changed":         stopped,
	"website-paused-new":             stopped,
	"website-paused-stalled":         failed,
	"website-validation-failed":      failed,
	"website-template-error":         failed,
	"website-condition-error":        failed,
	"website-invalid-child":          failed,
	"website-admission-denied":       failed,
	"website-not-owned":              failed,
	"website-duplicate-child":        failed,
	"website-budget-exceeded":        failed,
	"website-external-failed":        failed,
	"website-child-failed":           failed,
	"website-child-failed-not-ready": failed,
	"website-forbidden":              failed,
	"website-deleting":               terminating,
	"website-cleanup-failed":         terminating,
}

// recorded gives the recordings by name.
func recorded(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{}
		asJSON, err := yaml.YAMLToJSONStrict(content)
		if err == nil {
			err = obj.UnmarshalJSON(asJSON) // generations become int64, as they are in tools
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".yaml")] = obj
	}
	return out
}

// each asks a tool about every recording, and compares its answer with the verdict.
func each(t *testing.T, wanted func(verdict) string, ask func(t *testing.T, obj *unstructured.Unstructured) string) {
	t.Helper()
	objects := recorded(t)
	for name, v := range verdicts {
		t.Run(name, func(t *testing.T) {
			obj := objects[name]
			if obj == nil {
				t.Fatal("there is no such recording; see test/e2e/recorded_test.go")
			}
			if got := ask(t, obj.DeepCopy()); got != wanted(v) {
				t.Errorf("want %s, got %s for %v", wanted(v), got, obj.Object["status"])
			}
		})
	}
}

func TestEachRecordingHasAVerdict(t *testing.T) {
	states := map[verdict][]string{}
	for name := range recorded(t) {
		v, ok := verdicts[name]
		if !ok {
			t.Errorf("recording %q has no verdict", name)
		}
		kind, _, _ := strings.Cut(name, "-")
		states[v] = append(states[v], kind)
	}
	for _, v := range []verdict{inProgress, current, failed} {
		for _, kind := range []string{"operatorbox", "crdhealth", "website"} {
			if !slices.Contains(states[v], kind) {
				t.Errorf("no %s is recorded in a state that kstatus calls %s", kind, v.kstatus)
			}
		}
	}
}

// page gives the YAML blocks of a page of docs/how-to.
func page(t *testing.T, name string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../../docs/how-to", name))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for i, part := range strings.Split(string(content), "```") {
		if block, ok := strings.CutPrefix(part, "yaml\n"); ok && i%2 == 1 {
			blocks = append(blocks, block)
		}
	}
	return blocks
}
