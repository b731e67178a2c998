package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// recordings are objects in every state that the product shows. The module test/gitops runs the rules of other tools over them.
const recordings = "../gitops/testdata"

// scene brings the product into states, one after the other, and records each.
type scene struct {
	// records are the names of the recordings, without .yaml.
	records []string
	// play calls record once for each.
	play func(ctx context.Context, s *stage)
}

// stage is where a scene plays.
type stage struct {
	*world
	recorded []string
}

// record waits until an object is in a state, and compares it with its recording, or makes that where RECORD names a folder.
// The state is what summary gives of it.
func (s *stage) record(ctx context.Context, name string, obj client.Object, state string) {
	GinkgoHelper()
	By("recording " + name)
	s.recorded = append(s.recorded, name)
	kind, err := apiutil.GVKForObject(obj, scheme)
	Expect(err).NotTo(HaveOccurred())
	var live *unstructured.Unstructured
	Eventually(func(g Gomega) {
		live = &unstructured.Unstructured{}
		live.SetGroupVersionKind(kind)
		g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(obj), live)).To(Succeed())
		g.Expect(summary(live)).To(Equal(state), "%v", live.Object["status"])
	}).WithContext(ctx).Should(Succeed())
	if dir := os.Getenv("RECORD"); dir != "" {
		Expect(os.WriteFile(filepath.Join(dir, name+".yaml"), s.cleaned(live), 0o600)).To(Succeed())
		return
	}
	content, err := os.ReadFile(filepath.Join(recordings, name+".yaml"))
	Expect(err).NotTo(HaveOccurred())
	kept := &unstructured.Unstructured{}
	asJSON, err := yaml.YAMLToJSONStrict(content)
	Expect(err).NotTo(HaveOccurred())
	Expect(kept.UnmarshalJSON(asJSON)).To(Succeed())
	Expect(stateOf(kept)).To(Equal(stateOf(live)), "the recording is out of date; RECORD=../gitops/testdata makes it anew")
	Expect(kept.GetName()).To(Equal(renamed(s.id, live.GetName())))
}

// summary is the part of stateOf that a scene waits for: all but the conditions that boxes and CRDHealth have beyond resources.
func summary(obj *unstructured.Unstructured) string {
	wanted := []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionRolledBack}
	return strings.Join(slices.DeleteFunc(stateOf(obj), func(s string) bool {
		kind, _, isCondition := strings.Cut(s, "=")
		return isCondition && !slices.Contains(wanted, kind)
	}), ", ")
}

// stateOf is what tools decide by: whether the object is being deleted, what its status speaks of, its state, and its
// conditions with their reasons.
func stateOf(obj *unstructured.Unstructured) []string {
	var out []string
	if obj.GetDeletionTimestamp() != nil {
		out = append(out, "deleted")
	}
	observed, known, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	Expect(err).NotTo(HaveOccurred())
	switch {
	case !known:
		out = append(out, "silent")
	case observed < 0:
		out = append(out, "unseen")
	case observed != obj.GetGeneration():
		out = append(out, "behind")
	default:
		out = append(out, "observed")
	}
	if state, _, err := unstructured.NestedString(obj.Object, "status", "state"); err == nil && state != "" {
		out = append(out, state)
	}
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	Expect(err).NotTo(HaveOccurred())
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		out = append(out, fmt.Sprintf("%v=%v %v", m["type"], m["status"], m["reason"]))
	}
	return out
}

var (
	anyTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	anyUID     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	anyHash    = regexp.MustCompile(`\b(website[a-z-]*)-[0-9a-f]{10}\b`) // of revisions and snapshots
	anyDigest  = regexp.MustCompile(`\b[0-9a-f]{64}\b`)                  // of the same
	anyAddress = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// cleaned is an object as it is kept: without what differs from one recording to the next, and with names that people read.
func (s *stage) cleaned(obj *unstructured.Unstructured) []byte {
	GinkgoHelper()
	out := obj.DeepCopy()
	out.SetManagedFields(nil)
	out.SetResourceVersion("")
	out.SetUID("")
	content, err := yaml.Marshal(out.Object)
	Expect(err).NotTo(HaveOccurred())
	text := renamed(s.id, string(content))
	text = anyTime.ReplaceAllString(text, "2026-01-01T00:00:00Z")
	text = anyUID.ReplaceAllString(text, "00000000-0000-0000-0000-000000000000")
	text = anyDigest.ReplaceAllString(text, strings.Repeat("0", 64))
	text = anyAddress.ReplaceAllString(text, "10.0.0.1:443")
	return []byte(anyHash.ReplaceAllString(text, "$1-0000000000"))
}

// renamed gives a world's names as the recordings have them.
func renamed(id, text string) string {
	text = strings.ReplaceAll(text, id+".e2e.test", "demo.example.com")
	return strings.ReplaceAll(text, id, "website")
}

// scenes are all scenes, by their names.
func scenes() map[string]scene {
	all := maps.Clone(resourceScenes)
	maps.Copy(all, boxScenes)
	maps.Copy(all, recoveryScenes)
	return all
}

var _ = Describe("What other tools read", func() {
	for name, sc := range scenes() {
		It("is as it was recorded: "+name, func(ctx context.Context) {
			DeferCleanup(func() {
				if manager.cancel == nil { // a scene that failed while no manager ran
					manager = startManager(cluster.Config())
				}
			})
			s := &stage{}
			sc.play(ctx, s)
			Expect(s.recorded).To(ConsistOf(sc.records))
		})
	}

	It("is a patch for the ConfigMap of Argo CD, as its page says", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		Expect(kube.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "argocd-cm"}, Data: map[string]string{"url": "https://argocd.example.com"},
		})).To(Succeed())
		page, err := os.ReadFile("../../docs/how-to/argocd.md")
		Expect(err).NotTo(HaveOccurred())
		_, block, _ := strings.Cut(string(page), "```yaml\n")
		block, _, _ = strings.Cut(block, "```")
		file := filepath.Join(GinkgoT().TempDir(), "argocd-health.yaml")
		Expect(os.WriteFile(file, []byte(block), 0o600)).To(Succeed())
		_, err = cluster.Kubectl(ctx, "patch", "configmap", "argocd-cm", "--namespace", w.namespace, "--type", "merge", "--patch-file", file)
		Expect(err).NotTo(HaveOccurred())
		c := w.configMapOf(ctx, "argocd-cm")
		Expect(c.Data).To(HaveLen(4))
		Expect(c.Data).To(And(HaveKey("url"), HaveKeyWithValue("resource.customizations.health.orkestra.orkspace.io_CRDHealth",
			c.Data["resource.customizations.health.demo.example.com_Website"])))
	})

	It("is recorded in every state, and no recording is left over", func() {
		var wanted, found []string
		for _, sc := range scenes() {
			wanted = append(wanted, sc.records...)
		}
		files, err := filepath.Glob(filepath.Join(recordings, "*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		for _, file := range files {
			found = append(found, strings.TrimSuffix(filepath.Base(file), ".yaml"))
		}
		Expect(found).To(ConsistOf(wanted))
	})
})
