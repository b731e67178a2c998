package browser

import (
	"fmt"
	"strings"
	"testing"
)

// hostile is what somebody writes who wants to do harm to those who look: a script, colors of a terminal, a text that runs backwards, and a long line.
var hostile = `<script>document.title = "owned"</script><img src=x onerror="document.title = 'owned'">` + "\x1b[31m\u202egnp.exe " + strings.Repeat("long", 2500)

// unharmed: nothing of that runs, is taken for the page's own, or breaks a page on a phone; and a resource with a thousand children, or a status of a megabyte,
// is shown.
func (c *center) unharmed(t *testing.T, browser *chrome) {
	t.Helper()
	c.Kinds(t, group, "hostile", "many")
	c.Apply(t, box("hostile", `
validation: {rules: [{field: spec.host, operator: suffix, value: .example.com}]}
onReconcile: {configmaps: [{name: "{{ .metadata.name }}-hostile", data: {a: b}}]}`)+
		box("many", `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-{{ .item }}", forEach: {field: spec.items}, data: {a: b}}]}`))
	items := make([]string, 1000)
	for n := range items {
		items[n] = fmt.Sprintf("c%03d", n)
	}
	c.Apply(t, resource("hostile", shop, "checkout", `{host: `+quote(hostile)+`}`)+resource("many", shop, "checkout", `{items: [`+strings.Join(items, ",")+`]}`)+
		fmt.Sprintf(event, quote(hostile)))

	p := newTab(t, browser, c.base())
	p.look(t, phone)
	for _, path := range []string{"/", "/?text=hostile", "/boxes/hostile", "/boxes/hostile/resources", "/boxes/hostile/resources/shop/checkout"} {
		p.open(t, path)
		p.until(t, "the text is seen on "+path, `document.body.innerText.includes("<script>document.title")`)
		p.unharmed(t, path)
	}
	p.open(t, "/boxes/many/resources/shop/checkout")
	p.until(t, "the thousand children are counted", `/1,000 children/.test(document.querySelector(".tree")?.innerText ?? "")`)
	p.until(t, "they are ready", `document.querySelector(".verdict.good") !== null`)
	if shown := eval[int](t, p, `document.querySelectorAll(".tree .leaf").length`); shown > 200 {
		t.Errorf("%d of 1,000 children are in the page at once", shown)
	}
	p.unharmed(t, "a thousand children")

	big := `{"status":{"blob":"` + strings.Repeat("0123456789abcdef", 65536) + `"}}`
	file := t.TempDir() + "/patch.json"
	write(t, file, big)
	c.Kubectl(t, "patch", "manys.browser.example.com", "checkout", "-n", shop, "--subresource=status", "--type=merge", "--patch-file", file)
	p.until(t, "the page has a status of a megabyte", `[...document.querySelectorAll("main > details.yaml > summary")].map((s) => s.parentElement.open || s.click()) && /0123456789abcdef/.test(document.querySelector("pre")?.textContent ?? "")`)
	p.unharmed(t, "a status of a megabyte")

	ui := newTab(t, browser, "")
	ui.look(t, phone)
	c.enter(t, ui)
	ui.open(t, "/boxes/hostile/resources/shop/checkout")
	ui.until(t, "the event is seen", `document.querySelector("table.events")?.innerText.includes("<script>") === true`)
	ui.unharmed(t, "events")
}

// event is one about the resource of hostile.
const event = `---
apiVersion: v1
kind: Event
metadata: {name: hostile, namespace: shop}
involvedObject: {apiVersion: browser.example.com/v1, kind: Hostile, namespace: shop, name: checkout}
reason: Hostile
type: Warning
count: 1
firstTimestamp: "2026-01-02T03:04:05Z"
lastTimestamp: "2026-01-02T03:04:05Z"
message: %s
`

// unharmed: a page is as it should be.
func (p *tab) unharmed(t *testing.T, what string) {
	t.Helper()
	for wrong, expression := range map[string]string{
		"an element of somebody else's text is in the page":   `document.querySelectorAll("main script, main img").length > 0`,
		"a script of somebody else has run":                   `document.title.includes("owned")`,
		"control characters are in the page":                  `/[\x1b\u202e]/.test(document.body.textContent)`,
		"the page is wider than its window":                   `document.documentElement.scrollWidth > innerWidth`,
		"the page has failed":                                 `document.body.innerText.includes("This page has failed")`,
		"a long text stands in the page without being folded": `[...document.querySelectorAll("main *")].some((e) => e.children.length === 0 && e.tagName !== "PRE" && e.closest("pre, details") === null && e.textContent.length > 2000)`,
	} {
		if eval[bool](t, p, expression) {
			t.Errorf("%s: %s", what, wrong)
		}
	}
	for _, said := range p.complained() {
		t.Errorf("%s: %s", what, said)
	}
}
