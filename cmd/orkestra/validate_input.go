package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

const (
	// stdinName stands for standard input among file names.
	stdinName = "-"
	kindCRD   = "CustomResourceDefinition"
)

// document is one object of a file: a YAML document, or an item of a List.
type document struct {
	file    string
	content map[string]any
	places  *places  // where the fields stand in the file
	wrong   *mistake // why the document can't be read; content is nil then
}

// spoken names files as messages do.
func spoken(files []string) string {
	names := slices.Clone(files)
	for i, name := range names {
		if name == stdinName {
			names[i] = "standard input"
		}
	}
	return strings.Join(names, ", ")
}

// readDocuments reads files and directories in the given order, each file once. In directories it takes what kubectl takes.
func readDocuments(names []string, recursive bool, stdin io.Reader) ([]document, error) {
	var docs []document
	seen := map[string]bool{}
	for _, name := range names {
		files, err := expand(name, recursive)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if id := filepath.Clean(file); seen[id] {
				continue
			}
			seen[filepath.Clean(file)] = true
			found, err := readFile(file, stdin)
			if err != nil {
				return nil, err
			}
			docs = append(docs, found...)
		}
	}
	return docs, nil
}

// expand gives the files that a name stands for: itself, or those in the directory.
func expand(name string, recursive bool) ([]string, error) {
	if name == stdinName {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var files []string
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != name && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

func readFile(name string, stdin io.Reader) ([]document, error) {
	if name != stdinName {
		data, err := os.ReadFile(name) //nolint:gosec // reading the user's files is what the command is for
		if err != nil {
			return nil, err
		}
		return parse(name, data), nil
	}
	data, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return parse("stdin", data), nil
}

// parse gives the objects of a file. One that can't be read does not hide the others.
func parse(file string, data []byte) []document {
	var docs []document
	for _, c := range split(data) {
		if doc := c.parse(file); doc.content != nil || doc.wrong != nil {
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
func (c chunk) parse(file string) document {
	doc := document{file: file}
	var root yamlv3.Node
	parseErr := yamlv3.Unmarshal(c.text, &root)
	if parseErr == nil && len(root.Content) > 0 {
		doc.places = &places{node: root.Content[0], before: c.before}
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
	if err != nil {
		// The second parser has the better messages.
		doc.wrong = c.syntaxError(errors.Join(parseErr, err))
		return doc
	}
	doc.content, _ = content.(map[string]any)
	return doc
}

// syntaxLine finds the line in the message of a YAML parser.
var syntaxLine = regexp.MustCompile(`^(?:.*: )?yaml: (?:line (\d+): )?`)

func (c chunk) syntaxError(err error) *mistake {
	message, _, _ := strings.Cut(err.Error(), "\n")
	m := syntaxLine.FindStringSubmatch(message)
	if m == nil {
		return &mistake{Message: message, Line: c.before + 1}
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		line = 1 // some messages name none
	}
	return &mistake{Message: "not YAML: " + strings.TrimPrefix(message, m[0]), Line: c.before + line}
}

// items gives the items of a List, or else the document itself.
func (d document) items() []document {
	list, ok := d.content["items"].([]any)
	kind, _ := d.content["kind"].(string)
	if !ok || !strings.HasSuffix(kind, "List") {
		return []document{d}
	}
	var docs []document
	for i, item := range list {
		content, ok := item.(map[string]any)
		if !ok {
			continue
		}
		docs = append(docs, document{file: d.file, content: content, places: d.places.below(step{name: "items"}, step{index: i})}.items()...)
	}
	return docs
}

func (d document) apiVersion() string { return text(d.content["apiVersion"]) }
func (d document) kind() string       { return text(d.content["kind"]) }

func (d document) name() string {
	meta, _ := d.content["metadata"].(map[string]any)
	return text(meta["name"])
}

func (d document) isCRD() bool {
	return d.kind() == kindCRD && d.apiVersion() == apiextensionsv1.SchemeGroupVersion.String()
}

// unreadable is the result for a document that can't be read.
func (d document) unreadable() boxResult {
	r := boxResult{File: d.file}
	r.add(*d.wrong)
	return r
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
