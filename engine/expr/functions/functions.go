// Package functions holds what templates may call: each function with its text for the reference, its example, and what it costs. A function charges
// the budget of the evaluation before it does what may take long or much memory; what it is given is weighed before it is called.
//
// A function changes nothing but maps that the same evaluation has made, and reads neither the clock nor anything outside of its arguments.
// Those that draw do so from the source that their scope was given.
package functions

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// table holds the functions by name and alias.
var table = sync.OnceValue(func() map[string]*Function {
	byName := map[string]*Function{}
	for _, group := range groups() {
		for _, r := range group.rows {
			fn := &Function{call: r.call, mode: r.mode, Func: Func{
				Name: r.name, Aliases: strings.Fields(r.aliases), Group: group.name, Usage: strings.TrimSpace(r.name + " " + r.args),
				Doc: r.doc, Example: "{{ " + r.example + " }}", Result: r.result,
			}}
			fn.prepare()
			for _, name := range append([]string{fn.Name}, fn.Aliases...) {
				byName[name] = fn
			}
		}
	}
	return byName
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

// All lists the functions that templates may call, in the order of the reference page.
func All() []Func {
	var out []Func
	for _, g := range groups() {
		for _, r := range g.rows {
			fn := table()[r.name].Func
			fn.Aliases = slices.Clone(fn.Aliases)
			out = append(out, fn)
		}
	}
	return out
}

// Named gives the function of a name or an alias; nil where there is none.
func Named(name string) *Function { return table()[name] }

// Names gives every name and alias, in no order.
func Names() []string {
	return slices.Collect(maps.Keys(table()))
}

// refusals are functions that users may know from elsewhere, and why they are not there.
var refusals = []struct{ names, reason string }{
	{"now ago dateAgo date dateInZone date_in_zone dateModify date_modify mustDateModify htmlDate htmlDateInZone unixEpoch toLocalDate",
		"depends on the clock or the time zone, which templates cannot read; conditions have olderThan and youngerThan"},
	{"env expandenv expandEnv getHostByName lookup", "reads what is outside the resource, which templates cannot do"},
	{"call", "is not available, because no value is a function"},
	{"include tpl required", "is Helm's; use template, a field of the CRD, or fail"},
}

// Refused says why a function is not there that is known from elsewhere.
func Refused(name string) (string, bool) {
	for _, r := range refusals {
		if slices.Contains(strings.Fields(r.names), name) {
			return r.reason, true
		}
	}
	return "", false
}
