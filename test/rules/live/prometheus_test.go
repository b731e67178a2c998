package live

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	base "github.com/orkspace/orkestra/test/plane"
	"github.com/orkspace/orkestra/test/rules/draw"
)

// prometheus is a process that scrapes a manager every second and has the alerts of the chart, in which a second stands for a minute.
type prometheus struct {
	address string
}

var minutes = regexp.MustCompile(`\b(\d+)m\b`)

func newPrometheus(t *testing.T, program, target, token string) *prometheus {
	t.Helper()
	alerts, err := os.ReadFile(root + "/charts/orkestra/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, p := t.TempDir(), &prometheus{address: base.FreeAddress(t)}
	write(t, filepath.Join(dir, "alerts.yaml"), minutes.ReplaceAllString(string(alerts), "${1}s"))
	write(t, filepath.Join(dir, "token"), token)
	// The manager signs its own certificate.
	write(t, filepath.Join(dir, "prometheus.yaml"), fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [alerts.yaml]
scrape_configs:
- job_name: orkestra
  scheme: https
  tls_config: {insecure_skip_verify: true}
  authorization: {credentials_file: token}
  static_configs: [{targets: ["%s"]}]
`, target))
	base.Start(t, program, "--config.file", filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", p.address, "--log.level", "warn")
	return p
}

// alert is one that fires, or will if it goes on.
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
}

// get asks the HTTP API.
func (p *prometheus) get(ctx context.Context, path string, values url.Values, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/api/v1/"+path+"?"+values.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it is only read
	body := struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   any    `json:"data"`
	}{Data: into}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if body.Status != "success" {
		return fmt.Errorf("%s %v: %s", path, values, body.Error)
	}
	return nil
}

// firing are the alerts that fire.
func (p *prometheus) firing(ctx context.Context) (all []alert, err error) {
	var data struct {
		Alerts []alert `json:"alerts"`
	}
	err = p.get(ctx, "alerts", nil, &data)
	for _, a := range data.Alerts {
		if a.State == "firing" {
			all = append(all, a)
		}
	}
	return all, err
}

// series asks for the values of a query over a time.
func (p *prometheus) series(ctx context.Context, query string, from, to time.Time, step time.Duration) (all []draw.Series, err error) {
	var data struct {
		Result []struct {
			Metric map[string]string `json:"metric"`
			Values [][2]any          `json:"values"`
		} `json:"result"`
	}
	err = p.get(ctx, "query_range", url.Values{"query": {query}, "start": {stamp(from)}, "end": {stamp(to)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', 3, 64)}}, &data)
	for _, r := range data.Result {
		one := draw.Series{Labels: r.Metric}
		for _, v := range r.Values {
			value, err := strconv.ParseFloat(v[1].(string), 64)
			if err != nil {
				return nil, err
			}
			one.Points = append(one.Points, draw.Point{At: v[0].(float64), Value: value})
		}
		all = append(all, one)
	}
	return all, err
}

func stamp(at time.Time) string {
	return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64)
}
