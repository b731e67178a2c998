package derive

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/controllers/input"
)

// made is what one object of two instances becomes: its manifest, and the spec of both resources.
func made(t *testing.T, names [2]string, contents [2]string) (manifest map[string]any, specs []any, properties map[string]any) {
	t.Helper()
	d := &draft.Draft{}
	var instances []Instance
	for i, name := range names {
		text := "apiVersion: demo.example.org/v1\nkind: Thing\nmetadata: {name: " + name + "}\nspec: " + contents[i] + "\n"
		instances = append(instances, Instance{Name: name, Docs: input.Parse(name+".yaml", []byte(text))})
	}
	resources := Translate(d, Kind{Group: "example.com", Version: "v1", Name: "Website"}, false, instances)
	g := NewWithT(t)
	g.Expect(resources).To(HaveLen(2))
	g.Expect(d.Objects).To(HaveLen(4))
	box := d.Objects[1].Content["spec"].(map[string]any)["onReconcile"].(map[string]any)["resources"].([]any)
	g.Expect(box).To(HaveLen(1))
	for _, r := range resources {
		specs = append(specs, r.Object.Content["spec"])
	}
	versions := d.Objects[0].Content["spec"].(map[string]any)["versions"].([]any)
	root := versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	properties, _ = root["properties"].(map[string]any)["spec"].(map[string]any)["properties"].(map[string]any)
	return box[0].(map[string]any)["manifest"].(map[string]any)["spec"].(map[string]any), specs, properties
}

func TestWhatBecomesWhat(t *testing.T) {
	type object = map[string]any
	for name, tc := range map[string]struct {
		a, b     string
		manifest object
		shop     object
		blog     object
	}{
		"the same":                  {"{a: 1, b: [x, {c: true}]}", "{a: 1, b: [x, {c: true}]}", object{"a": int64(1), "b": []any{"x", object{"c": true}}}, object{}, object{}},
		"a number":                  {"{size: 1}", "{size: 2}", object{"size": "{{ .spec.size }}"}, object{"size": int64(1)}, object{"size": int64(2)}},
		"a name":                    {"{url: 'http://shop/shop-a'}", "{url: 'http://blog/blog-a'}", object{"url": "http://{{ .metadata.name }}/{{ .metadata.name }}-a"}, object{}, object{}},
		"a name and more":           {"{url: 'http://shop:1'}", "{url: 'http://blog:2'}", object{"url": "{{ .spec.url }}"}, object{"url": "http://shop:1"}, object{"url": "http://blog:2"}},
		"the same word in both":     {"{url: shop}", "{url: shop}", object{"url": "shop"}, object{}, object{}},
		"a key that one lacks":      {"{limits: {cpu: 1}}", "{limits: {}}", object{"limits": object{"cpu": `{{ get .spec "cpu" }}`}}, object{"cpu": int64(1)}, object{}},
		"null, which is none":       {"{a: null, size: 1}", "{size: 1}", object{"size": int64(1)}, object{}, object{}},
		"an object that one lacks":  {"{limits: {cpu: 1}}", "{}", object{"limits": `{{ get .spec "limits" }}`}, object{"limits": object{"cpu": int64(1)}}, object{}},
		"lists of another length":   {"{hosts: [a, b]}", "{hosts: [a]}", object{"hosts": "{{ .spec.hosts }}"}, object{"hosts": []any{"a", "b"}}, object{"hosts": []any{"a"}}},
		"lists of the same length":  {"{args: [--x, --a=1]}", "{args: [--x, --a=2]}", object{"args": []any{"--x", "{{ .spec.args }}"}}, object{"args": "--a=1"}, object{"args": "--a=2"}},
		"items of the same names":   {"{env: [{name: LOG_LEVEL, value: a}]}", "{env: [{name: LOG_LEVEL, value: b}]}", object{"env": []any{object{"name": "LOG_LEVEL", "value": "{{ .spec.logLevel }}"}}}, object{"logLevel": "a"}, object{"logLevel": "b"}},
		"items of other names":      {"{env: [{name: A}]}", "{env: [{name: B}]}", object{"env": "{{ .spec.env }}"}, object{"env": []any{object{"name": "A"}}}, object{"env": []any{object{"name": "B"}}}},
		"items called by the name":  {"{env: [{name: shop-x}]}", "{env: [{name: blog-x}]}", object{"env": []any{object{"name": "{{ .metadata.name }}-x"}}}, object{}, object{}},
		"another type":              {"{port: 80}", "{port: http}", object{"port": "{{ .spec.port }}"}, object{"port": int64(80)}, object{"port": "http"}},
		"a template":                {"{a: '{{ .x }}', b: '{{{shop}}'}", "{a: '{{ .x }}', b: '{{{blog}}'}", object{"a": `{{ "{{" }} .x }}`, "b": `{{ "{{" }}{{ "{" }}{{ .metadata.name }}}}`}, object{}, object{}},
		"what others write":         {"{a: '${spec.image}', b: '{{${metadata.name}.shop'}", "{a: '${spec.image}', b: '{{${metadata.name}.blog'}", object{"a": `{{ "${" }}spec.image}`, "b": `{{ "{{${" }}metadata.name}.{{ .metadata.name }}`}, object{}, object{}},
		"what CEL is called":        {"{m: {cel: self}}", "{m: {cel: self}}", object{"m": object{"cel": `{{ "self" }}`}}, object{}, object{}},
		"one long text twice":       {"{a: registry/x:1, b: registry/x:1}", "{a: registry/x:2, b: registry/x:2}", object{"a": "{{ .spec.a }}", "b": "{{ .spec.a }}"}, object{"a": "registry/x:1"}, object{"a": "registry/x:2"}},
		"a short text twice":        {"{a: x, b: x}", "{a: z, b: z}", object{"a": "{{ .spec.a }}", "b": "{{ .spec.b }}"}, object{"a": "x", "b": "x"}, object{"a": "z", "b": "z"}},
		"one name for two values":   {"{limits: {cpu: 1}, requests: {cpu: 3}}", "{limits: {cpu: 2}, requests: {cpu: 4}}", object{"limits": object{"cpu": "{{ .spec.limitsCpu }}"}, "requests": object{"cpu": "{{ .spec.requestsCpu }}"}}, object{"limitsCpu": int64(1), "requestsCpu": int64(3)}, object{"limitsCpu": int64(2), "requestsCpu": int64(4)}},
		"a key that is no name":     {"{m: {a.b/log-level: x}}", "{m: {a.b/log-level: z}}", object{"m": object{"a.b/log-level": "{{ .spec.logLevel }}"}}, object{"logLevel": "x"}, object{"logLevel": "z"}},
		"a key without any letter":  {"{m: {'0': x}}", "{m: {'0': z}}", object{"m": object{"0": "{{ .spec.field0 }}"}}, object{"field0": "x"}, object{"field0": "z"}},
		"false, where there is one": {"{tls: false}", "{}", object{"tls": `{{ get .spec "tls" }}`}, object{"tls": false}, object{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			manifest, specs, _ := made(t, [2]string{"shop", "blog"}, [2]string{tc.a, tc.b})
			g.Expect(manifest).To(Equal(tc.manifest))
			g.Expect(specs).To(Equal([]any{tc.shop, tc.blog}))
		})
	}
}

func TestTypesOfFields(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b   string
		schema map[string]any
	}{
		"integers":             {"1", "2", map[string]any{"type": "integer", "format": "int64", "default": int64(1)}},
		"numbers":              {"1", "2.5", map[string]any{"type": "number", "default": int64(1)}},
		"texts":                {"a", "b", map[string]any{"type": "string", "default": "a"}},
		"booleans":             {"true", "false", map[string]any{"type": "boolean", "default": true}},
		"an integer or a text": {"80", "http", map[string]any{"x-kubernetes-int-or-string": true, "default": int64(80)}},
		"several types":        {"true", "5", map[string]any{"x-kubernetes-preserve-unknown-fields": true, "default": true}},
		"lists of texts":       {"[a]", "[]", map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "default": []any{"a"}}},
		"maps of texts":        {"[{name: a}]", "[]", map[string]any{"type": "array", "items": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}, "default": []any{map[string]any{"name": "a"}}}},
		"with the name in it":  {"a-shop", "x", map[string]any{"type": "string"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, _, properties := made(t, [2]string{"shop", "blog"}, [2]string{"{size: " + tc.a + "}", "{size: " + tc.b + "}"})
			schema, _ := properties["size"].(map[string]any)
			delete(schema, "description")
			g.Expect(schema).To(Equal(tc.schema))
		})
	}
}

// translated is what some manifests become: the declarations, the schema of the spec, the resources' specs, and the remarks.
func translated(t *testing.T, docs ...string) (manifests []map[string]any, spec map[string]any, specs []map[string]any, remarks string) {
	t.Helper()
	d := &draft.Draft{}
	var instances []Instance
	for i, text := range docs {
		instances = append(instances, Instance{Docs: input.Parse(string(rune('a'+i))+".yaml", []byte(text))})
	}
	resources := Translate(d, Kind{Group: "example.com", Version: "v1", Name: "Website"}, false, instances)
	for _, r := range resources {
		specs = append(specs, r.Object.Content["spec"].(map[string]any))
	}
	for _, item := range d.Objects[1].Content["spec"].(map[string]any)["onReconcile"].(map[string]any)["resources"].([]any) {
		manifests = append(manifests, item.(map[string]any)["manifest"].(map[string]any))
	}
	version := d.Objects[0].Content["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	spec = version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)["spec"].(map[string]any)
	return manifests, spec, specs, d.Told(nil)
}

// An object that one instance has reads the fields of the others where name and value are theirs. What it needs is needed where it is made.
func TestAnObjectThatOneInstanceHas(t *testing.T) {
	const service = "{apiVersion: v1, kind: Service, metadata: {name: NAME}, spec: {selector: {app: NAME}, ports: [{name: http, port: PORT}], sessionAffinity: AFFINITY}}\n---\n"
	instance := func(name, port, affinity string) string {
		return strings.NewReplacer("NAME", name, "PORT", port, "AFFINITY", affinity).Replace(service)
	}
	ingress := "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: shop}, spec: {ingressClassName: nginx, rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop, port: {number: 80}}}}]}}]}}\n"
	g := NewWithT(t)
	manifests, spec, specs, remarks := translated(t, instance("shop", "80", "None")+ingress, instance("blog", "8080", "ClientIP"))
	g.Expect(manifests).To(HaveLen(2))
	rule := manifests[1]["spec"].(map[string]any)["rules"].([]any)[0].(map[string]any)
	backend := rule["http"].(map[string]any)["paths"].([]any)[0].(map[string]any)["backend"].(map[string]any)["service"].(map[string]any)
	g.Expect(backend).To(Equal(map[string]any{"name": "{{ .metadata.name }}", "port": map[string]any{"number": "{{ .spec.port }}"}}))
	g.Expect(rule["host"]).To(Equal("{{ .spec.host }}"))
	g.Expect(specs).To(Equal([]map[string]any{
		{"port": int64(80), "sessionAffinity": "None", "ingressEnabled": true, "host": "shop.example.com"},
		{"port": int64(8080), "sessionAffinity": "ClientIP", "ingressEnabled": false},
	}))
	g.Expect(spec["properties"].(map[string]any)["port"]).To(HaveKeyWithValue("description", "Sets spec.ports[0].port of service, spec.rules[0].http.paths[0].backend.service.port.number of ingress."))
	g.Expect(spec["properties"].(map[string]any)["ingressEnabled"]).To(HaveKeyWithValue("description", "Whether ingress is made."))
	g.Expect(spec["x-kubernetes-validations"]).To(Equal([]any{map[string]any{
		"rule": "!(has(self.ingressEnabled) && self.ingressEnabled) || has(self.host)", "message": "host is needed where ingressEnabled is true", "fieldPath": ".host", "reason": "FieldValueRequired",
	}}))
	g.Expect(remarks).To(ContainSubstring(`a.yaml:3: Ingress "shop": metadata.name: only shop has this object, so that nothing says what of it differs: for all resources that have it, it is as it is here, but for spec.rules[0].host, spec.rules[0].http.paths[0].backend.service.port.number` + "\n"))

	// Where two fields of that name and value go different ways, nothing says which one it is.
	two := func(name, port, other string) string {
		return instance(name, port, "None") + strings.NewReplacer("NAME", name, "PORT", other).Replace("{apiVersion: v1, kind: Service, metadata: {name: NAME-admin}, spec: {selector: {app: NAME}, ports: [{port: PORT}]}}\n---\n")
	}
	manifests, _, _, _ = translated(t, two("shop", "80", "80")+ingress, two("blog", "8080", "9090"))
	text, err := json.Marshal(manifests[2])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(ContainSubstring(`"port":{"number":80}`))
}

// In a host name, a namespace is that of the resource; elsewhere, the same word may be anything.
func TestNamespacesInHosts(t *testing.T) {
	g := NewWithT(t)
	manifests, _, _, _ := translated(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: shop, namespace: team}, data: {a: 'http://shop.team.svc:80/', b: db.team.svc.cluster.local, c: db.team.svcs, d: team, e: x-team.svc, f: shop.team}}\n")
	g.Expect(manifests[0]["data"]).To(Equal(map[string]any{
		"a": "http://{{ .metadata.name }}.{{ .metadata.namespace }}.svc:80/", "b": "db.{{ .metadata.namespace }}.svc.cluster.local", "c": "db.team.svcs", "d": "team", "e": "x-team.svc", "f": "shop.team",
	}))
}

func TestTextsAreAligned(t *testing.T) {
	for name, tc := range map[string]struct {
		names, texts []string
		want         string // with N for the mark; -: they differ in more
	}{
		"a name":                     {[]string{"shop", "blog"}, []string{"shop", "blog"}, "N"},
		"within":                     {[]string{"shop", "blog"}, []string{"x-shop-y-shop", "x-blog-y-blog"}, "x-N-y-N"},
		"another end":                {[]string{"shop", "blog"}, []string{"shop-a", "blog"}, "-"},
		"another end, the other way": {[]string{"shop", "blog"}, []string{"shop", "blog-a"}, "-"},
		"one begins with the other":  {[]string{"shop", "shop-2"}, []string{"shop-x", "shop-2-x"}, "N-x"},
		"a letter":                   {[]string{"a", "aa"}, []string{"aa", "aaaa"}, "NN"},
		"nothing":                    {[]string{"shop", "blog"}, []string{"", ""}, ""},
		"three":                      {[]string{"a", "b", "c"}, []string{"-a-", "-b-", "-c-"}, "-N-"},
		"three, of which one lacks":  {[]string{"a", "b", "c"}, []string{"-a-", "-b-", "-d-"}, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			pieces, ok := align(tc.texts, []mark{{values: tc.names, read: "N"}})
			var b strings.Builder
			for _, p := range pieces {
				b.WriteString(p.literal + p.read)
			}
			g.Expect(ok).To(Equal(tc.want != "-"))
			if ok {
				g.Expect(b.String()).To(Equal(tc.want))
			}
		})
	}
}

func TestNamesOfInstances(t *testing.T) {
	for name, tc := range map[string]struct {
		docs, want, namespace string
	}{
		"what names begin with":     {"{apiVersion: v1, kind: ConfigMap, metadata: {name: my-shop-a}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: my-shop-b}}\n", "my-shop", ""},
		"the label":                 {"{apiVersion: v1, kind: ConfigMap, metadata: {name: my-shop-a, labels: {app.kubernetes.io/instance: my}}}\n", "my", ""},
		"a label that is no name":   {"{apiVersion: v1, kind: ConfigMap, metadata: {name: shop, labels: {app.kubernetes.io/instance: My}}}\n", "shop", ""},
		"labels that disagree":      {"{apiVersion: v1, kind: ConfigMap, metadata: {name: shop-a, labels: {app.kubernetes.io/instance: a}}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: shop-b, labels: {app.kubernetes.io/instance: b}}}\n", "shop", ""},
		"the workload's":            {"{apiVersion: v1, kind: ConfigMap, metadata: {name: files}}\n---\n{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}}\n", "agent", ""},
		"the first":                 {"{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", "b", ""},
		"the namespace of most":     {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: b}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: b}}\n", "a", "b"},
		"a namespace that one says": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a-b, namespace: x}}\n", "a", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tr := &translation{Draft: &draft.Draft{}}
			in := tr.read(Instance{Docs: input.Parse("a.yaml", []byte(tc.docs))})
			g.Expect([]string{in.name, in.namespace}).To(Equal([]string{tc.want, tc.namespace}))
		})
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{"log.level": "logLevel", "LOG_LEVEL": "logLevel", "ConfigMap": "configMap", "HTTPRoute": "httpRoute", "PDB": "pdb", "-api-v2": "apiV2", "": "", "日本": "", "ipFamilies": "ipFamilies"} {
		NewWithT(t).Expect(camel(text)).To(Equal(want), text)
	}
}

// A checksum that a chart computes is computed no more, which is told with the template that does it.
func TestChecksumsAreToldOf(t *testing.T) {
	const settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {a: b}\n---\n"
	const workload = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec: {template: {metadata: {annotations: {checksum/config: abc, other: abc}}}}\n"
	for name, tc := range map[string]struct{ text, wanted string }{
		"of a ConfigMap beside":  {settings + workload, "such as {{ sha256sum (toJson .children.configMap.data) }}"},
		"of something elsewhere": {workload, "such as {{ sha256sum (toJson .children.ID.data) }}"},
	} {
		t.Run(name, func(t *testing.T) {
			g, d := NewWithT(t), &draft.Draft{}
			Translate(d, Kind{Group: "example.com", Version: "v1", Name: "Website"}, false, []Instance{{Name: "shop", Docs: input.Parse("shop.yaml", []byte(tc.text))}})
			var told []string
			for _, r := range d.Remarks {
				if strings.Contains(r.Message, "checksum") {
					told = append(told, r.Path+": "+r.Message)
				}
			}
			g.Expect(told).To(ConsistOf(And(HavePrefix("spec.template.metadata.annotations[checksum/config]: "), HaveSuffix(tc.wanted))))
		})
	}
}
