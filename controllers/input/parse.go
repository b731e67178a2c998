package input

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Parse gives the objects of a file. One that can't be read does not hide the others.
func Parse(file string, data []byte) []Document {
	var docs []Document
	for _, c := range split(data) {
		if doc := c.parse(file); doc.Content != nil || doc.Wrong != nil {
			docs = append(docs, doc.items()...)
		}
	}
	return docs
}

// chunk is the text of one YAML document.
type chunk struct {
	text   []byte
	before int // the number of lines before it
}

// split cuts a file at the lines that begin a document.
func split(data []byte) []chunk {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	chunks := []chunk{{}}
	line := 0
	for text := range bytes.Lines(data) {
		last := &chunks[len(chunks)-1]
		if isMarker(text, "---") || isMarker(text, "...") {
			chunks = append(chunks, chunk{before: line})
			last = &chunks[len(chunks)-1]
		}
		if isMarker(text, "...") {
			last.before++ // what ends a document says nothing of the next one
		} else {
			last.text = append(last.text, text...)
		}
		line++
	}
	return chunks
}

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n"))
}

// parse reads the document as the API server's clients do, and once more for the places of its fields.
func (c chunk) parse(file string) Document {
	doc := Document{File: file}
	var root yamlv3.Node
	parseErr := yamlv3.Unmarshal(c.text, &root)
	if parseErr == nil && len(root.Content) > 0 {
		doc.places = &places{node: root.Content[0], before: c.before}
		if deepNode(root.Content[0], maxDepth) {
			doc.places, doc.Wrong = nil, &Mistake{Message: tooDeep, Line: c.before + 1}
			return doc
		}
		if (&counting{known: map[*yamlv3.Node]int{}}).values(root.Content[0]) > maxValues {
			doc.places, doc.Wrong = nil, &Mistake{Message: tooMany, Line: c.before + 1}
			return doc
		}
	}
	text, err := yaml.YAMLToJSON(c.text)
	if err != nil && bytes.HasPrefix(bytes.TrimSpace(c.text), []byte("{")) {
		// JSON may be indented by tabs, YAML may not.
		text, err = c.text, nil
	}
	var content any
	if err == nil {
		err = utiljson.Unmarshal(text, &content)
	}
	if keys := doc.Keys(); err != nil && len(keys) > 0 {
		doc.Wrong = &keys[0] // such as null, of which the parser names no line
		return doc
	}
	if line := bare(&root); err != nil && parseErr == nil && line > 0 {
		doc.Wrong = unquoted(c.before + line)
		return doc
	}
	if err != nil {
		// The second parser has the better messages.
		doc.Wrong = c.syntaxError(errors.Join(parseErr, err))
		return doc
	}
	if deep(content, maxDepth) { // by aliases, or as JSON that is no YAML
		doc.Wrong = &Mistake{Message: tooDeep, Line: c.before + 1}
		return doc
	}
	object, isObject := content.(map[string]any)
	if !isObject && content != nil {
		object = map[string]any{} // a list, or a text, has no fields, as {} has none: it is told by those to whom each document counts
	}
	doc.Content = object
	return doc
}

// maxDepth is how deep a document may be nested. Paths of fields are as long as that, and there are as many as fields.
const maxDepth = 200

const tooDeep = "it is nested deeper than 200 levels, and no kind has such fields"

// deepNode says whether a document is nested deeper than some levels, as it is written.
func deepNode(node *yamlv3.Node, levels int) bool {
	if levels < 0 {
		return true
	}
	for _, below := range node.Content {
		if deepNode(below, levels-1) {
			return true
		}
	}
	return false
}

// maxValues is how many values a document may have, with those that aliases stand for. The largest object that the API server stores has fewer.
const maxValues = 200_000

const tooMany = "it has more than 200000 values, by aliases or as written, and no object of a cluster has so many"

// counting counts values, each alias as often as it stands somewhere.
type counting struct{ known map[*yamlv3.Node]int }

// values is how many there are in a document; more than maxValues are not counted. One that holds itself is refused by the parser.
func (c *counting) values(node *yamlv3.Node) int {
	if node = resolve(node); len(node.Content) == 0 {
		return 1
	}
	if n, is := c.known[node]; is {
		return n
	}
	c.known[node] = 0
	n := 1
	for _, below := range node.Content {
		if n += c.values(below); n > maxValues {
			break
		}
	}
	c.known[node] = n
	return n
}

// deep says the same of what is read.
func deep(content any, levels int) bool {
	if levels < 0 {
		return true
	}
	switch content := content.(type) {
	case map[string]any:
		for _, below := range content {
			if deep(below, levels-1) {
				return true
			}
		}
	case []any:
		for _, below := range content {
			if deep(below, levels-1) {
				return true
			}
		}
	default: // it holds nothing
	}
	return false
}

// bare is the line of a template without quotes, which YAML takes for a map whose key is a map; 0: there is none.
func bare(node *yamlv3.Node) int {
	for n, below := range node.Content {
		if node.Kind == yamlv3.MappingNode && n%2 == 0 && below.Kind == yamlv3.MappingNode && below.Style&yamlv3.FlowStyle != 0 {
			return below.Line
		}
		if line := bare(below); line > 0 {
			return line
		}
	}
	return 0
}

// beginsBare finds a line whose value begins with a template that has no quotes, so that what stands behind it can't be read.
var beginsBare = regexp.MustCompile(`^\s*(?:- +)*(?:- +|[^\s'"#{][^'"#{]*: +)\{\{`)

// unquoted is the mistake of a template without quotes.
func unquoted(line int) *Mistake {
	return &Mistake{Message: "not YAML: a template that begins with {{ needs quotes, since YAML takes { for the beginning of a map: write '{{ … }}', or a text behind | or >-", Line: line}
}

// syntaxLine finds the line in the message of a YAML parser.
var syntaxLine = regexp.MustCompile(`^(?:.*: )?yaml: (?:line (\d+): )?`)

// unknownAnchor finds the anchor in the message of a YAML parser which no line before has.
var unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)

func (c chunk) syntaxError(err error) *Mistake {
	message, _, _ := strings.Cut(err.Error(), "\n")
	m := syntaxLine.FindStringSubmatch(message)
	if m == nil {
		return &Mistake{Message: message, Line: c.before + 1}
	}
	line, err := strconv.Atoi(m[1])
	if err != nil { // some messages name none
		line = 1
		if anchor := unknownAnchor.FindStringSubmatch(message); anchor != nil {
			before, _, _ := bytes.Cut(c.text, []byte("*"+anchor[1]))
			line += bytes.Count(before, []byte("\n"))
		}
	}
	lines := bytes.Split(c.text, []byte("\n"))
	for _, near := range []int{line + 1, line} { // the parser names the line before
		if near <= len(lines) && beginsBare.Match(lines[near-1]) {
			return unquoted(c.before + near)
		}
	}
	return &Mistake{Message: "not YAML: " + strings.TrimPrefix(message, m[0]), Line: c.before + line}
}
