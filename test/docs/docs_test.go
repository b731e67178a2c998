// Package docs_test checks what the pages for users say: every box in them compiles, or fails as the page says, and every file, flag,
// metric, reason and field that they name exists.
package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the repository, seen from this package.
const root = "../.."

// fence is one code block of a page.
type fence struct {
	page    string // from the root
	line    int
	number  int    // among the YAML blocks of its page, from 1
	lang    string // yaml, sh, console, text
	text    string
	comment string // the HTML comment in front of it
	invalid string // the text that the message must hold; empty: the box is valid
}

func (f *fence) String() string { return fmt.Sprintf("%s:%d", f.page, f.line) }

// pages are README.md and everything below docs.
func pages(t *testing.T) []string {
	t.Helper()
	out := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".md" {
			rel, _ := filepath.Rel(root, path) // both are below root
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatalf("finding pages: %v", err)
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatalf("reading %q: %v", path, err)
	}
	return string(b)
}

var (
	comment = regexp.MustCompile(`^<!--\s*(.*?)\s*-->$`)
	opening = regexp.MustCompile("^```([a-z]+)(?: \\{(.*)\\})?$")
	invalid = regexp.MustCompile(`^invalid=("(?:[^"\\]|\\.)*")$`)
)

// fences gives the code blocks of a page.
func fences(t *testing.T, page string) []*fence {
	t.Helper()
	var out []*fence
	var open *fence
	said, number := "", 0
	for i, line := range strings.Split(read(t, page), "\n") {
		switch m := opening.FindStringSubmatch(line); {
		case open != nil && line == "```":
			out, open, said = append(out, open), nil, ""
		case open != nil:
			open.text += line + "\n"
		case m != nil:
			open = &fence{page: page, line: i + 1, lang: m[1], comment: said}
			if m[1] == "yaml" {
				number++
				open.number = number
			}
			if m[2] != "" {
				open.invalid = wanted(t, page, i+1, m[2])
			}
		case strings.HasPrefix(line, "```"):
			t.Errorf("%s:%d: a code block needs a language", page, i+1)
		default:
			said = ""
			if m := comment.FindStringSubmatch(line); m != nil {
				said = m[1]
			}
		}
	}
	if open != nil {
		t.Errorf("%s: the code block has no end", open)
	}
	return out
}

func wanted(t *testing.T, page string, line int, attribute string) string {
	t.Helper()
	m := invalid.FindStringSubmatch(attribute)
	if m == nil {
		t.Fatalf("%s:%d: what does {%s} mean?", page, line, attribute)
	}
	text, err := strconv.Unquote(m[1])
	if err != nil {
		t.Fatalf("%s:%d: %v", page, line, err)
	}
	return text
}

// The comments in front of a box: `with: FILE` adds a file, or the n-th YAML block of a page (PAGE#n); `spec with: FILE` also says that the
// block is a box's spec, for the CRD in that file.
const (
	with     = "with: "
	specWith = "spec with: "
)

// documents gives the file to validate and those that go with it; ok is false where the block holds no box.
func (f *fence) documents(t *testing.T) (box string, others []string, ok bool) {
	t.Helper()
	if f.lang != "yaml" {
		return "", nil, false
	}
	if file, found := strings.CutPrefix(f.comment, specWith); found {
		crd := regexp.MustCompile(`(?m)^  name: (\S+)$`).FindStringSubmatch(read(t, file))
		if crd == nil {
			t.Fatalf("%s: no name of a CRD in %q", f, file)
		}
		indented := "  " + strings.ReplaceAll(strings.TrimSpace(f.text), "\n", "\n  ")
		box = fmt.Sprintf("apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: example}\nspec:\n  crd: {name: %s}\n%s\n", crd[1], indented)
		return box, []string{read(t, file)}, true
	}
	if file, found := strings.CutPrefix(f.comment, with); found {
		others = append(others, linked(t, file))
	}
	return f.text, others, strings.Contains(f.text, "kind: OperatorBox\n")
}

func linked(t *testing.T, file string) string {
	t.Helper()
	page, number, isBlock := strings.Cut(file, "#")
	if !isBlock {
		return read(t, file)
	}
	for _, f := range fences(t, page) {
		if strconv.Itoa(f.number) == number {
			return f.text
		}
	}
	t.Fatalf("there is no YAML block %s", file)
	return ""
}

// orkestra builds the binary, with the providers, so that what pages declare of them is checked.
func orkestra(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "orkestra")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/orkestra-providers")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building orkestra: %v\n%s", err, out)
	}
	return bin
}

// TestBinary is one test, so that the binary is built once.
func TestBinary(t *testing.T) {
	bin := orkestra(t)
	t.Run("boxes", func(t *testing.T) { boxes(t, bin) })
	t.Run("revisions", func(t *testing.T) { printedRevisions(t, bin) })
	t.Run("samples", func(t *testing.T) { sampleBoxes(t, bin) })
	t.Run("flags", func(t *testing.T) { namedFlags(t, bin) })
	t.Run("commands", func(t *testing.T) { namedCommands(t, bin) })
	t.Run("tenants", func(t *testing.T) { tenantsRole(t, bin) })
	t.Run("declarations", func(t *testing.T) { declarationExamples(t, bin) })
}

// boxes checks that every box in the pages compiles, or fails as the page says.
func boxes(t *testing.T, bin string) {
	t.Helper()
	count := 0
	for _, page := range pages(t) {
		for _, f := range fences(t, page) {
			box, others, ok := f.documents(t)
			if !ok {
				if f.invalid != "" {
					t.Errorf("%s: this block holds no box that could be invalid", f)
				}
				continue
			}
			count++
			t.Run(f.String(), func(t *testing.T) { f.validate(t, bin, box, others) })
		}
	}
	if count < 10 {
		t.Errorf("found only %d boxes in the pages", count)
	}
}

func (f *fence) validate(t *testing.T, bin, box string, others []string, flags ...string) {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{"validate", "-f", filepath.Join(dir, "box.yaml")}, flags...)
	write(t, args[2], box)
	for i, other := range others {
		file := filepath.Join(dir, fmt.Sprintf("other%d.yaml", i))
		write(t, file, other)
		args = append(args, "--crd", file)
	}
	out, err := exec.CommandContext(t.Context(), bin, args...).CombinedOutput()
	text := strings.ReplaceAll(string(out), dir+string(filepath.Separator), "")
	switch {
	case strings.Contains(text, "paths are not checked"):
		t.Errorf("%s: no CRD goes with the box: add <!-- with: FILE --> in front of it\n%s", f, text)
	case f.invalid == "" && err != nil:
		t.Errorf("%s: %v\n%s", f, err, text)
	case f.invalid != "" && err == nil:
		t.Errorf("%s: the box is valid, the page says that it is not", f)
	case f.invalid != "" && !strings.Contains(text, f.invalid):
		t.Errorf("%s: the message does not hold %q:\n%s", f, f.invalid, text)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	backtick = regexp.MustCompile("`([^`\n]+)`")
	ourPath  = regexp.MustCompile(`^(api|engine|controllers|cmd|charts|config|test|docs)(/[A-Za-z0-9_.-]+)*/?$`)
)

// TestPaths checks that links and paths lead to something.
func TestPaths(t *testing.T) {
	for _, page := range pages(t) {
		for i, line := range strings.Split(prose(t, page), "\n") {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				target, anchor, _ := strings.Cut(m[1], "#")
				if strings.Contains(target, "://") {
					continue
				}
				file := filepath.ToSlash(filepath.Join(filepath.Dir(page), target))
				if target == "" {
					file = page
				}
				if _, err := os.Stat(filepath.Join(root, file)); err != nil {
					t.Errorf("%s:%d: the link %q leads nowhere", page, i+1, m[1])
				} else if anchor != "" && !slices.Contains(anchors(t, file), anchor) {
					t.Errorf("%s:%d: %q has no heading %q", page, i+1, file, anchor)
				}
			}
			for _, m := range backtick.FindAllStringSubmatch(line, -1) {
				if !ourPath.MatchString(m[1]) || !strings.Contains(m[1], "/") {
					continue
				}
				if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
					t.Errorf("%s:%d: there is no %q", page, i+1, m[1])
				}
			}
		}
	}
}

// prose is a page with empty lines in place of its code blocks.
func prose(t *testing.T, page string) string {
	t.Helper()
	inside := false
	lines := strings.Split(read(t, page), "\n")
	for i, line := range lines {
		if isFence := strings.HasPrefix(line, "```"); isFence || inside {
			inside = inside != isFence
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// anchors are the headings of a page as links name them.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	var out []string
	for line := range strings.SplitSeq(prose(t, page), "\n") {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			name := strings.ToLower(strings.TrimSpace(heading))
			name = regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(name, "")
			out = append(out, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return out
}
