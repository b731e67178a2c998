package drift

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func TestRekey(t *testing.T) {
	service := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	cases := map[string]struct {
		kind                 schema.GroupVersionKind
		declared, live, want string // want empty: nothing has lost its key
	}{
		"a port of another number, by its name": {
			service, `{ports: [{name: http, port: 80}, {name: admin, port: 81}]}`,
			`{clusterIP: x, ports: [{name: http, port: 9999, protocol: TCP, nodePort: 30000}, {name: admin, port: 81, protocol: TCP}]}`,
			`{clusterIP: x, ports: [{name: http, port: 80, protocol: TCP, nodePort: 30000}, {name: admin, port: 81, protocol: TCP}]}`,
		},
		"the only port, without a name": {
			service, `{ports: [{port: 80}]}`, `{ports: [{port: 9999, protocol: TCP}]}`, `{ports: [{port: 80, protocol: TCP}]}`,
		},
		"another protocol": {
			service, `{ports: [{port: 80}]}`, `{ports: [{port: 80, protocol: UDP}]}`, `{ports: [{port: 80, protocol: TCP}]}`,
		},
		"a port that others added": {service, `{ports: [{name: http, port: 80}]}`, `{ports: [{name: http, port: 80}, {name: mesh, port: 15000}]}`, ``},
		"a port that is gone, beside another's": {
			service, `{ports: [{name: http, port: 80}]}`, `{ports: [{name: mesh, port: 15000}]}`, ``,
		},
		"no ports at all": {service, `{ports: [{port: 80}]}`, `{}`, ``},
		"a container's port": {
			deployment, `{template: {spec: {containers: [{name: main, ports: [{name: http, containerPort: 80}]}]}}}`,
			`{template: {spec: {containers: [{name: mesh}, {name: main, image: x, ports: [{name: http, containerPort: 81, protocol: TCP}]}]}}}`,
			`{template: {spec: {containers: [{name: mesh}, {name: main, image: x, ports: [{name: http, containerPort: 80, protocol: TCP}]}]}}}`,
		},
		"another type": {service, `{ports: [{port: 80}]}`, `{ports: text}`, ``},
	}
	tree := func(g Gomega, text string) (out any) {
		g.Expect(yaml.Unmarshal([]byte(text), &out)).To(Succeed())
		return out
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			spec := NewComparer(nil).schemas.root(tc.kind).field("spec")
			live := tree(g, tc.live)
			restored, changed := spec.rekey(tree(g, tc.declared), live)
			g.Expect(live).To(Equal(tree(g, tc.live)), "what is read is not changed")
			g.Expect(changed).To(Equal(tc.want != ""))
			if tc.want != "" {
				g.Expect(restored).To(Equal(tree(g, tc.want)))
			}
		})
	}
}
