// Package policies holds the admission policies as they are installed, for the manager, which looks whether they are in force. It holds
// nothing else: no other package may be imported here.
package policies

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed box_*.yaml grants.yaml health_crd.yaml leases.yaml marks.yaml revisions.yaml statuses.yaml templates.yaml
var files embed.FS

const suffix = ".yaml"

// Namespace is the manager's in what Read gives.
const Namespace = "orkestra-system"

// Settings are the names of variables that are decided by those who install the policies. The chart has a value for each.
func Settings() []string {
	return []string{
		"managers",         // users that count as the manager
		"controllers",      // users that copy labels and annotations to objects of their own
		"allowSkipCleanup", // whether the author of a resource may have it go without its onDelete
	}
}

// Names are the names of all policies, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("reading embedded files: %v", err)) // they are part of the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.ReplaceAll(strings.TrimSuffix(e.Name(), suffix), "_", "-"))
	}
	slices.Sort(names)
	return names
}

// Read gives a policy as YAML: a ValidatingAdmissionPolicy and, after a line of three hyphens, its binding. It fails where there is none of
// that name.
func Read(name string) ([]byte, error) {
	content, err := files.ReadFile(strings.ReplaceAll(name, "-", "_") + suffix)
	if err != nil {
		return nil, fmt.Errorf("there is no policy %q: wanted one of %s", name, strings.Join(Names(), ", "))
	}
	return content, nil
}
