package browser

import (
	"fmt"
	"strings"
	"testing"
)

// TestControlCenter: what somebody sees in a browser of a real cluster in which each thing fails in a way of its own.
func TestControlCenter(t *testing.T) {
	c := newCenter(t)
	browser := newBrowser(t)
	c.fleet(t)
	for _, w := range ways() {
		t.Run("causes/"+w.box, func(t *testing.T) { c.leads(t, newTab(t, browser, c.base()), w) })
	}
	t.Run("keyboard", func(t *testing.T) { c.keyboard(t, browser) })
	t.Run("looks", func(t *testing.T) { c.looks(t, browser) })
	t.Run("changes", func(t *testing.T) { c.changes(t, browser) })
	t.Run("hostile", func(t *testing.T) { c.unharmed(t, browser) })
	t.Run("restarts", func(t *testing.T) { c.restarts(t, browser) })
}

// leads follows a failing box from the fleet to the cause, as somebody does who has never seen the page. The cause is one or two clicks away.
func (c *center) leads(t *testing.T, p *tab, w way) {
	t.Helper()
	p.open(t, "/")
	row := fleetRow(w.box)
	said := func(what, expression string) {
		t.Helper()
		var words []string
		for _, word := range w.says {
			words = append(words, quote(word))
		}
		p.until(t, what+" says why", fmt.Sprintf(`((text) => [%s].every((w) => text.includes(w)))((%s)?.innerText ?? "")`, strings.Join(words, ","), expression))
	}
	if w.resource == "" { // the box itself is in trouble: its line says why, and its page
		said("the line of the box", row)
		p.click(t, row+`.querySelector("th a")`)
		said("the page of the box", `document.querySelector("main")`)
		return
	}
	path := "/boxes/" + w.box + "/resources/" + shop + "/checkout"
	clicks := 1
	p.until(t, "the fleet shows that a resource is not well", `/failing|waiting|rolled back/.test((`+row+`)?.querySelector(".resources")?.innerText ?? "")`)
	if shownThere := fmt.Sprintf(`[...(%s).querySelectorAll("a")].find((a) => a.pathname === %s)`, row, quote(path)); eval[bool](t, p, shownThere+" !== undefined") {
		p.click(t, shownThere)
	} else {
		p.click(t, row+`.querySelector("a.counts")`)
		p.until(t, "its resources are listed", link("table.resources", path)+" !== undefined")
		p.click(t, link("table.resources", path))
		clicks++
	}
	p.until(t, "the resource is shown", `location.pathname === `+quote(path)+` && document.querySelector(".verdict") !== null`)
	said("the cause", `document.querySelector(".cause")`)
	p.until(t, "the cause has what to do, and a page", `/What to do: .+/.test(document.querySelector(".cause .todo")?.innerText ?? "") && /\.md(#|$)/.test(document.querySelector(".cause .todo a")?.href ?? "")`)
	if w.mark != "" {
		marked := `[...document.querySelectorAll(".leaf.is-cause")].map((l) => l.innerText).join("\n---\n")`
		p.until(t, "the tree marks the cause", `((text) => text.includes("the cause") && text.split("\n---\n").length === 1 && text.includes(`+quote(w.mark)+`))(`+marked+`)`)
	}
	t.Logf("%d clicks to: %s", clicks, strings.Join(strings.Fields(p.text(t, ".cause")), " "))
	if said := p.complained(); len(said) > 0 {
		t.Errorf("the page complains: %q", said)
	}
}
