package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// facts are what others build on, by name: fields of the API, flags, metrics, reasons. The value says what counts as a change of it.
type facts map[string]map[string]string

// kindsOfFacts in the order in which people are told.
var kindsOfFacts = []string{"API", "Flags", "Metrics", "Reasons"}

const (
	crds    = "config/crd/bases"
	cli     = "docs/reference/cli.md"
	manager = "docs/operations.md"
	metrics = "docs/reference/metrics.md"
	reasons = "docs/how-to/troubleshoot.md"
)

// readFacts takes them from what make generate writes and from the pages that tests compare with the code.
func readFacts(files map[string]string) (facts, error) {
	out := facts{}
	for _, kind := range kindsOfFacts {
		out[kind] = map[string]string{}
	}
	for name, text := range files {
		if !strings.HasPrefix(name, crds) {
			continue
		}
		if err := readFields(text, out["API"]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	readFlags(files[cli], out["Flags"])
	readFlags(files[manager], out["Flags"])
	for _, cells := range rows(files[metrics], "series") {
		out["Metrics"][cells[0]] = strings.Join(cells[1:4], ", ")
	}
	for _, page := range []string{files[reasons], files[cli]} {
		for _, cells := range rows(page, "reason") {
			for _, reason := range quoted.FindAllStringSubmatch(cells[0], -1) {
				out["Reasons"][reason[1]] = ""
			}
		}
	}
	for _, kind := range kindsOfFacts {
		if len(out[kind]) == 0 {
			return nil, fmt.Errorf("no %s is found in the reference: its form has changed, teach it to test/release/facts.go", strings.ToLower(kind))
		}
	}
	return out, nil
}

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	option = regexp.MustCompile("(?:^|[\\s`\\[(|])(--[a-z][a-z0-9-]+)")
)

// readFlags takes every flag that is named, and the default of those that have a row in a table.
func readFlags(page string, into map[string]string) {
	for line := range strings.SplitSeq(page, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) > 3 && strings.HasPrefix(strings.TrimSpace(cells[1]), "`--") {
			into[strings.Trim(cells[1], " `")] = "default " + strings.TrimSpace(cells[2])
		}
		for _, found := range option.FindAllStringSubmatch(line, -1) {
			if _, known := into[found[1]]; !known {
				into[found[1]] = ""
			}
		}
	}
}

// rows gives the cells of the tables whose first column has this title.
func rows(page, title string) [][]string {
	var out [][]string
	inside := false
	for line := range strings.SplitSeq(page, "\n") {
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == title {
			inside = true
		} else if inside && !strings.HasPrefix(cells[0], "---") {
			cells[0] = strings.TrimSuffix(strings.TrimPrefix(cells[0], "`"), "`")
			if title == "reason" {
				cells[0] = "`" + cells[0] + "`"
			}
			out = append(out, cells)
		}
	}
	return out
}

// schema is what is read of the schema of a CRD.
type schema struct {
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	Pattern              string            `json:"pattern"`
	MinLength            *float64          `json:"minLength"`
	MaxLength            *float64          `json:"maxLength"`
	MinItems             *float64          `json:"minItems"`
	MaxItems             *float64          `json:"maxItems"`
	Minimum              *float64          `json:"minimum"`
	Maximum              *float64          `json:"maximum"`
	Enum                 []any             `json:"enum"`
	Default              any               `json:"default"`
	Required             []string          `json:"required"`
	Properties           map[string]schema `json:"properties"`
	Items                *schema           `json:"items"`
	AdditionalProperties *schema           `json:"additionalProperties"`
}

func readFields(text string, into map[string]string) error {
	var crd struct {
		Spec struct {
			Names struct {
				Singular string `json:"singular"`
			} `json:"names"`
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
				Schema struct {
					Root schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(text), &crd); err != nil {
		return fmt.Errorf("reading a CRD: %w", err)
	}
	for _, version := range crd.Spec.Versions {
		if version.Served {
			version.Schema.Root.fields(crd.Spec.Names.Singular+"."+version.Name, false, into)
		}
	}
	return nil
}

func (s schema) fields(path string, required bool, into map[string]string) {
	parts := []string{s.Type}
	if s.Format != "" {
		parts = append(parts, "format "+s.Format)
	}
	if s.Pattern != "" {
		parts = append(parts, "pattern "+s.Pattern)
	}
	if len(s.Enum) > 0 {
		parts = append(parts, fmt.Sprintf("one of %v", s.Enum))
	}
	if s.Default != nil {
		parts = append(parts, fmt.Sprintf("default %v", s.Default))
	}
	parts = append(parts, s.bounds()...)
	if required {
		parts = append(parts, "required")
	}
	into[path] = strings.Join(parts, ", ")
	for name, property := range s.Properties {
		property.fields(path+"."+name, slices.Contains(s.Required, name), into)
	}
	if s.Items != nil {
		s.Items.fields(path+"[]", false, into)
	}
	if s.AdditionalProperties != nil {
		s.AdditionalProperties.fields(path+".*", false, into)
	}
}

// bounds are what a value may not exceed.
func (s schema) bounds() []string {
	var out []string
	for _, bound := range []struct {
		name  string
		value *float64
	}{{"minLength", s.MinLength}, {"maxLength", s.MaxLength}, {"minItems", s.MinItems}, {"maxItems", s.MaxItems}, {"minimum", s.Minimum}, {"maximum", s.Maximum}} {
		if bound.value != nil {
			out = append(out, fmt.Sprintf("%s %v", bound.name, *bound.value))
		}
	}
	return out
}
