package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/orkspace/orkestra/test/plane"
)

const shop = "shop" // the namespace of resources

// way is one in which a resource fails, or waits.
type way struct {
	box string // also the kind, and the name of the resource's namespace is shop
	// spec of the box, without its crd; HOST stands for the address of a host that is there.
	spec string
	// resource is the spec of checkout, a resource of the box; empty: there is none, and the box itself is in trouble.
	resource string
	// first are objects that are there before, then is applied when the resource is as it was to be at first.
	first, then string
	// says are the words of the cause.
	says []string
	// mark is the declaration that has the mark of the cause in the tree; empty: the cause is none of a declaration, or that is not asked.
	mark string
}

// ways are all of docs/how-to/troubleshoot.md that can be brought about here.
func ways() []way {
	return []way{
		{
			box: "template", spec: `onReconcile: {configmaps: [{data: {host: "{{ .spec.host.name }}"}}]}`, resource: `{host: 7}`,
			says: []string{"spec.host"},
		},
		{
			box: "validation", spec: `
validation: {rules: [{field: spec.replicas, operator: between, value: "1,10", message: from 1 to 10 replicas}]}
onReconcile: {configmaps: [{data: {a: b}}]}`, resource: `{replicas: 50}`,
			says: []string{"from 1 to 10 replicas", "50"},
		},
		{
			box: "condition", spec: `onReconcile: {configmaps: [{data: {a: b}, when: [{field: spec.size, greaterThan: 3}]}]}`, resource: `{size: large}`,
			says: []string{"spec.size"},
		},
		{
			box: "invalid", spec: `onReconcile: {services: [{port: "{{ .spec.port }}", selector: {app: a}}]}`, resource: `{port: 70000}`,
			says: []string{"70000"},
		},
		{
			box: "foreign", spec: `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-theirs", data: {a: b}}]}`, resource: `{}`,
			first: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: checkout-theirs, namespace: shop}\n",
			says:  []string{"checkout-theirs"},
			mark:  "configmaps",
		},
		{
			box: "immutable", spec: `onReconcile: {services: [{name: "{{ .metadata.name }}-immutable", port: 80, headless: "{{ .spec.headless }}", selector: {app: a}}]}`, resource: `{headless: true}`,
			then: `{headless: false}`,
			says: []string{"spec.clusterIP can't be changed"},
			mark: "services",
		},
		{
			box: "gate", spec: `
onReconcile:
  configmaps:
  - {id: first, name: "{{ .metadata.name }}-first", initialFields: [data.ok], data: {ok: "no"}}
  - {id: second, name: "{{ .metadata.name }}-second", data: {a: b}, when: [{field: children.first.data.ok, equals: "yes"}]}`, resource: `{}`,
			says: []string{"children.first.data.ok", "equals yes"},
			mark: "second",
		},
		{
			box: "hook", spec: `
reconciler: {hooks: {resources: [{kind: ConfigMap}], webhook: {url: "https://127.0.0.1:1/hook"}}}`, resource: `{}`,
			says: []string{"127.0.0.1:1"},
		},
		{
			box: "external", spec: `
external: [{name: quota, url: "http://127.0.0.1:1/quota", retries: 0}]
onReconcile: {configmaps: [{name: "{{ .metadata.name }}-external", data: {quota: "{{ .external.quota.body.words }}"}}]}`, resource: `{}`,
			says: []string{"127.0.0.1:1"},
		},
		{
			box: "refusing", spec: `
external: [{name: quota, url: "HOST/quota", retries: 0}]
onReconcile: {configmaps: [{name: "{{ .metadata.name }}-refusing", data: {quota: "{{ .external.quota.body.words }}"}}]}`, resource: `{}`,
			says: []string{"503"},
		},
		{
			box: "provider", spec: `
providers: {aws: [{id: assets, s3bucket: {name: "{{ .metadata.name }}", region: eu-west-1}, credentials: {secretRef: {name: aws}}}]}`,
			says: []string{"CompileFailed", "aws"},
		},
		{
			box: "dependency", spec: `
dependsOn: [{name: database}]
onReconcile: {configmaps: [{name: "{{ .metadata.name }}-dependency", data: {a: b}}]}`, resource: `{}`,
			says: []string{"database"},
		},
		{
			box: "cross", spec: `
cross: [{name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: absent}}]
onReconcile: {configmaps: [{name: "{{ .metadata.name }}-cross", data: {a: "{{ .cross.settings.data.a }}"}}]}`, resource: `{}`,
			says: []string{"absent"},
		},
		{
			box: "quota", spec: `onReconcile: {pvcs: [{name: "{{ .metadata.name }}-quota", storage: 1Gi}]}`, resource: `{}`,
			first: "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: no-volumes, namespace: shop}\nspec: {hard: {persistentvolumeclaims: 0}}\n",
			says:  []string{"exceeded quota", "no-volumes"},
		},
		{
			box: "policy", spec: `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-policy", data: {a: b}}]}`, resource: `{}`,
			first: denies, says: []string{"names of this kind are reserved"},
		},
		{
			box: "child", spec: `onReconcile: {jobs: [{name: "{{ .metadata.name }}-child", image: "one:1", parallelism: 0, activeDeadlineSeconds: 1}]}`, resource: `{}`,
			says: []string{"DeadlineExceeded"},
		},
		{
			box: "unschedulable", spec: `onReconcile: {deployments: [{name: "{{ .metadata.name }}-unschedulable", image: "one:1", nodeSelector: {disk: fast}}]}`, resource: `{}`,
			says: []string{"FailedScheduling", "Pod/checkout-unschedulable-"},
		},
		{
			box: "rollback", spec: `
rollBackOnError: true
onReconcile:
  configmaps: [{name: "{{ .metadata.name }}-text", data: {text: "{{ .spec.text }}"}}]
  services: [{name: "{{ .metadata.name }}-back", port: "{{ .spec.port }}", selector: {app: a}, when: [{field: children.configmap.data.text, equals: "{{ .spec.text }}"}]}]`,
			resource: `{text: one, port: 80}`, then: `{text: two, port: 70000}`,
			says: []string{"70000"},
		},
		{
			box: "forbidden", spec: `
serviceAccountRef: {namespace: orkestra-system, name: poor}
onReconcile: {configmaps: [{data: {a: b}}]}`,
			first: "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: poor, namespace: orkestra-system}\n",
			says:  []string{"Forbidden", "poor"},
		},
		{
			box: "compile", spec: `onReconcile: {configmaps: [{data: {a: "{{ .spec.a | uper }}"}}]}`,
			says: []string{"CompileFailed", "uper"},
		},
		{
			box: "absence", spec: `onReconcile: {configmaps: [{data: {a: b}}]}`,
			says: []string{"CRDMissing"},
		},
	}
}

// denies is a policy of the cluster that refuses one ConfigMap.
const denies = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: reserved}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: ["v1"], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "object.metadata.name != 'checkout-policy'", message: names of this kind are reserved}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: reserved}
spec: {policyName: reserved, validationActions: [Deny]}
`

// greeting is the box that is well.
func greeting(data string) string {
	return box("greeting", `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-greeting", data: `+data+`}]}`)
}

// fleet applies boxes that fail in all ways, and one that is well.
func (c *center) fleet(t *testing.T) {
	t.Helper()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "tomorrow", http.StatusServiceUnavailable) }))
	t.Cleanup(host.Close)
	c.Kubectl(t, "create", "namespace", shop)
	names := []string{"greeting"}
	all := greeting(`{text: "{{ .spec.text }}"}`)
	after := ""
	for _, n := range []string{"hello", "welcome"} {
		after += resource("greeting", shop, n, `{text: Hello}`)
	}
	for _, w := range ways() {
		if w.box != "absence" {
			names = append(names, w.box)
		}
		all += "---\n" + w.first + box(w.box, strings.ReplaceAll(w.spec, "HOST", host.URL))
		if w.resource != "" {
			after += resource(w.box, shop, "checkout", w.resource)
		}
	}
	c.Kinds(t, group, names...)
	c.Apply(t, all)
	c.Apply(t, after)
	c.reaches(t, "greeting", "hello", `{.status.observedGeneration}`, "1")
	c.Apply(t, greeting(`{text: "{{ .spec.text }}, {{ .metadata.name }}", from: Orkestra}`)) // so that there is a former revision
	for _, w := range ways() {
		if w.then != "" {
			c.reaches(t, w.box, "checkout", `{.status.observedGeneration}`, "1")
			c.Apply(t, resource(w.box, shop, "checkout", w.then))
		}
	}
}

// reaches waits until a resource has a value.
func (c *center) reaches(t *testing.T, box, name, path, value string) {
	t.Helper()
	plane.Eventually(t, fmt.Sprintf("%s of %s %s is %s", path, box, name, value), func() error {
		out, err := c.Cluster.Kubectl(t.Context(), "get", box+"s.browser.example.com", name, "-n", shop, "-o", "jsonpath="+path)
		if err == nil && out != value {
			err = fmt.Errorf("it is %q", out)
		}
		return err
	})
}
