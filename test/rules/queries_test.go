package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/orkspace/orkestra/engine/metrics"
)

// catalog has the description of every series by name.
func catalog(t *testing.T) map[string]metrics.Series {
	t.Helper()
	all := map[string]metrics.Series{}
	for _, s := range metrics.Catalog() {
		all[s.Name] = s
	}
	return all
}

// query is an expression, with the place where it stands.
type query struct {
	at, expr string
	// names are the labels that its result is shown with.
	names []string
	// unit is that of a panel; alerts have none.
	unit string
}

// inLegend are labels in a legend, inAlert those in the texts of an alert.
var (
	inLegend = regexp.MustCompile(`{{\s*(\w+)\s*}}`)
	inAlert  = regexp.MustCompile(`\$labels\.(\w+)`)
	ofField  = regexp.MustCompile(`\$\{__(?:field\.labels|data\.fields)\.(\w+)\}`)
)

// queries are all of the dashboards and of the alerts, with values in place of Grafana's variables.
func queries(t *testing.T) (all []query) {
	t.Helper()
	variables := strings.NewReplacer("$__rate_interval", "5m", "$box", "shop")
	for uid, d := range dashboards(t) {
		for _, p := range panels(d) {
			for _, target := range targets(p) {
				q := query{at: uid + ": " + *p.Title, expr: variables.Replace(target.Expr), unit: *p.FieldConfig.Defaults.Unit}
				if target.LegendFormat != nil {
					q.names = names(inLegend, *target.LegendFormat)
				}
				for _, l := range p.FieldConfig.Defaults.Links {
					q.names = append(q.names, names(ofField, *l.Url)...)
				}
				all = append(all, q)
			}
		}
	}
	for name, a := range alerts(t) {
		all = append(all, query{at: name, expr: a.Expr, names: names(inAlert, a.Annotations.Summary+a.Annotations.Description)})
	}
	return all
}

func names(pattern *regexp.Regexp, text string) (found []string) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

// TestQueries: each can be parsed, and asks for series, labels and values that there are, in a way that their type allows.
func TestQueries(t *testing.T) {
	for _, q := range queries(t) {
		if err := (&judge{series: catalog(t)}).of(q); err != nil {
			t.Errorf("%s: %s: %v", q.at, q.expr, err)
		}
	}
}

// TestJudge: what is wrong is found.
func TestJudge(t *testing.T) {
	for want, q := range map[string]query{
		"unclosed left parenthesis":          {expr: `sum(orkestra_queue_depth`},
		"unknown function":                   {expr: `fastest(orkestra_queue_depth)`},
		"no series orkestra_queue_deep":      {expr: `orkestra_queue_deep`},
		"no series orkestra_queue_depth_sum": {expr: `orkestra_queue_depth_sum`},
		"no series up":                       {expr: `up`},
		"no label kind":                      {expr: `orkestra_queue_depth{kind="pods"}`},
		"no label queue":                     {expr: `sum by (queue) (orkestra_queue_depth)`},
		"no label state":                     {expr: `sum by (state) (max by (box) (orkestra_resources))`},
		"no value Sick":                      {expr: `orkestra_health_state{state="Sick"}`},
		"no value Ill":                       {expr: `orkestra_health_state{state=~"Healthy|Ill"}`},
		"no label verb":                      {expr: `orkestra_queue_depth`, names: []string{"verb"}},
		"no label other":                     {expr: `orkestra_queue_depth / on (other) orkestra_workers_wanted`},
		"rate of a gauge":                    {expr: `rate(orkestra_queue_depth[5m])`},
		"rate of what is":                    {expr: `rate(max(orkestra_panics_total)[5m:1m])`},
		"delta of a counter":                 {expr: `delta(orkestra_panics_total[5m])`},
		"without rate":                       {expr: `sum(orkestra_panics_total)`},
		"no label le":                        {expr: `histogram_quantile(0.9, sum(rate(orkestra_queue_wait_seconds_bucket[5m])))`},
		"buckets":                            {expr: `rate(orkestra_queue_wait_seconds[5m])`},
		"want the unit s":                    {expr: `orkestra_queue_oldest_seconds`, unit: "short"},
		"want the unit bytes":                {expr: `orkestra_cache_bytes`, unit: "s"},
	} {
		if err := (&judge{series: catalog(t)}).of(q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", q.expr, want, err)
		}
	}
	for _, good := range []string{
		`sum by (box) (rate(orkestra_panics_total[5m])) / on (box) orkestra_workers_wanted`,
		`rate(orkestra_queue_wait_seconds_sum[5m]) / rate(orkestra_queue_wait_seconds_count[5m])`,
		`orkestra_panics_total unless orkestra_panics_total offset 5m`,
	} {
		if err := (&judge{series: catalog(t)}).of(query{expr: good}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

// judge finds what is wrong with a query.
type judge struct {
	series map[string]metrics.Series
}

// of judges a query.
func (j *judge) of(q query) error {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(q.expr)
	if err != nil {
		return err
	}
	has, err := j.labels(expr, "")
	if err != nil {
		return err
	}
	if err := known(has, q.names); err != nil {
		return err
	}
	return j.unit(expr, q.unit)
}

// unit compares the unit of a panel with that of the series which it shows.
func (j *judge) unit(expr parser.Expr, got string) error {
	words := map[string]string{"seconds": "s", "bytes": "bytes"}
	for _, one := range parser.ExtractSelectors(expr) {
		name := nameOf(one)
		series, _ := j.find(name)
		unit, _, _ := strings.Cut(series.Unit, " ")
		if want := words[unit]; want != "" && got != "" && want != got && !strings.HasSuffix(name, "_count") {
			return fmt.Errorf("want the unit %s, got %s", want, got)
		}
	}
	return nil
}

func nameOf(matchers []*labels.Matcher) string {
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel {
			return m.Value
		}
	}
	return ""
}

// find gives the description of a series; a histogram has three.
func (j *judge) find(name string) (series metrics.Series, part string) {
	if s, there := j.series[name]; there {
		return s, ""
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if s, there := j.series[strings.TrimSuffix(name, part)]; there && strings.HasSuffix(name, part) && s.Type == metrics.Histogram {
			return s, part
		}
	}
	return metrics.Series{}, ""
}

// labels gives the labels that the result of an expression has. In is the function or the operator that takes it.
func (j *judge) labels(expr parser.Expr, in string) ([]string, error) {
	switch e := expr.(type) {
	case *parser.VectorSelector:
		return j.selector(e, in)
	case *parser.MatrixSelector:
		return j.labels(e.VectorSelector, in)
	case *parser.SubqueryExpr:
		if slices.Contains(overCounters, in) {
			return nil, fmt.Errorf("%s of what is no counter", in)
		}
		return j.labels(e.Expr, in)
	case *parser.ParenExpr:
		return j.labels(e.Expr, in)
	case *parser.StepInvariantExpr:
		return j.labels(e.Expr, in)
	case *parser.UnaryExpr:
		return j.labels(e.Expr, in)
	case *parser.AggregateExpr:
		return j.aggregate(e)
	case *parser.BinaryExpr:
		return j.binary(e)
	case *parser.Call:
		return j.call(e)
	}
	return nil, nil
}

// overCounters are the functions that count what has been added, overGauges those that look at what goes up and down.
var (
	overCounters = []string{"rate", "irate", "increase", "resets"}
	overGauges   = []string{"delta", "idelta", "deriv", "predict_linear", "avg_over_time", "max_over_time", "min_over_time"}
)

func (j *judge) selector(e *parser.VectorSelector, in string) ([]string, error) {
	name := nameOf(e.LabelMatchers)
	series, part := j.find(name)
	if series.Name == "" {
		return nil, fmt.Errorf("there is no series %s", name)
	}
	has := slices.Clone(series.Labels)
	if part == "_bucket" {
		has = append(has, "le")
	}
	switch counts := series.Type == metrics.Counter || part != ""; {
	case series.Type == metrics.Histogram && part == "":
		return nil, fmt.Errorf("%s has buckets, a sum and a count", name)
	case !counts && slices.Contains(overCounters, in):
		return nil, fmt.Errorf("%s of a gauge: %s", in, name)
	case counts && slices.Contains(overGauges, in):
		return nil, fmt.Errorf("%s of a counter: %s", in, name)
	case counts && !slices.Contains(overCounters, in) && in != "unless": // which asks whether there was one
		return nil, fmt.Errorf("%s is a counter, without rate or increase", name)
	}
	for _, m := range e.LabelMatchers {
		if m.Name == model.MetricNameLabel {
			continue
		}
		if err := known(has, []string{m.Name}); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if slices.Contains([]string{"box", "kind", "namespace", "policy"}, m.Name) {
			continue // a name that somebody gives
		}
		// What a label may be is said in the help. A pattern is a list of values.
		for value := range strings.SplitSeq(m.Value, "|") {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(value) + `\b`).MatchString(series.Help) {
				return nil, fmt.Errorf("%s: the label %s has no value %s", name, m.Name, value)
			}
		}
	}
	return has, nil
}

func (j *judge) aggregate(e *parser.AggregateExpr) ([]string, error) {
	has, err := j.labels(e.Expr, "")
	if err != nil {
		return nil, err
	}
	if err := known(has, e.Grouping); err != nil {
		return nil, err
	}
	switch {
	case e.Op == parser.TOPK || e.Op == parser.BOTTOMK:
		return has, nil
	case e.Without:
		return slices.DeleteFunc(has, func(name string) bool { return slices.Contains(e.Grouping, name) }), nil
	}
	return e.Grouping, nil
}

func (j *judge) binary(e *parser.BinaryExpr) ([]string, error) {
	in := ""
	if e.Op == parser.LUNLESS {
		in = "unless"
	}
	left, err := j.labels(e.LHS, in)
	if err != nil {
		return nil, err
	}
	right, err := j.labels(e.RHS, in)
	if err != nil {
		return nil, err
	}
	if m := e.VectorMatching; m != nil {
		for _, side := range [][]string{left, right} {
			if err := known(side, m.MatchingLabels); err != nil {
				return nil, err
			}
		}
		if e.Op == parser.LOR {
			// Either may be the result.
			return slices.DeleteFunc(left, func(name string) bool { return !slices.Contains(right, name) }), nil
		}
	}
	if len(left) == 0 {
		return right, nil
	}
	return left, nil
}

func (j *judge) call(e *parser.Call) (has []string, err error) {
	for _, arg := range e.Args {
		of, err := j.labels(arg, e.Func.Name)
		if err != nil {
			return nil, err
		}
		has = append(has, of...)
	}
	if e.Func.Name == "histogram_quantile" {
		if err := known(has, []string{"le"}); err != nil {
			return nil, err
		}
		return slices.DeleteFunc(has, func(name string) bool { return name == "le" }), nil
	}
	return has, nil
}

// known says which of some labels there is not.
func known(has, wanted []string) error {
	for _, name := range wanted {
		if !slices.Contains(has, name) {
			return fmt.Errorf("there is no label %s, only %q", name, has)
		}
	}
	return nil
}
