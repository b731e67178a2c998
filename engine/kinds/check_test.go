package kinds

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/kinds/shape"
)

func templated(s string) shape.Yield {
	switch {
	case strings.HasPrefix(s, "{{") && strings.Count(s, "{{") == 1 && strings.HasSuffix(s, "}}"):
		return shape.Anything
	case strings.Contains(s, "{{"):
		return shape.Text
	default:
		return shape.Literal
	}
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		key, short, spec string
		want             []string
	}{
		"templates may be anything": {
			"deployments",
			`{image: "{{ x }}", replicas: "{{ x }}", env: "{{ x }}", probes: {readiness: "{{ x }}"}, ports: [{containerPort: "{{ x }}"}, "{{ y }}"]}`,
			`{paused: "{{ x }}", template: "{{ y }}"}`, nil,
		},
		"an overlay whose containers may be anything": {"deployments", `{replicas: 1}`, `{template: "{{ y }}"}`, nil},
		"everything wrong at once": {
			"deployments", `{imge: nginx, replicas: many, env: [{nme: A}], strategy: [a], command: x}`,
			`{replica: 1, template: {spec: {containers: [{image: 5}, {name: [], image: {}}], hostNetwork: sure}}}`,
			[]string{
				`x[0].command: Invalid value: "x": want array, got string`,
				`x[0].env[0].nme: Forbidden: unknown field, did you mean "name"?`,
				`x[0].imge: Forbidden: unknown field, did you mean "image"?`,
				`x[0].replicas: Invalid value: "many": want 32-bit integer, got string`,
				`x[0].strategy: Invalid value: "array": want object`,
				`x[0].image: Required value: an image: the short fields describe the container "main", the overlay describes others`,
				`x[0].spec.replica: Forbidden: unknown field, did you mean "replicas"?`,
				`x[0].spec.template.spec.containers[0].name: Required value: a name, by which the elements of this list are merged`,
				`x[0].spec.template.spec.containers[1].image: Invalid value: "object": want string`,
				`x[0].spec.template.spec.containers[1].name: Invalid value: "array": want string`,
				`x[0].spec.template.spec.hostNetwork: Invalid value: "sure": want boolean, got string`,
			},
		},
		"no image": {"deployments", `{}`, ``, []string{`x[0].image: Required value: an image`}},
		"an empty image": {
			"jobs", `{image: "", command: [a]}`, `{template: {spec: {containers: null}}}`, []string{`x[0].image: Required value: an image`},
		},
		"the overlay brings the image": {
			"deployments", `{port: 80}`, `{template: {spec: {containers: [{name: main, image: x}]}}}`, nil,
		},
		"the overlay may bring the image": {
			"deployments", `{port: 80}`, `{template: {spec: {containers: [{name: "{{ x }}", image: x}]}}}`, nil,
		},
		"the overlay brings all containers": {
			"deployments", `{replicas: 1}`, `{template: {spec: {containers: [{name: app, image: x}]}}}`, nil,
		},
		"port and ports": {
			"deployments", `{image: a, port: 80, ports: [{containerPort: 80}]}`, ``,
			[]string{`x[0].port: Forbidden: port and ports contradict each other: give one of them`},
		},
		"labels of the selector": {
			"deployments", `{image: a, podLabels: {app.kubernetes.io/name: b, c: d}}`, ``,
			[]string{`x[0].podLabels[app.kubernetes.io/name]: Forbidden: the selector uses this label`},
		},
		"containers without names, and with the same": {
			"deployments", `{image: a, initContainers: [{name: a}], sidecars: [{image: b}, {name: a}, {name: main}, {name: "{{ x }}"}, {name: "{{ x }}"}]}`, ``,
			[]string{
				`x[0].sidecars[0].name: Required value: containers need names of their own`,
				`x[0].sidecars[1].name: Duplicate value: "a"`,
				`x[0].sidecars[2].name: Duplicate value: "main"`,
			},
		},
		"a container with a name of its own": {
			"deployments", `{image: a, containerName: web, sidecars: [{name: main, image: b}, {name: web, image: c}]}`, ``,
			[]string{`x[0].sidecars[1].name: Duplicate value: "web"`},
		},
		"the overlay brings the image of a container with a name": {
			"deployments", `{port: 80, containerName: web}`, `{template: {spec: {containers: [{name: web, image: x}]}}}`, nil,
		},
		"the overlay brings another container": {
			"deployments", `{port: 80, containerName: web}`, `{template: {spec: {containers: [{name: main, image: x}]}}}`,
			[]string{`x[0].image: Required value: an image: the short fields describe the container "web", the overlay describes others`},
		},
		"a Service's ports": {
			"services", `{ports: [{port: 1}], port: 80, targetPort: http, protocol: UDP}`, ``,
			[]string{
				`x[0].port: Forbidden: port and ports contradict each other: give one of them`,
				`x[0].targetPort: Forbidden: targetPort and ports contradict each other: give one of them`,
				`x[0].protocol: Forbidden: protocol and ports contradict each other: give one of them`,
			},
		},
		"headless and a type": {
			"services", `{headless: true, type: NodePort}`, ``,
			[]string{`x[0].type: Forbidden: type and headless contradict each other: give one of them`},
		},
		"headless and the type it has": {"services", `{headless: true, type: ClusterIP}`, ``, nil},
		"not headless and a type":      {"services", `{headless: false, type: NodePort}`, ``, nil},
		"empty ports say nothing":      {"services", `{ports: [], port: 80}`, ``, nil},
		"an overlay where there's no spec": {
			"configmaps", `{data: {a: b}}`, `{a: b}`, []string{`x[0].spec: Forbidden: not for this kind: a ConfigMap has no spec`},
		},
		"a map for text": {
			"configmaps", `{data: {a: {b: c}}}`, ``, []string{`x[0].data[a]: Invalid value: "object": want string`},
		},
		"host and rules": {
			"ingresses", `{host: a, path: /, rules: [{host: b}]}`, ``,
			[]string{
				`x[0].host: Forbidden: host and rules contradict each other: give one of them`,
				`x[0].path: Forbidden: path and rules contradict each other: give one of them`,
			},
		},
		"a failure policy that does not exist": {
			"jobs", `{image: a, failurePolicy: Retry}`, ``,
			[]string{`x[0].failurePolicy: Unsupported value: "Retry": supported values: "Block", "Continue"`},
		},
		"a failure policy that is not known yet": {"jobs", `{image: a, failurePolicy: "{{ x }}"}`, ``, nil},
		"no manifest":                            {"resources", `{}`, ``, []string{`x[0].manifest: Required value: object`}},
		"a templated manifest": {
			"resources", `{manifest: "{{ x }}"}`, ``,
			[]string{`x[0].kinds: Required value: the kinds that the template may give: rights and watches are derived from them: kinds: [v1/ConfigMap]`},
		},
		"a templated manifest with its kinds": {"resources", `{manifest: "{{ x }}", kinds: [v1/ConfigMap, apps/v1/Deployment, a.b/v1/C]}`, ``, nil},
		"an overlay that one of the kinds can't have": {
			"resources", `{manifest: "{{ x }}", kinds: [v1/ConfigMap, apps/v1/Deployment]}`, `{replicas: 1}`,
			[]string{`x[0].spec: Forbidden: not for this kind: a ConfigMap has no spec`},
		},
		"a templated kind": {
			"resources", `{manifest: {apiVersion: v1, kind: "{{ x }}"}}`, ``,
			[]string{`x[0].manifest.kind: Invalid value: "{{ x }}": want string without a template, got a template`},
		},
		"a manifest without apiVersion": {
			"resources", `{manifest: {kind: A}}`, ``, []string{`x[0].manifest.apiVersion: Required value: string without a template`},
		},
		"a manifest without apiVersion and kind": {
			"resources", `{manifest: {metadata: {name: a}}}`, ``, []string{
				`x[0].manifest.apiVersion: Required value: string without a template`,
				`x[0].manifest.kind: Required value: string without a template`,
			},
		},
		"a bad apiVersion": {
			"resources", `{manifest: {apiVersion: a/b/c, kind: A}}`, ``,
			[]string{`x[0].manifest.apiVersion: Invalid value: "a/b/c": want group/version or version, got string`},
		},
		"a list": {
			"resources", `{manifest: {apiVersion: v1, kind: List, items: []}}`, ``,
			[]string{`x[0].manifest.kind: Invalid value: "List": want kind of a single object, got string`},
		},
		"foreign fields": {
			"resources",
			`{manifest: {apiVersion: a.b/v1, kind: A, status: {}, metadata: {uid: a, ownerReferences: [], managedFields: [{}], generateName: a, lables: {}}}}`, ``,
			[]string{
				`x[0].manifest.status: Forbidden: not for a declaration to set`,
				`x[0].manifest.metadata.generateName: Forbidden: not for a declaration to set`,
				`x[0].manifest.metadata.managedFields: Forbidden: not for a declaration to set`,
				`x[0].manifest.metadata.ownerReferences: Forbidden: not for a declaration to set`,
				`x[0].manifest.metadata.uid: Forbidden: not for a declaration to set`,
				`x[0].manifest.metadata.lables: Forbidden: unknown field, did you mean "labels"?`,
			},
		},
		"a built-in kind": {
			"resources", `{manifest: {apiVersion: apps/v1, kind: StatefulSet, spec: {serviceNam: a, replicas: "{{ x }}"}}}`, `{replicas: lots, serviceNme: a}`,
			[]string{
				`x[0].manifest.spec.serviceNam: Forbidden: unknown field, did you mean "serviceName"?`,
				`x[0].spec.replicas: Invalid value: "lots": want 32-bit integer, got string`,
				`x[0].spec.serviceNme: Forbidden: unknown field, did you mean "serviceName"?`,
			},
		},
		"a built-in kind without spec": {
			"resources", `{manifest: {apiVersion: v1, kind: Secret}}`, `{a: b}`,
			[]string{`x[0].spec: Forbidden: not for this kind: a Secret has no spec`},
		},
		"another kind": {"resources", `{manifest: {apiVersion: a.b/v1, kind: A, anything: [1, {}], metadata: "{{ x }}"}}`, `{a: b}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for range 10 {
				var got []string
				for _, e := range mustLookup(t, tc.key).Check(tree(t, tc.short), tree(t, tc.spec), templated, field.NewPath("x").Index(0)) {
					got = append(got, e.Error())
				}
				g.Expect(got).To(Equal(tc.want))
			}
		})
	}
}
