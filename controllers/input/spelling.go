package input

import (
	"fmt"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// kubectl and this command read YAML 1.1, in which some words and numbers without quotes are not the text that is written: no is false, 010 is 8,
// 1.10 is 1.1. The API server gets JSON and can't tell.

// otherKey says what is wrong with a key that is read as another name than the one that is written; "" for one that is not.
func otherKey(key *yamlv3.Node) string {
	if !isPlain(key) {
		return ""
	}
	const value = ": 0"
	read := "null" // which is the only plain key that is no name
	if text, err := yaml.YAMLToJSON([]byte(key.Value + value)); err == nil {
		var object map[string]any
		if utiljson.Unmarshal(text, &object) != nil || len(object) != 1 {
			return ""
		}
		for name := range object {
			read = name
		}
		if read == key.Value {
			return ""
		}
	}
	return fmt.Sprintf("the key %s is read as %s, by kubectl, too; quote it: %s", key.Value, read, strconv.Quote(key.Value))
}

// otherValue says what a value is read as where that is not the text that is written; "" where it is.
func otherValue(node *yamlv3.Node) string {
	if !isPlain(node) {
		return ""
	}
	text, err := yaml.YAMLToJSON([]byte(node.Value))
	if err != nil {
		return ""
	}
	read := strings.TrimSpace(string(text))
	if read == node.Value || read == "null" || strings.HasPrefix(read, `"`) {
		return ""
	}
	return fmt.Sprintf("%s is read as %s, by kubectl, too; write %s, or %s where text is meant", node.Value, read, read, strconv.Quote(node.Value))
}

// isPlain says whether a scalar stands without quotes and without a tag, so that its spelling says of which type it is.
func isPlain(node *yamlv3.Node) bool {
	return node.Kind == yamlv3.ScalarNode && node.Style == 0 && node.Tag != "!!merge"
}
