package chaos_test

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
	"time"
)

// dumpRequests writes what managers asked to a file.
func (r *run) dumpRequests(path string) error {
	sent, _ := r.proxy.since(0)
	var b strings.Builder
	for _, s := range sent {
		fmt.Fprintf(&b, "%s %s %s\n", s.at.Format(time.RFC3339Nano), s.manager, s)
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}

// dump writes the stacks of all goroutines to a file.
func dump(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("goroutine").WriteTo(file, 1), file.Close())
}
