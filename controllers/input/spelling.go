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
	if !isPlain(key) || isOrdinary(key) {
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
	if !isPlain(node) || isOrdinary(node) {
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

// isOrdinary says of plain scalars that are read as what is written, without a parser: a document may have 100,000. It says so of most, not of all.
func isOrdinary(node *yamlv3.Node) bool {
	switch node.ShortTag() {
	case "!!str":
		return !wordsOf11[strings.ToLower(node.Value)]
	case "!!timestamp": // it stays text
		return true
	case "!!bool":
		return node.Value == "true" || node.Value == "false"
	case "!!int":
		n, err := strconv.ParseInt(node.Value, 10, 64)
		return err == nil && strconv.FormatInt(n, 10) == node.Value
	default:
		return false
	}
}

// wordsOf11 are those that YAML 1.1 reads as something else than text, and later versions do not.
var wordsOf11 = map[string]bool{"y": true, "yes": true, "on": true, "n": true, "no": true, "off": true}
