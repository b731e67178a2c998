package pipeline

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// boxOfJobs makes a box of Jobs and ConfigMaps, in both groups, that wait for those before them, and read them.
func boxOfJobs(rnd *rand.Rand) string {
	jobs := make([]bool, 2+rnd.IntN(5))
	groups := map[string]map[string][]string{stage.StepOnCreate: {}, stage.StepOnReconcile: {}}
	for i := range jobs {
		jobs[i] = i == 0 || rnd.IntN(2) == 0
		group, kind := stage.StepOnReconcile, "configmaps"
		if rnd.IntN(4) == 0 {
			group = stage.StepOnCreate
		}
		text := fmt.Sprintf("  - {id: c%d, name: 'shop-%d", i, i)
		if group == stage.StepOnReconcile {
			text += partsOfName(rnd, i)
		}
		gate := gateOfJobs(rnd, jobs, i)
		text += "'" + gate
		if group == stage.StepOnReconcile && gate != "" {
			text += oneOf(rnd, "", "", ", whenFalse: Delete", ", whenFalse: Keep")
		}
		if jobs[i] {
			kind, text = "jobs", text+jobContent(rnd, group, i)
		} else {
			text += dataContent(rnd, i, i == len(jobs)-1)
		}
		groups[group][kind] = append(groups[group][kind], text+"}")
	}
	var box strings.Builder
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(&box, "%s:\n", group)
		for _, kind := range slices.Sorted(maps.Keys(groups[group])) {
			declared := groups[group][kind]
			rnd.Shuffle(len(declared), func(i, j int) { declared[i], declared[j] = declared[j], declared[i] })
			fmt.Fprintf(&box, "  %s:\n%s\n", kind, strings.Join(declared, "\n"))
		}
	}
	fmt.Fprintf(&box, "status: {fields: [{path: message, value: '{{ len .children }}'}]%s}\n", oneOf(rnd, "", ", ready: Current"))
	return box.String() + oneOf(rnd, "", "rollBackOnError: true", "rollBackOnError: true")
}

func oneOf(rnd *rand.Rand, texts ...string) string { return texts[rnd.IntN(len(texts))] }

// sometimes gives a text about a child before the i-th, or none.
func sometimes(rnd *rand.Rand, in, i int, text string) string {
	if i == 0 || rnd.IntN(in) > 0 {
		return ""
	}
	return fmt.Sprintf(text, rnd.IntN(i))
}

func partsOfName(rnd *rand.Rand, i int) string {
	return oneOf(rnd, "", "", "-{{ .spec.image }}") + sometimes(rnd, 5, i, `-{{ if hasKey .children "c%d" }}late{{ else }}early{{ end }}`)
}

func gateOfJobs(rnd *rand.Rand, jobs []bool, i int) string {
	if i == 0 || rnd.IntN(3) == 0 {
		return ""
	}
	other := rnd.IntN(i)
	gate := fmt.Sprintf("{field: children.c%d.metadata.uid, operator: exists}", other)
	if jobs[other] {
		gate = fmt.Sprintf("{field: '{{ jobSucceeded .children.c%d }}', equals: true}", other)
	}
	return ", when: [" + oneOf(rnd, gate, gate, gate, "{field: spec.image, notEquals: b}") + "]"
}

func jobContent(rnd *rand.Rand, group string, i int) string {
	text := ", image: '{{ .spec.image }}'" + oneOf(rnd, "", ", ttlSecondsAfterFinished: 5") +
		sometimes(rnd, 4, i, ", env: [{name: A, value: '{{ .children.c%d.metadata.uid }}'}]") +
		sometimes(rnd, 4, i, ", labels: {uid: '{{ default \"none\" .children.c%d.metadata.uid }}'}")
	if group == stage.StepOnReconcile {
		text += ", replace: " + oneOf(rnd, "true", "true", "false")
	}
	return text
}

// dataContent of the last one may read all Jobs: no other reads it, so that there is no ring.
func dataContent(rnd *rand.Rand, i int, last bool) string {
	text := ", data: {image: '{{ .spec.image }}" + sometimes(rnd, 3, i, "{{ .children.c%d.metadata.uid }}") +
		sometimes(rnd, 4, i, "{{ jobSucceeded .children.c%d }}")
	if last {
		text += oneOf(rnd, "", "{{ range .children.jobs }}{{ .metadata.name }}{{ jobSucceeded . }}{{ end }}")
	}
	return text + "'}"
}
