package flux

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a clone of one that Git serves on this machine.
type repository struct {
	clone, url string
}

// newRepository makes one, and serves it until the test ends.
func newRepository(t *testing.T) *repository {
	t.Helper()
	served := t.TempDir()
	r := &repository{clone: filepath.Join(t.TempDir(), "fleet")}
	git(t, served, "init", "--quiet", "--bare", "--initial-branch=main", "fleet.git")
	git(t, served, "clone", "--quiet", filepath.Join(served, "fleet.git"), r.clone)
	git(t, r.clone, "checkout", "--quiet", "-b", "main")
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(git(t, served, "--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + served, "GIT_HTTP_EXPORT_ALL=1"},
	})
	t.Cleanup(server.Close)
	r.url = server.URL + "/fleet.git"
	return r
}

// put writes files, from testdata or none to remove them, and edits them.
func (r *repository) put(t *testing.T, path, source string, edits ...string) {
	t.Helper()
	file := filepath.Join(r.clone, path)
	if source == "" {
		git(t, r.clone, "rm", "--quiet", path)
		return
	}
	text, err := os.ReadFile(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.NewReplacer(edits...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// commit commits everything, pushes it, and gives the commit's hash.
func (r *repository) commit(t *testing.T, message string) string {
	t.Helper()
	git(t, r.clone, "add", "--all")
	git(t, r.clone, "-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "--quiet", "--message", message)
	return r.push(t)
}

// revert takes the last commit back.
func (r *repository) revert(t *testing.T) string {
	t.Helper()
	git(t, r.clone, "-c", "user.name=Test", "-c", "user.email=test@example.com", "revert", "--no-edit", "HEAD")
	return r.push(t)
}

func (r *repository) push(t *testing.T) string {
	t.Helper()
	git(t, r.clone, "push", "--quiet", "origin", "main")
	return git(t, r.clone, "rev-parse", "HEAD")
}

// git runs Git in a folder, and gives what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
