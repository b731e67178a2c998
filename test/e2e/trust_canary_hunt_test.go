package e2e_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	auditcmd "github.com/orkspace/orkestra/cmd/orkestra/audit"
	rbaccmd "github.com/orkspace/orkestra/cmd/orkestra/rbac"
	statuscmd "github.com/orkspace/orkestra/cmd/orkestra/status"
	treecmd "github.com/orkspace/orkestra/cmd/orkestra/tree"
	validatecmd "github.com/orkspace/orkestra/cmd/orkestra/validate"
)

// canary is a value that may stand where the author of a box puts it, and nowhere else.
type canary struct {
	from  string // where it comes from
	value string
	forms []string // parts of it, in each form in which a text may hold them
}

// part is how many characters of a canary give it away: a message may be cut, or quote a part.
const part = 8

// newCanary makes a canary of a value whose last characters nobody can guess.
func newCanary(from, value string) *canary {
	c := &canary{from: from, value: value}
	add := func(form string, size int) {
		for i := 0; i+size <= len(form); i += size {
			c.forms = append(c.forms, form[i:i+size])
		}
	}
	secret := value[strings.LastIndex(value, " ")+1:]
	add(secret, part)
	add(strings.ToLower(secret), part)
	add(hex.EncodeToString([]byte(secret)), 2*part)
	for shift := range 3 { // in base64, three bytes are four characters; what stands before a text moves it
		at := len(value) - len(secret) + (3-(len(value)-len(secret)+shift)%3)%3
		add(base64.RawStdEncoding.EncodeToString([]byte(value[at:])), part+4)
	}
	return c
}

// somewhere makes a canary of random text. It has a blank and a capital letter, so that it is no name, and no label.
func somewhere(from string) *canary { return newCanary(from, "Kept "+utilrand.String(3*part)) }

// number makes a canary of digits.
func number(from string) *canary {
	digits := []byte(utilrand.String(2 * part))
	for i, b := range digits {
		digits[i] = '1' + b%9
	}
	return newCanary(from, string(digits))
}

// lookout knows parts of canaries by their first characters. So each text is gone through once, however many canaries there are.
type lookout map[string][]watched

type watched struct {
	form string
	of   *canary
}

// watchFor gives a lookout for canaries.
func watchFor(canaries ...*canary) lookout {
	l := lookout{}
	for _, c := range canaries {
		for _, form := range c.forms {
			l[form[:part]] = append(l[form[:part]], watched{form, c})
		}
	}
	return l
}

// in gives the canaries of which a text holds a part.
func (l lookout) in(text string) []*canary {
	var out []*canary
	for i := 0; i+part <= len(text); i++ {
		for _, w := range l[text[i:i+part]] {
			if strings.HasPrefix(text[i:], w.form) && !slices.Contains(out, w.of) {
				out = append(out, w.of)
			}
		}
	}
	return out
}

// hunt looks for canaries in all that a manager says and sends.
type hunt struct {
	canaries []*canary
	allowed  []*regexp.Regexp // places that the boxes put canaries into

	mu   sync.Mutex
	logs bytes.Buffer // guarded by mu
	sent []spoken     // guarded by mu
}

// spoken is a text, and where it was found.
type spoken struct{ place, text string }

// Write implements io.Writer: it takes what is logged.
func (h *hunt) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.logs.Write(p)
}

// wrap keeps what a manager sends.
func (h *hunt) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		body := []byte{}
		if r.Body != nil {
			var err error
			if body, err = readAll(r.Body); err != nil {
				return nil, err
			}
			r = resend(r, body)
		}
		query, err := url.QueryUnescape(r.URL.RawQuery)
		if err != nil {
			return nil, err
		}
		h.mu.Lock()
		h.sent = append(h.sent, spoken{"URL of " + r.Method + " " + r.URL.Path, r.URL.Path + "?" + query}, spoken{"body of " + r.Method + " " + r.URL.Path, string(body)})
		h.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// listen has the manager of this process log at debug level, and all that it says and sends looked at.
func (h *hunt) listen() {
	GinkgoHelper()
	state := klog.CaptureState()
	klog.LogToStderr(false)
	klog.SetOutput(h)
	GinkgoWriter.TeeTo(h) // where managers of this process log, at debug level
	DeferCleanup(func() {
		GinkgoWriter.ClearTeeWriters()
		state.Restore()
	})
	replaceManager(via(h.wrap))
}

// draw adds what was drawn for the Secrets of boxes to the canaries.
func (h *hunt) draw(ctx context.Context, worlds []*world) {
	GinkgoHelper()
	for _, w := range worlds {
		var all corev1.SecretList
		Expect(kube.List(ctx, &all, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.LabelManaged: "true"})).To(Succeed())
		for _, secret := range all.Items {
			if strings.HasSuffix(secret.Name, "-drawn") {
				h.canaries = append(h.canaries, newCanary("drawn for "+secret.Name, string(secret.Data["value"])), newCanary("drawn for "+secret.Name+", a number", string(secret.Data["number"])))
			}
		}
	}
}

// look gives in how many of the texts each canary is, and the places, other than those that are allowed, at which one is.
func (h *hunt) look(texts []spoken) (holding map[*canary]int, found []string) {
	holding = map[*canary]int{}
	l := watchFor(h.canaries...)
	for _, t := range texts {
		all := l.in(t.text)
		for _, c := range all {
			holding[c]++
		}
		if len(all) == 0 || slices.ContainsFunc(h.allowed, func(r *regexp.Regexp) bool { return r.MatchString(t.place) }) {
			continue
		}
		for _, c := range all {
			found = append(found, fmt.Sprintf("%s shows the canary %s: %s", t.place, c.from, t.text))
		}
	}
	return holding, found
}

// objects gives each text of each object in the cluster, and where it stands.
func (h *hunt) objects(ctx context.Context) []spoken {
	GinkgoHelper()
	disco, err := discovery.NewDiscoveryClientForConfig(cluster.Config())
	Expect(err).NotTo(HaveOccurred())
	var out []spoken
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, served(disco)) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		Expect(err).NotTo(HaveOccurred())
		for _, r := range list.APIResources {
			all := &unstructured.UnstructuredList{}
			all.SetGroupVersionKind(gv.WithKind(r.Kind + "List"))
			if kube.List(ctx, all) != nil {
				continue // a CRD of another spec that has just gone
			}
			for _, obj := range all.Items {
				out = append(out, textsOf(fmt.Sprintf("object %s %s/%s ", r.Name, obj.GetNamespace(), obj.GetName()), obj.Object)...)
			}
		}
	}
	return out
}

func served(client discovery.DiscoveryInterface) []*metav1.APIResourceList {
	GinkgoHelper()
	lists, err := client.ServerPreferredResources()
	Expect(lists).NotTo(BeEmpty(), "%v", err)
	return lists
}

// textsOf gives the texts below a place: values and keys.
func textsOf(place string, v any) []spoken {
	var out []spoken
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			out = append(out, spoken{place + "." + key, key})
			out = append(out, textsOf(place+"."+key, item)...)
		}
	case []any:
		for i, item := range v {
			out = append(out, textsOf(fmt.Sprintf("%s[%d]", place, i), item)...)
		}
	default:
		out = append(out, spoken{place, fmt.Sprint(v)})
	}
	return out
}

// said gives what was logged, sent and counted, each line on its own.
func (h *hunt) said(g Gomega) []spoken {
	exposed := httptest.NewRecorder()
	promhttp.HandlerFor(prometheus.Gatherers{manager.registry, metrics.Registry}, promhttp.HandlerOpts{}).ServeHTTP(exposed, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	g.Expect(exposed.Code).To(Equal(http.StatusOK))
	h.mu.Lock()
	defer h.mu.Unlock()
	out := slices.Clone(h.sent)
	for line := range strings.Lines(h.logs.String()) {
		out = append(out, spoken{"log", line})
	}
	for line := range strings.Lines(exposed.Body.String()) {
		out = append(out, spoken{"metrics", line})
	}
	return out
}

// commands that read a cluster, by name. render is not among them: what it prints is what a box puts into its children, Secrets included.
var commands = map[string]func() *cobra.Command{
	"audit":    func() *cobra.Command { return auditcmd.NewCommand(time.Now) },
	"rbac":     func() *cobra.Command { return rbaccmd.NewCommand(nil) },
	"status":   func() *cobra.Command { return statuscmd.NewCommand(time.Now) },
	"tree":     func() *cobra.Command { return treecmd.NewCommand(time.Now) },
	"validate": func() *cobra.Command { return validatecmd.NewCommand(nil, nil) },
}

// printed gives what the commands print about the boxes and resources of worlds, and about all of them.
func (h *hunt) printed(ctx context.Context, worlds []*world, resources []*unstructured.Unstructured) []spoken {
	GinkgoHelper()
	var out []spoken
	call := func(name string, args ...string) {
		GinkgoHelper()
		Expect(commands).To(HaveKey(name))
		var text bytes.Buffer
		command := commands[name]()
		command.SetArgs(append(args, "--kubeconfig", cluster.Kubeconfig()))
		command.SetOut(&text)
		command.SetErr(&text)
		command.SilenceUsage = true
		if err := command.ExecuteContext(ctx); err != nil {
			fmt.Fprintln(&text, err)
		}
		Expect(text.String()).NotTo(BeEmpty(), "%s %v", name, args)
		for line := range strings.Lines(text.String()) {
			out = append(out, spoken{"orkestra " + name + " " + strings.Join(args, " "), line})
		}
	}
	call("tree")
	call("audit")
	for _, w := range worlds {
		file := filepath.Join(GinkgoT().TempDir(), w.id+".yaml")
		box := &unstructured.Unstructured{}
		box.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("OperatorBox"))
		Expect(kube.Get(ctx, client.ObjectKey{Name: w.id}, box)).To(Succeed())
		text, err := yaml.Marshal(box.Object)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
		call("validate", "-f", file)
		call("rbac", "-f", file, "--account", w.namespace+"/default")
	}
	for _, r := range resources {
		call("status", "websites."+r.GroupVersionKind().Group+"/"+r.GetName(), "-n", r.GetNamespace(), "-o", "yaml")
	}
	return out
}
