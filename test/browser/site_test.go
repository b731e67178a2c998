package browser

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestSite: the website of the docs in a browser. What it consists of is tested in test/site; here are its script, its keys and its looks.
func TestSite(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "site")
	command := exec.CommandContext(t.Context(), "go", "-C", "../site", "run", ".", "-root", "../..", "-out", folder)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("making the site: %v\n%s", err, out)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(server.Close)
	p := newTab(t, newBrowser(t), server.URL)
	t.Run("search", func(t *testing.T) { p.searches(t) })
	t.Run("theme", func(t *testing.T) { p.themes(t) })
	t.Run("menu", func(t *testing.T) { p.menu(t) })
	t.Run("looks", func(t *testing.T) { p.siteLooks(t) })
	if said := p.complained(); len(said) > 0 {
		t.Errorf("the site complains: %q", said)
	}
}

// searches finds a part of a page by keys alone, from a page that lies in a folder.
func (p *tab) searches(t *testing.T) {
	t.Helper()
	p.open(t, "/how-to/loops.html")
	p.slash(t)
	p.until(t, "the search is open", `document.activeElement.type === "search"`)
	p.press(t, "drift")
	p.until(t, "the part about drift comes first", `document.querySelector("#results [aria-selected=true] a")?.getAttribute("href") === "../concepts.html#drift"`)
	p.until(t, "what was found is marked, and counted", `document.querySelector("#results mark").textContent.toLowerCase() === "drift" && /\d+ places/.test(document.querySelector(".said").textContent)`)
	p.press(t, kb.ArrowDown)
	p.until(t, "the second is chosen, and told to those who can't see it", `document.querySelector("#results li:nth-child(2)").ariaSelected === "true" && document.activeElement.getAttribute("aria-activedescendant") === document.querySelector("#results li:nth-child(2)").id`)
	p.press(t, kb.ArrowUp)
	p.press(t, kb.Enter)
	p.until(t, "the part is shown", `location.pathname === "/concepts.html" && location.hash === "#drift" && document.readyState === "complete" && !document.querySelector("dialog").open`)

	p.slash(t)
	p.press(t, "drift")
	p.until(t, "it is found again", `document.querySelectorAll("#results li").length > 1`)
	p.press(t, kb.Enter)
	p.until(t, "a result on this page closes the search, too", `!document.querySelector("dialog").open && location.hash === "#drift"`)

	p.slash(t)
	eval[bool](t, p, given("dialog input", `"rollBackOnError snapshot"`))
	p.until(t, "every word has to be there", `[...document.querySelectorAll("#results li")].length > 0 && [...document.querySelectorAll("#results li a")].every((a) => a.pathname.endsWith(".html"))`)
	eval[bool](t, p, given("dialog input", `"drift xylophone"`))
	p.until(t, "nothing is found", `document.querySelector(".said").textContent === "Nothing has all of these words." && document.querySelectorAll("#results li").length === 0`)
	eval[bool](t, p, given("dialog input", `"<img src=x> ( [ \\"`))
	p.until(t, "what is typed is text", `document.querySelector(".said").textContent !== "" && document.querySelector("dialog img") === null`)
	p.press(t, kb.Escape)
	p.until(t, "the search is closed", `!document.querySelector("dialog").open`)
}

// slash presses the key as a keyboard does, so that what the page takes for itself is not typed, too.
func (p *tab) slash(t *testing.T) {
	t.Helper()
	raw := func(k *input.DispatchKeyEventParams) {
		if k.Type == kb.KeyDown {
			k.Type = kb.KeyRawDown
		}
	}
	must(t, chromedp.Do(p.ctx, chromedp.KeyEvent("/", raw)))
}

// themes: the button changes what the system has chosen, and the next page knows it; pictures follow.
func (p *tab) themes(t *testing.T) {
	t.Helper()
	ground := `getComputedStyle(document.documentElement).backgroundColor`
	shows := func(name string) string {
		return `[...document.querySelectorAll("article img")].filter((i) => i.checkVisibility()).every((i) => i.src.endsWith("-` + name + `.png"))`
	}
	p.look(t, dark)
	p.open(t, "/how-to/control-center.html")
	p.until(t, "the system's theme is shown", ground+` === "rgb(21, 22, 26)" && `+shows("dark"))
	p.click(t, one("button.theme"))
	p.until(t, "the other one is", ground+` === "rgb(255, 255, 255)" && `+shows("light"))
	p.open(t, "/start.html")
	p.until(t, "on the next page as well", ground+` === "rgb(255, 255, 255)"`)
	eval[bool](t, p, `localStorage.clear(); true`)
	p.look(t, desk)
}

// menu: on a phone the list of pages opens and closes.
func (p *tab) menu(t *testing.T) {
	t.Helper()
	p.look(t, phone)
	p.open(t, "/how-to/loops.html")
	p.until(t, "it is not seen", `!document.querySelector("nav").checkVisibility()`)
	p.click(t, one("button.menu"))
	p.until(t, "this page is seen in it", `((e) => e.checkVisibility() && e.getBoundingClientRect().top > 0 && e.getBoundingClientRect().bottom < innerHeight)(document.querySelector("nav [aria-current]"))`)
	p.press(t, kb.Escape)
	p.until(t, "it is closed", `!document.querySelector("nav").checkVisibility()`)
	p.look(t, desk)
}

// siteLooks: nothing is wrong with pages, by axe and by our own rules, and the key Tab shows where it is.
func (p *tab) siteLooks(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/index.html", "/start.html", "/how-to/control-center.html", "/reference/declarations.html", "/operations/security.html", "/comparison.html"} {
		for name, l := range map[string]look{"light": desk, "dark": dark, "phone": phone} {
			p.look(t, l)
			p.open(t, path)
			p.judged(t, path+" ("+name+")")
		}
		p.look(t, desk)
		p.open(t, path)
		for range 12 {
			p.press(t, kb.Tab)
			if hidden := eval[string](t, p, `((e) => e === document.body || getComputedStyle(e).outlineStyle !== "none" || e.classList.contains("skip") ? "" : e.outerHTML.slice(0, 100))(document.activeElement)`); hidden != "" {
				t.Errorf("%s: it is not seen that this has the focus: %s", path, hidden)
			}
		}
	}
	p.open(t, "/start.html")
	p.press(t, kb.Tab)
	p.press(t, kb.Enter)
	p.until(t, "the first key leads past the menu", `document.activeElement.id === "main"`)
}
