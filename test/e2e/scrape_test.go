package e2e_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/metrics"
)

// scraper reads what a process serves by HTTPS, with the token of an account.
type scraper struct {
	address, token string
}

// ask sends a request, and gives the status and the body of the answer.
func (s *scraper) ask(ctx context.Context, method, path, accept, body string) (code int, contentType, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+s.address+path, strings.NewReader(body))
	if err != nil {
		return 0, "", "", err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Accept", accept)
	// The manager signs its own certificate.
	httpClient := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer httpClient.CloseIdleConnections()
	response, err := httpClient.Do(request)
	if err != nil {
		return 0, "", "", err
	}
	all, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header.Get("Content-Type"), string(all), errors.Join(err, response.Body.Close())
}

// scrape is one answer of /metrics: families by name.
type scrape map[string]*dto.MetricFamily

// scrape asks for a format as Prometheus does.
func (s *scraper) scrape(ctx context.Context, g Gomega, format expfmt.Format) scrape {
	code, contentType, body, err := s.ask(ctx, http.MethodGet, "/metrics", string(format), "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(code).To(Equal(http.StatusOK), body)
	g.Expect(expfmt.Format(contentType).FormatType()).To(Equal(format.FormatType()))
	out, decoder := scrape{}, expfmt.NewDecoder(strings.NewReader(body), format)
	for {
		family := &dto.MetricFamily{}
		err := decoder.Decode(family)
		if errors.Is(err, io.EOF) {
			return out
		}
		g.Expect(err).NotTo(HaveOccurred())
		out[family.GetName()] = family
	}
}

// scraped is what would be scraped of a manager in this process.
func (p *process) scraped(g Gomega) scrape {
	families, err := p.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	out := scrape{}
	for _, f := range families {
		out[f.GetName()] = f
	}
	return out
}

// find gives the series of a family whose labels have these values, given as name=value.
func (s scrape) find(name string, labels ...string) (found []*dto.Metric) {
	for _, m := range s[name].GetMetric() {
		has := map[string]bool{}
		for _, l := range m.GetLabel() {
			has[l.GetName()+"="+l.GetValue()] = true
		}
		if !slices.ContainsFunc(labels, func(want string) bool { return !has[want] }) {
			found = append(found, m)
		}
	}
	return found
}

// value is the sum of the series of a family whose labels have these values; of a histogram, how often was measured.
func (s scrape) value(g Gomega, name string, labels ...string) (sum float64) {
	found := s.find(name, labels...)
	g.Expect(found).NotTo(BeEmpty(), "%s%v", name, labels)
	for _, m := range found {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return sum
}

// of names the families that have series with a label.
func (s scrape) of(label string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if len(s.find(name, label)) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// mayRead lets an account of the world's namespace use paths that are no resources.
func (w *world) mayRead(ctx context.Context, account string, rules ...rbacv1.PolicyRule) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.id + "-" + account}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: account}},
	}
	for _, obj := range []client.Object{role, binding} {
		Expect(kube.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed()) })
	}
}

// served starts a process that serves metrics at an address.
func (w *world) served(address string, args ...string) *gexec.Session {
	GinkgoHelper()
	command := exec.Command(built.path(), append([]string{
		"manager", "--kubeconfig", cluster.Kubeconfig(), "--namespace", w.namespace, "--metrics-bind-address", address,
		"--health-probe-bind-address", freeAddress(), "--shutdown-timeout", "10s",
	}, args...)...)
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Kill().Wait() })
	return session
}

var _ = Describe("A scrape", func() {
	text, protobuf := expfmt.NewFormat(expfmt.TypeTextPlain), expfmt.NewFormat(expfmt.TypeProtoDelim)

	It("has every series with what a box has done, and none once it is gone", func(ctx context.Context) {
		w, s := newWorld(ctx), newService()
		replaceManager()
		manager.stop()
		address := freeAddress()
		w.served(address, "--external-allow", "127.0.0.1", "--require-policies", "marks")
		token := w.tokenOf(ctx, "prometheus")
		w.mayRead(ctx, "prometheus", rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}})
		prometheus := &scraper{address: address, token: token}
		box, kind := "box="+w.id, "kind=websites."+w.group
		w.owned(ctx, "theirs", map[string]string{"own": "x"})
		w.running(ctx, w.box(ctx, fmt.Sprintf(`
workers: 2
external: [{name: quota, url: "%s/v1/{{ .metadata.name }}"}]
onReconcile:
  configmaps:
  - {id: one, name: "{{ .metadata.name }}-one", data: {limit: "{{ .external.quota.limit }}", mine: ours}}
  - {id: each, name: "{{ .metadata.name }}-{{ .item }}", forEach: {field: spec.tags, key: "{{ .item }}"}, data: {a: b}}
  patches:
  - {id: url, target: {apiVersion: v1, kind: ConfigMap, name: theirs}, patch: {data: {url: "http://{{ .metadata.name }}"}}}
`, s.url)))

		By("creating, drifting and pruning")
		w.website(ctx, "web", `{tags: [kept, dropped]}`)
		w.settled(ctx, "web")
		w.merge(ctx, w.configMap("web-one"), `{"data":{"mine":"theirs"}}`)
		w.hasData(ctx, "web-one", map[string]string{"limit": "1", "mine": "ours"})
		w.website(ctx, "web", `{tags: [kept]}`)
		w.gone(ctx, &corev1.ConfigMap{}, "web-dropped")
		w.settled(ctx, "web")
		var all scrape
		Eventually(func(g Gomega) {
			all = prometheus.scrape(ctx, g, text)
			for action, n := range map[string]int{"created": 3, "corrected": 1, "pruned": 1, "patched": 1} {
				g.Expect(all.value(g, "orkestra_children_total", box, "action="+action)).To(BeEquivalentTo(n), action)
			}
			g.Expect(all.find("orkestra_children_total", box)).To(HaveLen(4), "nothing else was done")
			g.Expect(all.value(g, "orkestra_resources", box, "state=ready")).To(BeEquivalentTo(1))
			g.Expect(all.value(g, "orkestra_health_state", box, "state=Healthy")).To(BeEquivalentTo(1))
			g.Expect(all.value(g, "orkestra_health_state", box)).To(BeEquivalentTo(1), "in one state")
			g.Expect(all.value(g, "orkestra_queue_depth", box)).To(BeZero())
			g.Expect(all.value(g, "orkestra_workers_busy", box)).To(BeZero())
			g.Expect(all.value(g, "orkestra_places_busy")).To(BeZero())
		}).WithContext(ctx).Should(Succeed())
		for name, want := range map[string]float64{
			"orkestra_workers_wanted": 2, "orkestra_queue_oldest_seconds": 0, "orkestra_reconciles_overdue": 0, "orkestra_panics_total": 0,
			"orkestra_rollbacks_total": 0, "orkestra_contention_total": 0,
		} {
			Expect(all.value(Default, name, box)).To(Equal(want), name)
		}
		reconciles := all.value(Default, "orkestra_reconcile_total", box)
		Expect(reconciles).To(BeNumerically(">=", 3))
		Expect(all.value(Default, "orkestra_reconcile_total", box, "result=success")).To(BeNumerically(">=", 3))
		Expect(all.value(Default, "orkestra_reconcile_duration_seconds", box)).To(Equal(reconciles))
		Expect(all.value(Default, "orkestra_queue_wait_seconds", box)).To(BeNumerically(">=", reconciles))
		for _, stage := range []string{"gather", "metadata", "external", "onReconcile", "prune", "patches", "status"} {
			Expect(all.value(Default, "orkestra_stage_duration_seconds", box, "stage="+stage)).To(BeNumerically("<=", reconciles), stage)
		}
		Expect(all.value(Default, "orkestra_external_requests_total", box, "code=200")).To(BeEquivalentTo(len(s.requests())))
		Expect(all.value(Default, "orkestra_external_request_duration_seconds", box)).To(BeEquivalentTo(len(s.requests())))
		Expect(all.value(Default, "orkestra_api_requests_total", box, "verb=delete", "code=200")).To(BeEquivalentTo(1))
		Expect(all.value(Default, "orkestra_api_requests_total", box, "code=201")).To(BeEquivalentTo(3))
		Expect(all.value(Default, "orkestra_api_requests_total", "box=", "verb=watch", "code=200")).To(BeNumerically(">=", 2))

		By("looking at what it holds")
		Expect(all.value(Default, "orkestra_cache_objects", kind)).To(BeEquivalentTo(1))
		web := w.get(ctx, Default, "web")
		web.SetManagedFields(nil)
		encoded, err := json.Marshal(web.Object)
		Expect(err).NotTo(HaveOccurred())
		Expect(all.value(Default, "orkestra_cache_bytes", kind)).To(BeNumerically("~", len(encoded), len(encoded)/10))
		Expect(all.value(Default, "orkestra_watch_age_seconds", kind)).To(BeNumerically("<", patience.Seconds()))
		Expect(all.value(Default, "orkestra_cache_objects", "kind=configmaps")).To(BeNumerically(">=", 2))

		By("looking at the process")
		Expect(all.value(Default, "orkestra_leader")).To(BeEquivalentTo(1))
		Expect(all.value(Default, "orkestra_build_info")).To(BeEquivalentTo(1))
		Expect(all.value(Default, "orkestra_policy_installed", "policy=marks")).To(BeEquivalentTo(1))
		beat := all.value(Default, "orkestra_leader_heartbeat_timestamp_seconds")
		Expect(time.Since(time.UnixMilli(int64(beat * 1000)))).To(BeNumerically("<", patience))
		Eventually(func(g Gomega) {
			g.Expect(prometheus.scrape(ctx, g, text).value(g, "orkestra_leader_heartbeat_timestamp_seconds")).To(BeNumerically(">", beat), "it is renewed")
		}).WithContext(ctx).Should(Succeed())

		By("asking for native histograms")
		Expect(all.find("orkestra_queue_wait_seconds", box)[0].GetHistogram().GetBucket()).NotTo(BeEmpty())
		native := prometheus.scrape(ctx, Default, protobuf)
		for _, series := range metrics.Catalog() {
			for _, m := range native.find(series.Name, box) {
				if series.Type == metrics.Histogram {
					Expect(m.GetHistogram().GetPositiveSpan()).NotTo(BeEmpty(), series.Name)
				}
			}
		}
		Expect(native.find("orkestra_reconcile_duration_seconds", box)).To(HaveLen(1))

		By("fighting, and asking for too much")
		r := w.rival(ctx, "web-one", "mine")
		w.website(ctx, "big", `{tags: [`+strings.Join(names(1001), ", ")+`]}`)
		Eventually(func(g Gomega) {
			all = prometheus.scrape(ctx, g, text)
			g.Expect(all.value(g, "orkestra_contention_total", box)).To(BeEquivalentTo(1))
			g.Expect(all.value(g, "orkestra_budget_exceeded_total", box, "budget=objects")).To(BeNumerically(">=", 1))
			g.Expect(all.value(g, "orkestra_resources", box, "state=failing")).To(BeEquivalentTo(1))
		}).WithContext(ctx).Should(Succeed())
		r.stop()
		for _, series := range metrics.Catalog() {
			// this binary has no providers, and the box neither autoscale nor turns of namespaces
			if !strings.HasPrefix(series.Name, "orkestra_provider_") && !strings.HasPrefix(series.Name, "orkestra_autoscale_") && series.Name != "orkestra_queue_namespace_wait_seconds" {
				Expect(all).To(HaveKey(series.Name))
			}
		}

		By("deleting it all")
		for _, name := range []string{"web", "big"} {
			Expect(kube.Delete(ctx, w.ref(name))).To(Succeed())
			w.gone(ctx, w.ref(name), name)
		}
		Eventually(func(g Gomega) {
			all = prometheus.scrape(ctx, g, text)
			g.Expect(all.value(g, "orkestra_cache_objects", kind)).To(BeZero())
			g.Expect(all.value(g, "orkestra_cache_bytes", kind)).To(BeZero())
			g.Expect(all.value(g, "orkestra_resources", box, "state=total")).To(BeZero())
		}).WithContext(ctx).Should(Succeed())
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		Eventually(func(g Gomega) {
			all = prometheus.scrape(ctx, g, text)
			g.Expect(all.of(box)).To(BeEmpty())
			g.Expect(all.of(kind)).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
	})

	It("is for those who may, as profiles are, and the level of the log, which changes while the process runs", func(ctx context.Context) {
		w := newWorld(ctx)
		replaceManager()
		manager.stop()
		address, debug := freeAddress(), freeAddress()
		process := w.served(address, "--pprof-bind-address", debug)
		somebody := w.tokenOf(ctx, "somebody")
		sre := w.tokenOf(ctx, "sre")
		w.mayRead(ctx, "sre", rbacv1.PolicyRule{NonResourceURLs: []string{"/debug/pprof/*"}, Verbs: []string{"get"}},
			rbacv1.PolicyRule{NonResourceURLs: []string{"/debug/log-level"}, Verbs: []string{"get", "put"}})
		asks := func(token, address, method, path, body string, code int, want string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				got, _, text, err := (&scraper{address: address, token: token}).ask(ctx, method, path, "*/*", body)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(got).To(Equal(code), text)
				g.Expect(text).To(ContainSubstring(want))
			}).WithContext(ctx).Should(Succeed())
		}
		const heap = "/debug/pprof/heap?debug=1"
		for _, place := range []struct{ address, path, right string }{
			{address, "/metrics", "get the nonResourceURL /metrics"}, {debug, heap, "get the nonResourceURL /debug/pprof/heap"},
			{address, "/debug/log-level", "get the nonResourceURL /debug/log-level"}, {debug, "/metrics", "get the nonResourceURL /metrics"},
		} {
			asks("", place.address, http.MethodGet, place.path, "", http.StatusUnauthorized, `send the header "Authorization: Bearer TOKEN"`)
			asks("junk", place.address, http.MethodGet, place.path, "", http.StatusUnauthorized, "one that the API server does not know")
			asks(somebody, place.address, http.MethodGet, place.path, "", http.StatusForbidden, place.right)
		}
		asks(somebody, address, http.MethodPut, "/debug/log-level", "debug", http.StatusForbidden, "put the nonResourceURL /debug/log-level")
		asks(sre, debug, http.MethodGet, heap, "", http.StatusOK, "heap profile")
		asks(sre, debug, http.MethodGet, "/debug/pprof/cmdline", "", http.StatusOK, "manager")
		asks(sre, address, http.MethodGet, heap, "", http.StatusNotFound, "")

		By("changing the level")
		asks(sre, address, http.MethodGet, "/debug/log-level", "", http.StatusOK, "info\n")
		asks(sre, address, http.MethodPut, "/debug/log-level", "loud", http.StatusBadRequest, `log level "loud": wanted debug, info or error`)
		Expect(process.Err.Contents()).NotTo(ContainSubstring(`"level":"debug"`))
		asks(sre, address, http.MethodPut, "/debug/log-level", "debug", http.StatusOK, "debug\n")
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		Eventually(process.Err).WithContext(ctx).Should(gbytes.Say(`"level":"debug"`))
	})
})
