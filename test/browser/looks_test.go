package browser

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const (
	axe      = root + "/engine/web/ui/node_modules/axe-core/axe.min.js"
	judge    = root + "/engine/web/ui/browser/judge.js"
	pictures = root + "/docs/how-to/pictures" // what make page-pictures has taken
	highest  = 1800                           // pixels of a picture
)

// view is a page, with what has to be on it. It has a picture where it has a name.
type view struct {
	name, path string
	elements   []string
	// does are expressions of what somebody does there first, one after the other: each is evaluated until it is true.
	does []string
	// part is the element of which the picture is; empty: the whole page.
	part string
	// own says that it is a page of `orkestra ui`, where somebody with a name may do things.
	own bool
}

// clicked is an expression that clicks at an element once it is there.
func clicked(element string) string {
	return `((e) => e && !e.disabled ? (e.click(), true) : false)(` + element + `)`
}

// given is an expression that gives a field a value, as one does by its keys.
func given(selector, value string) string {
	return `((e) => e ? (e.value = ` + value + `, e.dispatchEvent(new Event(e.matches("select") ? "change" : "input", { bubbles: true })), true) : false)(document.querySelector(` + quote(selector) + `))`
}

// one is an expression for the first element that a selector finds.
func one(selector string) string { return `document.querySelector(` + quote(selector) + `)` }

// button is an expression for the button of an action.
func button(text string) string {
	return `[...document.querySelectorAll(".actions button")].find((b) => b.innerText === ` + quote(text) + `)`
}

// views are all pages. Those with names are shown in the docs.
func views() []view {
	return []view{
		{name: "fleet", path: "/", elements: []string{"h1", "search.filters", "table.fleet tbody tr.bad", "table.fleet .spark", ".bar"}},
		{name: "search", path: "/?text=checkout", elements: []string{"table.found tbody tr"}},
		{name: "box", path: "/boxes/foreign", elements: []string{".verdict.bad", ".tiles", ".hour .curve", "table.failing tbody tr", "table.steps", "table.conditions", "table.declarations"}},
		{name: "graph", path: "/boxes/gate", elements: []string{".declarations .graph .edge", "table.declarations"}, part: "section.declarations"},
		{name: "dependencies", path: "/boxes/dependency", elements: []string{".verdict", ".dependencies .graph .edge"}, part: "section.dependencies"},
		{
			name: "revisions", path: "/boxes/greeting", elements: []string{".verdict.good", ".revisions .changes", ".compare .fields del", ".compare .fields ins"}, part: "section.revisions",
			does: []string{clicked(one(".compare summary"))},
		},
		{name: "rights", path: "/boxes/forbidden", elements: []string{"table.rights tr.bad", ".rights .note"}, part: "section.rights"},
		{name: "resources", path: "/boxes/greeting/resources", elements: []string{"search.filters select", ".pages", "table.resources tbody tr"}},
		{name: "resource", path: "/boxes/foreign/resources/shop/checkout", elements: []string{".verdict.bad", ".cause", ".tree .leaf", "#cause", "table.conditions", ".timeline .cycle"}},
		{name: "gate", path: "/boxes/cross/resources/shop/checkout", elements: []string{".verdict.wait", ".cause"}},
		{
			name: "plan", path: "/plan?box=gate&namespace=shop&name=checkout", elements: []string{"form.plan textarea", ".outcome .verdict", ".outcome .branches"},
			does: []string{clicked(one("form.plan button.primary"))},
		},
		{
			name: "reference", path: "/reference?box=greeting&namespace=shop&name=hello&text=trim", elements: []string{".tried.good", "table.reference tbody tr"},
			does: []string{given("#try-text", `"{{ .spec.text | upper }}"`), clicked(one("section.try button.primary"))},
		},
		{
			name: "action", path: "/boxes/greeting", elements: []string{"dialog[open]", "dialog .fields ins", "dialog .confirm:enabled"}, part: "dialog", own: true,
			does: []string{clicked(button("Go back…")), `document.querySelector("dialog select")?.options.length > 1`, given("dialog select", `e.options[1].value`)},
		},
		{path: "/boxes/foreign/resources/shop/checkout", elements: []string{"dialog[open] .confirm:enabled"}, own: true, does: []string{clicked(button("Reconcile now"))}},
		{path: "/?state=Degraded", elements: []string{"table.fleet tbody tr"}},
		{path: "/boxes/compile", elements: []string{".verdict"}},
		{path: "/boxes/absence", elements: []string{".verdict"}},
		{path: "/boxes/rollback/resources/shop/checkout", elements: []string{".verdict.bad", ".cause"}},
		{path: "/boxes/greeting/resources/shop/hello", elements: []string{".verdict.good"}},
		{path: "/boxes/nothing", elements: []string{".note.bad"}},
		{path: "/no/such/page", elements: []string{"h1"}},
	}
}

// looks: axe finds nothing on any page, no page is wider than a phone, and what has to be there is. Pictures go to the folder PICTURES, where it is set; else
// those that were taken are compared with the page, by their size.
func (c *center) looks(t *testing.T, browser *chrome) {
	t.Helper()
	theirs, own := newTab(t, browser, c.base()), newTab(t, browser, "")
	c.enter(t, own)
	for _, v := range views() {
		p := theirs
		if v.own {
			p = own
		}
		for name, l := range map[string]look{"light": desk, "dark": dark, "phone": phone} {
			p.look(t, l)
			p.open(t, v.path)
			for _, do := range v.does {
				p.until(t, fmt.Sprintf("something is done at %s (%s)", v.path, name), do)
			}
			for _, selector := range v.elements {
				p.until(t, fmt.Sprintf("%s of %s (%s) is seen", selector, v.path, name), `[...document.querySelectorAll(`+quote(selector)+`)].some((e) => e.checkVisibility())`)
			}
			p.judged(t, v.path+" ("+name+")")
			if v.name != "" {
				p.pictured(t, v.name+"-"+name+".png", v.part)
			}
		}
	}
}

// judged: nothing is wrong with a page, by axe and by our own rules.
func (p *tab) judged(t *testing.T, what string) {
	t.Helper()
	eval[bool](t, p, read(t, axe)+"; true")
	for _, said := range append(eval[[]string](t, p, read(t, judge)), p.complained()...) {
		t.Errorf("%s: %s", what, said)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run `make test-browser`, which has npm fetch axe", err)
	}
	return string(text)
}

// rectangle is a part of a page, in pixels from its top.
type rectangle struct{ X, Y, Width, Height float64 }

// pictured takes a picture of a part, or compares the one that was taken.
func (p *tab) pictured(t *testing.T, name, part string) {
	t.Helper()
	of := rectangle{Width: eval[float64](t, p, `innerWidth`), Height: eval[float64](t, p, `document.documentElement.scrollHeight`)}
	if part != "" {
		of = eval[rectangle](t, p, `((r) => ({ X: r.x + scrollX, Y: r.y + scrollY, Width: Math.ceil(r.width), Height: Math.ceil(r.height) }))(`+one(part)+`.getBoundingClientRect())`)
	}
	of.Height = min(of.Height, highest)
	if folder := os.Getenv("PICTURES"); folder != "" {
		must(t, os.MkdirAll(folder, 0o755))
		must(t, os.WriteFile(filepath.Join(folder, name), p.picture(t, of), 0o600))
		return
	}
	file, err := os.ReadFile(filepath.Join(pictures, name))
	if err != nil {
		t.Errorf("%v: take it by `make page-pictures`", err)
		return
	}
	taken, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	// Boxes and resources come and go, so that a page is longer or shorter.
	width, height := int(of.Width), int(of.Height)
	if taken.Width != width || taken.Height > 2*height || height > 2*taken.Height {
		t.Errorf("%s: the picture has %d×%d pixels, the page %d×%d: take it again by `make page-pictures`", name, taken.Width, taken.Height, width, height)
	}
}

// picture is a part of a page, as PNG.
func (p *tab) picture(t *testing.T, of rectangle) []byte {
	t.Helper()
	beyond := true
	shot, err := chromedp.Call(p.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond, Clip: &page.Viewport{X: of.X, Y: of.Y, Width: of.Width, Height: of.Height, Scale: 1},
	})
	must(t, err)
	return shot.Data
}
