package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// The limits (docs/design/architecture.md, "The walls").
const (
	maxPackage  = 2500
	maxEngine   = 1200 // the root of the engine holds what starts and stops boxes, and nothing that they do
	maxMethods  = 25
	maxFields   = 20
	maxFeedback = 30
	smallFile   = 50
	maxSmall    = 15
)

// exception allows one size beyond its limit, for a reason.
type exception struct {
	what string // as judge names it, such as "lines of engine/expr"
	most int
	why  string
}

// What may be larger than its limit, each with a reason.
var exceptions = []exception{
	{"lines of engine", 1515, "resources are counted from when they are queued; autoscale measures and tunes a box from here; a change of a child wakes an owner that its box does not select any more, beside those that it selects; the code of constructors is handed what it needs; a box that does not stop is named, and waited for beside; and each box is looked at once a minute for its history"},
	{"fields of engine/cycle.Facts", 21, "a reconciler of a constructor takes over what a plan has marked"},
	{"files below 50 lines", 16, "the files of the page are compiled in by a package beside them"},
	{"lines of engine/cycle", 2660, "what measures the steps of a cycle begins and ends their spans, too; and what woke a cycle, and came of it, is noted for those who look; a failure that was counted before is told by its sort"},
	{"fields of engine/web/api.Box", 23, "the last hour of a box stands beside what it is now, the worst of what fails beside what failed last, and since when beside why"},
	{"lines of engine/kinds", 2560, "the texts of explain are generated, and grow with the API; so are the values of fields"},
	{"lines of engine/watch", 2620, "who writes objects back needs all of them; a kind is followed to where it is served; how much the caches hold is counted where it comes and goes; what they hold is unpacked where it is handed out; and nothing wakes up where nobody writes"},
	{"fields of engine/pipeline.Plan", 22, "a constructor stands beside all that a plan has else, and what is read from outside is named for those who draw it"},
	{"methods of engine/cleanup.Owners", 26, "the same"},
	{"lines of engine/apply", 2710, "patches of objects of others are sent by the same client, and are read, compared and forced as children are"},
	{"lines of controllers/operatorbox", 2530, "a box that does not stop is shown where it is to start anew, and where it is deleted"},
	{"lines of engine/pipeline/children", 2860, "the turns of a rollout part pending writes, and stand beside them; so does what code says, and why a child is switched off"},
	{"lines of engine/pipeline/declare", 2780, "what depends on what is told to those who draw it; the declaration whose objects code says, and those of providers, are compiled as the others are; so are the kinds that code lists"},
}

// judge says what is beyond its limit.
func judge(rooms []*room, allowed []exception) []string {
	var out []string
	check := func(what string, found, limit int) {
		for _, e := range allowed {
			if e.what == what {
				limit = max(limit, e.most)
			}
		}
		if found > limit {
			out = append(out, fmt.Sprintf("%s: %d, wanted at most %d", what, found, limit))
		}
	}
	small := 0
	for _, r := range rooms {
		if strings.HasPrefix(r.path, "api/") {
			continue
		}
		lines := maxPackage
		if r.path == "engine" {
			lines = maxEngine
		}
		check("lines of "+r.path, r.lines, lines)
		check("feedback edges of "+r.path, r.feedback(), maxFeedback)
		for _, name := range slices.Sorted(maps.Keys(r.types)) {
			t := r.types[name]
			check(fmt.Sprintf("methods of %s.%s", r.path, name), t.methods, maxMethods)
			if !strings.HasSuffix(name, "Options") && name != "Config" {
				check(fmt.Sprintf("fields of %s.%s", r.path, name), t.fields, maxFields)
			}
		}
		for _, f := range r.files {
			if f.lines < smallFile {
				small++
			}
		}
	}
	check(fmt.Sprintf("files below %d lines", smallFile), small, maxSmall)
	return out
}

func printReport(w io.Writer, rooms []*room) error {
	var out strings.Builder
	code := 0
	for _, r := range rooms {
		code += r.code
		var most, widest string
		names := slices.Sorted(maps.Keys(r.types))
		if len(names) > 0 {
			m := slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(r.types[a].methods, r.types[b].methods) })
			f := slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(r.types[a].fields, r.types[b].fields) })
			most, widest = fmt.Sprintf("%s %d", m, r.types[m].methods), fmt.Sprintf("%s %d", f, r.types[f].fields)
		}
		fmt.Fprintf(&out, "%-26s lines %5d  code %5d  tests %.2f  files %3d  feedback %3d  methods %-22s fields %s\n",
			r.path, r.lines, r.code, float64(r.tests)/float64(max(1, r.code)), len(r.files), r.feedback(), most, widest)
	}
	fmt.Fprintf(&out, "code of the product: %d lines\n", code)
	_, err := io.WriteString(w, out.String())
	return err
}
