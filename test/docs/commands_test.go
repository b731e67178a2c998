package docs_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// commands are the lines of a block that a shell is given: all of a script, and of a session what stands behind a prompt, with the lines that go on with it.
func (f *fence) commands() string {
	if f.lang != "console" {
		return f.text
	}
	var out strings.Builder
	goesOn, end := false, "" // end is the line that ends a document
	for line := range strings.Lines(f.text) {
		command, prompt := strings.CutPrefix(line, "$ ")
		if prompt || goesOn {
			out.WriteString(command)
		}
		if m := hereDocument.FindStringSubmatch(command); prompt && m != nil {
			end = m[1]
		}
		if strings.TrimSpace(line) == end {
			end = ""
		}
		goesOn = (prompt || goesOn) && (end != "" || strings.HasSuffix(line, "\\\n"))
	}
	return out.String()
}

// hereDocument begins a document that a command reads.
var hereDocument = regexp.MustCompile(`<<'?([A-Z]+)`)

// scripts are the blocks with commands.
func scripts(t *testing.T) []*fence {
	t.Helper()
	var out []*fence
	for _, page := range pages(t) {
		for _, f := range fences(t, page) {
			if f.lang == "sh" || f.lang == "console" {
				out = append(out, f)
			}
		}
	}
	if len(out) < 100 {
		t.Fatalf("found only %d blocks with commands", len(out))
	}
	return out
}

// TestShellReadsCommands: no quote, loop or document in a command is left open.
func TestShellReadsCommands(t *testing.T) {
	for _, f := range scripts(t) {
		shell := exec.CommandContext(t.Context(), "bash", "-n")
		shell.Stdin = strings.NewReader(f.commands())
		// A document without an end is a warning only.
		if out, err := shell.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", f, err, out)
		}
	}
}

var (
	// call is a call of our command line, at the beginning of a command and up to its end.
	call = regexp.MustCompile(`(?:^|[(|;&]) *(?:[A-Z_]+=\S+ +)*(?:bin/|kubectl )?orkestra((?: +[^\s|;&)]+)+)`)
	// word is a name of a command below another.
	word = regexp.MustCompile(`^[a-z][a-z-]*$`)
	// short is a flag of one letter.
	short = regexp.MustCompile(`^-[a-zA-Z]$`)
)

// namedCommands checks that every command of ours in a block exists, with its flags.
func namedCommands(t *testing.T, bin string) {
	t.Helper()
	h := helper{bin: bin, seen: map[string]string{}}
	count := 0
	for _, f := range scripts(t) {
		text := strings.ReplaceAll(f.commands(), "\\\n", " ")
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, " #")
			for _, m := range call.FindAllStringSubmatch(line, -1) {
				count++
				h.check(t, f, strings.Fields(m[1]))
			}
		}
	}
	if count < 30 {
		t.Errorf("found only %d calls of orkestra in the pages", count)
	}
}

// helper asks the command line for help, once for each command.
type helper struct {
	bin  string
	seen map[string]string
}

func (h helper) help(t *testing.T, path string) string {
	t.Helper()
	if text, ok := h.seen[path]; ok {
		return text
	}
	out, err := exec.CommandContext(t.Context(), h.bin, append(strings.Fields(path), "--help")...).CombinedOutput()
	if err != nil {
		out = nil
	}
	h.seen[path] = string(out)
	return h.seen[path]
}

func (h helper) check(t *testing.T, f *fence, args []string) {
	t.Helper()
	var path []string
	for _, arg := range args {
		if !word.MatchString(arg) || !regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(arg)+` +\S`).MatchString(h.help(t, strings.Join(path, " "))) {
			break
		}
		path = append(path, arg)
	}
	if len(path) == 0 && !strings.HasPrefix(args[0], "-") {
		t.Errorf("%s: there is no command orkestra %s", f, args[0])
		return
	}
	text := h.help(t, strings.Join(path, " "))
	for _, arg := range args[len(path):] {
		name, _, _ := strings.Cut(arg, "=")
		if !strings.HasPrefix(name, "--") && !short.MatchString(name) || name == "--" {
			continue
		}
		if !regexp.MustCompile(`(?m)(?:^|\s)` + regexp.QuoteMeta(name) + `(?:[\s,]|$)`).MatchString(text) {
			t.Errorf("%s: orkestra %s has no flag %s", f, strings.Join(path, " "), name)
		}
	}
}

// set is a value of the chart on a command line of Helm.
var set = regexp.MustCompile(`--set(?:-string|-json|-file)? '?([A-Za-z.]+)`)

// TestValuesOnCommandLines: each value that a command of Helm sets is one of the chart.
func TestValuesOnCommandLines(t *testing.T) {
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "charts/orkestra/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, page := range append(pages(t), "charts/orkestra/README.md") {
		for _, m := range set.FindAllStringSubmatch(read(t, page), -1) {
			count++
			if _, there := valueAt(values, strings.TrimSuffix(m[1], ".")); !there {
				t.Errorf("%s: the chart has no value %s", page, m[1])
			}
		}
	}
	if count < 3 {
		t.Errorf("found only %d values that are set on command lines", count)
	}
}

// TestCommandsOfSessions: what a command prints is no command.
func TestCommandsOfSessions(t *testing.T) {
	f := &fence{lang: "console", text: "$ a \\\n  --b\nprinted \\\n$ c\n\nmore\n$ d <<EOF\nx: 1\nEOF\nprinted\n"}
	if got := strings.Split(f.commands(), "\n"); !slices.Equal(got, []string{`a \`, "  --b", "c", "d <<EOF", "x: 1", "EOF", ""}) {
		t.Errorf("got %q", got)
	}
}
