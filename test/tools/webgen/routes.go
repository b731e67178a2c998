package main

import (
	"regexp"
	"strings"
)

const (
	inPath  = "path"
	inQuery = "query"

	methodGet = "GET"
)

// route is one question that the API answers, or one order that it takes.
type route struct {
	method, path      string
	answer, doc, body string // body is the type of what is sent; empty: nothing is
	parameters        []parameter
	isStream          bool
}

type parameter struct {
	name, in, doc string
	isNumber      bool
}

var (
	pathIn     = regexp.MustCompile(`(GET|POST) (/api/v1[\w/{}]*)`)
	bodyIn     = regexp.MustCompile(` Body: (\w+)\.`)
	nameInPath = regexp.MustCompile(`\{(\w+)\}`)
	// One parameter, and what stands in brackets after it.
	oneParameter = regexp.MustCompile(`(\w+)(?: \(([^)]*)\))?(?:, |\.)`)
)

// routesOf finds the routes: the comment of what is answered names its paths, its parameters after a word of that name, and what is sent after "Body:".
func routesOf(types []typeOf) []route {
	var out []route
	for _, t := range types {
		for _, found := range pathIn.FindAllStringSubmatch(t.doc, -1) {
			out = append(out, routeOf(t, found[1], found[2]))
		}
	}
	return out
}

func routeOf(t typeOf, method, path string) route {
	doc, query, _ := strings.Cut(t.doc, " Parameters: ")
	r := route{method: method, path: path, answer: t.name, doc: doc, isStream: strings.Contains(t.doc, "the stream GET")}
	if body := bodyIn.FindStringSubmatch(t.doc); body != nil {
		r.body = body[1]
	}
	for _, p := range nameInPath.FindAllStringSubmatch(r.path, -1) {
		r.parameters = append(r.parameters, parameter{name: p[1], in: inPath})
	}
	r.parameters = append(r.parameters, queryOf(query)...)
	return r
}

// operationID names a question after its answer. Several orders may have the same answer: they are named after their paths.
func (r route) operationID() string {
	if r.method == methodGet {
		return r.answer
	}
	var id strings.Builder
	id.WriteString(strings.ToLower(r.method))
	for part := range strings.SplitSeq(strings.TrimPrefix(r.path, "/api/v1/"), "/") {
		if !strings.HasPrefix(part, "{") {
			id.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return id.String()
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
