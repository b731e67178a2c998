package argocd

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	base "github.com/orkspace/orkestra/test/plane"
)

// application is what is read of one.
type application struct {
	Operation *struct{} `json:"operation"` // while Argo CD applies
	Metadata  struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Status struct {
		Sync struct {
			Status   string `json:"status"`
			Revision string `json:"revision"`
		} `json:"sync"`
		Health struct {
			Status string `json:"status"`
		} `json:"health"`
		Resources []struct {
			Kind   string `json:"kind"`
			Name   string `json:"name"`
			Status string `json:"status"`
		} `json:"resources"`
		OperationState *struct {
			Phase      string `json:"phase"`
			Message    string `json:"message"`
			FinishedAt string `json:"finishedAt"`
			Operation  struct {
				InitiatedBy struct {
					Username string `json:"username"`
				} `json:"initiatedBy"`
			} `json:"operation"`
			SyncResult struct {
				Revision string `json:"revision"`
			} `json:"syncResult"`
		} `json:"operationState"`
		Conditions []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

func (a application) String() string {
	text := fmt.Sprintf("%s at %.8s, %s", a.Status.Sync.Status, a.Status.Sync.Revision, a.Status.Health.Status)
	for _, r := range a.Status.Resources {
		if r.Status != "Synced" {
			text += fmt.Sprintf("; %s %s is %s", r.Kind, r.Name, r.Status)
		}
	}
	if o := a.Status.OperationState; o != nil {
		text += "; the last sync: " + o.Phase + ": " + o.Message
	}
	for _, c := range a.Status.Conditions {
		text += "; " + c.Type + ": " + c.Message
	}
	return text
}

func (w *world) application(t *testing.T) (a application) {
	t.Helper()
	if err := json.Unmarshal([]byte(w.Kubectl(t, "get", "application", "fleet", "-n", "argocd", "-o", "json")), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// refresh has Argo CD look at Git and the cluster now, as a webhook of the Git server would, and waits until it has.
func (w *world) refresh(t *testing.T) {
	t.Helper()
	w.Kubectl(t, "annotate", "--overwrite", "application", "fleet", "-n", "argocd", "argocd.argoproj.io/refresh=normal")
	base.Eventually(t, "Argo CD has looked", func() error {
		if a := w.application(t); a.Metadata.Annotations["argocd.argoproj.io/refresh"] != "" {
			return fmt.Errorf("the request is still there: %s", a)
		}
		return nil
	})
}

// becomes waits until a commit is synced and the Application has a health, and gives how many objects it has.
func (w *world) becomes(t *testing.T, commit, health string) (objects int) {
	t.Helper()
	base.Eventually(t, "the Application is Synced and "+health, func() error {
		a := w.application(t)
		o := a.Status.OperationState
		done := a.Operation == nil && o != nil && o.Phase == "Succeeded" && o.SyncResult.Revision == commit
		if a.Status.Sync.Status != "Synced" || a.Status.Sync.Revision != commit || a.Status.Health.Status != health || !done {
			return fmt.Errorf("%s; wanted Synced at %.8s, %s", a, commit, health)
		}
		objects = len(a.Status.Resources)
		return nil
	})
	return objects
}

// differences has Argo CD apply all once more, and gives how much it, or Orkestra, has written for it: nothing, where they agree.
func (w *world) differences(t *testing.T) string {
	t.Helper()
	boxes := w.boxes(t)
	// What was under way is written by now, or is none of what is counted: the Application was settled before.
	w.audit.Writes(t, ofEither)
	w.syncs++
	by := fmt.Sprintf("sync-%d", w.syncs)
	w.Kubectl(t, "patch", "application", "fleet", "-n", "argocd", "--type=merge", "-p", `{"operation":{"initiatedBy":{"username":"`+by+`"},"sync":{"revision":"main"}}}`)
	base.Eventually(t, "all is applied once more", func() error {
		if o := w.application(t).Status.OperationState; o.Operation.InitiatedBy.Username != by || o.FinishedAt == "" || o.Phase != "Succeeded" {
			return fmt.Errorf("the last sync is %q, %s: %s; wanted %q", o.Operation.InitiatedBy.Username, o.Phase, o.Message, by)
		}
		return nil
	})
	w.refresh(t)
	after := w.application(t)
	for _, r := range after.Status.Resources {
		if r.Status != "Synced" {
			t.Errorf("%s %s is %s", r.Kind, r.Name, r.Status)
		}
	}
	found := w.audit.Writes(t, ofEither)
	if now := w.boxes(t); now != boxes {
		t.Errorf("applying once more has changed boxes:\n%s\nthen\n%s", boxes, now)
	}
	for what, count := range found {
		t.Errorf("Git and the cluster differ: %d × %s", count, what)
	}
	return fmt.Sprint(len(found))
}

// ofArgoCD says that Argo CD has written something that is none of its own objects.
func ofArgoCD(event *auditv1.Event) bool {
	return strings.HasPrefix(event.UserAgent, "argocd") && event.ObjectRef.APIGroup != "argoproj.io"
}

// ofEither says that Argo CD or Orkestra has. Counters in the status of a box and of its CRDHealth follow within seconds whatever anybody writes. A box is
// patched by each sync where the API server has put defaults into a list of it: boxes says that this changes nothing.
func ofEither(event *auditv1.Event) bool {
	box, health := event.ObjectRef.Resource == "operatorboxes", event.ObjectRef.Resource == "crdhealths"
	if ofArgoCD(event) {
		return !box || event.Verb != "patch"
	}
	return strings.HasPrefix(event.UserAgent, "orkestra/") && !health && (!box || event.ObjectRef.Subresource != "status")
}

// boxes is what there is of boxes, but for their status.
func (w *world) boxes(t *testing.T) string {
	t.Helper()
	return w.Kubectl(t, "get", "operatorboxes", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.generation} {.metadata.labels} {.metadata.annotations} {.spec}{\"\\n\"}{end}")
}

// node is an object in the tree that Argo CD shows of an Application.
type node struct {
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	ParentRefs []struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"parentRefs"`
	Health *struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"health"`
}

// parent is what a node is shown below; empty at the top.
func (n node) parent() string {
	if len(n.ParentRefs) == 0 {
		return ""
	}
	return n.ParentRefs[0].Kind + "/" + n.ParentRefs[0].Name
}

// tree gives the nodes of the tree, by kind and name.
func (w *world) tree(t *testing.T) map[string]node {
	t.Helper()
	var tree struct {
		Nodes []node `json:"nodes"`
	}
	if err := json.Unmarshal([]byte(output(t, exec.CommandContext(t.Context(), w.argocd, "tree", w.redis, "fleet"))), &tree); err != nil {
		t.Fatal(err)
	}
	nodes := map[string]node{}
	for _, n := range tree.Nodes {
		nodes[n.Kind+"/"+n.Name] = n
	}
	return nodes
}

// degraded waits until a commit is synced and an object of it is shown as Degraded with some words, and gives the time that took.
func (w *world) degraded(t *testing.T, commit, object, words string) time.Duration {
	t.Helper()
	began := time.Now()
	w.refresh(t)
	w.becomes(t, commit, "Degraded")
	base.Eventually(t, object+" is shown as Degraded", func() error {
		n := w.tree(t)[object]
		if n.Health == nil || n.Health.Status != "Degraded" || !strings.Contains(n.Health.Message, words) {
			return fmt.Errorf("it is %+v; wanted Degraded with %q", n.Health, words)
		}
		return nil
	})
	return time.Since(began)
}
