package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/orkspace/orkestra/test/plane"
)

// tab is a page that somebody has open.
type tab struct {
	ctx  context.Context // chromedp keeps the tab in it
	base string

	mu         sync.Mutex
	complaints []string // errors of scripts, and what the policy of the page has stopped; guarded by mu
}

// chrome is a browser that runs.
type chrome struct {
	ctx context.Context // chromedp keeps the browser in it
}

// newBrowser starts Chromium, which ends with the test.
func newBrowser(t *testing.T) *chrome {
	t.Helper()
	program := os.Getenv("CHROMIUM")
	if program == "" {
		program = "chromium"
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("%v: run `make test-browser`, which fetches it, or name it in CHROMIUM", err)
	}
	// The manager signs its own certificate. There is no sandbox for root.
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.IgnoreCertErrors, chromedp.Flag("disable-quic", true))
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() { end(); stop() })
	must(t, chromedp.Do(ctx))
	return &chrome{ctx: ctx}
}

// newTab opens a tab of a browser at an address of a server.
func newTab(t *testing.T, browser *chrome, base string) *tab {
	t.Helper()
	p := &tab{base: base}
	var end context.CancelFunc
	p.ctx, end = chromedp.NewContext(browser.ctx, chromedp.WithListener(p.listen))
	t.Cleanup(end)
	_, err := chromedp.Call(p.ctx, log.Enable, cdp.Empty{})
	must(t, err)
	p.look(t, desk)
	return p
}

func (p *tab) listen(event any) {
	said := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			said = e.ExceptionDetails.Exception.Description
		}
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceSecurity || strings.Contains(e.Entry.Text, "Content Security Policy") {
			said = e.Entry.Text
		}
	}
	if said != "" {
		p.mu.Lock()
		p.complaints = append(p.complaints, said)
		p.mu.Unlock()
	}
}

// complained gives what the page has complained of since it was asked last.
func (p *tab) complained() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	said := p.complaints
	p.complaints = nil
	return said
}

// look is the window of a tab.
type look struct {
	width, height int64
	dark, phone   bool
}

var (
	desk  = look{width: 1280, height: 800}
	dark  = look{width: 1280, height: 800, dark: true}
	phone = look{width: 375, height: 740, phone: true}
)

func (p *tab) look(t *testing.T, l look) {
	t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: l.height, DeviceScaleFactor: 1, Mobile: l.phone})
	must(t, err)
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	_, err = chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	must(t, err)
}

// open loads a page, and waits until it shows what the server has said.
func (p *tab) open(t *testing.T, path string) {
	t.Helper()
	must(t, chromedp.Do(p.ctx, chromedp.Navigate(p.base+path)))
	p.shown(t)
}

// shown waits until a page shows what the server has said.
func (p *tab) shown(t *testing.T) {
	t.Helper()
	p.until(t, "the page is shown", `document.querySelector("h1") !== null && document.querySelector(".loading") === null`)
}

// eval gives the value of an expression.
func eval[T any](t *testing.T, p *tab, expression string) T {
	t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%v in %s", err, expression[:min(len(expression), 300)])
	}
	return value
}

// until waits for an expression to be true.
func (p *tab) until(t *testing.T, what, expression string) {
	t.Helper()
	reached := false
	defer func() {
		if !reached {
			p.failed(t)
		}
	}()
	plane.Eventually(t, what, func() error {
		is, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](expression))
		if err == nil && !is {
			err = fmt.Errorf("it did not come to %s", expression)
		}
		return err
	})
	reached = true
}

// failed says what the page shows.
func (p *tab) failed(t *testing.T) {
	t.Helper()
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`location.pathname + ":\n" + document.body.innerText.slice(0, 6000)`))
	t.Logf("the page %s (%v, %q)", text, err, p.complained())
}

// click clicks at what an expression gives, with the mouse: what lies above it would be clicked instead.
func (p *tab) click(t *testing.T, element string) {
	t.Helper()
	where := eval[[]float64](t, p, `(() => {
		const e = `+element+`;
		if (!e) return [];
		e.scrollIntoView({ block: "center" });
		const b = e.getClientRects()[0];
		return [b.x + Math.min(b.width / 2, 40), b.y + b.height / 2];
	})()`)
	if len(where) == 0 {
		p.failed(t)
		t.Fatalf("there is nothing to click at: %s", element)
	}
	must(t, chromedp.Do(p.ctx, chromedp.MouseClickXY(where[0], where[1])))
}

// press presses keys.
func (p *tab) press(t *testing.T, keys string) {
	t.Helper()
	must(t, chromedp.Do(p.ctx, chromedp.KeyEvent(keys)))
}

// text is what an element shows; empty where there is none.
func (p *tab) text(t *testing.T, selector string) string {
	t.Helper()
	return eval[string](t, p, `document.querySelector(`+quote(selector)+`)?.innerText ?? ""`)
}

// link is an expression for the link to a path, in an element.
func link(in, path string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%s)].find((a) => a.pathname === encodeURI(%s))`, quote(in+" a[href]"), quote(path))
}

// quote writes a text as an expression.
func quote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text can always be written
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
