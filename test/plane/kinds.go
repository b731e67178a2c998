package plane

import (
	"fmt"
	"strings"
	"testing"
)

// kind is a CRD whose resources say anything in their spec; its plural is its name, and an s.
const kind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.%[3]s}
spec:
  group: %[3]s
  scope: Namespaced
  names: {plural: %[1]ss, singular: %[1]s, kind: %[2]s}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
`

// Kinds makes CRDs of some names in a group, and waits until they are served. Their resources say anything in their spec. The kind of one is called as
// KindOf says, and its plural is its name, and an s.
func (p *Plane) Kinds(t *testing.T, group string, names ...string) {
	t.Helper()
	var all strings.Builder
	var crds []string
	for _, name := range names {
		fmt.Fprintf(&all, kind, name, KindOf(name), group)
		crds = append(crds, fmt.Sprintf("crd/%ss.%s", name, group))
	}
	p.Apply(t, all.String())
	p.Established(t, crds...)
}

// Established waits until CRDs, such as crd/websites.demo.example.com, are served.
func (p *Plane) Established(t *testing.T, crds ...string) {
	t.Helper()
	// kubectl wait fails at once on a CRD that has no conditions yet.
	Eventually(t, "the kinds are established", func() error {
		_, err := p.Cluster.Kubectl(t.Context(), append([]string{"wait", "--for=condition=Established", "--timeout=1m"}, crds...)...)
		return err
	})
}

// KindOf is the kind of a CRD of a name.
func KindOf(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
