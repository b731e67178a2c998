package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var (
	// advice is a row of the hardening guide: what is set, and to what.
	advice = regexp.MustCompile(`(?m)^\| (` + "`[a-z][A-Za-z.]+`(?:, `[a-z][A-Za-z.]+`)*" + `) \| (.+) \| .+ \|$`)
	quoted = regexp.MustCompile("`([^`]+)`")
)

// TestHardeningNamesValuesOfTheChart checks the hardening guide against the chart: each value exists, each default is the chart's, and no
// value that says whom the manager trusts is left out.
func TestHardeningNamesValuesOfTheChart(t *testing.T) {
	_, guide, found := strings.Cut(prose(t, securityPage), "\n## Hardening\n")
	guide, _, ends := strings.Cut(guide, "\n## ")
	if !found || !ends {
		t.Fatalf("%s has no hardening guide", securityPage)
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "charts/orkestra/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, row := range advice.FindAllStringSubmatch(guide, -1) {
		for _, path := range quoted.FindAllStringSubmatch(row[1], -1) {
			named = append(named, path[1])
			value, there := valueAt(values, path[1])
			if !there {
				t.Errorf("%s: the chart has no value %s", securityPage, path[1])
				continue
			}
			if before, _, isDefault := strings.Cut(row[2], " (default)"); isDefault && !shows(value, before) {
				t.Errorf("%s: %s is %v by default, and not %s", securityPage, path[1], value, before)
			}
		}
	}
	if rows := strings.Count(guide, "\n| `"); len(named) < rows || rows < 10 {
		t.Errorf("%s: found %d values in %d rows", securityPage, len(named), rows)
	}
	trust, _ := values["trust"].(map[string]any)
	for name := range trust {
		if path := "trust." + name; !slices.ContainsFunc(named, func(n string) bool { return n == path || strings.HasPrefix(n, path+".") }) {
			t.Errorf("%s: the hardening guide says nothing of %s", securityPage, path)
		}
	}
}

// valueAt gives a value of the chart, by its path.
func valueAt(values map[string]any, path string) (value any, there bool) {
	value = values
	for part := range strings.SplitSeq(path, ".") {
		fields, _ := value.(map[string]any)
		if value, there = fields[part]; !there {
			return nil, false
		}
	}
	return value, true
}

// shows says whether a text of the guide is how it writes a value.
func shows(value any, text string) bool {
	if text == "empty" {
		list, isList := value.([]any)
		return value == "" || isList && len(list) == 0
	}
	return text == fmt.Sprintf("`%v`", value)
}
