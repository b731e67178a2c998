package explain

import (
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/provider"
)

// complete gives the paths that a beginning may be of, one name longer at most.
func complete(providers *provider.Registry, beginning string) []string {
	at := strings.LastIndexByte(beginning, '.') + 1
	var out []string
	for _, name := range below(providers, strings.TrimSuffix(beginning[:at], ".")) {
		if path := beginning[:at] + name; strings.HasPrefix(path, beginning) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// below gives the names that may follow a path; none where it leads nowhere.
func below(providers *provider.Registry, path string) []string {
	names := strings.Split(path, ".")
	switch path {
	case "":
		return beginnings()
	case keyFunctions:
		return functions.Names()
	case keyOperators:
		return operatorNames()
	}
	var out []string
	if names[0] == keyProviders {
		out = belowProviders(providers, names[1:])
	}
	if kind, ok := kinds.Lookup(names[0]); ok {
		found, left, among := kinds.Follow(append(kind.ShortFields(), kind.CommonFields()...), names[1:])
		switch {
		case len(names) == 1:
			out = append(out, namesOf(among)...)
		case len(left) == 0:
			return namesOf(found.Fields())
		}
	}
	f, err := findAPI(names)
	switch {
	case err != nil:
	case len(f.rest) > 0:
		return below(providers, strings.Join(f.rest, "."))
	case f.IsGroup():
		return kinds.Keys()
	default:
		out = append(out, namesOf(f.Fields())...)
	}
	return out
}

// beginnings are the names that a path may begin with.
func beginnings() []string {
	out := append(kinds.Keys(), nameSpec, keyFunctions, keyOperators)
	if spec, err := findAPI([]string{nameSpec}); err == nil {
		out = append(out, namesOf(spec.Fields())...)
	}
	return append(out, namesOf(kinds.APIKinds())...)
}

// belowProviders gives the providers that are compiled in, or the kinds of one.
func belowProviders(providers *provider.Registry, path []string) []string {
	if len(path) == 0 {
		return providers.Names()
	}
	var out []string
	if found := providers.Get(path[0]); found != nil && len(path) == 1 {
		for name := range found.Kinds() {
			out = append(out, name)
		}
	}
	return out
}

func namesOf(fields []kinds.FieldDoc) []string {
	out := make([]string, 0, len(fields))
	for _, f := range fields {
		out = append(out, f.Name)
	}
	return out
}
