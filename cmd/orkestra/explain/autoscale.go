package explain

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/orkspace/orkestra/engine/autoscale"
)

// keyAutoscale is the part of a box whose conditions read the load of the box.
const keyAutoscale = "autoscale"

const autoscaleText = "Replaces workers, queueDepth and resync of a running box by those of do, while its conditions hold: docs/how-to/scaling.md."

// explainAutoscale answers for a path below autoscale: what its conditions may read.
func explainAutoscale(path []string) (string, error) {
	if len(path) > 0 {
		return "", fmt.Errorf("%s has no field %q here; kubectl explain operatorbox.spec.%s says what there is", keyAutoscale, strings.Join(path, "."), keyAutoscale)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "KEY:    %s\n\nDESCRIPTION:\n", keyAutoscale)
	writeText(&b, autoscaleText)
	b.WriteString("\nFIELDS OF CONDITIONS\n")
	w := tabwriter.NewWriter(&b, 0, 0, columnGap, ' ', 0)
	for _, f := range autoscale.Fields() {
		if f.OfTime {
			writeLine(w, "time.%s\t%s", f.Name, f.Doc)
			continue
		}
		writeLine(w, "status.%s, metrics.%s\t%s", f.Name, f.Name, f.Doc)
	}
	_ = w.Flush() // a strings.Builder never fails
	return b.String(), nil
}
