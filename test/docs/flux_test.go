package docs_test

import (
	"slices"
	"testing"
)

// TestTheHelmReleaseIsTheOneThatIsTried: test/flux installs the chart by this file.
func TestTheHelmReleaseIsTheOneThatIsTried(t *testing.T) {
	const page, file = "docs/how-to/flux.md", "test/flux/testdata/helm/orkestra.yaml"
	tried := read(t, file)
	if !slices.ContainsFunc(fences(t, page), func(f *fence) bool { return f.text == tried }) {
		t.Errorf("no block of %s is %s:\n%s", page, file, tried)
	}
}
