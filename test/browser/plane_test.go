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

// enter opens the page of an `orkestra ui` in a tab.
func (c *center) enter(t *testing.T, p *tab) {
	t.Helper()
	address := c.openUI(t)
	p.open(t, address)
	p.base = strings.Split(address, "/?")[0]
}

// group is that of the kinds here.
const group = "browser.example.com"

// box is a box of a kind, whose spec is given without its crd.
func box(name, spec string) string {
	return fmt.Sprintf("---\napiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: %[1]s}\nspec:\n  crd: {name: %[1]ss.%[3]s}\n%[2]s\n", name, indent(spec), group)
}

// resource is one of a box.
func resource(box, namespace, name, spec string) string {
	return fmt.Sprintf("---\napiVersion: %s/v1\nkind: %s\nmetadata: {name: %q, namespace: %s}\nspec: %s\n", group, plane.KindOf(box), name, namespace, spec)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	must(t, os.WriteFile(file, []byte(text), 0o600))
}

func indent(spec string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
}
