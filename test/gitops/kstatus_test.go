package gitops_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestKstatus(t *testing.T) {
	each(t, func(v verdict) string { return v.kstatus }, func(t *testing.T, obj *unstructured.Unstructured) string {
		t.Helper()
		result, err := status.Compute(obj)
		if err != nil {
			t.Fatal(err)
		}
		return string(result.Status)
	})
}

// TestKstatusIsTheProducts checks that these tests use the version of kstatus that the product asks about children.
func TestKstatusIsTheProducts(t *testing.T) {
	version := regexp.MustCompile(`github\.com/fluxcd/cli-utils (v\S+)`)
	var found []string
	for _, file := range []string{"go.mod", "../../go.mod"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		match := version.FindSubmatch(content)
		if match == nil {
			t.Fatalf("%s does not require cli-utils", file)
		}
		found = append(found, string(match[1]))
	}
	if found[0] != found[1] {
		t.Errorf("cli-utils is %s here, and %s in the product", found[0], found[1])
	}
}
