package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// origin is where a value comes from that is not the resource's own.
type origin struct {
	value, number string // as a template has it
	field         string // as a condition has it; empty: conditions may not read it
	cel           string // as CEL has it
	secret        bool   // it may be read in the content of children alone
}

var origins = map[string]origin{
	"secret":   {value: ".cross.secret.data.value | b64dec", number: ".cross.secret.data.number | b64dec", secret: true},
	"settings": {value: ".cross.settings.data.value", number: ".cross.settings.data.number", field: "cross.settings.data.value", cel: "cross.settings.data.value"},
	"answer":   {value: ".external.answer.value", number: ".external.answer.number", field: "external.answer.value", cel: "external.answer.value"},
	"child":    {value: ".children.own.data.value | b64dec", number: ".children.own.data.number | b64dec", secret: true},
	"drawn":    {value: ".children.drawn.data.value | b64dec", number: ".children.drawn.data.number | b64dec", secret: true},
}

// reads is what the boxes read, and the Secrets that they make.
const reads = `
cross:
- {name: secret, apiVersion: v1, kind: Secret, selector: {name: theirs}}
- {name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: settings}}
external:
- {name: answer, url: "URL/answer", auth: {secretRef: {name: theirs, key: token}}}
onReconcile:
  secrets:
  - id: own
    name: "{{ .metadata.name }}-own"
    data: {value: "{{ .cross.secret.data.value | b64dec }}", number: "{{ .cross.secret.data.number | b64dec }}"}
  - id: drawn
    name: "{{ .metadata.name }}-drawn"
    once: true
    data: {value: "Kept {{ randAlphaNum 24 }}", number: "{{ randNumeric 16 }}"}
`

// misfit is a declaration that can't be made, or waits, because of a value that is not the resource's own.
type misfit struct {
	key  string // of the group
	body string // VALUE, NUMBER, FIELD and CEL are of the origin
}

// misfits are what a value can do to a declaration.
var misfits = map[string]misfit{
	"port":      {"services", `port: "{{ VALUE }}", selector: {a: b}`},
	"range":     {"services", `port: "{{ NUMBER }}", selector: {a: b}`},
	"type":      {"resources", `manifest: {apiVersion: v1, kind: Service, metadata: {name: "{{ .metadata.name }}-type"}, spec: {type: "{{ VALUE }}", ports: [{port: 80}]}}`},
	"structure": {"resources", `manifest: {apiVersion: v1, kind: Service, metadata: {name: "{{ .metadata.name }}-structure"}, spec: {ports: "{{ index (list (VALUE)) 0 }}"}}`},
	"label":     {"configmaps", `labels: {a: "{{ VALUE }}"}`},
	"key":       {"configmaps", `data: '{{ dict (VALUE) "x" }}'`},
	"quantity":  {"deployments", `image: a, replicas: 0, resources: {limits: {cpu: "{{ VALUE }}"}}`},
	"pattern":   {"configmaps", `data: {a: '{{ regexMatch (printf "(%s" (VALUE)) "x" }}'}`},
	"json":      {"configmaps", `data: {a: '{{ fromJson (VALUE) }}'}`},
	"decode":    {"configmaps", `data: {a: '{{ b64dec (printf "%s!" (VALUE)) }}'}`},
	"date":      {"configmaps", `data: {a: '{{ toDate "2006-01-02" (VALUE) }}'}`},
	"whole":     {"configmaps", `data: {a: '{{ add 1 (VALUE) }}'}`},
	"fail":      {"configmaps", `data: {a: '{{ fail (VALUE) }}'}`},
	"denied":    {"configmaps", `data: {denied: "{{ VALUE }}"}`},
	"name":      {"configmaps", `name: "{{ VALUE }}"`},
	"namespace": {"configmaps", `namespace: "{{ VALUE }}"`},
	"gate":      {"configmaps", `data: {a: b}, when: [MODE, {field: FIELD, equals: nothing}]`},
	"compared":  {"configmaps", `data: {a: b}, when: [MODE, {field: FIELD, greaterThan: 5}]`},
	"expressed": {"configmaps", `data: {a: b}, when: [MODE, {cel: "int(CEL) > 5"}]`},
	"shape":     {"configmaps", `data: {a: b}, when: [MODE, {cel: "CEL == 'nothing'"}]`},
	"ready":     {"configmaps", `data: {a: "{{ VALUE }}"}, readyWhen: [{field: object.data.a, equals: nothing}]`},
}

// declares adds the declarations that go wrong to a group. It gives the names of the resources that turn them on.
func declares(group map[string]any, froms, whats []string) []string {
	var out []string
	for _, from := range froms {
		for _, what := range whats {
			o, m := origins[from], misfits[what]
			inOpen := !strings.HasPrefix(m.body, "name") && !strings.Contains(m.body, "FIELD") && !strings.Contains(m.body, "CEL")
			if o.secret && !inOpen || !o.secret && what == "fail" {
				continue // the box's author writes the text of fail, as that of a status field, and may put all but Secrets into it
			}
			name := from + "-" + what
			const mode = `{field: spec.mode, equals: NAME}`
			body := m.body
			if !strings.Contains(body, "MODE") {
				body += ", when: [MODE]"
			}
			if !strings.HasPrefix(body, "name:") && m.key != "resources" {
				body += `, name: "{{ .metadata.name }}-child"`
			}
			text := strings.NewReplacer("VALUE", o.value, "NUMBER", o.number, "FIELD", o.field, "CEL", o.cel, "MODE", strings.ReplaceAll(mode, "NAME", name)).Replace(`{id: ` + idOf(name) + `, ` + body + `}`)
			list, _ := group[m.key].([]any)
			group[m.key] = append(list, parsed(text))
			out = append(out, name)
		}
	}
	return out
}

// idOf is the id of the declaration that a resource turns on.
func idOf(resource string) string { return strings.ReplaceAll(resource, "-", "") }

// parsed reads YAML.
func parsed(text string) map[string]any {
	GinkgoHelper()
	out := map[string]any{}
	Expect(yaml.Unmarshal([]byte(text), &out)).To(Succeed(), "%s", text)
	return out
}

// refusals are calls that fail: the host answers with what may not be shown, or a part of the request can't be sent. VALUE and NUMBER are those
// of the ConfigMap.
var refusals = map[string]string{
	"answered":   `url: "URL/answered"`,
	"broken":     `url: "URL/broken"`,
	"redirect":   `url: "URL/redirect"`,
	"denied":     `url: "URL/denied", auth: {secretRef: {name: theirs, key: token}}`,
	"path":       `url: "URL/answered/{{ VALUE }}", query: {q: "{{ VALUE }}"}`,
	"body":       `url: "URL/answered", method: POST, body: {a: "{{ VALUE }}"}, headers: {X-Value: "{{ VALUE }}"}`,
	"header":     `url: "URL/answer", headers: {X-Value: "{{ VALUE }}\n"}`,
	"credential": `url: "URL/answer", auth: {secretRef: {name: theirs, key: lines}}`,
	"basic":      `url: "URL/denied", auth: {type: Basic, secretRef: {name: theirs, key: value}}`,
	"authority":  `url: "URL/answer", caBundle: {name: theirs, key: value}`,
	"closed":     `url: "http://127.0.0.1:1/{{ VALUE }}?q={{ VALUE }}"`,
	"missing":    `url: "URL/answer", auth: {secretRef: {name: "{{ NUMBER }}"}}`,
}

// calls is a box whose calls fail, each for one resource.
func calls() string {
	var list []any
	for _, name := range slices.Sorted(maps.Keys(refusals)) {
		o := origins["settings"]
		list = append(list, parsed(strings.NewReplacer("VALUE", o.value, "NUMBER", o.number).Replace(
			`{name: `+name+`, `+refusals[name]+`, retries: 0, when: [{field: spec.mode, equals: `+name+`}]}`)))
	}
	text, err := yaml.Marshal(map[string]any{
		"cross":    []any{map[string]any{"name": "settings", "apiVersion": "v1", "kind": "ConfigMap", "selector": map[string]any{"name": "settings"}}},
		"external": list, "onReconcile": parsed(`{configmaps: [{data: {a: b}}]}`), "resync": "10m",
	})
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// shown are the resources of the box with words.
var shown = []string{"told", "each", "field", "print", "fixed", "chosen", "ran"}

// words is a box whose resources show what they read, each where the author did not put it.
const words = `
resync: 10m
cross:
- {name: secret, apiVersion: v1, kind: Secret, selector: {name: theirs}}
- {name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: settings}}
external:
- {name: answer, url: "URL/answer", auth: {secretRef: {name: theirs, key: token}}}
onReconcile:
  configmaps:
  - {id: copy, name: "{{ .metadata.name }}-copy", annotations: {copied: "{{ .cross.secret.data.value | b64dec }}"}, data: {value: "{{ .cross.settings.data.value }}", answer: "{{ .external.answer.value }}", authorization: "{{ .external.answer.authorization }}"}}
  - {id: told, name: "{{ .metadata.name }}-told", data: {a: b}, when: [{field: spec.mode, equals: told}, {field: children.copy.data.value, equals: nothing}]}
  - {id: each, name: "{{ .metadata.name }}-each", when: [{field: spec.mode, equals: each}], forEach: {field: cross.settings.data, key: "{{ .item }}"}, data: {a: "{{ .item }}"}}
  - {id: fixed, name: "{{ .metadata.name }}-fixed", immutable: true, data: {a: "{{ .spec.image }} {{ .cross.settings.data.value }}"}, when: [{field: spec.mode, equals: fixed}]}
  deployments:
  - id: chosen
    name: "{{ .metadata.name }}-chosen"
    image: a
    replicas: 0
    podLabels: {tier: '{{ .spec.image }}.{{ nospace .cross.settings.data.value }}'}
    spec: {selector: {matchLabels: {tier: '{{ .spec.image }}.{{ nospace .cross.settings.data.value }}'}}}
    when: [{field: spec.mode, equals: chosen}]
  jobs:
  - {id: ran, name: "{{ .metadata.name }}-ran", image: a, parallelism: 0, args: ["{{ .spec.image }} {{ .cross.settings.data.value }}"], when: [{field: spec.mode, equals: ran}]}
  secrets:
  - {id: kept, name: "{{ .metadata.name }}-kept", data: {value: "{{ .cross.settings.data.value }}"}}
status:
  fields:
  - {path: replicas, value: "{{ .external.answer.value }}", when: [{field: spec.mode, equals: field}]}
  - {path: url, value: '{{ toJson .cross.secret }}{{ toJson .children.secret }}', when: [{field: spec.mode, equals: print}]}
  readyWhen:
  - {field: children.copy.data.value, notEquals: nothing}
  - {field: children.copy.data.value, equals: "{{ .spec.mode }}"}
`

// quoting makes a policy that refuses ConfigMaps, or warns of them, in words that quote them.
func (w *world) quoting(ctx context.Context) {
	GinkgoHelper()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.id},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "!has(object.data) || !('denied' in object.data)", MessageExpression: "'refused: ' + object.data['denied']"}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.id},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: w.id, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	for _, obj := range []client.Object{policy, binding} {
		Expect(kube.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed()) })
	}
	Eventually(func() error {
		return kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}, Data: map[string]string{"denied": "x"}}, client.DryRunAll)
	}).WithContext(ctx).Should(MatchError(ContainSubstring("refused: ")), "the policy is in force")
}

// answering is a host whose answers hold canaries.
func (h *hunt) answering(value, number *canary) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Value", value.value)
		switch {
		case strings.HasPrefix(r.URL.Path, "/answered"):
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/redirect":
			w.Header().Set("Location", "http://"+number.value+".invalid/"+number.value)
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/denied":
			w.Header().Set("WWW-Authenticate", r.Header.Get("Authorization"))
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/broken":
			fmt.Fprintf(w, "{%s", value.value) //nolint:errcheck // who asked may be gone
			return
		}
		fmt.Fprintf(w, `{"value": %q, "number": %q, "authorization": %q}`, value.value, number.value, r.Header.Get("Authorization")) //nolint:errcheck // who asked may be gone
	}))
	DeferCleanup(server.Close)
	return server.URL
}

// may allows a place of the world's own.
func (h *hunt) may(w *world, place string) {
	h.allowed = append(h.allowed, regexp.MustCompile("^"+strings.ReplaceAll(place, "NS", w.namespace)+"$"))
}
