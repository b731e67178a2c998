package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
)

func accepting(coding string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Accept-Encoding", coding) }
}

func TestFilesAreCompressedForThoseWhoUnderstandIt(t *testing.T) {
	code := strings.Repeat("let it = be;\n", 1000)
	server := New(Config{Source: &canned{}, Files: fstest.MapFS{"index.html": {Data: []byte("page")}, "app.js": {Data: []byte(code)}}, Log: logr.Discard()})
	for coding, wanted := range map[string]bool{
		"": false, "gzip": true, "br, gzip;q=0.5": true, "GZIP": true, "gzip;q=0": false, "gzip; q=0.0, *": false, "*": true, "*;q=0": false, "br": false, "identity": false, "gzip;q=x": false,
	} {
		t.Run(coding, func(t *testing.T) {
			g, w := NewWithT(t), ask(server, http.MethodGet, "/app.js", accepting(coding))
			g.Expect(w.Header().Get("Vary")).To(Equal("Accept-Encoding"))
			g.Expect(w.Header().Get("Content-Type")).To(HavePrefix("text/javascript"))
			g.Expect(w.Header().Get("Content-Length")).To(Equal(strconv.Itoa(w.Body.Len())))
			if !wanted {
				g.Expect(w.Header()).NotTo(HaveKey("Content-Encoding"))
				g.Expect(w.Body.String()).To(Equal(code))
				return
			}
			g.Expect(w.Header().Get("Content-Encoding")).To(Equal("gzip"))
			g.Expect(w.Body.Len()).To(BeNumerically("<", len(code)/10))
			in, err := gzip.NewReader(w.Body)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(io.ReadAll(in)).To(BeEquivalentTo(code))
		})
	}
}

// TestABrowserThatHasTheFileIsNotSentIt: the tag is that of the content and the coding; another content has another tag.
func TestABrowserThatHasTheFileIsNotSentIt(t *testing.T) {
	g := NewWithT(t)
	of := func(code string) *Server {
		return New(Config{Source: &canned{}, Files: fstest.MapFS{"index.html": {Data: []byte("page")}, "app.js": {Data: []byte(code)}}, Log: logr.Discard()})
	}
	having := func(tag string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("If-None-Match", tag) }
	}
	first := ask(of("one"), http.MethodGet, "/app.js")
	tag := first.Header().Get("ETag")
	g.Expect(tag).To(MatchRegexp(`^"[\w-]{22}"$`))
	g.Expect(first.Header().Get("Cache-Control")).To(Equal("no-cache"))
	again := ask(of("one"), http.MethodGet, "/app.js", having(tag))
	g.Expect(again.Code).To(Equal(http.StatusNotModified))
	g.Expect(again.Body.Len()).To(BeZero())
	g.Expect(again.Header().Get("ETag")).To(Equal(tag))
	g.Expect(again.Header().Get("Content-Security-Policy")).NotTo(BeEmpty())
	g.Expect(ask(of("two"), http.MethodGet, "/app.js", having(tag)).Body.String()).To(Equal("two"))
	zipped := ask(of("one"), http.MethodGet, "/app.js", accepting("gzip"), having(tag))
	g.Expect(zipped.Code).To(Equal(http.StatusOK), "the plain file is another representation")
	g.Expect(zipped.Header().Get("ETag")).NotTo(Equal(tag))
	g.Expect(ask(of("one"), http.MethodGet, "/app.js", accepting("gzip"), having(zipped.Header().Get("ETag"))).Code).To(Equal(http.StatusNotModified))
	g.Expect(ask(of("one"), http.MethodGet, "/boxes/web").Header().Get("ETag")).NotTo(Equal(tag), "the page has its own")
}

func TestFilesThatCanNotBeReadAreAMistakeOfTheProgram(t *testing.T) {
	missing := os.DirFS(filepath.Join(t.TempDir(), "nothing"))
	NewWithT(t).Expect(func() { New(Config{Source: &canned{}, Files: missing, Log: logr.Discard()}) }).To(PanicWith(MatchError(ContainSubstring("reading the files of the page"))))
}
