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
}

// views are all pages. Those with names are shown in the docs.
func views() []view {
	return []view{
		{"fleet", "/", []string{"h1", "search.filters", "table.fleet tbody tr.bad", "table.fleet .spark", ".bar"}},
		{"search", "/?text=checkout", []string{"table.found tbody tr"}},
		{"box", "/boxes/foreign", []string{".verdict.bad", ".tiles", ".hour .curve", "table.failing tbody tr", "table.conditions", "table.declarations"}},
		{"resources", "/boxes/greeting/resources", []string{"search.filters select", ".pages", "table.resources tbody tr"}},
		{"resource", "/boxes/foreign/resources/shop/checkout", []string{".verdict.bad", ".cause", ".tree .leaf", "#cause", "table.conditions", ".timeline .cycle"}},
		{"gate", "/boxes/cross/resources/shop/checkout", []string{".verdict.wait", ".cause"}},
		{"", "/?state=Degraded", []string{"table.fleet tbody tr"}},
		{"", "/boxes/greeting", []string{".verdict.good"}},
		{"", "/boxes/compile", []string{".verdict"}},
		{"", "/boxes/absence", []string{".verdict"}},
		{"", "/boxes/dependency", []string{".verdict"}},
		{"", "/boxes/rollback/resources/shop/checkout", []string{".verdict.bad", ".cause"}},
		{"", "/boxes/greeting/resources/shop/hello", []string{".verdict.good"}},
		{"", "/boxes/nothing", []string{".note.bad"}},
		{"", "/no/such/page", []string{"h1"}},
	}
}

// looks: axe finds nothing on any page, no page is wider than a phone, and what has to be there is. Pictures go to the folder PICTURES, where it is set; else
// those that were taken are compared with the page, by their size.
func (c *center) looks(t *testing.T, browser *chrome) {
	t.Helper()
	p := newTab(t, browser, c.base())
	for _, v := range views() {
		for name, l := range map[string]look{"light": desk, "dark": dark, "phone": phone} {
			p.look(t, l)
			p.open(t, v.path)
			for _, selector := range v.elements {
				p.until(t, fmt.Sprintf("%s of %s (%s) is seen", selector, v.path, name), `[...document.querySelectorAll(`+quote(selector)+`)].some((e) => e.checkVisibility())`)
			}
			p.judged(t, v.path+" ("+name+")")
			if v.name != "" {
				p.pictured(t, v.name+"-"+name+".png")
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

// pictured takes a picture, or compares the one that was taken.
func (p *tab) pictured(t *testing.T, name string) {
	t.Helper()
	width, height := eval[int](t, p, `innerWidth`), min(highest, eval[int](t, p, `document.documentElement.scrollHeight`))
	if folder := os.Getenv("PICTURES"); folder != "" {
		must(t, os.MkdirAll(folder, 0o755))
		must(t, os.WriteFile(filepath.Join(folder, name), p.picture(t, width, height), 0o600))
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
	if taken.Width != width || taken.Height > 2*height || height > 2*taken.Height {
		t.Errorf("%s: the picture has %d×%d pixels, the page %d×%d: take it again by `make page-pictures`", name, taken.Width, taken.Height, width, height)
	}
}

// picture is a page from its top, as PNG.
func (p *tab) picture(t *testing.T, width, height int) []byte {
	t.Helper()
	beyond := true
	shot, err := chromedp.Call(p.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Width: float64(width), Height: float64(height), Scale: 1},
	})
	must(t, err)
	return shot.Data
}
