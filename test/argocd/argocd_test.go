package argocd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	base "github.com/orkspace/orkestra/test/plane"
)

// TestArgoCD goes through the life of two operators in Git.
func TestArgoCD(t *testing.T) {
	w := newWorld(t)
	w.made(t)
	w.changed(t)
	w.box(t)
	w.resource(t)
	w.rolledBack(t)
	w.edited(t)
	w.shown(t)
	w.removed(t)
	w.steps.Write(t, root+"/.reports/argocd.md")
}

// made commits everything at once: a box that makes the kind, and its resource; a CRD, its role, its box and its resource.
func (w *world) made(t *testing.T) {
	t.Helper()
	for _, file := range []string{"note-box.yaml", "note.yaml", "shop.yaml", "shop-box.yaml", "shop-crd.yaml", "shop-role.yaml"} {
		w.git.Put(t, file, file)
	}
	commit, began := w.git.Commit(t, "Two operators and their resources"), time.Now()
	text, err := os.ReadFile("testdata/application.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w.Apply(t, fmt.Sprintf(string(text), w.git.URL))
	objects := w.becomes(t, commit, "Healthy")
	took := time.Since(began)
	if wrote := w.audit.Writes(t, ofArgoCD); len(wrote) == 0 {
		t.Fatal("the audit log has no write of Argo CD: the differences below would be none whatever it did")
	}
	w.steps.Add("boxes, CRDs and resources in one commit, until all are healthy", took, objects, w.differences(t))
}

// changed has a change of a box reach the children.
func (w *world) changed(t *testing.T) {
	t.Helper()
	w.git.Put(t, "shop-box.yaml", "shop-box.yaml", "Hello", "Good morning")
	commit, began := w.git.Commit(t, "Greet otherwise"), time.Now()
	w.refresh(t)
	objects := w.becomes(t, commit, "Healthy")
	took := time.Since(began)
	if greeting := w.child(t, "configmap/web", "{.data.greeting}"); greeting != "Good morning" {
		t.Errorf("the box is healthy, and the child has %q", greeting)
	}
	w.steps.Add("a box is changed, until its children are", took, objects, w.differences(t))
}

// box breaks a box: it is said to be the cause, and what it has made stays.
func (w *world) box(t *testing.T) {
	t.Helper()
	before := w.child(t, "deployment/web", "{.metadata.uid} {.metadata.generation}")
	w.git.Put(t, "shop-box.yaml", "shop-box.yaml", "Hello", "Good morning", ".spec.image", ".spec.imgae")
	commit := w.git.Commit(t, "Break the box")
	took := w.degraded(t, commit, "OperatorBox/shop", `spec.imgae: no such field in the CRD's schema, did you mean "image"?`)
	w.steps.Add("a box is broken, until Argo CD shows why", took, 1, w.differences(t))
	if after := w.child(t, "deployment/web", "{.metadata.uid} {.metadata.generation}"); after != before {
		t.Errorf("a box that can't run has touched a child: %s, then %s", before, after)
	}
	w.reverted(t)
}

// resource breaks a resource by what the box's own validation refuses.
func (w *world) resource(t *testing.T) {
	t.Helper()
	w.git.Put(t, "shop.yaml", "shop.yaml", "replicas: 2", "replicas: 50")
	took := w.degraded(t, w.git.Commit(t, "Ask for too many"), "Shop/web", "at most 10 replicas (found 50)")
	w.steps.Add("a resource is broken, until Argo CD shows why", took, 1, w.differences(t))
	w.reverted(t)
}

// rolledBack breaks a resource by what nobody knows before children are changed: they go back, and the spec stays that of Git.
func (w *world) rolledBack(t *testing.T) {
	t.Helper()
	w.git.Put(t, "shop.yaml", "shop.yaml", "port: 80", "port: 70000")
	took := w.degraded(t, w.git.Commit(t, "A port that there is not"), "Shop/web", "Invalid value: 70000")
	if state := w.Kubectl(t, "get", "shop/web", "-n", "apps", "-o", `jsonpath={.status.conditions[?(@.type=="RolledBack")].status} {.spec.port}`); state != "True 70000" {
		t.Errorf("RolledBack and the port of the spec are %q; wanted True, and what is in Git", state)
	}
	if port := w.child(t, "configmap/web", "{.data.port}"); port != "80" {
		t.Errorf("the resource is rolled back, and the child has the port %q", port)
	}
	w.steps.Add("a resource is rolled back by Orkestra, until Argo CD shows why", took, 1, w.differences(t))
	w.reverted(t)
}

// reverted takes the last commit back.
func (w *world) reverted(t *testing.T) {
	t.Helper()
	commit, began := w.git.Revert(t), time.Now()
	w.refresh(t)
	objects := w.becomes(t, commit, "Healthy")
	w.steps.Add("the commit is reverted, until all are healthy", time.Since(began), objects, w.differences(t))
}

// edited edits a resource and a child by hand: Argo CD puts back the one, Orkestra the other.
func (w *world) edited(t *testing.T) {
	t.Helper()
	began := time.Now()
	w.Kubectl(t, "patch", "shop/web", "-n", "apps", "--type=merge", "-p", `{"spec":{"replicas":3}}`)
	w.Kubectl(t, "patch", "configmap/web", "-n", "apps", "--type=merge", "-p", `{"data":{"greeting":"Go away"}}`)
	base.Eventually(t, "both are put back", func() error {
		found := []string{w.child(t, "shop/web", "{.spec.replicas}"), w.child(t, "deployment/web", "{.spec.replicas}"), w.child(t, "configmap/web", "{.data.greeting}")}
		if !slices.Equal(found, []string{"2", "2", "Good morning"}) {
			return fmt.Errorf("replicas of the resource and of its Deployment, and the greeting, are %q", found)
		}
		return nil
	})
	took := time.Since(began)
	objects := w.becomes(t, w.application(t).Status.Sync.Revision, "Healthy")
	w.steps.Add("a resource and a child are edited by hand, until both are as before", took, objects, w.differences(t))
}

// shown looks at the tree of the Application: children stand below their resource by owner references. Where there can't be one, orkestra tree shows the child.
func (w *world) shown(t *testing.T) {
	t.Helper()
	nodes := w.tree(t)
	for name, parent := range map[string]string{
		"OperatorBox/shop": "", "CRDHealth/shop": "OperatorBox/shop", "Shop/web": "", "Deployment/web": "Shop/web", "ConfigMap/web": "Shop/web", "Service/web": "Shop/web",
		"Note/first": "", "ConfigMap/first": "Note/first",
	} {
		if n, found := nodes[name]; !found || n.parent() != parent {
			t.Errorf("the tree has %s below %q (it is there: %t); wanted it below %q", name, n.parent(), found, parent)
		}
	}
	if _, found := nodes["ConfigMap/copy-of-first"]; found {
		t.Error("the tree has a child without owner reference: docs/how-to/argocd.md says that it does not")
	}
	command := exec.CommandContext(t.Context(), w.orkestra, "tree", "note/first", "-n", "apps", "--kubeconfig", w.Cluster.Kubeconfig())
	if out := output(t, command); !strings.Contains(out, "copy-of-first") {
		t.Errorf("orkestra tree lacks the child in another namespace:\n%s", out)
	}
}

// removed removes everything from Git at once, in whatever order Argo CD deletes it: nothing is stranded. Both CRDs stay: Argo CD does not track one that it has
// applied, and that of a box is retained.
func (w *world) removed(t *testing.T) {
	t.Helper()
	for _, file := range []string{"note-box.yaml", "note.yaml", "shop.yaml", "shop-box.yaml", "shop-crd.yaml", "shop-role.yaml"} {
		w.git.Remove(t, file)
	}
	w.git.Put(t, "README.md", "readme.md")
	commit, began := w.git.Commit(t, "Nothing any more"), time.Now()
	w.refresh(t)
	w.becomes(t, commit, "Healthy")
	base.Eventually(t, "all is gone", func() error {
		left := w.Kubectl(t, "get", "--ignore-not-found", "-n", "apps", "-o", "name", "deployment/web", "service/web", "configmap/web", "configmap/first",
			"operatorbox/shop", "operatorbox/note", "crdhealth/shop", "crdhealth/note", "clusterrole/orkestra-shop")
		left += w.Kubectl(t, "get", "--ignore-not-found", "-n", "elsewhere", "-o", "name", "configmap/copy-of-first")
		if left != "" {
			return errors.New(strings.ReplaceAll(left, "\n", ", ") + " is left")
		}
		return nil
	})
	took := time.Since(began)
	w.Kubectl(t, "get", "crd/shops.fleet.example.com", "crd/notes.fleet.example.com")
	if left := w.Kubectl(t, "get", "shops,notes", "-A", "-o", "name"); left != "" {
		t.Errorf("resources are left: %s", left)
	}
	w.steps.Add("boxes, their role and resources are removed at once, until all is gone", took, 0, w.differences(t))
}

// child reads something of an object in the namespace of the resources.
func (w *world) child(t *testing.T, name, path string) string {
	t.Helper()
	return w.Kubectl(t, "get", name, "-n", "apps", "-o", "jsonpath="+path)
}
