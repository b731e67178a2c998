package initialize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/initialize/derive"
	"github.com/orkspace/orkestra/controllers/input"
)

// isChart refuses the folder of a chart where manifests are wanted: its templates are none yet.
func isChart(name string) error {
	if _, err := os.Stat(filepath.Join(name, "Chart.yaml")); err != nil {
		return nil //nolint:nilerr // what is wrong with the file is said when it is read
	}
	return fmt.Errorf("--from %s: it is a chart: give it by --chart, and helm renders it", name)
}

// rendered has the chart rendered, once for each file of values.
func (f *flags) rendered(ctx context.Context) ([]derive.Instance, error) {
	helm, err := exec.LookPath("helm")
	if err != nil {
		return nil, fmt.Errorf("--chart: there is no helm on the PATH; where there is one: helm template NAME %s | orkestra init … --from - --name NAME", f.chart)
	}
	values := f.values
	if len(values) == 0 {
		values = []string{""}
	}
	out := make([]derive.Instance, 0, len(values))
	for i, file := range values {
		instance := f.instance(i, nil, f.called(file))
		if instance.Docs, err = f.template(ctx, helm, instance.Name, file); err != nil {
			return nil, exit.Failure(err)
		}
		out = append(out, instance)
	}
	return out, nil
}

// notInNames is what no name of a release has.
var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// called is the name of an instance by that of its file of values, or of the chart.
func (f *flags) called(file string) string {
	name := filepath.Base(filepath.Clean(f.chart))
	if file != "" {
		name = filepath.Base(file)
	}
	name = strings.ToLower(strings.TrimSuffix(name, filepath.Ext(file)))
	for _, word := range []string{"values-", "values."} {
		name = strings.TrimPrefix(name, word)
	}
	if name = strings.Trim(notInNames.ReplaceAllString(name, "-"), "-"); name == "" {
		return "release"
	}
	return name
}

// template runs helm template.
func (f *flags) template(ctx context.Context, helm, name, values string) ([]input.Document, error) {
	args := []string{"template", name, f.chart}
	file := f.chart
	if values != "" {
		args = append(args, "--values", values)
		file = values
	}
	if f.namespace != "" {
		args = append(args, "--namespace", f.namespace)
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, helm, args...) //nolint:gosec // the user's helm, the user's chart
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("rendering %s: %w", f.chart, context.Cause(ctx))
		}
		return nil, fmt.Errorf("helm %s: %w", strings.Join(args, " "), errors.Join(err, errors.New(strings.TrimSpace(said.String()))))
	}
	docs := input.Parse("helm template "+name+" ("+file+")", out.Bytes())
	if len(docs) == 0 {
		return nil, fmt.Errorf("helm %s: it rendered no manifest", strings.Join(args, " "))
	}
	return docs, nil
}
