package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image"
	_ "image/png" // reads the sizes of pictures
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/alecthomas/chroma/v2"
	formatter "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensions "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// newMarkdown reads and writes what GitHub shows. Columns are aligned by an attribute: a style in the page would be forbidden by its policy.
func newMarkdown() (goldmark.Markdown, error) {
	colors, err := lexersWithoutClock()
	if err != nil {
		return nil, err
	}
	return goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.Linkify, extension.TaskList,
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(ours{colors}, 100))),
	), nil
}

// unescaped is the text of a node without backslashes and entities.
func unescaped(n *ast.Text, source []byte) []byte {
	value := n.Segment.Value(source)
	if n.IsRaw() || n.Parent() != nil && n.Parent().Kind() == ast.KindCodeSpan {
		return value
	}
	return util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
}

// ours writes what the site has otherwise than Markdown's HTML.
type ours struct{ colors *chroma.LexerRegistry }

// RegisterFuncs is called by goldmark.
func (o ours) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindHeading, writeHeading)
	register.Register(ast.KindFencedCodeBlock, o.writeCode)
	register.Register(ast.KindImage, writePicture)
	register.Register(ast.KindHTMLBlock, skip)
	register.Register(ast.KindRawHTML, writeMarkup)
	register.Register(extensions.KindTable, writeTable)
}

// writeMarkup leaves out comments and writes line breaks; other HTML was refused.
func writeMarkup(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	var err error
	if n, ok := node.(*ast.RawHTML); ok && entering && string(n.Segments.Value(source)) == lineBreak {
		_, err = w.WriteString(lineBreak)
	}
	return ast.WalkSkipChildren, err
}

// skip leaves out comments; other HTML was refused.
func skip(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

func writeHeading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	h, ok := node.(*ast.Heading)
	if !ok {
		return ast.WalkContinue, nil
	}
	id := html.EscapeString(idOf(h))
	var err error
	switch {
	case entering:
		_, err = fmt.Fprintf(w, `<h%d id="%s">`, h.Level, id)
	case h.Level == 1:
		_, err = w.WriteString("</h1>\n")
	default:
		_, err = fmt.Fprintf(w, ` <a class="anchor" href="#%s" aria-label="Link to this section">#</a></h%d>`+"\n", id, h.Level)
	}
	return ast.WalkContinue, err
}

// writeTable has wide tables scroll by themselves, with the keyboard as well.
func writeTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	text := "</table></div>\n"
	if entering {
		text = `<div class="table" role="region" aria-label="Table" tabindex="0"><table>` + "\n"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}

func writePicture(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.Image)
	if !ok || !entering {
		return ast.WalkSkipChildren, nil
	}
	p := page{content: source}
	alt := html.EscapeString(p.text(n))
	size, _ := n.AttributeString("size")
	dark, twin := n.AttributeString("dark")
	class := ""
	if twin {
		class = ` class="in-light"`
	}
	_, err := fmt.Fprintf(w, `<img src="%s" alt="%s"%s loading="lazy"%s>`, html.EscapeString(string(n.Destination)), alt, size, class)
	if twin && err == nil {
		_, err = fmt.Fprintf(w, `<img src="%s" alt="%s"%s loading="lazy" class="in-dark">`, html.EscapeString(fmt.Sprint(dark)), alt, size)
	}
	return ast.WalkSkipChildren, err
}

// svgSize finds width and height of a drawing: what it is drawn in begins at 0 0.
var svgSize = regexp.MustCompile(`<svg[^>]* viewBox="0 0 (\d+)[0-9.]* (\d+)`)

// size gives the attributes that keep the place of a picture free until it is there.
func (s *site) size(file string) (string, error) {
	content, err := fs.ReadFile(s.repository, file)
	if err != nil {
		return "", err
	}
	if path.Ext(file) == ".svg" {
		if m := svgSize.FindSubmatch(content); m != nil {
			return fmt.Sprintf(` width="%s" height="%s"`, m[1], m[2]), nil
		}
		return "", errors.New("the drawing has no viewBox that begins with 0 0")
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(` width="%d" height="%d"`, config.Width, config.Height), nil
}

// code writes colors as classes, for which the style sheet has a light and a dark meaning.
var code = formatter.New(formatter.WithClasses(true), formatter.PreventSurroundingPre(true))

// refusal is what a page says of a box that is not valid.
var refusal = regexp.MustCompile(`\{invalid=`)

func (o ours) writeCode(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.FencedCodeBlock)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	language := string(n.Language(source))
	text := string(n.Lines().Value(source))
	lexer := o.colors.Get(language)
	if lexer == nil || language == "" {
		return ast.WalkStop, fmt.Errorf("a code block has the language %q, want one of %v: %.40q", language, languages, text)
	}
	class, label := "code", language
	if n.Info != nil && refusal.Match(n.Info.Value(source)) {
		class, label = "code refused", language+", refused"
	}
	iterator, err := chroma.Coalesce(lexer).Tokenise(nil, text)
	if err != nil {
		return ast.WalkStop, fmt.Errorf("coloring %.40q: %w", text, err)
	}
	if _, err := fmt.Fprintf(w, `<figure class="%s" data-language="%s"><figcaption>%s</figcaption><pre tabindex="0"><code>`, class, language, label); err != nil {
		return ast.WalkStop, err
	}
	if err := code.Format(w, styles.Fallback, iterator); err != nil {
		return ast.WalkStop, err
	}
	_, err = w.WriteString("</code></pre></figure>\n")
	return ast.WalkContinue, err
}

// body is a page as HTML.
func (s *site) body(p *page) (string, error) {
	var out strings.Builder
	if err := s.markdown.Renderer().Render(&out, p.content, p.document); err != nil {
		return "", fmt.Errorf("%s: %w", p.source, err)
	}
	return out.String(), nil
}
