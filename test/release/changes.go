package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// changelog is written by hand: a section for each release.
const changelog = "docs/changelog.md"

// change is what became of one fact.
type change struct{ kind, name, before, after, what string }

const (
	removed = "removed"
	changed = "changed"
	added   = "added"
)

// notes gives the section of this release, and what changed since the one before. Without a section there is no release.
func (o options) notes(ctx context.Context) (string, error) {
	if o.since != "" {
		generated, err := compareReleases(ctx, o.root, o.since, o.source.commit, o.version)
		if err != nil {
			return "", err
		}
		return o.section(generated)
	}
	return o.section("")
}

func (o options) section(generated string) (string, error) {
	page, err := os.ReadFile(filepath.Join(o.root, changelog))
	if err != nil {
		return "", fmt.Errorf("reading the changelog: %w", err)
	}
	written, err := sectionOf(string(page), o.version)
	if err != nil {
		return "", err
	}
	text := "# Orkestra " + o.version + "\n\n" + written + "\n"
	if generated != "" {
		text += "\n" + generated + "\n"
	}
	return text, nil
}

// sectionOf gives what is below the heading of a version.
func sectionOf(page, version string) (string, error) {
	_, rest, found := strings.Cut("\n"+page, "\n## "+version+"\n")
	if !found {
		return "", fmt.Errorf("%s has no heading %q: say there what is new, and what people have to do", changelog, "## "+version)
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	if section = strings.TrimSpace(section); section == "" {
		return "", fmt.Errorf("%s says nothing below %q", changelog, "## "+version)
	}
	return section, nil
}

// compareReleases tells what changed between two commits. With a version, its section of the changelog has to name what was removed or changed.
func compareReleases(ctx context.Context, root, from, to, version string) (string, error) {
	if from == "" {
		return "", fmt.Errorf("-from is missing: wanted the commit or tag of the release before")
	}
	before, err := factsAt(ctx, root, from)
	if err != nil {
		return "", err
	}
	after, err := factsAt(ctx, root, to)
	if err != nil {
		return "", err
	}
	found := compare(before, after)
	if version != "" {
		page, err := git(ctx, root, "show", to+":"+changelog)
		if err != nil {
			return "", err
		}
		if err := unnamed(page, version, found); err != nil {
			return "", err
		}
	}
	return describe(found, from), nil
}

// factsAt reads the reference as it was at a commit.
func factsAt(ctx context.Context, root, commit string) (facts, error) {
	listed, err := git(ctx, root, "ls-tree", "--name-only", commit, crds+"/")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range append(strings.Fields(listed), cli, manager, metrics, reasons) {
		if files[name], err = git(ctx, root, "show", commit+":"+name); err != nil {
			return nil, err
		}
	}
	out, err := readFacts(files)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", commit, err)
	}
	return out, nil
}

// compare lists removed, changed and added facts by kind and name. Of fields that came or went with what holds them, that alone is told.
func compare(before, after facts) []change {
	var out []change
	for _, kind := range kindsOfFacts {
		was, is := before[kind], after[kind]
		for _, name := range slices.Sorted(maps.Keys(was)) {
			now, there := is[name]
			switch {
			case !there && !within(kind, name, was, is):
				out = append(out, change{kind: kind, name: name, before: was[name], what: removed})
			case there && now != was[name] && was[name] != "": // what had no detail before says nothing of a change
				out = append(out, change{kind: kind, name: name, before: was[name], after: now, what: changed})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(is)) {
			if _, there := was[name]; !there && !within(kind, name, is, was) {
				out = append(out, change{kind: kind, name: name, after: is[name], what: added})
			}
		}
	}
	return out
}

// within tells whether what holds a field is in one set and not in the other, so that nothing more is to be said of the field.
func within(kind, name string, here, there map[string]string) bool {
	if kind != "API" {
		return false
	}
	holder := strings.TrimSuffix(name, "[]")
	if holder == name {
		holder = name[:max(strings.LastIndex(name, "."), 0)]
	}
	_, isHere := here[holder]
	_, isThere := there[holder]
	return isHere && !isThere
}

// unnamed is an error about what the section of a version keeps quiet about.
func unnamed(page, version string, found []change) error {
	section, err := sectionOf(page, version)
	if err != nil {
		return err
	}
	var missing []string
	for _, c := range found {
		if c.what != added && !c.namedIn(section) {
			missing = append(missing, fmt.Sprintf("  %s, %s: `%s`", c.what, c.kind, c.name))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%s, %s: it has to name what people may rely on and what is no longer as it was, between backquotes, with what to do:\n%s", changelog, version, strings.Join(missing, "\n"))
}

// namedIn accepts a field without its kind and version, too.
func (c change) namedIn(section string) bool {
	name := c.name
	if strings.Contains(section, "`"+name+"`") {
		return true
	}
	parts := strings.SplitN(name, ".", 3)
	return c.kind == "API" && len(parts) == 3 && strings.Contains(section, "`"+parts[2]+"`")
}

// describe writes the changes as Markdown.
func describe(found []change, from string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "## What changed since %s\n", from)
	if len(found) == 0 {
		out.WriteString("\nNo field, flag, metric or reason.")
	}
	for _, kind := range kindsOfFacts {
		heading := "\n### " + kind + "\n\n"
		for _, what := range []string{removed, changed, added} {
			for _, c := range found {
				if c.kind == kind && c.what == what {
					out.WriteString(heading + c.String())
					heading = ""
				}
			}
		}
	}
	return strings.TrimRight(out.String(), "\n")
}

func (c change) String() string {
	text := "- " + c.what + ": `" + c.name + "`"
	switch {
	case c.what == changed:
		return text + " (was: " + c.before + "; is: " + c.after + ")\n"
	case c.after != "":
		return text + " (" + c.after + ")\n"
	default:
		return text + "\n"
	}
}
