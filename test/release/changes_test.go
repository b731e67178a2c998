package main

import (
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reference is what this repository says of itself, as of now.
func reference(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	listed, err := filepath.Glob(filepath.Join(repo, crds, "*.yaml"))
	try(t, err)
	for _, path := range listed {
		files[crds+"/"+filepath.Base(path)] = string(read(t, path))
	}
	for _, name := range []string{cli, manager, metrics, reasons} {
		files[name] = string(read(t, filepath.Join(repo, name)))
	}
	return files
}

// TestChangesOfTheReference are found in the real pages, so that a page whose form changes is noticed.
func TestChangesOfTheReference(t *testing.T) {
	files := reference(t)
	before, err := readFacts(files)
	try(t, err)
	if same := compare(before, before); len(same) != 0 {
		t.Errorf("nothing has changed, and found was %v", same)
	}
	const box = crds + "/orkestra.orkspace.io_operatorboxes.yaml"
	for _, test := range []struct{ file, old, new, wanted string }{
		{manager, "| `--leader-elect` |", "| `--leader-election` |", "- removed: `--leader-elect`\n- added: `--leader-election` (default true)"},
		{manager, "| `--leader-elect` | true |", "| `--leader-elect` | false |", "- changed: `--leader-elect` (was: default true; is: default false)"},
		{metrics, "`orkestra_panics_total` | counter | `box` |", "`orkestra_panics_total` | counter | `name` |", "- changed: `orkestra_panics_total` (was: counter, `box`, panics; is: counter, `name`, panics)"},
		{metrics, "| `orkestra_places_busy` |", "| `orkestra_slots_busy` |", "- removed: `orkestra_places_busy`\n- added: `orkestra_slots_busy` (gauge, , reconciles)"},
		{reasons, "| `RollingOut` |", "| `Rolling` |", "- removed: `RollingOut`\n- added: `Rolling`"},
		{box, "    singular: operatorbox\n", "    singular: box\n", "- removed: `operatorbox.v1alpha1`\n- added: `box.v1alpha1` (object"},
	} {
		changed := maps.Clone(files)
		if changed[test.file] = strings.ReplaceAll(files[test.file], test.old, test.new); changed[test.file] == files[test.file] {
			t.Fatalf("%s has no %q", test.file, test.old)
		}
		if test.file == manager && strings.Contains(test.new, "leader-election") { // where else the flag is named
			for name := range changed {
				changed[name] = strings.ReplaceAll(changed[name], "--leader-elect=", "--leader-election=")
				changed[name] = strings.ReplaceAll(changed[name], "--leader-elect`", "--leader-election`")
			}
		}
		after, err := readFacts(changed)
		try(t, err)
		if text := describe(compare(before, after), "v1"); !strings.Contains(text, test.wanted) {
			t.Errorf("%s: wanted %q, got:\n%s", test.old, test.wanted, text)
		}
	}
	for name := range files {
		if name == cli || name == manager || strings.HasPrefix(name, crds) {
			continue // the facts of one are in another, too
		}
		without := maps.Clone(files)
		without[name] = "# Moved\n"
		if name == reasons {
			without[cli] = "`--flag`"
		}
		refused(t, "is found in the reference: its form has changed", func() error { _, err := readFacts(without); return err })
	}
}

func TestFields(t *testing.T) {
	crd := func(properties string) map[string]string {
		fields := map[string]string{}
		try(t, readFields("spec: {names: {singular: thing}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object, properties: {"+properties+"}}}}, {name: v0, served: false}]}", fields))
		return fields
	}
	before := crd("a: {type: object, required: [b], properties: {b: {type: string}, c: {type: array, items: {type: object, properties: {d: {type: integer, default: 3}}}}}}, e: {type: string, enum: [x, y]}, g: {type: string, maxLength: 9}")
	after := crd("a: {type: object, properties: {b: {type: string}, c: {type: array, items: {type: object, properties: {d: {type: integer, default: 4}}}}}}, f: {type: object, properties: {g: {type: string}}}, g: {type: string, maxLength: 8}")
	found := compare(facts{"API": before}, facts{"API": after})
	wanted := "## What changed since v1\n\n### API\n\n- removed: `thing.v1.e`\n- changed: `thing.v1.a.b` (was: string, required; is: string)\n" +
		"- changed: `thing.v1.a.c[].d` (was: integer, default 3; is: integer, default 4)\n- changed: `thing.v1.g` (was: string, maxLength 9; is: string, maxLength 8)\n- added: `thing.v1.f` (object)"
	if text := describe(found, "v1"); text != wanted {
		t.Errorf("got:\n%s\nwanted:\n%s", text, wanted)
	}
	page := "# Changelog\n\n## v2\n\n`thing.v1.e` is gone, `a.b` need not be given. `a.c[].d` is more.%s\n\n## v1\n\n`g`\n"
	refused(t, "changed, API: `thing.v1.g`", func() error { return unnamed(strings.Replace(page, "%s", "", 1), "v2", found) })
	try(t, unnamed(strings.Replace(page, "%s", " `g` is shorter.", 1), "v2", found))
	refused(t, `says nothing below "## v3"`, func() error { return unnamed("## v3\n\n## v2\n\nx\n", "v3", nil) })
}

// TestAReleaseNamesWhatItRemoves: between two commits, a flag goes, and the changelog keeps quiet about it.
func TestAReleaseNamesWhatItRemoves(t *testing.T) {
	root := t.TempDir()
	save := func(files map[string]string) {
		for name, text := range files {
			write(t, filepath.Join(root, name), text)
		}
		_, err := git(t.Context(), root, "add", "-A")
		try(t, err)
		_, err = git(t.Context(), root, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x")
		try(t, err)
	}
	_, err := git(t.Context(), root, "init", "-q")
	try(t, err)
	files := reference(t)
	files[changelog] = "# Changelog\n\n## v1.0.0\n\nFirst.\n"
	save(files)
	_, err = git(t.Context(), root, "tag", "v1.0.0")
	try(t, err)
	for name := range files {
		files[name] = strings.ReplaceAll(files[name], "--shutdown-timeout", "--stop-timeout")
	}
	files[changelog] = "# Changelog\n\n## v1.1.0\n\nBetter.\n"
	save(files)
	o := options{root: root, version: "v1.1.0", since: "v1.0.0", source: source{commit: "HEAD"}}
	refused(t, "removed, Flags: `--shutdown-timeout`", func() error { _, err := o.notes(t.Context()); return err })
	files[changelog] = "# Changelog\n\n## v1.1.0\n\n`--shutdown-timeout` is `--stop-timeout` now.\n"
	save(files)
	text, err := o.notes(t.Context())
	try(t, err)
	for _, wanted := range []string{"# Orkestra v1.1.0\n\n`--shutdown-timeout` is", "- removed: `--shutdown-timeout`", "- added: `--stop-timeout`"} {
		if !strings.Contains(text, wanted) {
			t.Errorf("the notes lack %q:\n%s", wanted, text)
		}
	}
	refused(t, "running \"git", func() error { _, err := compareReleases(t.Context(), root, "v0.9.0", "HEAD", ""); return err })
	refused(t, "-from is missing", func() error { _, err := compareReleases(t.Context(), root, "", "HEAD", ""); return err })
}

// TestSupportMatrix: the page says what the chart accepts, and what tests run against.
func TestSupportMatrix(t *testing.T) {
	page := string(read(t, filepath.Join(repo, "docs/operations/versions.md")))
	for _, said := range []struct{ file, pattern, row string }{
		{"Makefile", `(?m)^K8S_VERSION := (\d+\.\d+)\.`, "\n| %s | tested:"},
		{"Makefile", `(?m)^K8S_VERSION := (\d+\.\d+\.\d+)$`, " runs against %s,"},
		{"cmd/orkestra/version/version.go", `testedKubernetes = "(\d+\.\d+)"`, "\n| %s | tested:"},
		{"charts/orkestra/Chart.yaml", `(?m)^kubeVersion: ">=(\d+\.\d+)\.0-0"$`, "\n| %s to "},
	} {
		match := regexp.MustCompile(said.pattern).FindStringSubmatch(string(read(t, filepath.Join(repo, said.file))))
		if match == nil {
			t.Errorf("%s says nothing of the form %s", said.file, said.pattern)
		} else if row := strings.Replace(said.row, "%s", match[1], 1); !strings.Contains(page, row) {
			t.Errorf("docs/operations/versions.md has no %q, which %s says", row, said.file)
		}
	}
}
