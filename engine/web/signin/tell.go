package signin

import (
	"html/template"
	"net/http"
	"strings"
	"unicode"

	"github.com/orkspace/orkestra/engine/web"
)

// page is what somebody sees whose sign-in has failed. It needs no script: it may be all that works.
var page = template.Must(template.New("problem").Parse(`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Sign-in · Orkestra</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/app.css">
  </head>
  <body>
    <main>
      <h1>You are not signed in</h1>
      <section class="note bad" role="alert">
        <div>
          <p>{{.Detail}}.</p>
          <p class="under"><a href="{{.Again}}">Sign in</a> <span class="muted">HTTP {{.Status}}</span></p>
        </div>
      </section>
    </main>
  </body>
</html>
`))

// tell answers with what is wrong, and what to do: people see a page, programs a problem.
func tell(w http.ResponseWriter, r *http.Request, status int, detail string) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		web.Problem(w, status, detail)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = page.Execute(w, map[string]any{"Detail": detail, "Status": status, "Again": loginPath}) // the browser may have gone
}

// maxSpoken is how many characters of what somebody else says are repeated.
const maxSpoken = 300

// spoken gives an error in the provider's words.
func spoken(code, description string) string {
	if description == "" {
		return plain(code)
	}
	return plain(code) + ": " + strings.TrimSuffix(plain(description), ".")
}

// plain gives a text of somebody else without what could hide something, and not at any length.
func plain(text string) string {
	out := []rune(strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, text))
	if len(out) > maxSpoken {
		return string(out[:maxSpoken]) + "…"
	}
	return string(out)
}
