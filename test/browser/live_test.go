package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// marked says that a page was not loaded anew since it was marked.
const marked = `window.marked === true`

func (p *tab) mark(t *testing.T) {
	t.Helper()
	eval[bool](t, p, `window.marked = true`)
}

// changes: what happens in the cluster is seen on each open page, which nobody reloads.
func (c *center) changes(t *testing.T, browser *chrome) {
	t.Helper()
	fleet, list, one := newTab(t, browser, c.base()), newTab(t, browser, c.base()), newTab(t, browser, c.base())
	fleet.open(t, "/")
	list.open(t, "/boxes/gate/resources")
	one.open(t, "/boxes/gate/resources/shop/checkout")
	one.until(t, "it waits", `document.querySelector(".verdict.wait") !== null`)
	for _, p := range []*tab{fleet, list, one} {
		p.mark(t)
	}
	began := time.Now()
	c.Kubectl(t, "patch", "configmap", "checkout-first", "-n", shop, "--type=merge", "-p", `{"data":{"ok":"yes"}}`)
	one.until(t, "the resource is ready", marked+` && document.querySelector(".verdict.good") !== null && document.querySelector(".cause") === null`)
	t.Logf("it is seen %s after the command began", time.Since(began).Round(time.Millisecond))
	list.until(t, "its line is ready", marked+` && document.querySelector("table.resources tbody td.state").innerText.includes("Ready")`)
	fleet.until(t, "the line of its box is", marked+` && `+fleetRow("gate")+`.querySelector(".resources").innerText.includes("1 of 1 settled") && !`+fleetRow("gate")+`.innerText.includes("waiting")`)
}

// fleetRow is the line of a box.
func fleetRow(box string) string {
	return `[...document.querySelectorAll("table.fleet tbody tr")].find((r) => r.querySelector("th a")?.pathname === ` + quote("/boxes/"+box) + `)`
}

// restarts: a manager that ends under open pages, and starts again. They say so, keep what they have read, connect by themselves, and say what is forgotten.
func (c *center) restarts(t *testing.T, browser *chrome) {
	t.Helper()
	fleet, one := newTab(t, browser, c.base()), newTab(t, browser, c.base())
	fleet.open(t, "/")
	one.open(t, "/boxes/greeting/resources/shop/hello")
	c.Kubectl(t, "patch", "greetings.browser.example.com", "hello", "-n", shop, "--type=merge", "-p", `{"spec":{"text":"Good morning"}}`)
	one.until(t, "what has happened is remembered", cycles+` > 1`)
	fleet.mark(t)
	one.mark(t)
	c.manager.Stop()
	for _, p := range []*tab{fleet, one} {
		p.until(t, "the page says since when there is no connection", marked+` && document.querySelector(".lost-line")?.innerText.includes("No connection to the server since") === true`)
	}
	if !eval[bool](t, fleet, `document.querySelectorAll("table.fleet tbody tr").length > 10`) || !eval[bool](t, one, cycles+` > 1`) {
		t.Error("what was read is not shown any more")
	}
	c.startManager(t)
	for _, p := range []*tab{fleet, one} {
		p.until(t, "the page is connected again", marked+` && document.querySelector(".lost-line") === null && document.querySelector(".connection").innerText.includes("Live")`)
	}
	one.until(t, "the page says what is forgotten", marked+` && `+cycles+` < 2 && document.querySelector(".timeline").innerText.includes("What was before is not known.")`)
}

// cycles is how many reconciles a resource shows.
const cycles = `document.querySelectorAll(".timeline .cycle").length`

// keyboard: the key Tab alone reaches everything that a mouse can be used at, and shows where it is; Enter leads from the fleet to the cause.
func (c *center) keyboard(t *testing.T, browser *chrome) {
	t.Helper()
	p := newTab(t, browser, c.base())
	for _, path := range []string{"/", "/?text=hello", "/boxes/foreign", "/boxes/greeting/resources", "/boxes/foreign/resources/shop/checkout"} {
		p.open(t, path)
		eval[bool](t, p, `window.reached = new Set(); window.unseen = []; true`)
		// The page may change while keys are pressed, so that there are some more than there were.
		for range eval[int](t, p, reachable+`.length`) + 30 {
			p.press(t, kb.Tab)
			eval[bool](t, p, `(() => {
				const e = document.activeElement;
				if (e !== document.body && getComputedStyle(e).outlineStyle === "none") unseen.push(e.outerHTML.slice(0, 100));
				reached.add(e);
				return true;
			})()`)
		}
		if missed := eval[[]string](t, p, reachable+`.filter((e) => !reached.has(e)).map((e) => e.outerHTML.slice(0, 150))`); len(missed) > 0 {
			t.Errorf("%s: not reached: %q", path, missed)
		}
		if unseen := eval[[]string](t, p, `unseen`); len(unseen) > 0 {
			t.Errorf("%s: it is not seen that these have the focus: %q", path, unseen)
		}
	}
	p.open(t, "/")
	p.focus(t, link("table.fleet", "/boxes/foreign/resources/shop/checkout"))
	p.press(t, kb.Enter)
	p.until(t, "the resource is shown", `location.pathname === "/boxes/foreign/resources/shop/checkout" && document.querySelector(".cause a[href='#cause']") !== null`)
	p.focus(t, `document.querySelector(".cause a[href='#cause']")`)
	p.press(t, kb.Enter)
	p.until(t, "the cause in the tree has the focus", `document.activeElement.id === "cause"`)
}

// reachable is an expression for all that a mouse can be used at.
const reachable = `[...document.querySelectorAll("a[href], button, input, select, summary")].filter((e) => e.checkVisibility() && !e.disabled)`

// focus presses Tab until an element has the focus.
func (p *tab) focus(t *testing.T, element string) {
	t.Helper()
	for range eval[int](t, p, reachable+`.length`) + 30 {
		p.press(t, kb.Tab)
		if eval[bool](t, p, `document.activeElement === `+element) {
			return
		}
	}
	p.failed(t)
	t.Fatalf("Tab does not come to %s", element)
}
