package bench_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/orkspace/orkestra/controllers"
	"github.com/orkspace/orkestra/test/bench/baseline"
)

const (
	// burst is how many resources are made at once, through how many connections, and how often by each contestant.
	burst, connections, turns = 300, 8, 3
	// handWorkers is as many as a box has by default.
	handWorkers = 3
)

const burstBoxes = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: applied}
spec:
  crd: {name: applieds.noise.example.com}
  onReconcile:
    configmaps: [{name: "{{ .metadata.name }}-a", data: {host: "{{ .spec.host }}"}}, {name: "{{ .metadata.name }}-b", data: {a: b}}, {name: "{{ .metadata.name }}-c", data: {c: d}}]
---
apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: once}
spec:
  crd: {name: onces.noise.example.com}
  onReconcile:
    configmaps:
    - {once: true, name: "{{ .metadata.name }}-a", data: {host: "{{ .spec.host }}"}}
    - {once: true, name: "{{ .metadata.name }}-b", data: {a: b}}
    - {once: true, name: "{{ .metadata.name }}-c", data: {c: d}}
---
apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: accounted}
spec:
  crd: {name: accounteds.noise.example.com}
  serviceAccountRef: {name: accounted, namespace: default}
  onReconcile:
    configmaps: [{name: "{{ .metadata.name }}-a", data: {host: "{{ .spec.host }}"}}, {name: "{{ .metadata.name }}-b", data: {a: b}}, {name: "{{ .metadata.name }}-c", data: {c: d}}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: accounted, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: accounted}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
- {apiGroups: [noise.example.com], resources: [accounteds], verbs: [get, list, watch, patch]}
- {apiGroups: [noise.example.com], resources: [accounteds/status], verbs: [patch]}
- {apiGroups: [noise.example.com], resources: [accounteds/finalizers], verbs: [update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: accounted}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: accounted}
subjects: [{kind: ServiceAccount, name: accounted, namespace: default}]
`

// tally counts the requests of one contestant by what they are for. Watches, the lists before them, and the lease are not counted.
type tally struct {
	mu  sync.Mutex
	all map[string]int // guarded by mu
}

func (t *tally) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") != "true" && !strings.Contains(r.URL.Path, "/leases") {
			t.mu.Lock()
			t.all[r.Method+" "+purpose(r.URL.Path)]++
			t.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// purpose is the resource of a path, with its subresource.
func purpose(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	parts = parts[min(len(parts), map[bool]int{true: 2, false: 3}[parts[0] == "api"]):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	switch len(parts) {
	case 0:
		return "discovery"
	case 3:
		return parts[0] + "/" + parts[2]
	default:
		return parts[0]
	}
}

// since gives the counts since the last call, and their sum.
func (t *tally) since() (counts map[string]int, sum int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts, t.all = t.all, map[string]int{}
	for _, n := range counts {
		sum += n
	}
	return counts, sum
}

// contestant makes three ConfigMaps for each resource of its kind.
type contestant struct {
	kind  string
	tally *tally
	took  times
	sums  []int
	last  map[string]int
}

// made makes many resources at once, and gives the time until all are Ready. A watch tells of them: who polls takes time from those
// who work.
func (w *world) made(b *testing.B, c *contestant, turn int) time.Duration {
	b.Helper()
	kind := schema.GroupVersionKind{Group: "noise.example.com", Version: "v1", Kind: c.kind}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	follow := func() watch.Interface {
		watching, err := w.watching.Watch(b.Context(), list, client.InNamespace("default"))
		must(b, err)
		return watching
	}
	watching := follow()
	defer func() { watching.Stop() }()
	names := make(chan string, burst)
	for n := range burst {
		names <- fmt.Sprintf("%s-%d-%d", strings.ToLower(c.kind), turn, n)
	}
	close(names)
	began := time.Now()
	var creating sync.WaitGroup
	for range connections {
		creating.Go(func() {
			for name := range names {
				obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"host": name}}}
				obj.SetGroupVersionKind(kind)
				obj.SetNamespace("default")
				obj.SetName(name)
				if err := w.kube.Create(b.Context(), obj); err != nil {
					b.Error(err)
				}
			}
		})
	}
	defer creating.Wait()
	missing := map[string]bool{}
	for n := range burst {
		missing[fmt.Sprintf("%s-%d-%d", strings.ToLower(c.kind), turn, n)] = true
	}
	late := time.After(2 * time.Minute)
	for len(missing) > 0 {
		select {
		case event, open := <-watching.ResultChan():
			if !open { // a CRD that is new has its watches cut once; the next one begins with what there is
				watching.Stop()
				watching = follow()
				continue
			}
			if obj, ok := event.Object.(*unstructured.Unstructured); ok && isReady(obj) {
				delete(missing, obj.GetName())
			}
		case <-late:
			b.Fatalf("%d of %d resources of kind %s are not ready", len(missing), burst, c.kind)
		}
	}
	return time.Since(began)
}

// duel gives the ratios of the times of two, in turns of which each begins every other one, sorted. Few turns say nothing on a machine that
// has other work: a single burst takes half as long again now and then.
func (w *world) duel(b *testing.B, one, other *contestant) []float64 {
	b.Helper()
	const duels = 10
	var ratios []float64
	for turn := range duels {
		var took [2]time.Duration
		for i := range took {
			c := []*contestant{one, other}[(i+turn)%2]
			took[(i+turn)%2] = w.made(b, c, turns+turn)
		}
		ratios = append(ratios, float64(took[0])/float64(took[1]))
	}
	slices.Sort(ratios)
	return ratios
}

// asInstalled has a process authenticate as one in a Pod does: by the token of a ServiceAccount, whose rights the API server looks up. The
// certificate of an administrator, which a local cluster gives, is asked for no right, so that every account would seem dear beside it.
func asInstalled(b *testing.B, config *rest.Config) {
	b.Helper()
	kube, err := kubernetes.NewForConfig(config)
	must(b, err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{GenerateName: "installed-", Namespace: "default"}}
	account, err = kube.CoreV1().ServiceAccounts(account.Namespace).Create(b.Context(), account, metav1.CreateOptions{})
	must(b, err)
	_, err = kube.RbacV1().ClusterRoleBindings().Create(b.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}, metav1.CreateOptions{})
	must(b, err)
	token, err := kube.CoreV1().ServiceAccounts(account.Namespace).CreateToken(b.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(b, err)
	config.BearerToken = token.Status.Token
	config.CertData, config.KeyData, config.CertFile, config.KeyFile = nil, nil, "", ""
}

// startBaseline runs the controller that is written by hand.
func (w *world) startBaseline(b *testing.B, kind string, requests *tally) {
	b.Helper()
	config := w.cluster.Config()
	asInstalled(b, config)
	config.Wrap(requests.wrap)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: w.kube.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{baseline.LabelManaged: "true"})},
		}},
	})
	must(b, err)
	reconciler := &baseline.Reconciler{
		Client: mgr.GetClient(), Kind: schema.GroupVersionKind{Group: "noise.example.com", Version: "v1", Kind: kind},
		Holds: kind == "Handheld", Events: mgr.GetEventRecorder("baseline"),
	}
	must(b, reconciler.SetupWithManager(mgr, handWorkers))
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	b.Cleanup(func() {
		cancel()
		must(b, <-done)
	})
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		b.Fatal("the caches of the baseline do not fill")
	}
}

// applyKinds makes CRDs of the group noise.example.com, by their kinds.
func (w *world) applyKinds(b *testing.B, kinds ...string) {
	b.Helper()
	var all strings.Builder
	for _, kind := range kinds {
		fmt.Fprintf(&all, noiseCRD, strings.ToLower(kind), kind)
	}
	_, err := w.cluster.KubectlApply(b.Context(), all.String())
	must(b, err)
	_, err = w.cluster.Kubectl(b.Context(), "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	must(b, err)
}

// BenchmarkBurst makes many resources at once, in turns for Orkestra with all defaults and for the controller written by hand.
func BenchmarkBurst(b *testing.B) {
	w := newWorld(b, func(config *rest.Config, _ *controllers.Options) { asInstalled(b, config) })
	w.applyKinds(b, "Applied", "Once", "Accounted", "Handwritten", "Handheld")
	_, err := w.cluster.KubectlApply(b.Context(), burstBoxes)
	must(b, err)
	_, err = w.cluster.Kubectl(b.Context(), "wait", "--for=condition=Ready", "operatorbox", "--all", "--timeout=60s")
	must(b, err)
	all := []*contestant{{kind: "Applied", tally: &w.tally}, {kind: "Once", tally: &w.tally}}
	accounted := &contestant{kind: "Accounted", tally: &w.tally} // the same as Applied, as an account
	for _, kind := range []string{"Handwritten", "Handheld"} {   // one that does the least, and one that does as much as Orkestra
		hand := &tally{all: map[string]int{}}
		w.startBaseline(b, kind, hand)
		all = append(all, &contestant{kind: kind, tally: hand})
	}
	all = append(all, accounted)
	ratios := w.duel(b, accounted, all[0])
	for turn := range turns {
		for _, c := range all {
			c.tally.since()
			c.took = append(c.took, w.made(b, c, turn))
			counts, sum := c.tally.since()
			c.last, c.sums = counts, append(c.sums, sum)
		}
	}
	var f figures
	for _, c := range all {
		perSecond := burst / (c.took.quantile(0.5) / 1000)
		f.note("burst of 300 → all Ready, "+c.kind+", median of the turns", c.took.quantile(0.5), "ms")
		if strings.HasPrefix(c.kind, "Hand") {
			f.note("resources per second, "+c.kind, perSecond, "/s")
		} else {
			f.atLeast("resources per second, "+c.kind, perSecond, 150, "/s")
		}
	}
	f.add("time of Orkestra, of that of the controller written by hand", all[0].took.quantile(0.5)/all[2].took.quantile(0.5), 1.25, "×")
	f.add("the same, where that one holds its resources and tells of them", all[0].took.quantile(0.5)/all[3].took.quantile(0.5), 1.25, "×")
	f.add("time as an account, of that as the manager, median of ten turns", ratios[len(ratios)/2], 1.05, "×")
	f.add("requests as an account, of those as the manager", float64(slices.Min(accounted.sums))/float64(slices.Min(all[0].sums)), 1.01, "×")
	for _, c := range all {
		perResource := float64(slices.Min(c.sums)) / burst
		switch c.kind {
		case "Applied":
			f.add("requests per new resource, 3 applied children, events and health included", perResource, 8, "")
		case "Once":
			f.note("requests per new resource, 3 children made once, events and health included", perResource, "")
			own := c.last["PATCH onces"] + c.last["PATCH onces/status"] + c.last["POST configmaps"] + c.last["GET configmaps"]
			f.add("requests about the resource and its children, made once", float64(own)/burst, 5, "")
		default:
			f.note("requests per new resource, "+c.kind, perResource, "")
		}
		for _, what := range sortedKeys(c.last) {
			f.note("– "+c.kind+": "+what, float64(c.last[what])/burst, "each")
		}
	}
	f.print(b)
}
