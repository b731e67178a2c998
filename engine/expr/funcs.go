package expr

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Func describes a function that templates may call.
type Func struct {
	Name string
	// Aliases are other names of the same function.
	Aliases []string
	// Group is the heading under which the reference page lists it.
	Group string
	// Usage shows the arguments: trimSuffix SUFFIX TEXT.
	Usage string
	Doc   string
	// Example is a whole template, and Result what it gives, as text. A test evaluates every one.
	Example string
	Result  string
}

// row is how the tables below write a function.
type row struct {
	name, args, doc, example, result string
	call                             any
	mode                             mode
	aliases                          string
}

// What many functions take.
const (
	argText   = "TEXT"
	argValue  = "VALUE"
	argValues = "VALUE…"
	argList   = "LIST"
	argObject = "OBJECT"
	argPair   = "A B"
)

// The functions whose names stand in more than one place.
const (
	fnList  = typeList
	fnAnd   = "and"
	fnOr    = "or"
	fnGet   = "get"
	fnIndex = "index"
)

// functions is the function table, by name and alias.
var functions = sync.OnceValue(func() map[string]*function {
	table := map[string]*function{}
	for _, group := range groups() {
		for _, r := range group.rows {
			fn := &function{call: r.call, mode: r.mode, Func: Func{
				Name: r.name, Aliases: strings.Fields(r.aliases), Group: group.name, Usage: strings.TrimSpace(r.name + " " + r.args),
				Doc: r.doc, Example: "{{ " + r.example + " }}", Result: r.result,
			}}
			fn.prepare()
			for _, name := range append([]string{fn.Name}, fn.Aliases...) {
				table[name] = fn
			}
		}
	}
	return table
})

type group struct {
	name string
	rows []row
}

// groups gives the tables in the order of the reference page.
//
// Names and order of arguments are Sprig's. Checksums, base64 and base32, versions, URLs, groups of patterns, paths and password hashes are
// go-sprout's functions. Its others are not used: they print Go values instead of JSON, give map keys in random order, change the map that they
// are given, lose digits of large numbers, can be made to build huge values, call themselves without end when arguments come in an unexpected
// order (append, prepend, slice, without, pick, omit), take no source of randomness, or do no more than the standard library does.
func groups() []group {
	return []group{
		{"Kubernetes objects", kubeFuncs()},
		{"Defaults and choices", choiceFuncs()},
		{"Comparisons", compareFuncs()},
		{"Text", textFuncs()},
		{"Spelling", spellingFuncs()},
		{"Regular expressions", slices.Concat(regexFuncs(), groupFuncs())},
		{"Numbers", numberFuncs()},
		{"Conversions", convertFuncs()},
		{"Lists", listFuncs()},
		{"Maps", mapFuncs()},
		{"Encoding and checksums", encodingFuncs()},
		{"Types", typeFuncs()},
		{"Paths", pathFuncs()},
		{"Random values", randomFuncs()},
		{"Keys and certificates", slices.Concat(certificateFuncs(), hashFuncs())},
	}
}

// Funcs lists the functions that templates may call, in the order of the reference page.
func Funcs() []Func {
	var out []Func
	for _, g := range groups() {
		for _, r := range g.rows {
			fn := functions()[r.name].Func
			fn.Aliases = slices.Clone(fn.Aliases)
			out = append(out, fn)
		}
	}
	return out
}

func functionNames() []string {
	return slices.Collect(maps.Keys(functions()))
}

// refusals are functions that users may know from elsewhere, and why they are not there.
var refusals = []struct{ names, reason string }{
	{"now ago dateAgo date dateInZone date_in_zone dateModify date_modify mustDateModify htmlDate htmlDateInZone unixEpoch toLocalDate",
		"depends on the clock or the time zone, which templates cannot read; conditions have olderThan and youngerThan"},
	{"env expandenv expandEnv getHostByName lookup", "reads what is outside the resource, which templates cannot do"},
	{"call", "is not available, because no value is a function"},
	{"include tpl required", "is Helm's; use template, a field of the CRD, or fail"},
}

// refused says why a function is not there.
func refused(name string) (string, bool) {
	for _, r := range refusals {
		if slices.Contains(strings.Fields(r.names), name) {
			return r.reason, true
		}
	}
	return "", false
}

// joinText puts texts together, as long as the output limit allows.
func joinText(sep string, values []any) (string, error) {
	var b strings.Builder
	for i, v := range values {
		text, err := toText(v)
		if err != nil {
			return "", badArgument("%v", err)
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(text)
		if b.Len() > maxOutput {
			return "", overBudget(limitOutput)
		}
	}
	return b.String(), nil
}

// product refuses results whose length would be over the output limit.
func product(times, length int) error {
	if times < 0 {
		return badArgument("a count is negative")
	}
	if length > 0 && times > maxOutput/length {
		return overBudget(limitOutput)
	}
	return nil
}
