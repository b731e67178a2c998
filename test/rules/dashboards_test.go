package rules

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/orkspace/orkestra/engine/metrics"
)

const root = "../.."

// board is the schema of the files that Grafana reads.
type board = dashboard.Dashboard //nolint:staticcheck // an older Grafana does not read the newer one

// dashboards reads those of config/grafana by uid, as strictly as Grafana's schema is.
func dashboards(t *testing.T) map[string]*board {
	t.Helper()
	plugins.RegisterDefaultPlugins()
	all := map[string]*board{}
	files, err := filepath.Glob(root + "/config/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no dashboards in config/grafana: %v", err)
	}
	for _, file := range files {
		text, d := []byte(read(t, file)), &board{}
		// The strict reading finds mistakes, but its list of them is never nil, and it takes an empty one for a mistake: it leaves out the panels.
		if err := (&board{}).UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
			t.Fatalf("%s: %v", file, err)
		}
		if err := json.Unmarshal(text, d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := d.Validate(); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if unknown := lost(generic(t, text), generic(t, encode(t, d)), ""); len(unknown) > 0 {
			t.Fatalf("%s: Grafana's schema has no %q", file, unknown)
		}
		if *d.Uid+".json" != filepath.Base(file) {
			t.Errorf("%s has the uid %s", file, *d.Uid)
		}
		all[*d.Uid] = d
	}
	return all
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func generic(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// lost are the fields of a file that are not there any more in what was read of it: the strict reading leaves out queries and fields of panels.
func lost(file, read any, path string) (paths []string) {
	switch of := file.(type) {
	case map[string]any:
		in, _ := read.(map[string]any)
		for name, value := range of {
			if _, there := in[name]; !there && path+"."+name != ".annotations.list" { // an empty list is left out there
				paths = append(paths, path+"."+name)
				continue
			}
			paths = append(paths, lost(value, in[name], path+"."+name)...)
		}
	case []any:
		in, _ := read.([]any)
		for i := range min(len(of), len(in)) {
			paths = append(paths, lost(of[i], in[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return paths
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// panels are those of a dashboard that show something.
func panels(d *board) (all []*dashboard.Panel) {
	for _, one := range d.Panels {
		if one.Panel != nil {
			all = append(all, one.Panel)
		}
	}
	return all
}

// targets are the queries of a panel.
func targets(p *dashboard.Panel) (all []*prometheus.Dataquery) {
	for _, one := range p.Targets {
		all = append(all, one.(*prometheus.Dataquery))
	}
	return all
}

// TestPanels: each says what it shows, in a unit that Grafana knows, asks the data source that is chosen, and lies where no other does.
func TestPanels(t *testing.T) {
	known := []string{units.Short, units.PercentUnit, units.Seconds, units.BytesIEC, units.OpsPerSecond, units.RequestsPerSecond, units.WritesPerSecond}
	for uid, d := range dashboards(t) {
		ids, taken := map[uint32]bool{}, map[[2]uint32]string{}
		place := func(id uint32, title string, at *dashboard.GridPos) {
			if ids[id] || at == nil || at.X+at.W > 24 {
				t.Fatalf("%s: %q: its id %d is given twice, or it lies nowhere in 24 columns: %v", uid, title, id, at)
			}
			ids[id] = true
			for x := at.X; x < at.X+at.W; x++ {
				for y := at.Y; y < at.Y+at.H; y++ {
					if other, there := taken[[2]uint32{x, y}]; there {
						t.Fatalf("%s: %q lies on %q", uid, title, other)
					}
					taken[[2]uint32{x, y}] = title
				}
			}
		}
		for _, one := range d.Panels {
			if row := one.RowPanel; row != nil {
				place(row.Id, *row.Title, row.GridPos)
			}
		}
		titles := map[string]bool{}
		for _, p := range panels(d) {
			place(*p.Id, *p.Title, p.GridPos)
			if titles[*p.Title] || p.Description == nil || len(p.Targets) == 0 {
				t.Errorf("%s: %q is there twice, or has no description or query", uid, *p.Title)
			}
			titles[*p.Title] = true
			if p.Datasource == nil || *p.Datasource.Uid != "$datasource" {
				t.Errorf("%s: %q does not ask the data source that is chosen", uid, *p.Title)
			}
			if unit := *p.FieldConfig.Defaults.Unit; !slices.Contains(known, unit) {
				t.Errorf("%s: %q has the unit %s", uid, *p.Title, unit)
			}
		}
	}
}

// TestVariables: a person chooses the data source, and the box that a dashboard is about.
func TestVariables(t *testing.T) {
	all := dashboards(t)
	for uid, want := range map[string][]string{"orkestra-fleet": {"datasource"}, "orkestra-box": {"datasource", "box"}} {
		var got []string
		for _, v := range all[uid].Templating.List {
			got = append(got, v.Name)
			if v.Name == "box" && *v.Query.String != "label_values(orkestra_health_state, box)" {
				t.Errorf("%s: boxes come from %s", uid, *v.Query.String)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: want variables %q, got %q", uid, want, got)
		}
	}
	for _, p := range panels(all["orkestra-box"]) {
		for _, q := range targets(p) {
			if strings.Count(q.Expr, `box="$box"`) != strings.Count(q.Expr, "orkestra_") {
				t.Errorf("%q shows other boxes: %s", *p.Title, q.Expr)
			}
		}
	}
}

// question is a row of the table of docs/operations.md.
var question = regexp.MustCompile(`(?m)^\| ([a-z][^|]+\?) \| (.+) \|$`)

// TestQuestions: the fleet has a row for each question of the page, in its order, and a box for those that can be asked of one. Below it are the series that the page
// names: those of a box with the box, all others with the fleet.
func TestQuestions(t *testing.T) {
	asked := question.FindAllStringSubmatch(read(t, root+"/docs/operations.md"), -1)
	if len(asked) < 9 {
		t.Fatalf("the page has the questions %q", asked)
	}
	for uid, d := range dashboards(t) {
		rows, shown := []string{}, map[string]string{}
		for _, one := range d.Panels {
			if one.RowPanel != nil {
				rows = append(rows, *one.RowPanel.Title)
				continue
			}
			for _, q := range targets(one.Panel) {
				shown[rows[len(rows)-1]] += q.Expr
			}
		}
		var want []string
		for _, one := range asked {
			title := strings.ToUpper(one[1][:1]) + one[1][1:]
			if uid == "orkestra-box" && !slices.Contains(rows, title) {
				continue
			}
			want = append(want, title)
			for _, series := range regexp.MustCompile("orkestra_[a-z_]+").FindAllString(one[2], -1) {
				if (uid == "orkestra-box") == slices.Contains(catalog(t)[series].Labels, "box") && !strings.Contains(shown[title], series) {
					t.Errorf("%s: nothing below %q shows %s", uid, title, series)
				}
			}
		}
		if !slices.Equal(rows, want) {
			t.Errorf("%s: want the rows %q, got %q", uid, want, rows)
		}
	}
}

// TestEachSeriesIsShown: nothing is measured that no panel shows.
func TestEachSeriesIsShown(t *testing.T) {
	var shown string
	for _, d := range dashboards(t) {
		for _, p := range panels(d) {
			for _, q := range targets(p) {
				shown += q.Expr + "\n"
			}
		}
	}
	for _, series := range metrics.Catalog() {
		if !regexp.MustCompile(series.Name + `(_bucket)?\b`).MatchString(shown) {
			t.Errorf("no panel shows %s", series.Name)
		}
	}
}

// TestRunbooks: from the fleet there is a link to the runbook of each alert, at a panel that shows a series by which the alert decides; every link leads to a page
// or a dashboard that there is.
func TestRunbooks(t *testing.T) {
	all := dashboards(t)
	for name, a := range alerts(t) {
		used := regexp.MustCompile("orkestra_[a-z_]+").FindString(a.Expr)
		if !slices.ContainsFunc(panels(all["orkestra-fleet"]), func(p *dashboard.Panel) bool {
			return slices.ContainsFunc(p.Links, func(l dashboard.DashboardLink) bool { return *l.Url == a.Annotations.Runbook }) &&
				slices.ContainsFunc(targets(p), func(q *prometheus.Dataquery) bool { return strings.Contains(q.Expr, used) })
		}) {
			t.Errorf("no panel that shows %s links to %s, the runbook of %s", used, a.Annotations.Runbook, name)
		}
	}
	for uid, d := range all {
		links := d.Links
		for _, p := range panels(d) {
			links = append(links, p.Links...)
			if p.FieldConfig != nil {
				links = append(links, p.FieldConfig.Defaults.Links...)
			}
		}
		for _, l := range links {
			if err := leads(t, all, *l.Url); err != nil {
				t.Errorf("%s: %v", uid, err)
			}
		}
	}
}

// leads says why a link leads nowhere.
func leads(t *testing.T, all map[string]*board, url string) error {
	t.Helper()
	if other, local := strings.CutPrefix(url, "/d/"); local {
		if uid, _, _ := strings.Cut(other, "?"); all[uid] == nil {
			return fmt.Errorf("%s: there is no dashboard %s", url, uid)
		}
		return nil
	}
	page, found := strings.CutPrefix(url, "https://github.com/orkspace/orkestra/blob/main/")
	if !found {
		return fmt.Errorf("%s leads elsewhere", url)
	}
	page, heading, _ := strings.Cut(page, "#")
	if text := strings.ToLower(read(t, filepath.Join(root, page))); heading != "" && !strings.Contains(text, "# "+heading+"\n") {
		return fmt.Errorf("%s: the page has no such heading", url)
	}
	return nil
}
