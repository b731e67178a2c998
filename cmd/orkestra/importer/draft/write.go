package draft

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/orkspace/orkestra/cmd/orkestra/output"
)

// Write gives the objects as YAML, with the remarks as comments.
func (d *Draft) Write() ([]byte, error) {
	var b bytes.Buffer
	for i, o := range d.Objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		root, err := nodeOf(o.Content)
		if err != nil {
			return nil, err
		}
		for _, r := range d.Remarks {
			if r.object == o {
				comment(root, r)
			}
		}
		e := yamlv3.NewEncoder(&b)
		e.SetIndent(2)
		e.CompactSeqIndent()
		if err := e.Encode(root); err != nil {
			return nil, fmt.Errorf("writing YAML: %w", err)
		}
	}
	return b.Bytes(), nil
}

// nodeOf gives a value as YAML, the fields of objects in the order in which people write them.
func nodeOf(v any) (*yamlv3.Node, error) {
	switch v := v.(type) {
	case map[string]any:
		node := &yamlv3.Node{Kind: yamlv3.MappingNode}
		for _, key := range slices.SortedFunc(maps.Keys(v), byRank) {
			below, err := pair(key, v[key])
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, below...)
		}
		return node, nil
	case []any:
		node := &yamlv3.Node{Kind: yamlv3.SequenceNode}
		for _, item := range v {
			below, err := nodeOf(item)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, below)
		}
		return node, nil
	default:
		node := &yamlv3.Node{}
		if err := node.Encode(v); err != nil {
			return nil, fmt.Errorf("writing YAML: %w", err)
		}
		return node, nil
	}
}

func pair(key string, value any) ([]*yamlv3.Node, error) {
	name, err := nodeOf(key)
	if err != nil {
		return nil, err
	}
	below, err := nodeOf(value)
	return []*yamlv3.Node{name, below}, err
}

// first are the fields that come before the others, which are sorted by name.
var first = []string{"apiVersion", "kind", "id", "name", "path", "field", "type", "metadata", "when", "crd", "spec", "onCreate", "onReconcile", "onDelete", "deletion", "status"}

func byRank(a, b string) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

func rank(name string) int {
	at := slices.Index(first, name)
	switch {
	case at < 0: // before onCreate: what else a box has says how it runs
		return 2*slices.Index(first, "spec") + 1
	default:
		return 2 * at
	}
}

// comment puts a remark above the field that it is about, or the nearest one above that is there.
func comment(root *yamlv3.Node, r Remark) {
	node, label := root, root
	for rest := r.at; rest != ""; {
		var next, name *yamlv3.Node
		name, next, rest = step(node, rest)
		if next == nil {
			break
		}
		node, label = next, name
	}
	if label == root && len(root.Content) > 0 {
		label = root.Content[0]
	}
	text := "# import: " + output.Plain(strings.TrimPrefix(r.Path+": "+r.Message, ": "))
	if label.HeadComment != "" {
		text = label.HeadComment + "\n" + text
	}
	label.HeadComment = text
}

// step goes one step down a path, and gives what is there with the node that a comment is put above, and the rest of the path.
func step(node *yamlv3.Node, path string) (label, below *yamlv3.Node, rest string) {
	if inner, ok := strings.CutPrefix(path, "["); ok && node.Kind == yamlv3.SequenceNode {
		number, rest, _ := strings.Cut(inner, "]")
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= len(node.Content) {
			return nil, nil, ""
		}
		return node.Content[i], node.Content[i], strings.TrimPrefix(rest, ".")
	}
	for i := 0; i+1 < len(node.Content) && node.Kind == yamlv3.MappingNode; i += 2 {
		for _, spelled := range []string{node.Content[i].Value, "[" + node.Content[i].Value + "]"} {
			rest, ok := strings.CutPrefix(path, spelled)
			if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return node.Content[i], node.Content[i+1], strings.TrimPrefix(rest, ".")
			}
		}
	}
	return nil, nil, ""
}
