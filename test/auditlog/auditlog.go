// Package auditlog counts what programs write to an API server, for tests that show that two of them do not fight.
package auditlog

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Log reads the audit log of an API server: localcluster.Options.AuditLog.
type Log struct {
	file string
	read int64
}

// New reads a log from its beginning.
func New(file string) *Log { return &Log{file: file} }

// Writes counts what was written since the last call, by program, verb, resource and name, as far as counts says so. Dry runs, leases, events, and
// questions about rights and identities are no writes.
func (a *Log) Writes(t *testing.T, counts func(*auditv1.Event) bool) map[string]int {
	t.Helper()
	file, err := os.Open(a.file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read from
	if _, err := file.Seek(a.read, 0); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return found // the rest of a line that is being written
		}
		a.read += int64(len(line))
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("reading the audit log: %v: %s", err, line)
		}
		of := event.ObjectRef
		switch {
		case of == nil, event.Stage != auditv1.StageResponseComplete, strings.Contains(event.RequestURI, "dryRun=All"), of.Resource == "leases", of.Resource == "events",
			strings.HasSuffix(of.Resource, "reviews"), !counts(&event):
			continue
		}
		switch event.Verb {
		case "create", "update", "patch", "delete", "deletecollection":
			program, _, _ := strings.Cut(event.UserAgent, "/")
			found[program+": "+strings.TrimSuffix(event.Verb+" "+of.Resource+"/"+of.Subresource, "/")+" "+of.Name]++
		}
	}
}
