package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Values", func() {
	It("follow what they read, and who reads them waits for what they wait for", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
resync: 24h
cross:
- {name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: settings}, optional: true}
- {name: login, apiVersion: v1, kind: Secret, selector: {name: login}, optional: true}
values:
- {name: host, value: "{{ .spec.mode }}.{{ .cross.settings.data.domain }}"}
- {name: parts, cel: "values.host.split('.')"}
- {name: url, value: "db://{{ b64dec .cross.login.data.password }}@{{ .values.host }}"}
onReconcile:
  configmaps:
  - {name: host, data: {host: "{{ .values.host }}", parts: "{{ toJson .values.parts }}"}}
  - {name: "part-{{ .item }}", forEach: {field: values.parts}, when: [{cel: "values.parts.size() == 3"}], data: {a: b}}
  - {name: other, data: {a: b}}
  secrets:
  - {name: url, data: {url: "{{ .values.url }}"}}
status:
  fields: [{path: phase, value: "{{ .values.host }}"}]
`))
		settings := w.configMap("settings")
		settings.Data = map[string]string{"domain": "a.example"}
		login := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "login"}, StringData: map[string]string{"password": "word"}}
		Expect(kube.Create(ctx, settings)).To(Succeed())
		Expect(kube.Create(ctx, login)).To(Succeed())
		w.website(ctx, "web", `{mode: x}`)
		w.settled(ctx, "web")
		w.hasData(ctx, "host", map[string]string{"host": "x.a.example", "parts": `["x","a","example"]`})
		for _, name := range []string{"part-x", "part-a", "part-example", "other"} {
			w.configMapOf(ctx, name)
		}
		nothingSent(ctx, w, "web")

		By("changing what they read")
		w.merge(ctx, settings, `{"data":{"domain":"b.example"}}`)
		w.hasData(ctx, "host", map[string]string{"host": "x.b.example", "parts": `["x","b","example"]`})
		w.configMapOf(ctx, "part-b")
		w.gone(ctx, &corev1.ConfigMap{}, "part-a")
		Eventually(func(g Gomega) {
			url := &corev1.Secret{}
			w.child(ctx, g, url, "url")
			g.Expect(url.Data).To(HaveKeyWithValue("url", []byte("db://word@x.b.example")))
			g.Expect(w.get(ctx, g, "web").Object["status"]).To(HaveKeyWithValue("phase", "x.b.example"))
		}).WithContext(ctx).Should(Succeed())
		nothingSent(ctx, w, "web")
	})

	It("wait for a child's field, by the names of the values on the way, and go on when it comes", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
resync: 24h
values:
- {name: token, value: "{{ .children.web.data.token }}"}
- {name: text, value: "it is {{ .values.token }}"}
onReconcile:
  configmaps:
  - {id: web, name: web, data: {a: b}}
  - {name: waits, data: {text: "{{ .values.text }}"}}
  - {name: asks, when: [{field: values.text, exists: true}], data: {text: "{{ .values.text }}"}}
  - {name: asks-in-cel, when: [{cel: "values.text.size() > 2"}], data: {text: "{{ .values.text }}"}}
  - {name: chooses, data: {text: '{{ default "none" .values.text }}'}}
`))
		w.website(ctx, "web", `{}`)
		w.hasData(ctx, "chooses", map[string]string{"text": "none"})
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate,
			"configmaps/waits: values.text: values.token: children.web.data.token is not there yet (and 2 more)")
		for _, name := range []string{"waits", "asks", "asks-in-cel"} {
			w.absent(ctx, name)
		}
		w.merge(ctx, w.configMap("web"), `{"data":{"token":"here"}}`)
		for _, name := range []string{"waits", "asks", "asks-in-cel", "chooses"} {
			w.hasData(ctx, name, map[string]string{"text": "it is here"})
		}
	})

	It("are refused where the box is applied by what is known of them", func(ctx context.Context) {
		w := newWorld(ctx)
		for spec, text := range map[string]string{
			`values: [{name: a, value: "{{ .values.b }}"}, {name: b, value: "{{ .values.a }}"}]`:                  `spec.values[0].value: Invalid value: "{{ .values.b }}": column 4: values.b: it stands later in the list, and a value reads those before it`,
			`{values: [{name: a, value: {b: c}}], onReconcile: {configmaps: [{data: {a: "{{ .values.a.d }}"}}]}}`: `values.a.d: there is no such field`,
			`{values: [{name: a, cel: "self.spec.mode.map(c, c)"}]}`:                                              `spec.values[0].cel: Invalid value`,
			`{values: [{name: a, value: x, cel: "1"}]}`:                                                           `spec.values[0]: Invalid value: "a": give exactly one of value and cel`,
		} {
			box := w.box(ctx, spec)
			boxShows(ctx, box, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, text)
		}
	})

	It("work as their page says", func(ctx context.Context) {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "values.md"))
		Expect(err).NotTo(HaveOccurred())
		block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(string(text))
		Expect(block).NotTo(BeEmpty())
		w := newWorld(ctx)
		spec := strings.ReplaceAll("crd: {name: shops.shop.example.com}\n"+block[1], "\n", "\n  ")
		crd := filepath.Join("..", "..", "docs", "examples", "crd.yaml")
		box, home := filepath.Join(GinkgoT().TempDir(), "box.yaml"), filepath.Join(GinkgoT().TempDir(), "home.yaml")
		Expect(os.WriteFile(box, []byte("apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: values-page}\nspec:\n  "+spec), 0o600)).To(Succeed())
		Expect(os.WriteFile(home, []byte("{apiVersion: shop.example.com/v1, kind: Shop, metadata: {name: home, namespace: "+w.namespace+"}, spec: {image: a, hosts: [a.com, b.org, c.com]}}"), 0o600)).
			To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			for _, file := range []string{home, box, crd} {
				_, err := cluster.Kubectl(ctx, "delete", "--ignore-not-found", "-f", file)
				Expect(err).NotTo(HaveOccurred())
			}
		})
		for _, file := range []string{crd, box, home} {
			Eventually(func() error {
				_, err := cluster.Kubectl(ctx, "apply", "-f", file)
				return err
			}).WithContext(ctx).Should(Succeed())
		}
		domain := "home." + w.namespace + ".example.com"
		w.hasData(ctx, "home", map[string]string{"domain": domain, "hosts": `["www.a.com","www.c.com"]`})
		w.hasData(ctx, "home-0", map[string]string{"host": "www.a.com"})
		w.hasData(ctx, "home-1", map[string]string{"host": "www.c.com"})
		Expect(w.configMapOf(ctx, "home").Labels).To(HaveKeyWithValue("app", domain))
	})
})
