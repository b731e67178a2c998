package generate

import (
	"fmt"
	"go/token"
	gotypes "go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// names are those under which packages are imported.
type names struct {
	of    map[string]string // by location
	notes []string          // what became of aliases that could not be given

	taken map[string]bool
}

// newNames gives each package a name: its alias, of several the first by the alphabet, or else one that is derived. What boxes give comes before
// what the generated code would take itself. aliases have the boxes that give them. declared are names that the program has, by the files that have them.
func newNames(declared map[string]string, aliases map[string]map[string]string) *names {
	// No package can be called main in a program, whose function that is, nor init.
	n := &names{of: map[string]string{}, taken: map[string]bool{"r": true, "err": true, registryFunction: true, "main": true, "init": true}}
	for name := range maps.Keys(declared) {
		n.taken[name] = true
	}
	for _, name := range gotypes.Universe.Names() {
		n.taken[name] = true
	}
	locations := slices.Sorted(maps.Keys(aliases))
	for _, location := range locations {
		for i, alias := range slices.Sorted(maps.Keys(aliases[location])) {
			if i == 0 {
				n.give(location, alias)
			}
			if name := n.of[location]; name != alias {
				n.notes = append(n.notes, fmt.Sprintf("%s is imported as %s, and not as %s, which OperatorBox %q wants: %s", location, name, alias, aliases[location][alias], why(i)))
			}
		}
	}
	n.give(errorsPackage, "errors")
	n.give(hookPackage, "hook")
	for _, location := range locations {
		n.give(location, derived(location))
	}
	return n
}

// why says why an alias was not given.
func why(i int) string {
	if i > 0 {
		return "boxes give several aliases"
	}
	return "the name is taken"
}

// give gives a package a name, with a number behind it where it is taken. A package that has one keeps it.
func (n *names) give(location, name string) {
	if n.of[location] != "" {
		return
	}
	free := name
	for i := 2; n.taken[free]; i++ {
		free = name + strconv.Itoa(i)
	}
	n.of[location], n.taken[free] = free, true
}

var (
	versionElement = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)
	notInNames     = regexp.MustCompile(`[^a-z0-9]+`)
)

// derived makes a name of an import path: of its last element, and for a version with what it is a version of before it, as in databasev1.
func derived(location string) string {
	name, rest := path.Base(location), path.Dir(location)
	if versionElement.MatchString(name) {
		for slices.Contains([]string{"api", "apis", "pkg"}, path.Base(rest)) && path.Dir(rest) != "." {
			rest = path.Dir(rest)
		}
		name = path.Base(rest) + name
	}
	name = notInNames.ReplaceAllString(strings.ToLower(name), "")
	if name == "" || !token.IsIdentifier(name) {
		return "pkg" + name // it is a keyword, or begins with a digit
	}
	return name
}
