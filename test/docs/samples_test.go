package docs_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sampleFiles are what every folder of samples has; it has a CRD as well, unless its box serves objects of others.
var sampleFiles = []string{
	"README.md", "box.yaml", "clusterrole.yaml", "expected.yaml", "kustomization.yaml", "resource.yaml",
}

// othersSamples serve objects of others.
var othersSamples = []string{"ports/crdroles", "ports/servicepod"}

const samplesPage = "docs/samples.md"

// portsFolder holds the samples that other tools have as theirs.
const portsFolder = "ports"

// sampleFolders are the folders of config/samples, and those of the ports.
func sampleFolders(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, parent := range []string{"", portsFolder} {
		entries, err := os.ReadDir(filepath.Join(root, "config", "samples", parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != portsFolder {
				out = append(out, path.Join(parent, e.Name()))
			}
		}
	}
	return out
}

// TestSampleFiles checks that every sample is complete, and that the page lists it.
func TestSampleFiles(t *testing.T) {
	page := read(t, samplesPage)
	folders := sampleFolders(t)
	if len(folders) <= 10 {
		t.Errorf("want ten samples and the ports, got %v", folders)
	}
	for _, folder := range folders {
		for _, file := range sampleFiles {
			if _, err := os.Stat(filepath.Join(root, "config", "samples", folder, file)); err != nil {
				t.Errorf("the sample %s has no %s", folder, file)
			}
		}
		_, err := os.Stat(filepath.Join(root, "config", "samples", folder, "crd.yaml"))
		if ofOthers := slices.Contains(othersSamples, folder); ofOthers != (err != nil) {
			t.Errorf("the sample %s serves objects of others: %t; its CRD: %v", folder, ofOthers, err)
		}
		if !strings.Contains(page, "](../config/samples/"+folder+"/README.md)") {
			t.Errorf("%s does not list the sample %s", samplesPage, folder)
		}
	}
}

// TestSampleReadmes checks that the links of the samples' pages lead to something, and that each says how it is applied.
func TestSampleReadmes(t *testing.T) {
	for _, folder := range sampleFolders(t) {
		page := "config/samples/" + folder + "/README.md"
		if !strings.Contains(read(t, page), "kubectl apply -k config/samples/"+folder+"\n") {
			t.Errorf("%s does not say how the sample is applied", page)
		}
		for _, m := range link.FindAllStringSubmatch(prose(t, page), -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: the link %q leads nowhere", page, m[1])
			}
		}
	}
}

// sampleBoxes checks that the box of every sample compiles, and that nothing in it is left unchecked.
func sampleBoxes(t *testing.T, bin string) {
	t.Helper()
	for _, folder := range sampleFolders(t) {
		t.Run(folder, func(t *testing.T) {
			dir := filepath.Join(root, "config", "samples", folder)
			args := []string{"validate", "-f", filepath.Join(dir, "box.yaml")}
			if !slices.Contains(othersSamples, folder) {
				args = append(args, "--crd", filepath.Join(dir, "crd.yaml"))
			}
			if slices.Contains(grantingSamples, folder) {
				if out, err := exec.CommandContext(t.Context(), bin, args...).CombinedOutput(); err == nil {
					t.Errorf("the box is valid without --allow-granting-kinds: %s", out)
				}
				args = append(args, "--allow-granting-kinds")
			}
			out, err := exec.CommandContext(t.Context(), bin, args...).CombinedOutput()
			if err != nil || strings.Contains(string(out), "not checked") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// grantingSamples make children that grant rights.
var grantingSamples = []string{"ports/crdroles", "tenantspace"}
