package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/orkspace/orkestra/test/plane"
)

const root = "../.."

// center is a cluster with a manager that serves the page.
type center struct {
	*plane.Plane

	orkestra string // the program
	address  string // of the page
	manager  *plane.Program
}

// everything is who looks: somebody who may read all there is.
const everything = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: sees-everything}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: sees-everything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sees-everything}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: sre}]
`

// newCenter starts all of it, and ends it with the test.
func newCenter(t *testing.T) *center {
	t.Helper()
	c := &center{Plane: plane.New(t, root), orkestra: root + "/bin/orkestra", address: plane.FreeAddress(t)}
	c.Apply(t, everything)
	c.startManager(t)
	return c
}

// base is the address of the page.
func (c *center) base() string { return "https://" + c.address }

func (c *center) startManager(t *testing.T) {
	t.Helper()
	c.manager = plane.Start(t, c.orkestra, "manager", "--kubeconfig", c.Cluster.Kubeconfig(), "--namespace", "orkestra-system", "--metrics-bind-address", "0", "--leader-elect=false",
		"--health-probe-bind-address", "0", "--external-allow", "127.0.0.1", "--shutdown-timeout", "10s", "--log-format", "text",
		"--web-bind-address", c.address, "--web-anonymous-user", "sre")
}

// openUI starts `orkestra ui`, and gives the address that it prints.
func (c *center) openUI(t *testing.T) string {
	t.Helper()
	ui := plane.Start(t, c.orkestra, "ui", "--kubeconfig", c.Cluster.Kubeconfig())
	address := ""
	plane.Eventually(t, "orkestra ui prints its address", func() error {
		for word := range strings.FieldsSeq(ui.Said()) {
			if strings.HasPrefix(word, "http://") {
				address = word
				return nil
			}
		}
		return fmt.Errorf("it says %q", ui.Said())
	})
	return address
}

// kind is a CRD of the group browser.example.com whose resources say anything in their spec; its plural is the name of the kind, and an s.
const kind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.browser.example.com}
spec:
  group: browser.example.com
  scope: Namespaced
  names: {plural: %[1]ss, singular: %[1]s, kind: %[2]s, listKind: %[2]sList}
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

// kinds makes the CRDs of some names.
func (c *center) kinds(t *testing.T, names ...string) {
	t.Helper()
	var all strings.Builder
	wait := []string{"wait", "--for=condition=Established", "--timeout=1m"}
	for _, name := range names {
		fmt.Fprintf(&all, kind, name, strings.ToUpper(name[:1])+name[1:])
		wait = append(wait, "crd/"+name+"s.browser.example.com")
	}
	c.Apply(t, all.String())
	// kubectl wait fails at once on a CRD that has no conditions yet.
	plane.Eventually(t, "the kinds are established", func() error {
		_, err := c.Cluster.Kubectl(t.Context(), wait...)
		return err
	})
}

// box is a box of a kind, whose spec is given without its crd.
func box(name, spec string) string {
	return fmt.Sprintf("---\napiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: %[1]s}\nspec:\n  crd: {name: %[1]ss.browser.example.com}\n%[2]s\n", name, indent(spec))
}

// resource is one of a box.
func resource(box, namespace, name, spec string) string {
	return fmt.Sprintf("---\napiVersion: browser.example.com/v1\nkind: %s\nmetadata: {name: %q, namespace: %s}\nspec: %s\n", strings.ToUpper(box[:1])+box[1:], name, namespace, spec)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	must(t, os.WriteFile(file, []byte(text), 0o600))
}

func indent(spec string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
}
