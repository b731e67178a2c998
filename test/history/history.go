// Package history gives tests of upgrades what the repository was before.
package history

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// First is the commit of the first release that ran ten samples.
const First = "ca4f0d2b3d6338a6e0422c49984545c8e5e0fa51"

// require is set where the history of the repository is there for certain: then a missing commit is a failure, and no reason to skip.
const require = "ORKESTRA_REQUIRE_UPGRADE"

// Sources gives a folder with the tree of a commit, and skips the test where the clone does not have it. root is the folder of the repository.
func Sources(tb testing.TB, root, commit string) string {
	tb.Helper()
	dir := tb.TempDir()
	archive := filepath.Join(dir, "source.tar")
	if out, err := exec.CommandContext(tb.Context(), "git", "-C", root, "archive", "--output", archive, commit).CombinedOutput(); err != nil {
		if os.Getenv(require) == "" {
			tb.Skipf("the commit %s is not in this clone: %s", commit, out)
		}
		tb.Fatalf("%s demands the history of the repository: %s", require, out)
	}
	if out, err := exec.CommandContext(tb.Context(), "tar", "-xf", archive, "-C", dir).CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return dir
}
