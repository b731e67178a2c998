package input

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// step is one step of a field path: into a field or key, or, where the name is empty, into a list.
type step struct {
	name  string
	index int // of a list's element; without meaning where there is a name
}

// places knows where the fields of a document stand in its file. nil places know nothing.
type places struct {
	node   *yamlv3.Node
	before int // the number of lines of the file before the document
	// fields are the keys of the mappings that were asked for, each with its place in the mapping: both the fields and the mistakes may be many.
	fields map[*yamlv3.Node]map[string]int
}

// below gives the places of what the steps lead to; nil where that is not there.
func (p *places) below(steps ...step) *places {
	if p == nil {
		return nil
	}
	node := p.node
	for _, s := range steps {
		if _, node = p.descend(node, s); node == nil {
			return nil
		}
	}
	return &places{node: node, before: p.before}
}

// at gives the line and the column of a field, or of what is nearest above it; 0 where nothing is known.
func (p *places) at(steps []step) (line, column int) {
	if p == nil {
		return 0, 0
	}
	line, column = p.node.Line, p.node.Column
	node := p.node
	for _, s := range steps {
		label, next := p.descend(node, s)
		if next == nil {
			break
		}
		line, column, node = label.Line, label.Column, next
	}
	return line + p.before, column
}

// descend gives the node that a step leads to, and the one that labels it: a key, or the list's element itself.
func (p *places) descend(node *yamlv3.Node, s step) (label, value *yamlv3.Node) {
	node = resolve(node)
	switch {
	case node.Kind == yamlv3.SequenceNode && s.name == "" && s.index < len(node.Content):
		return node.Content[s.index], node.Content[s.index]
	case node.Kind == yamlv3.MappingNode && s.name != "":
		if i, is := p.fieldsOf(node)[s.name]; is {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}

// fieldsOf gives the keys of a mapping with their places in it. Of several equal keys the last one counts.
func (p *places) fieldsOf(node *yamlv3.Node) map[string]int {
	if known := p.fields[node]; known != nil {
		return known
	}
	found := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		found[node.Content[i].Value] = i
	}
	if p.fields == nil {
		p.fields = map[*yamlv3.Node]map[string]int{}
	}
	p.fields[node] = found
	return found
}

// resolve follows an alias to what it stands for.
func resolve(node *yamlv3.Node) *yamlv3.Node {
	if node.Kind == yamlv3.AliasNode {
		return node.Alias
	}
	return node
}

// keys gives a mistake for each key that a mapping has twice, and for each that is read as another name: a value would silently be lost.
func (p *places) keys() []Mistake {
	var found []Mistake
	p.walk(func(node *yamlv3.Node, at []step) bool {
		if node.Kind != yamlv3.MappingNode {
			return true
		}
		lines := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			wrong := otherKey(key)
			if first, twice := lines[key.Value]; twice {
				wrong = "duplicate key, it is also in line " + strconv.Itoa(first)
			} else {
				lines[key.Value] = key.Line + p.before
			}
			if wrong != "" {
				found = append(found, Mistake{Path: pathString(below(at, step{name: key.Value})), Line: key.Line + p.before, Column: key.Column, Message: wrong})
			}
			if len(found) >= maxFindings {
				return false
			}
		}
		return true
	})
	return found
}

// values says of each value that is not read as the text that is written what it is read as.
func (p *places) values() []Mistake {
	var found []Mistake
	p.walk(func(node *yamlv3.Node, at []step) bool {
		if message := otherValue(node); message != "" {
			found = append(found, Mistake{Path: pathString(at), Line: node.Line + p.before, Column: node.Column, Message: message})
		}
		return len(found) < maxFindings
	})
	return found
}

// walk visits each value of the document, until a visit says that it is enough. What an alias stands for is visited where it is written.
func (p *places) walk(visit func(node *yamlv3.Node, at []step) (goOn bool)) {
	if p != nil {
		walkNode(p.node, nil, visit)
	}
}

func walkNode(node *yamlv3.Node, at []step, visit func(node *yamlv3.Node, at []step) (goOn bool)) (goOn bool) {
	if !visit(node, at) {
		return false
	}
	switch node.Kind {
	case yamlv3.SequenceNode:
		for i, item := range node.Content {
			if !walkNode(item, below(at, step{index: i}), visit) {
				return false
			}
		}
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !walkNode(node.Content[i+1], below(at, step{name: node.Content[i].Value}), visit) {
				return false
			}
		}
	default: // scalars hold nothing
	}
	return true
}

func below(at []step, s step) []step { return append(slices.Clip(at), s) }

// parsePath reads a field path. The libraries that find mistakes spell one path in several ways, such as labels.x and labels[x], and keys
// may hold dots and brackets. So the path is read along the document, which says which keys there are.
func parsePath(path string, content any) []step {
	var steps []step
	for rest := path; rest != ""; {
		var s step
		s, rest = nextStep(rest, content)
		if s.name == "" && s.index < 0 {
			continue
		}
		steps = append(steps, s)
		content = descend(content, s)
	}
	return steps
}

// nextStep takes the first step from a path, and gives the rest. Long keys are tried first: one may begin with another. A step with an empty
// name and index -1 leads nowhere, as between two dots.
func nextStep(path string, content any) (step, string) {
	path = strings.TrimPrefix(path, ".")
	object, _ := content.(map[string]any)
	if key := keyBefore(path, object); key != "" {
		return step{name: key}, path[len(key):]
	}
	if inner, ok := strings.CutPrefix(path, "["); ok {
		if key := keyIn(inner, object); key != "" {
			return step{name: key}, inner[len(key)+1:]
		}
	}
	if inner, ok := strings.CutPrefix(path, "["); ok {
		inner, rest, _ := strings.Cut(inner, "]")
		if index, err := strconv.Atoi(inner); err == nil && index >= 0 && object == nil {
			return step{index: index}, rest
		}
		return step{name: inner, index: -1}, rest
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return step{name: path[:end], index: -1}, path[end:]
}

// keyBefore gives the longest key of an object that a path begins with; empty: none. The path says where a key may end, since the object may have
// many.
func keyBefore(path string, object map[string]any) string {
	if _, is := object[path]; is {
		return path
	}
	for end := strings.LastIndexAny(path[:min(len(path), maxKey)], ".["); end > 0; end = strings.LastIndexAny(path[:end], ".[") {
		if _, is := object[path[:end]]; is {
			return path[:end]
		}
	}
	return ""
}

// maxKey is how long a key may be in which dots are looked for. A longer one is found where it ends the path.
const maxKey = 1024

// keyIn gives the longest key of an object that a path begins with, and a bracket ends; empty: none.
func keyIn(path string, object map[string]any) string {
	for end := strings.LastIndexByte(path[:min(len(path), maxKey)], ']'); end > 0; end = strings.LastIndexByte(path[:end], ']') {
		if _, is := object[path[:end]]; is {
			return path[:end]
		}
	}
	return ""
}

func descend(content any, s step) any {
	switch content := content.(type) {
	case map[string]any:
		return content[s.name]
	case []any:
		if s.name == "" && s.index < len(content) {
			return content[s.index]
		}
	}
	return nil
}

// plainName is a name that needs no brackets in a path.
var plainName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// pathString spells a path in the one way in which this command prints paths.
func pathString(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		switch {
		case s.name == "":
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case !plainName.MatchString(s.name):
			b.WriteString("[" + s.name + "]")
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}
