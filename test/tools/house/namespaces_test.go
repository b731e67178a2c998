package main

import (
	"strings"
	"testing"
)

func TestOneFileDecidesWhereABoxMayReach(t *testing.T) {
	const reads = "package a\nfunc f(o interface{ GetNamespace() string }) bool { return o.GetNamespace() == \"a\" }\n"
	for name, tc := range map[string]struct {
		file string
		want string // empty: nothing is found
	}{
		"the file that decides":      {"engine/pipeline/stage/namespaces.go", ""},
		"one that names objects":     {"engine/pipeline/children/cycle.go", ""},
		"another in the same room":   {"engine/pipeline/stage/marks.go", "engine/pipeline/stage/marks.go reads the namespace of an object"},
		"another room":               {"engine/pipeline/outside/cross.go", "ask Cycle.MayReach"},
		"a new room":                 {"engine/pipeline/hooks/client.go", "ask Cycle.MayReach"},
		"the plan":                   {"engine/pipeline/run.go", "ask Cycle.MayReach"},
		"a test":                     {"engine/pipeline/run_test.go", ""},
		"what is no part of a cycle": {"engine/watch/children.go", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := strings.Join(reaches(module(t, map[string]string{tc.file: reads})), "\n")
			if tc.want == "" && found != "" || !strings.Contains(found, tc.want) {
				t.Errorf("found %q, wanted %q", found, tc.want)
			}
		})
	}
}
