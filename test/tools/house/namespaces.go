package main

import (
	"fmt"
	"strings"
)

// Whether a box may reach into a namespace is decided in one place (docs/design/trust.md, "Reaching other namespaces"). So in the pipeline,
// the namespace of an object is read there, and in the files below, which only name objects by it.
const (
	decidesFor  = "engine/pipeline"
	decider     = "engine/pipeline/stage/namespaces.go"
	namespaceOf = ".GetNamespace"
)

// namers are the other files of the pipeline that read the namespace of an object, each with what for.
var namers = map[string]string{
	"engine/pipeline/children/cycle.go":   "tells objects apart",
	"engine/pipeline/stage/cycle.go":      "names children in messages",
	"engine/pipeline/deletion/cleanup.go": "names a namespace in an event",
	"engine/pipeline/patches/note.go":     "notes objects, to find them again",
	"engine/pipeline/patches/patches.go":  "reads and names objects that Render has asked MayReach for",
	"engine/pipeline/patches/undo.go":     "names objects that were patched, in messages",
	"engine/pipeline/selection.go":        "selects resources, by spec.namespaces",
}

// reaches says which files of the pipeline read the namespace of an object though they are not meant to.
func reaches(rooms []*room) []string {
	var out []string
	for _, r := range rooms {
		if r.path != decidesFor && !strings.HasPrefix(r.path, decidesFor+"/") {
			continue
		}
		for _, f := range r.files {
			path := r.path + "/" + f.name
			if _, names := namers[path]; f.uses[namespaceOf] && path != decider && !names {
				out = append(out, fmt.Sprintf("%s reads the namespace of an object: ask Cycle.MayReach of %s, which decides", path, decider))
			}
		}
	}
	return out
}
