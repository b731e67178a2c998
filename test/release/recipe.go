package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// recipe is what the last stage of a Dockerfile says of an image.
type recipe struct {
	// base is the image that it begins from, as FROM names it.
	base       string
	labels     map[string]string
	user       string
	entrypoint []string
	cmd        []string
	// binary is the path in the image to which the binary is copied.
	binary string
}

var (
	variable = regexp.MustCompile(`\$\{?(\w+)\}?`)
	label    = regexp.MustCompile(`^\s*([\w.-]+)="([^"]*)"`)
)

// readRecipe reads the Dockerfile, so that images have one description, whether Docker builds them or this program. An instruction of
// the last stage that this program would not follow is an error.
func readRecipe(dockerfile string, args map[string]string) (recipe, error) {
	r := recipe{labels: map[string]string{}}
	text := strings.ReplaceAll(dockerfile, "\\\n", " ")
	for line := range strings.SplitSeq(text, "\n") {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if instruction == "" || strings.HasPrefix(instruction, "#") {
			continue
		}
		if instruction == "FROM" {
			r = recipe{labels: map[string]string{}, base: strings.Fields(rest)[0]}
			continue
		}
		if r.base == "" || strings.HasPrefix(r.base, "--") { // before the first stage, or in the one that builds
			continue
		}
		if err := r.follow(instruction, rest, args); err != nil {
			return recipe{}, fmt.Errorf("the Dockerfile, %s: %w", instruction, err)
		}
	}
	if r.binary == "" || len(r.entrypoint) == 0 || r.user == "" {
		return recipe{}, fmt.Errorf("the Dockerfile: the last stage has to have COPY, ENTRYPOINT and USER; found COPY to %q, ENTRYPOINT %q, USER %q", r.binary, r.entrypoint, r.user)
	}
	return r, nil
}

func (r *recipe) follow(instruction, rest string, args map[string]string) error {
	switch instruction {
	case "ARG":
		name, _, _ := strings.Cut(rest, "=")
		if _, given := args[name]; !given {
			return fmt.Errorf("%s is not known here", name)
		}
		return nil
	case "LABEL":
		return r.label(rest, args)
	case "USER":
		r.user = rest
		return nil
	case "ENTRYPOINT":
		return words(rest, &r.entrypoint)
	case "CMD":
		return words(rest, &r.cmd)
	case "COPY":
		fields := strings.Fields(rest)
		if r.binary != "" || len(fields) != 3 || !strings.HasPrefix(fields[0], "--from=") || !strings.HasPrefix(fields[2], "/") {
			return fmt.Errorf("wanted one file from the stage that builds, and an absolute path, found %q", rest)
		}
		r.binary = fields[2]
		return nil
	default:
		return fmt.Errorf("releases are built without this instruction, so that images would differ; teach it to test/release/recipe.go")
	}
}

func (r *recipe) label(rest string, args map[string]string) error {
	for strings.TrimSpace(rest) != "" {
		match := label.FindStringSubmatch(rest)
		if match == nil {
			return fmt.Errorf("wanted name=\"value\", found %q", rest)
		}
		rest = rest[len(match[0]):]
		for _, used := range variable.FindAllStringSubmatch(match[2], -1) {
			if _, given := args[used[1]]; !given {
				return fmt.Errorf("%s: %s is not known here", match[1], used[0])
			}
		}
		r.labels[match[1]] = variable.ReplaceAllStringFunc(match[2], func(used string) string { return args[strings.Trim(used, "${}")] })
	}
	return nil
}

func words(rest string, into *[]string) error {
	if err := json.Unmarshal([]byte(rest), into); err != nil {
		return fmt.Errorf("wanted a list as JSON, found %q: %w", rest, err)
	}
	return nil
}
