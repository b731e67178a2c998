package providers

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/test/fixtures"
)

const roleARN = "arn:aws:iam::123456789012:role/shop"

// claims are what a token says.
type claims struct {
	Subject  string   `json:"sub"`
	Audience []string `json:"aud"`
	From     int64    `json:"iat"`
	Until    int64    `json:"exp"`
}

func claimsOf(token string) (c claims, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, os.ErrInvalid
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(text, &c)
}

// compiled waits for what a box's condition Compiled says.
func (w *place) compiled(t *testing.T, status metav1.ConditionStatus, text string) *v1alpha1.OperatorBox {
	t.Helper()
	var box *v1alpha1.OperatorBox
	eventually(t, func(g gomega.Gomega) {
		box = w.read(t, g)
		g.Expect(box.Status.ObservedGeneration).To(gomega.Equal(box.Generation))
		found := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionCompiled)
		g.Expect(found).To(gomega.And(gomega.HaveField("Status", status), gomega.HaveField("Message", gomega.ContainSubstring(text))), "%v", box.Status.Conditions)
	})
	return box
}

// A box that acts as an account makes a queue by the token of another account, which STS trusts, with no Secret anywhere.
func TestWebIdentityInACluster(t *testing.T) {
	g, w, f := gomega.NewWithT(t), newPlane(t).place(t), newFront(t)
	ctx := t.Context()
	w.manager(t, "--box-namespaces", w.id)
	var mu sync.Mutex
	var seen []claims
	f.cloud.Keys["ROLEKEY"] = true
	f.cloud.Trusts = func(token, role string) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		c, err := claimsOf(token)
		if err != nil || role != roleARN {
			return "", false
		}
		seen = append(seen, c)
		return "ROLEKEY", true
	}
	const body = `
providers:
  aws:
  - id: jobs
    sqsqueue: {name: "{{ .metadata.name }}-jobs", region: eu-west-1}
    credentials: {webIdentity: {serviceAccountName: cloud, roleARN: ` + roleARN + `}}
    endpoint: `
	rest := body + f.URL + "\nonReconcile:\n  configmaps: [{data: {queue: \"{{ .providers.jobs.url }}\"}}]\n"

	// A token gives all that its account may do: it counts as granting.
	w.declare(t, rest)
	w.compiled(t, metav1.ConditionFalse, "a token of a ServiceAccount grants its rights")

	for _, name := range []string{"cloud", "shop"} {
		g.Expect(w.kube.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.id, Name: name}})).To(gomega.Succeed())
	}
	spec := "serviceAccountRef: {namespace: " + w.id + ", name: shop}" + rest
	w.declare(t, spec)
	box := w.compiled(t, metav1.ConditionTrue, "")
	eventually(t, func(g gomega.Gomega) {
		box = w.read(t, g)
		g.Expect(box.Status.RequiredRules).To(gomega.ContainElement(gomega.HaveField("PolicyRule", rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{"cloud"}, Verbs: []string{"create"},
		})))
		ready := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionReady)
		g.Expect(ready).To(gomega.HaveField("Status", metav1.ConditionFalse), "the account has no rights yet")
	})

	// The command prints the roles, and they are enough.
	file := filepath.Join(t.TempDir(), "box.yaml")
	written, err := yaml.Marshal(map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "OperatorBox", "metadata": map[string]any{"name": w.id}, "spec": box.Spec})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(os.WriteFile(file, written, 0o600)).To(gomega.Succeed())
	crd := filepath.Join(t.TempDir(), "crd.yaml")
	definition := fixtures.Website(w.group()).CRD()
	definition.APIVersion, definition.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	written, err = yaml.Marshal(definition)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(os.WriteFile(crd, written, 0o600)).To(gomega.Succeed())
	command := exec.CommandContext(ctx, w.binary, "rbac", "-f", file, "--crd", crd)
	roles, err := command.Output()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = w.cluster.KubectlApply(ctx, string(roles))
	g.Expect(err).NotTo(gomega.HaveOccurred(), string(roles))
	w.box(t, spec)

	w.website(t, "web", "{}")
	w.settled(t, "web")
	g.Expect(f.cloud.Queues()).To(gomega.HaveKey("eu-west-1/web-jobs"))
	mu.Lock()
	tokens := seen
	mu.Unlock()
	g.Expect(tokens).NotTo(gomega.BeEmpty())
	for _, c := range tokens {
		g.Expect(c.Subject).To(gomega.Equal("system:serviceaccount:" + w.id + ":cloud"))
		g.Expect(c.Audience).To(gomega.ConsistOf("sts.amazonaws.com"))
		g.Expect(c.Until - c.From).To(gomega.BeEquivalentTo(600))
	}

	// Without the account there is no token: the resource stays until there is one again.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.id, Name: "cloud"}}
	g.Expect(w.kube.Delete(ctx, account)).To(gomega.Succeed())
	w.delete(t, "web")
	w.shows(t, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "jobs: aws/sqsqueue (name web-jobs, region eu-west-1 at "+f.URL+"): ", `asking for a token of ServiceAccount "cloud"`, "not found")
	g.Expect(f.cloud.Queues()).To(gomega.HaveLen(1))
	g.Expect(w.kube.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.id, Name: "cloud"}})).To(gomega.Succeed())
	w.vanished(t, "web")
	g.Expect(f.cloud.Queues()).To(gomega.BeEmpty())
}
