package docs_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMakeRunStartsTheManagerAgain, when it has run for a while and has failed then, as one does that loses its lease: the page stays meanwhile. What is
// wrong from the beginning ends it.
func TestMakeRunStartsTheManagerAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		codes, after string
		starts       int
		fails        bool
	}{
		"the lease is lost twice":        {"1 1 0", "0", 3, false},
		"it is told to end":              {"0", "0", 1, false},
		"it fails at once":               {"1 0", "15", 1, true},
		"its flags are wrong":            {"2 0", "0", 1, true},
		"lost once, then the flags fail": {"1 2 0", "0", 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			program(t, bin, "orkestra-cluster", `[ "$1" != kubeconfig ] || echo config`)
			program(t, bin, "orkestra", `
here=$(dirname "$0")
case "$1" in
ui) echo $$ >>"$here/pages"; exec sleep 60 ;;
manager)
	until [ -s "$here/pages" ]; do sleep 0.01; done
	kill -0 "$(cat "$here/pages")" || exit 99
	echo >>"$here/starts"
	codes=(`+test.codes+`)
	exit "${codes[$(wc -l <"$here/starts") - 1]}" ;;
esac`)
			command := exec.CommandContext(t.Context(), "make", "--silent", "run", "BIN="+bin, "RUN_AGAIN_AFTER="+test.after)
			command.Dir, command.WaitDelay = root, 10*time.Second // the page has the output open until it is ended
			command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS") })
			out, err := command.CombinedOutput()
			if errors.Is(err, exec.ErrWaitDelay) {
				t.Fatal("the page was not ended")
			}
			if (err != nil) != test.fails {
				t.Errorf("make run: %v: %s", err, out)
			}
			if starts := lines(t, filepath.Join(bin, "starts")); starts != test.starts {
				t.Errorf("the manager was started %d times, wanted %d: %s", starts, test.starts, out)
			}
			if said := strings.Count(string(out), "The manager has ended,"); said != test.starts-1 {
				t.Errorf("that it is started again was said %d times, wanted %d: %s", said, test.starts-1, out)
			}
			if pages := lines(t, filepath.Join(bin, "pages")); pages != 1 {
				t.Errorf("the page was started %d times, wanted once", pages)
			}
		})
	}
}

// lines counts those of a file.
func lines(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// program writes a script in the place of a program.
func program(t *testing.T, folder, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/usr/bin/env bash\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}
