// Command metricsdoc writes the reference of the series that Orkestra exports, from the descriptions of which they are made.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/orkspace/orkestra/engine/metrics"
)

const head = `<!-- make generate writes this page from engine/metrics/catalog.go. -->

# Metrics

Every series that the manager exports at ` + "`/metrics`" + `. [Operations](../operations.md#metrics) says who may read them, and which alerts are worth having.

- The series of a box have its name in ` + "`box`" + `. They are there while it runs, and go with it; its state is there for as long as the box is. No label has the name of a resource.
- The unit is that of the value, and of what a histogram measures.
- Histograms have the buckets of their table row for every scraper. One that asks for the protobuf format (Prometheus with native histograms) gets native ones as well, whose
  buckets are a fifth apart.
- Gauges of queues, workers, places and caches are read when somebody scrapes.
- What the manager does not count itself comes from libraries, under their own names: ` + "`go_`, `process_`, `controller_runtime_`, `workqueue_` and `rest_client_`" + `. These are of the
  controllers that look after boxes, and of the whole process; none of them tells boxes apart.

| series | type | labels | unit | meaning |
|---|---|---|---|---|
`

func main() {
	out := flag.String("out", "docs/reference/metrics.md", "file that is written")
	flag.Parse()
	if err := os.WriteFile(*out, []byte(page()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "metricsdoc:", err)
		os.Exit(1)
	}
}

func page() string {
	var b strings.Builder
	b.WriteString(head)
	for _, s := range metrics.Catalog() {
		labels := make([]string, 0, len(s.Labels))
		for _, l := range s.Labels {
			labels = append(labels, "`"+l+"`")
		}
		meaning := s.Help
		if len(s.Buckets) > 0 {
			meaning += fmt.Sprintf(". Buckets up to %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Buckets), " ", ", "), "[]"))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.Name, s.Type, strings.Join(labels, " "), s.Unit, meaning)
	}
	return b.String()
}
