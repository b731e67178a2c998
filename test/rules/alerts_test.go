package rules

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
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
		{"OrkestraBoxDegraded", `orkestra_health_state{box="shop",state="Degraded"} 0 1x10`, 6 * time.Minute, `{box="shop", state="Degraded"}`},
		{"OrkestraBoxDegraded", `orkestra_health_state{box="shop",state="Degraded"} 1 1 1 0 1 1 1 1`, 7 * time.Minute, ``},
		{"OrkestraBoxDegraded", `orkestra_health_state{box="shop",state="Healthy"} 1x10`, 10 * time.Minute, ``},
		{"OrkestraBoxNotRunning", "orkestra_health_state{box=\"shop\",state=\"Pending\"} 1 1 1 1 1 1 1 1 0x20\n orkestra_health_state{box=\"shop\",state=\"Starting\"} 0 0 0 0 0 0 0 0 1x20", 14 * time.Minute, ``},
		{"OrkestraBoxNotRunning", "orkestra_health_state{box=\"shop\",state=\"Pending\"} 1 1 1 1 1 1 1 1 0x20\n orkestra_health_state{box=\"shop\",state=\"Starting\"} 0 0 0 0 0 0 0 0 1x20", 15 * time.Minute, `{box="shop"}`},
		{"OrkestraBoxNotRunning", `orkestra_health_state{box="shop",state="Stopped"} 1x20`, 15 * time.Minute, `{box="shop"}`},
		{"OrkestraBoxNotRunning", `orkestra_health_state{box="shop",state="Suspended"} 1x20`, 20 * time.Minute, ``},
		{"OrkestraResourcesFailing", `orkestra_resources{box="shop",state="failing"} 2x20`, 15 * time.Minute, `{box="shop", state="failing"}`},
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
		{"OrkestraRollbackHeld", `orkestra_resources{box="shop",state="rolled_back"} 1x20`, 15 * time.Minute, `{box="shop", state="rolled_back"}`},
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
