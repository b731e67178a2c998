package rules

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"sigs.k8s.io/yaml"
)

// alert is a rule of the chart.
type alert struct {
	Alert string `json:"alert"`
	Expr  string `json:"expr"`
	For   string `json:"for"`

	Annotations struct {
		Summary     string `json:"summary"`
		Description string `json:"description"`
		Runbook     string `json:"runbook_url"`
	} `json:"annotations"`
}

// alerts are the rules of the chart by name.
func alerts(t *testing.T) map[string]alert {
	t.Helper()
	text, err := os.ReadFile("../../charts/orkestra/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []alert `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]alert{}
	for _, g := range file.Groups {
		for _, a := range g.Rules {
			all[a.Alert] = a
		}
	}
	return all
}

// TestRulesAreValid: the files of rules are what promtool check rules takes, which is the parser of Prometheus itself.
func TestRulesAreValid(t *testing.T) {
	for _, file := range []string{"../../charts/orkestra/files/alerts.yaml"} {
		groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		if len(errs) > 0 {
			t.Errorf("%s: %v", file, errs)
		}
		if groups == nil || len(groups.Groups) == 0 {
			t.Errorf("%s has no rules", file)
		}
	}
}

// TestAlerts: each fires for what it is about, names it, and is quiet before and otherwise. Series have a value for each minute.
func TestAlerts(t *testing.T) {
	all := alerts(t)
	covered := map[string]bool{}
	for _, tc := range []struct {
		alert, series string
		at            time.Duration
		want          string // the labels of what fires; empty: nothing does
	}{
		{"OrkestraBoxDegraded", `orkestra_health_state{box="shop",state="Degraded"} 0 1x10`, 5 * time.Minute, ``},
		{"OrkestraBoxDegraded", `orkestra_health_state{box="shop",state="Degraded"} 0 1x10`, 6 * time.Minute, `{box="shop"}`},
		{"OrkestraBoxDegraded", `orkestra_health_state{box="shop",state="Degraded"} 1 1 1 0 1 1 1 1`, 7 * time.Minute, ``},
		{"OrkestraBoxDegraded", `orkestra_health_state{box="shop",state="Healthy"} 1x10`, 10 * time.Minute, ``},
		{"OrkestraBoxNotRunning", "orkestra_health_state{box=\"shop\",state=\"Pending\"} 1 1 1 1 1 1 1 1 0x20\n orkestra_health_state{box=\"shop\",state=\"Starting\"} 0 0 0 0 0 0 0 0 1x20", 14 * time.Minute, ``},
		{"OrkestraBoxNotRunning", "orkestra_health_state{box=\"shop\",state=\"Pending\"} 1 1 1 1 1 1 1 1 0x20\n orkestra_health_state{box=\"shop\",state=\"Starting\"} 0 0 0 0 0 0 0 0 1x20", 15 * time.Minute, `{box="shop"}`},
		{"OrkestraBoxNotRunning", `orkestra_health_state{box="shop",state="Stopped"} 1x20`, 15 * time.Minute, `{box="shop"}`},
		{"OrkestraBoxNotRunning", `orkestra_health_state{box="shop",state="Suspended"} 1x20`, 20 * time.Minute, ``},
		{"OrkestraResourcesFailing", `orkestra_resources{box="shop",state="failing"} 2x20`, 15 * time.Minute, `{box="shop"}`},
		{"OrkestraResourcesFailing", `orkestra_resources{box="shop",state="waiting"} 2x20`, 20 * time.Minute, ``},
		{"OrkestraNoLeader", `orkestra_leader{pod="a"} 0x10`, 3 * time.Minute, `{}`},
		{"OrkestraNoLeader", `something 1x10`, 3 * time.Minute, `{}`},
		{"OrkestraNoLeader", "orkestra_leader{pod=\"a\"} 0x10\n orkestra_leader{pod=\"b\"} 1x10\n orkestra_leader_heartbeat_timestamp_seconds{pod=\"b\"} 0+60x10", 5 * time.Minute, ``},
		{"OrkestraNoLeader", "orkestra_leader{pod=\"b\"} 1x10\n orkestra_leader_heartbeat_timestamp_seconds{pod=\"b\"} 0 60 60 60 60 60 60", 5 * time.Minute, `{}`},
		{"OrkestraWatchStale", `orkestra_watch_age_seconds{kind="pods"} 0+60x30`, 15 * time.Minute, ``},
		{"OrkestraWatchStale", `orkestra_watch_age_seconds{kind="pods"} 0+60x30`, 17 * time.Minute, `{kind="pods"}`},
		{"OrkestraQueueNotDraining", `orkestra_queue_oldest_seconds{box="shop"} 0+60x30`, 15 * time.Minute, ``},
		{"OrkestraQueueNotDraining", `orkestra_queue_oldest_seconds{box="shop"} 0+60x30`, 17 * time.Minute, `{box="shop"}`},
		{"OrkestraBudgetExceeded", `orkestra_budget_exceeded_total{box="shop",budget="output"} _x9 1x30`, 10 * time.Minute, `{box="shop", budget="output"}`},
		{"OrkestraBudgetExceeded", `orkestra_budget_exceeded_total{box="shop",budget="output"} 1x40`, 40 * time.Minute, ``},
		{"OrkestraBudgetExceeded", `orkestra_budget_exceeded_total{box="shop",budget="output"} 1x35 2x5`, 37 * time.Minute, `{box="shop", budget="output"}`},
		{"OrkestraBudgetExceeded", `orkestra_budget_exceeded_total{box="shop",budget="retries"} 0+100x40`, 37 * time.Minute, ``},
		{"OrkestraRollbackHeld", `orkestra_resources{box="shop",state="rolled_back"} 1x20`, 15 * time.Minute, `{box="shop"}`},
		{"OrkestraRollbackHeld", `orkestra_resources{box="shop",state="rolled_back"} 0x20`, 15 * time.Minute, ``},
		{"OrkestraPoliciesMissing", "orkestra_policy_installed{policy=\"marks\"} 0x10\n orkestra_policy_installed{policy=\"grants\"} 1x10", 5 * time.Minute, `{policy="marks"}`},
	} {
		a, there := all[tc.alert]
		if !there {
			t.Fatalf("there is no alert %s", tc.alert)
		}
		covered[tc.alert] = covered[tc.alert] || tc.want != ""
		if got := firing(t, a, tc.series, tc.at); got != tc.want {
			t.Errorf("%s of %s after %s: want %q, got %q", tc.alert, tc.series, tc.at, tc.want, got)
		}
	}
	for name := range all {
		if !covered[name] {
			t.Errorf("nothing makes %s fire here", name)
		}
	}
}

// TestAlertsGoOnWhenAnotherLeads: the series of the box end with the process that led, are missing for a minute, and begin anew with another one. Neither does
// what fires end, nor does what is about to fire begin anew; and when the new leader says that all is well, it ends.
func TestAlertsGoOnWhenAnotherLeads(t *testing.T) {
	all := alerts(t)
	for name, tc := range map[string]struct{ series, bad, fine, want string }{
		"OrkestraBoxDegraded":      {`orkestra_health_state{box="shop",state="Degraded",%s}`, "1+0", "0", `{box="shop"}`},
		"OrkestraBoxNotRunning":    {`orkestra_health_state{box="shop",state="Pending",%s}`, "1+0", "0", `{box="shop"}`},
		"OrkestraResourcesFailing": {`orkestra_resources{box="shop",state="failing",%s}`, "2+0", "0", `{box="shop"}`},
		"OrkestraQueueNotDraining": {`orkestra_queue_oldest_seconds{box="shop",%s}`, "400+0", "1", `{box="shop"}`},
		"OrkestraBudgetExceeded":   {`orkestra_budget_exceeded_total{box="shop",budget="output",%s}`, "1+1", "20", `{box="shop", budget="output"}`},
		"OrkestraRollbackHeld":     {`orkestra_resources{box="shop",state="rolled_back",%s}`, "1+0", "0", `{box="shop"}`},
	} {
		led, leads := fmt.Sprintf(tc.series, `instance="a",pod="a"`), fmt.Sprintf(tc.series, `instance="b",pod="b"`)
		series := fmt.Sprintf("%s %sx19 stale\n %s _x21 %sx19 %s+0x40", led, tc.bad, leads, tc.bad, tc.fine)
		for at := 17 * time.Minute; at <= 40*time.Minute; at += time.Minute {
			if got := firing(t, all[name], series, at); got != tc.want {
				t.Errorf("%s after %s: want %q, got %q", name, at, tc.want, got)
			}
		}
		if got := firing(t, all[name], series, 65*time.Minute); got != "" {
			t.Errorf("%s: all is well, and got %q", name, got)
		}
	}
}

// firing gives the labels of what fires: of what the expression has given in every minute of the time for which it has to.
func firing(t *testing.T, a alert, series string, at time.Duration) string {
	t.Helper()
	var lasts model.Duration
	if a.For != "" {
		var err error
		if lasts, err = model.ParseDuration(a.For); err != nil {
			t.Fatalf("%s: %v", a.Alert, err)
		}
	}
	storage := promqltest.LoadedStorage(t, "load 1m\n  "+strings.ReplaceAll(series, "\n", "\n "))
	defer storage.Close() //nolint:errcheck // it is in a folder of the test
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, promqltest.DefaultMaxSamplesPerQuery)
	var found []string
	for ago := time.Duration(lasts); ago >= 0; ago -= time.Minute {
		query, err := engine.NewInstantQuery(context.Background(), storage, nil, a.Expr, time.Unix(0, 0).Add(at-ago))
		if err != nil {
			t.Fatalf("%s: %v", a.Alert, err)
		}
		vector, err := query.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatalf("%s: %v", a.Alert, err)
		}
		if len(vector) == 0 {
			return ""
		}
		found = nil
		for _, one := range vector {
			found = append(found, one.Metric.DropReserved(func(name string) bool { return name == model.MetricNameLabel }).String())
		}
		query.Close()
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}
