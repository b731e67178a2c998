package supervisor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orkspace/orkestra/test/cluster/internal/folder"
	"github.com/orkspace/orkestra/test/cluster/internal/supervisor"
)

// TestAClusterThatDoesNotStart leaves the logs of its components, and says where they are and that one may try again. The next try finds no hindrance, nor
// does down.
func TestAClusterThatDoesNotStart(t *testing.T) {
	binary, dir := filepath.Join(t.TempDir(), "component"), filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho no disk is left for $1\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		said := failedStart(t, t.Context(), binary, dir)
		for _, want := range []string{"no disk is left for etcd", "Try again", filepath.Join(dir, "*.log")} {
			if !strings.Contains(said, want) {
				t.Errorf("got %q, want %q", said, want)
			}
		}
		if left := strings.Join(names(t, dir), " "); left != "etcd.log lock" {
			t.Errorf("left behind: %s", left)
		}
		if log, err := os.ReadFile(filepath.Join(dir, "etcd.log")); string(log) != "no disk is left for etcd\n" {
			t.Errorf("the log has %q, %v", log, err)
		}
		if _, owned, err := folder.Owner(dir); owned || err != nil {
			t.Errorf("the folder is owned: %t, %v", owned, err)
		}
	}
	if err := supervisor.Down(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("down left the folder: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	failedStart(t, ended, binary, dir)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("one that was told to end left its folder: %v", err)
	}
}

// failedStart gives what a supervisor says of a cluster that does not start.
func failedStart(t *testing.T, ctx context.Context, binary, dir string) string {
	t.Helper()
	var out bytes.Buffer
	ended := make(chan error)
	go func() { ended <- supervisor.Supervise(ctx, binary, dir, supervisor.Options{}, &out) }() // it keeps its thread
	if err := <-ended; err == nil {
		t.Fatal("it started")
	}
	var answer supervisor.Answer
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	return answer.Error
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
