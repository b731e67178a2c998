package docs_test

import (
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// operatorsFolder holds the operators of other tools that the end-to-end tests take through the life of a sample.
const operatorsFolder = "test/e2e/testdata/operators"

// beside is a row of the table of boxes beside their originals: the box, the lines there, the lines here.
var beside = regexp.MustCompile(`(?m)^\| \[[a-z]+\]\(\.\./([a-z0-9/]+/box\.yaml)\) \| [^|]+ \| (\d+) \| (\d+) \|`)

// TestLinesBesideTheOriginals checks that the table has every operator of other tools, with the lines that its box has now, and that no box is longer
// than the original.
func TestLinesBesideTheOriginals(t *testing.T) {
	found := map[string]bool{}
	for _, row := range beside.FindAllStringSubmatch(read(t, samplesPage), -1) {
		box, there, here := row[1], number(t, row[2]), number(t, row[3])
		if found[box] {
			t.Errorf("%s lists %s twice", samplesPage, box)
		}
		found[box] = true
		if lines := linesOf(read(t, box)); lines != here {
			t.Errorf("%s: %s has %d lines, not %d", samplesPage, box, lines, here)
		}
		if here > there {
			t.Errorf("%s has %d lines, and the original %d", box, here, there)
		}
	}
	var boxes []string
	for _, folder := range []string{"config/samples/" + portsFolder, operatorsFolder} {
		all, err := filepath.Glob(filepath.Join(root, folder, "*", "box.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, box := range all {
			boxes = append(boxes, path.Join(folder, filepath.Base(filepath.Dir(box)), "box.yaml"))
		}
	}
	if len(boxes) != 26 {
		t.Errorf("want ten ports and sixteen operators, got %d", len(boxes))
	}
	for _, box := range boxes {
		if !found[box] {
			t.Errorf("%s does not list %s", samplesPage, box)
		}
		delete(found, box)
	}
	for box := range found {
		t.Errorf("%s lists %s, which is no operator of other tools", samplesPage, box)
	}
}

// TestNoWorkaroundsInPorts: what other tools can say, a box says without text that is read as data, and without objects that are there to carry values
// from one declaration to another.
func TestNoWorkaroundsInPorts(t *testing.T) {
	for _, folder := range []string{"config/samples/" + portsFolder, operatorsFolder} {
		all, err := filepath.Glob(filepath.Join(root, folder, "*", "box.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range all {
			box := read(t, path.Join(folder, filepath.Base(filepath.Dir(file)), "box.yaml"))
			for _, trick := range []string{"fromJson", "fromYaml", "toJson", "toYaml"} {
				if strings.Contains(box, trick) {
					t.Errorf("%s needs %s", file, trick)
				}
			}
			// What a ConfigMap holds is read back nowhere.
			if strings.Contains(box, ".children.configmap.data") || strings.Contains(box, "children.configmap.metadata.annotations") {
				t.Errorf("%s keeps values in a ConfigMap", file)
			}
		}
	}
}

// linesOf counts the lines that are neither empty nor a comment nor the mark between two documents.
func linesOf(text string) (lines int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	return lines
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
