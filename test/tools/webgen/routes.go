package main

import (
	"regexp"
	"strings"
)

const (
	inPath  = "path"
	inQuery = "query"
)

// route is one question that the API answers.
type route struct {
	method, path, answer, doc string
	body                      string // the type of what is sent; empty: nothing is
	parameters                []parameter
	isStream                  bool
}

type parameter struct {
	name, in, doc string
	isNumber      bool
}

var (
	pathIn     = regexp.MustCompile(`(GET|POST) (/api/v1[\w/{}]*)`)
	bodyIn     = regexp.MustCompile(`Its body is an? (\w+)`)
	nameInPath = regexp.MustCompile(`\{(\w+)\}`)
	// One parameter, and what stands in brackets after it.
	oneParameter = regexp.MustCompile(`(\w+)(?: \(([^)]*)\))?(?:, |\.)`)
)

// routesOf finds the routes: the comment of what is answered names its path, and its parameters after a word of that name.
func routesOf(types []typeOf) []route {
	var out []route
	for _, t := range types {
		found := pathIn.FindStringSubmatch(t.doc)
		if found == nil {
			continue
		}
		doc, query, _ := strings.Cut(t.doc, " Parameters: ")
		r := route{method: strings.ToLower(found[1]), path: found[2], answer: t.name, doc: doc, isStream: strings.Contains(t.doc, "the stream GET")}
		if body := bodyIn.FindStringSubmatch(t.doc); body != nil {
			r.body = body[1]
		}
		for _, p := range nameInPath.FindAllStringSubmatch(r.path, -1) {
			r.parameters = append(r.parameters, parameter{name: p[1], in: inPath})
		}
		r.parameters = append(r.parameters, queryOf(query)...)
		out = append(out, r)
	}
	return out
}

// queryOf reads "a, b (of both), c (1 to 5)." What has no brackets of its own shares the next ones. A number is what brackets begin to count, or
// an offset.
func queryOf(text string) []parameter {
	var out []parameter
	for _, p := range oneParameter.FindAllStringSubmatch(text, -1) {
		out = append(out, parameter{name: p[1], in: inQuery, doc: p[2]})
	}
	for i := len(out) - 2; i >= 0; i-- {
		if out[i].doc == "" && out[i].name != "offset" {
			out[i].doc = out[i+1].doc
		}
	}
	for i, p := range out {
		out[i].isNumber = p.name == "offset" || p.doc != "" && p.doc[0] >= '0' && p.doc[0] <= '9'
	}
	return out
}
