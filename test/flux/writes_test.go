package flux

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// writes counts what is written to the API server, by its audit log.
type writes struct {
	file string
	read int64
}

// since gives what a program has written since the last call, by verb and resource, but for its own bookkeeping: leases, events, and the objects of Flux.
func (w *writes) since(t *testing.T, agent string) map[string]int {
	t.Helper()
	file, err := os.Open(w.file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read from
	if _, err := file.Seek(w.read, 0); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return found // the rest of a line that is being written
		}
		w.read += int64(len(line))
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("reading the audit log: %v: %s", err, line)
		}
		of := event.ObjectRef
		switch {
		case of == nil, event.Stage != auditv1.StageResponseComplete, !strings.HasPrefix(event.UserAgent, agent), strings.Contains(event.RequestURI, "dryRun=All"),
			of.Resource == "leases", of.Resource == "events", strings.HasSuffix(of.APIGroup, "toolkit.fluxcd.io"):
			continue
		}
		switch event.Verb {
		case "create", "update", "patch", "delete", "deletecollection":
			found[strings.TrimSuffix(event.Verb+" "+of.Resource+"/"+of.Subresource, "/")+" "+of.Name]++
		}
	}
}
