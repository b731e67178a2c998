// Package gitserver gives a test a Git repository that is served on loopback by Git itself, over HTTP.
package gitserver

import (
	"errors"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Repository is a clone of one that Git serves on this machine.
type Repository struct {
	// URL is where it is cloned from.
	URL string

	clone string
}

// New makes an empty repository with the branch main, and serves it until the test ends.
func New(t *testing.T) *Repository {
	t.Helper()
	served := t.TempDir()
	r := &Repository{clone: filepath.Join(t.TempDir(), "fleet")}
	git(t, served, "init", "--quiet", "--bare", "--initial-branch=main", "fleet.git")
	git(t, served, "clone", "--quiet", filepath.Join(served, "fleet.git"), r.clone)
	git(t, r.clone, "checkout", "--quiet", "-b", "main")
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(git(t, served, "--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + served, "GIT_HTTP_EXPORT_ALL=1"},
	})
	t.Cleanup(server.Close)
	r.URL = server.URL + "/fleet.git"
	return r
}

// Put writes a file of the repository from one of the folder testdata, with edits: pairs of what is replaced and by what.
func (r *Repository) Put(t *testing.T, path, source string, edits ...string) {
	t.Helper()
	file := filepath.Join(r.clone, path)
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

// Replace makes a folder of the repository the same as one of this machine.
func (r *Repository) Replace(t *testing.T, path, source string) {
	t.Helper()
	folder := filepath.Join(r.clone, path)
	if err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(source))); err != nil {
		t.Fatal(err)
	}
}

// Remove removes a file, or a folder, of the repository.
func (r *Repository) Remove(t *testing.T, path string) {
	t.Helper()
	git(t, r.clone, "rm", "--quiet", "-r", path)
}

// Commit commits everything, pushes it, and gives the commit's hash.
func (r *Repository) Commit(t *testing.T, message string) string {
	t.Helper()
	git(t, r.clone, "add", "--all")
	git(t, r.clone, "-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "--quiet", "--message", message)
	return r.push(t)
}

// Tag gives the last commit a name, and pushes that.
func (r *Repository) Tag(t *testing.T, name string) {
	t.Helper()
	git(t, r.clone, "tag", name)
	git(t, r.clone, "push", "--quiet", "origin", name)
}

// Revert takes the last commit back, pushes that, and gives its hash.
func (r *Repository) Revert(t *testing.T) string {
	t.Helper()
	git(t, r.clone, "-c", "user.name=Test", "-c", "user.email=test@example.com", "revert", "--no-edit", "HEAD")
	return r.push(t)
}

func (r *Repository) push(t *testing.T) string {
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
