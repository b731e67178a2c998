package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	base "github.com/orkspace/orkestra/test/plane"
	"github.com/orkspace/orkestra/test/rules/draw"
)

// shop has one worker and calls a slow host, so that its resources wait. Its first place is the name of a ConfigMap: what breaks it is a template that gives none.
const shop = `
apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: shop}
spec:
  crd: {name: shops.live.example.com}
  workers: 1
  queue: {fairness: Namespace}
  autoscale:
    interval: 1s
    cooldown: 5s
    conditions: {when: [{field: status.queueDepth, greaterThan: 3}]}
    do: {workers: 4}
  external: [{name: page, url: "%[2]s/{{ .metadata.name }}"}]
  onReconcile:
    configmaps: [{name: "%[1]s", data: {text: "{{ .spec.text }}", page: "{{ .external.page.words }}"}}]
`

const (
	goodName = "{{ .metadata.name }}-shop"
	badName  = "{{ .spec.text }}"
)

// site is the box beside it.
const site = `
apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: site}
spec:
  crd: {name: sites.live.example.com}
  onReconcile:
    configmaps: [{name: "{{ .metadata.name }}-site", data: {text: "{{ .spec.text }}"}}]
`

// names are those of the resources of each box; web, shop and team-a are those of which the runbooks speak.
func names() []string {
	all := []string{"web"}
	for i := range 11 {
		all = append(all, fmt.Sprintf("web%d", i))
	}
	return all
}

// fleet applies kinds, boxes and resources, and gives the address of the host that shop calls.
func (p *plane) fleet(t *testing.T) string {
	t.Helper()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select { // as a host that computes
		case <-time.After(30 * time.Millisecond):
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"words": "fine"}`)
	}))
	t.Cleanup(host.Close)
	p.Kinds(t, "live.example.com", "shop", "site")
	p.Kubectl(t, "create", "namespace", "team-a")
	all := fmt.Sprintf(shop, goodName, host.URL) + "---" + site
	for _, of := range []string{"Shop", "Site"} {
		for _, name := range names() {
			all += fmt.Sprintf("---\napiVersion: live.example.com/v1\nkind: %s\nmetadata: {name: %s, namespace: team-a}\nspec: {text: Hello}\n", of, name)
		}
	}
	p.Apply(t, all)
	return host.URL
}

// traffic edits resources and children as people do, until the test ends.
func (p *plane) traffic(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		each := time.NewTicker(50 * time.Millisecond)
		defer each.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-each.C:
			}
			all := names()
			name, of := all[n%len(all)], []string{"shops", "sites"}[n/len(all)%2]
			err := p.merge(ctx, "/apis/live.example.com/v1/namespaces/team-a/"+of+"/"+name, fmt.Sprintf(`{"spec":{"text":"Hello, %d"}}`, n))
			if n%20 == 0 {
				err = errors.Join(err, p.merge(ctx, "/api/v1/namespaces/team-a/configmaps/"+name+"-shop", `{"data":{"text":"theirs"}}`))
			}
			if err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// lasts waits until a box has been in a state for as many seconds as a picture shows of it.
func (p *plane) lasts(t *testing.T, box, state string, seconds int) {
	t.Helper()
	series := fmt.Sprintf(`orkestra_health_state{box=%q,state=%q}[%ds]`, box, state, seconds)
	query := fmt.Sprintf(`min_over_time(%s) == 1 and count_over_time(%s) > %d`, series, series, seconds/2)
	base.Eventually(t, box+" is "+state, func() error {
		found, err := p.prometheus.series(t.Context(), query, time.Now(), time.Now(), time.Second)
		if err == nil && len(found) == 0 {
			err = errors.New(query + " has no value")
		}
		return err
	})
}

// TestBrokenBox: the alert of a box that is broken fires in a real Prometheus and no other box's does; its runbook leads to the cause; when that is mended, it ends.
func TestBrokenBox(t *testing.T) {
	p, pictures := newPlane(t), os.Getenv("PICTURES")
	long := 5
	if pictures != "" {
		long = 60
	}
	host := p.fleet(t)
	p.traffic(t)
	begin := time.Now()
	fires := func(want ...string) (found []alert) {
		t.Helper()
		base.Eventually(t, fmt.Sprintf("%q fire", want), func() (err error) {
			if found, err = p.prometheus.firing(t.Context()); err != nil {
				return err
			}
			var got []string
			for _, a := range found {
				got = append(got, a.Labels["alertname"]+" "+a.Labels["box"])
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				return fmt.Errorf("%q fire", got)
			}
			return nil
		})
		return found
	}
	p.lasts(t, "shop", "Healthy", long)
	p.lasts(t, "site", "Healthy", long)
	fires()

	p.Apply(t, fmt.Sprintf(shop, badName, host))
	p.lasts(t, "shop", "Degraded", long)
	for _, a := range fires("OrkestraBoxDegraded shop", "OrkestraResourcesFailing shop") {
		p.followed(t, a)
	}
	p.shown(t, begin, "orkestra-fleet", pictures)

	p.Apply(t, fmt.Sprintf(shop, goodName, host))
	p.lasts(t, "shop", "Healthy", long)
	fires()
	p.shown(t, begin, "orkestra-box", pictures)
}

// followed runs the commands of an alert's runbook: what they print says which resources fail, and why.
func (p *plane) followed(t *testing.T, a alert) {
	t.Helper()
	_, page, found := strings.Cut(a.Annotations["runbook_url"], "/blob/main/")
	if !found {
		t.Fatalf("%s: where is %q?", a.Labels["alertname"], a.Annotations["runbook_url"])
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	out, err := p.Cluster.Typed(t.Context(), p.orkestra, block)
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) { // orkestra ends with 1 where something is not well
		t.Fatal(err)
	}
	for _, want := range []string{"web", "onReconcile", "metadata.name"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s: the commands of %s do not say %q:\n%s", a.Labels["alertname"], page, want, out)
		}
	}
}

// quiet are panels that are empty in a fleet like this: they show what nobody here has, or what goes wrong in other ways.
var quiet = []string{
	"Admission policies that are missing", "Resources held at a former state", "Reconciles over a budget", "Panics", "Contention", "Calls of providers", "Time of calls of providers",
	"Reconciles that do not end",
}

// shown asks every query of a dashboard: nothing is refused, and what happens here is to be seen. It draws a picture where one is wanted.
func (p *plane) shown(t *testing.T, from time.Time, uid, pictures string) {
	t.Helper()
	var board *draw.Board
	var to time.Time
	base.Eventually(t, uid+" shows all that happens", func() (err error) { // what is rare, such as a child that is put back, comes in its time
		if board, err = draw.Read(filepath.Join(root, "config", "grafana", uid+".json")); err != nil {
			return err
		}
		to = time.Now()
		variables := strings.NewReplacer("$box", "shop", "$__rate_interval", "5s")
		if err := board.Ask(func(query string) ([]draw.Series, error) {
			return p.prometheus.series(t.Context(), variables.Replace(query), from, to, max(time.Second, to.Sub(from)/150))
		}); err != nil {
			return err
		}
		for _, panel := range board.Panels {
			if panel.Type != "row" && len(panel.Found) == 0 && !slices.Contains(quiet, panel.Title) {
				return fmt.Errorf("%q shows nothing", panel.Title)
			}
		}
		return nil
	})
	if pictures != "" {
		write(t, filepath.Join(pictures, uid+".svg"), board.SVG(from, to))
	}
}
