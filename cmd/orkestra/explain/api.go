package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/suggest"
)

// The kind whose spec a path leads into that begins with no kind, and the name of its spec.
const (
	kindBox  = "operatorbox"
	nameSpec = "spec"
)

// apiField is a field of one of the API's kinds, with the path that leads to it.
type apiField struct {
	kinds.FieldDoc

	path string
	// rest is what of a path is left, where the field holds declarations by their keys.
	rest []string
}

// findAPI finds a field by its path, which begins with a kind, with spec, or with a field of the spec of boxes.
func findAPI(names []string) (apiField, error) {
	switch first := strings.ToLower(names[0]); {
	case slices.ContainsFunc(kinds.APIKinds(), func(f kinds.FieldDoc) bool { return f.Name == first }):
		names = append([]string{first}, names[1:]...)
	case names[0] == nameSpec:
		names = append([]string{kindBox}, names...)
	default:
		names = append([]string{kindBox, nameSpec}, names...)
	}
	doc, left, among := kinds.Follow(kinds.APIKinds(), names)
	found := apiField{FieldDoc: doc, path: strings.Join(names[:len(names)-len(left)], ".")}
	if len(left) > 0 && !doc.IsGroup() {
		return found, unknownField(found.path, left[0], among)
	}
	found.rest = left
	return found, nil
}

// explainAPI answers for a path into the kinds of the API.
func explainAPI(names []string, recursive bool) (string, error) {
	f, err := findAPI(names)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "FIELD:  %s <%s>\n\nDESCRIPTION:\n", f.path, f.Type)
	writeDoc(&b, f.FieldDoc)
	if f.IsGroup() {
		fmt.Fprintf(&b, "\nKEYS:\n")
		writeText(&b, strings.Join(kinds.Keys(), ", "))
	} else if fields := f.Fields(); len(fields) > 0 {
		b.WriteString("\nFIELDS:\n")
		writeFields(&b, fields, recursive)
	}
	return strings.TrimRight(b.String(), "\n") + "\n", nil
}

// unknownPath says of the beginning of a path that it is none, and what may have been meant.
func unknownPath(name string) error {
	spec, err := findAPI([]string{nameSpec})
	if err != nil {
		return err
	}
	known := kinds.Keys()
	for _, f := range slices.Concat(spec.Fields(), kinds.APIKinds()) {
		known = append(known, f.Name)
	}
	for _, names := range [][]string{known, operatorNames(), functions.Names()} {
		if hint := suggest.DidYouMean(name, names); hint != "" {
			return fmt.Errorf("unknown key %q%s", name, hint)
		}
	}
	return fmt.Errorf("unknown key %q; the keys and the fields of a box are %s", name, strings.Join(known, ", "))
}

// errNoProviders says that nothing is known of kinds of providers.
var errNoProviders = errors.New("this orkestra has no providers; use that of the image orkestra-providers, or register some: docs/how-to/providers.md")
