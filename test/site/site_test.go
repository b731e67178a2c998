package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/alecthomas/chroma/v2"
)

const repository = "../.."

func made(t *testing.T, from fs.FS) map[string][]byte {
	t.Helper()
	files, err := build(from)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestPages makes the site of this repository, and looks at every page of it as a browser would.
func TestPages(t *testing.T) {
	files := made(t, os.DirFS(repository))
	again := made(t, os.DirFS(repository))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !bytes.Equal(files[name], again[name]) {
			t.Errorf("two sites of the same pages differ in %s", name)
		}
	}
	if len(again) != len(files) {
		t.Errorf("one site has %d files, and the other %d", len(files), len(again))
	}
	pages := checked(t, files)
	if pages < 80 {
		t.Errorf("the site has only %d pages", pages)
	}
	for _, want := range []string{"index.html", "start.html", "how-to/loops.html", "reference/box.html", "charts/orkestra.html", "how-to/pictures/fleet-light.png", "how-to/pictures/fleet-dark.png"} {
		if files[want] == nil {
			t.Errorf("the site has no %s", want)
		}
	}
	if files["design/architecture.html"] != nil {
		t.Error("pages on the design are on the site")
	}
}

var (
	reference = regexp.MustCompile(` (href|src)="([^"]*)"`)
	elementID = regexp.MustCompile(` id="([^"]+)"`)
	forbidden = regexp.MustCompile(`<[^>]* (style|on[a-z]+)="|<style|<script(?: defer)?>|javascript:|<!-- raw HTML`)
)

// checked looks at all pages of a site.
func checked(t *testing.T, files map[string][]byte) (pages int) {
	t.Helper()
	ids := map[string]map[string]bool{}
	for name, content := range files {
		ids[name] = map[string]bool{}
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range elementID.FindAllStringSubmatch(string(content), -1) {
			if ids[name][m[1]] {
				t.Errorf("%s: two elements have the id %q", name, m[1])
			}
			ids[name][m[1]] = true
		}
	}
	for name, content := range files {
		if path.Ext(name) == ".html" {
			pages++
			checkPage(t, ids, name, string(content))
		}
	}
	return pages
}

// checkPage checks that what a page refers to is there, that it loads nothing from elsewhere, and that its policy forbids none of it.
func checkPage(t *testing.T, ids map[string]map[string]bool, name, content string) {
	t.Helper()
	if found := forbidden.FindString(content); found != "" {
		t.Errorf("%s: %q: the policy of the page forbids it", name, found)
	}
	if !strings.Contains(content, `http-equiv="Content-Security-Policy" content="default-src 'self';`) {
		t.Errorf("%s has no policy", name)
	}
	if count := strings.Count(content, "<h1"); count != 1 {
		t.Errorf("%s has %d titles", name, count)
	}
	for _, m := range reference.FindAllStringSubmatch(content, -1) {
		if strings.Contains(m[2], "://") {
			if m[1] == "src" {
				t.Errorf("%s loads %s", name, m[2])
			}
			continue
		}
		file, id, _ := strings.Cut(m[2], "#")
		to := name
		if file != "" {
			to = path.Join(path.Dir(name), file)
		}
		if there, ok := ids[to]; !ok || id != "" && !there[id] {
			t.Errorf("%s: there is no %s", name, m[2])
		}
	}
}

const front = "# All pages\n\nBegin with [one](one.md).\n\n## Tutorial\n\n| page | for |\n|---|---|\n| [one.md](one.md) | the *first* page |\n\n" +
	"## Reference\n\n### Words\n\n| page | for |\n|---|---|\n| [two.md](deep/two.md) | the second |\n| [the chart](../chart/README.md) | values |\n"

// small is a repository with three pages; changes are put into it, and an empty text takes a file away.
func small(changes map[string]string) fs.FS {
	files := map[string]string{
		"docs/README.md":            front,
		"docs/one.md":               "# One\n\nSee [two](deep/two.md#a-part), [below](#one-more), [the code](../code), [a file](../code/x.go), [why](design/why.md#so).\n\n## One more\n\ntext\n",
		"docs/deep/two.md":          "# Two\n\n![What it looks like](p-light.svg)\n\n## A part\n\nof `a.b` &lt;c>\n\n## A part\n\n```yaml\na: 1\n```\n",
		"docs/deep/p-light.svg":     `<svg viewBox="0 0 30 20"/>`,
		"docs/deep/p-dark.svg":      `<svg viewBox="0 0 30 20"/>`,
		"docs/design/why.md":        "# Why\n\n## So\n",
		"docs/design/unlisted.md":   "# Not for users\n",
		"chart/README.md":           "# chart\n\n[home](../docs/README.md#words) and [one](../docs/one.md)\n",
		"code/x.go":                 "package code\n",
		"docs/deep/not-linked.json": "{}\n",
	}
	maps.Copy(files, changes)
	out := fstest.MapFS{}
	for name, content := range files {
		if content != "" {
			out[name] = &fstest.MapFile{Data: []byte(content)}
		}
	}
	return out
}

func TestSite(t *testing.T) {
	files := made(t, small(nil))
	names := slices.Sorted(maps.Keys(files))
	if want := []string{"chart.html", "deep/p-dark.svg", "deep/p-light.svg", "deep/two.html", "icon.svg", "index.html", "one.html", "search.json", "site.js", "style.css", "theme.js"}; !slices.Equal(names, want) {
		t.Errorf("want the files %v, got %v", want, names)
	}
	checked(t, files)
	for page, wanted := range map[string][]string{
		"index.html": {`<h2 id="tutorial">Tutorial</h2>`, `<h3 id="words">Words</h3>`, `<a href="deep/two.html">Two</a> <span>the second</span>`, `<a href="chart.html">The chart</a>`},
		"one.html": {
			`<a href="deep/two.html#a-part">two</a>`, `<a href="#one-more">below</a>`, `href="https://github.com/orkspace/orkestra/tree/main/code"`, `href="https://github.com/orkspace/orkestra/blob/main/code/x.go"`,
			`href="https://github.com/orkspace/orkestra/blob/main/docs/design/why.md#so"`, `<a rel="next" href="deep/two.html">`, `href="https://github.com/orkspace/orkestra/edit/main/docs/one.md"`,
			`<title>One · Orkestra</title>`, `<meta name="description" content="the first page">`, `aria-current="page">One</a>`, `<li class="level2"><a href="#one-more">`,
		},
		"deep/two.html": {
			`<html lang="en" data-root="../">`, `<a rel="prev" href="../one.html">`, `<h2 id="a-part">`, `<h2 id="a-part-1">`, `<p class="place">Reference · Words</p>`, `<span class="nt">a</span>`,
			`<img src="p-light.svg" alt="What it looks like" width="30" height="20" loading="lazy" class="in-light">`, `<img src="p-dark.svg" alt="What it looks like" width="30" height="20" loading="lazy" class="in-dark">`,
		},
		"chart.html": {`<a href="index.html#words">`, `<a href="one.html">one</a>`},
	} {
		for _, want := range wanted {
			if !strings.Contains(string(files[page]), want) {
				t.Errorf("%s has no %s", page, want)
			}
		}
	}
}

// TestMistakes breaks one thing after the other, and expects the site not to be made.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		changes map[string]string
		want    string
	}{
		"link":               {map[string]string{"docs/one.md": "# One\n\n[x](three.md)\n"}, `docs/one.md:3: the link "three.md" leads nowhere: there is no docs/three.md`},
		"link in a table":    {map[string]string{"docs/one.md": "# One\n\n| a |\n|---|\n| [x](three.md) |\n"}, `docs/one.md:5: the link "three.md" leads nowhere`},
		"link by reference":  {map[string]string{"docs/one.md": "# One\n\n[x][y]\n\n[y]: three.md\n"}, `the link "three.md" leads nowhere`},
		"link out":           {map[string]string{"docs/one.md": "# One\n\n[x](../../three.md)\n"}, `the link "../../three.md" leads nowhere`},
		"link on the front":  {map[string]string{"docs/README.md": strings.Replace(front, "[one](one.md)", "[one](none.md)", 1)}, `docs/README.md:3: the link "none.md" leads nowhere`},
		"heading":            {map[string]string{"docs/one.md": "# One\n\n[x](deep/two.md#b)\n"}, `docs/one.md:3: the link "deep/two.md#b" leads nowhere: docs/deep/two.md has no heading "b"`},
		"heading here":       {map[string]string{"docs/one.md": "# One\n\n[x](#b)\n"}, `docs/one.md has no heading "b"`},
		"heading of design":  {map[string]string{"docs/one.md": "# One\n\n[x](design/why.md#b)\n"}, `docs/design/why.md has no heading "b"`},
		"heading of code":    {map[string]string{"docs/one.md": "# One\n\n[x](../code/x.go#L1)\n"}, `code/x.go is no page with headings`},
		"no title":           {map[string]string{"docs/one.md": "text\n"}, `docs/one.md has no title: begin it with a line like`},
		"two titles":         {map[string]string{"docs/one.md": "# One\n\n# Two\n"}, `docs/one.md: two titles, "One" and "Two"`},
		"same title":         {map[string]string{"docs/one.md": "# TWO\n"}, `docs/deep/two.md: docs/one.md has the same title, "Two"`},
		"unlisted":           {map[string]string{"docs/deep/three.md": "# Three\n"}, `docs/README.md does not list docs/deep/three.md`},
		"listed twice":       {map[string]string{"docs/README.md": front + "| [one.md](one.md) | again |\n"}, `docs/README.md: docs/one.md is listed twice`},
		"listed, not there":  {map[string]string{"chart/README.md": ""}, `docs/README.md lists a page: open chart/README.md`},
		"row without a link": {map[string]string{"docs/README.md": front + "| one | again |\n"}, `want a link to a page and what it is for in the row "one again"`},
		"nothing listed":     {map[string]string{"docs/README.md": "# Pages\n"}, `docs/README.md lists no pages`},
		"no list":            {map[string]string{"docs/README.md": ""}, `open docs/README.md`},
		"picture":            {map[string]string{"docs/one.md": "# One\n\n![x](x.png)\n"}, `docs/one.md:3: there is no picture "x.png"`},
		"picture elsewhere":  {map[string]string{"docs/one.md": "# One\n\n![x](https://example.com/x.png)\n"}, `pictures are files of the repository`},
		"picture, no text":   {map[string]string{"docs/deep/two.md": "# Two\n\n![](p-light.svg)\n\n## A part\n"}, `the picture "p-light.svg" needs a text`},
		"picture, no size":   {map[string]string{"docs/deep/p-light.svg": "<svg/>"}, `the drawing has no viewBox`},
		"picture, broken":    {map[string]string{"docs/one.md": "# One\n\n![x](x.png)\n", "docs/x.png": "text"}, `docs/one.md:3: the picture "x.png": image: unknown format`},
		"HTML":               {map[string]string{"docs/one.md": "# One\n\n<b>x</b>\n"}, `docs/one.md:3: HTML is left out, write Markdown: <b>`},
		"a block of HTML":    {map[string]string{"docs/one.md": "# One\n\n<div>\nx\n</div>\n"}, `docs/one.md:3: HTML is left out, write Markdown: <div>`},
		"a script":           {map[string]string{"docs/one.md": "# One\n\n<script>alert(1)</script>\n"}, `docs/one.md:3: HTML is left out`},
		"language":           {map[string]string{"docs/one.md": "# One\n\n```klingon\nx\n```\n"}, `docs/one.md: a code block has the language "klingon"`},
		"no language":        {map[string]string{"docs/one.md": "# One\n\n```\nx\n```\n"}, `docs/one.md: a code block has the language ""`},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := build(small(c.changes))
			if err == nil || files != nil {
				t.Fatalf("the site was made (%d files, error %v)", len(files), err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q in the error:\n%v", c.want, err)
			}
		})
	}
}

// TestAllMistakesAreNamed: who mends one need not run it again to hear of the next.
func TestAllMistakesAreNamed(t *testing.T) {
	_, err := build(small(map[string]string{"docs/one.md": "# One\n\n[x](x.md) <b> [y](#y)\n", "docs/three.md": "# Three\n"}))
	want := []string{
		"docs/README.md does not list docs/three.md", `docs/one.md:3: the link "x.md" leads nowhere: there is no docs/x.md`,
		`docs/one.md:3: the link "#y" leads nowhere: docs/one.md has no heading "y"`, "docs/one.md:3: HTML is left out, write Markdown: <b>",
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("want\n%s\ngot\n%v", strings.Join(want, "\n"), err)
	}
}

// TestWhatPagesMayHave: comments are left out, line breaks stay, and texts are taken as texts.
func TestWhatPagesMayHave(t *testing.T) {
	files := made(t, small(map[string]string{"docs/one.md": "# One & `<two>`\n\n<!-- with: x -->\ntext <!-- a note --> a<br>b \\<i> `<script>`\n\n| n |\n|--:|\n| 1 |\n\n```yaml {invalid=\"x\"}\na: <b>\n```\n"}))
	content := string(files["one.html"])
	for _, want := range []string{
		`a<br>b &lt;i&gt; <code>&lt;script&gt;</code>`, `<td align="right">1</td>`, `<title>One &amp; &lt;two&gt; · Orkestra</title>`, `id="one--two"`,
		`<figure class="code refused" data-language="yaml"><figcaption>yaml, refused</figcaption>`, `&lt;b&gt;`,
	} {
		if !strings.Contains(content, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(content, "a note") || strings.Contains(content, "with: x") {
		t.Error("the page has the comments")
	}
	checked(t, files)
}

// TestNoClock: what colors a block has must not depend on how busy the machine is.
func TestNoClock(t *testing.T) {
	registry, err := lexersWithoutClock()
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range languages {
		lexer, ok := registry.Get(language).(*chroma.RegexLexer)
		if !ok {
			t.Fatalf("there is no lexer for %s", language)
		}
		rules, err := lexer.Rules()
		if err != nil {
			t.Fatal(err)
		}
		seen := &recorder{}
		rules = rules.Clone()
		rules["recorder"] = []chroma.Rule{{Mutator: seen}}
		again, err := chroma.NewLexer(lexer.Config(), func() chroma.Rules { return rules })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := again.Tokenise(nil, "a"); err != nil {
			t.Fatal(err)
		}
		if seen.compiled["root"] == nil {
			t.Fatalf("%s: the rules were not seen", language)
		}
		for state, all := range seen.compiled {
			for _, rule := range all {
				if rule.Regexp.MatchTimeout < time.Hour {
					t.Errorf("%s: the rule %q in %q gives up after %v", language, rule.Pattern, state, rule.Regexp.MatchTimeout)
				}
			}
		}
	}
}

// recorder keeps the compiled rules of a lexer.
type recorder struct{ compiled chroma.CompiledRules }

func (*recorder) Mutate(*chroma.LexerState) error { return nil }

func (r *recorder) MutateLexer(rules chroma.CompiledRules, state string, _ int) error {
	r.compiled, rules[state] = rules, nil
	return nil
}

func TestAnchors(t *testing.T) {
	for title, want := range map[string]string{
		"What deleting does": "what-deleting-does", "onCreate, onReconcile": "oncreate-onreconcile", "A `when` & more": "a-when--more", "1. Install": "1-install",
		"snake_case and-hyphen": "snake_case-and-hyphen", "Größe": "größe", "`spec.crd`": "speccrd",
	} {
		if got := anchor(title); got != want {
			t.Errorf("%q: want %q, got %q", title, want, got)
		}
	}
	taken := map[string]int{}
	for _, want := range []string{"a", "a-1", "a-2"} {
		if got := unique("a", taken); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	if got := unique("a-1", taken); got != "a-1-1" {
		t.Errorf("want a-1-1, got %q", got)
	}
}

func TestRelative(t *testing.T) {
	for _, c := range [][3]string{
		{"a.html", "b.html", "b.html"},
		{"a.html", "x/b.html", "x/b.html"},
		{"x/a.html", "b.html", "../b.html"},
		{"x/a.html", "x/b.html", "b.html"},
		{"x/y/a.html", "x/b.html", "../b.html"},
		{"x/y/a.html", "z/y/b.html", "../../z/y/b.html"},
		{"x/a.html", "", "../"},
		{"a.html", "", ""},
	} {
		if got := relative(c[0], c[1]); got != c[2] {
			t.Errorf("from %q to %q: want %q, got %q", c[0], c[1], c[2], got)
		}
	}
}

func TestSearchFile(t *testing.T) {
	var got found
	if err := json.Unmarshal(made(t, small(nil))[searchFile], &got); err != nil {
		t.Fatal(err)
	}
	wantPages := []foundPage{{"one.html", "One", "Tutorial", "the first page"}, {"deep/two.html", "Two", "Reference", "the second"}, {"chart.html", "The chart", "Reference", "values"}}
	if !slices.Equal(got.Pages, wantPages) {
		t.Errorf("want the pages %+v, got %+v", wantPages, got.Pages)
	}
	wantParts := []foundPart{
		{0, "", "", "See two, below, the code, a file, why."}, {0, "one-more", "One more", "text"},
		{1, "", "", "What it looks like"}, {1, "a-part", "A part", "of a.b <c>"}, {1, "a-part-1", "A part", "a: 1"},
		{2, "", "", "home and one"},
	}
	if !slices.Equal(got.Parts, wantParts) {
		t.Errorf("want the parts %+v, got %+v", wantParts, got.Parts)
	}
}

func TestWrite(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "site")
	if err := write(folder, map[string][]byte{searchFile: nil, "old/a.html": []byte("old")}); err != nil {
		t.Fatal(err)
	}
	if err := write(folder, map[string][]byte{searchFile: nil, "new/a.html": []byte("new")}); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(folder, "new", "a.html")); err != nil || string(content) != "new" {
		t.Errorf("want the new page, got %q, %v", content, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "old")); err == nil {
		t.Error("a page of the site before is still there")
	}
}

func TestWriteLeavesOtherFolders(t *testing.T) {
	folder := t.TempDir()
	precious := filepath.Join(folder, "thesis.txt")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := write(folder, map[string][]byte{"index.html": nil})
	if err == nil || !strings.Contains(err.Error(), "holds something else than a site") {
		t.Errorf("want a refusal, got %v", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error("the file is gone")
	}
	if err := write(t.TempDir(), map[string][]byte{"index.html": nil}); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestHandler(t *testing.T) {
	server := httptest.NewServer(handler(map[string][]byte{"index.html": []byte("home"), "a/b.html": []byte("b"), "style.css": []byte("c")}))
	defer server.Close()
	for address, want := range map[string]int{"/": 200, "/index.html": 200, "/a/b.html": 200, "/style.css": 200, "/a": 404, "/a/": 404, "/../main.go": 404, "/none": 404} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: want %d, got %d", address, want, answer.StatusCode)
		}
	}
}

func TestArguments(t *testing.T) {
	if err := run(t.Context(), []string{"extra"}); err == nil || !strings.Contains(err.Error(), `what does "extra" mean?`) {
		t.Errorf("an argument: %v", err)
	}
	if err := run(t.Context(), []string{"-root", filepath.Join(t.TempDir(), "none")}); err == nil || !strings.Contains(err.Error(), "opening the repository") {
		t.Errorf("a root that is not there: %v", err)
	}
	out := filepath.Join(t.TempDir(), "out")
	if err := run(t.Context(), []string{"-root", repository, "-out", out}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, "index.html")); err != nil {
		t.Error(err)
	}
}
