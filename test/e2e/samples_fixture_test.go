package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// samplesNamespace is where the namespaced objects of the samples go, as with a kubectl that is told nothing.
const samplesNamespace = metav1.NamespaceDefault

// life is one sample, applied to the cluster.
type life struct {
	sample

	crd, role, box *unstructured.Unstructured
	besides        []*unstructured.Unstructured // what resource.yaml holds in front of the resource
	resource       *unstructured.Unstructured   // as written
	expected       []*unstructured.Unstructured
}

// begin reads a sample, applies it, and sees to it that nothing stays.
func (s sample) begin(ctx context.Context) *life {
	GinkgoHelper()
	l := s.life(ctx)
	if l.role != nil {
		l.apply(ctx, l.role)
	}
	l.apply(ctx, l.box)
	l.begun(ctx)
	if l.role != nil {
		l.noMoreRights(ctx)
	}
	return l
}

// life reads a sample, applies its CRD, and sees to it that nothing stays.
func (s sample) life(ctx context.Context) *life {
	GinkgoHelper()
	l := &life{sample: s, box: s.read("box.yaml")[0]}
	if !s.bare {
		l.role = s.read("clusterrole.yaml")[0]
	}
	resources := s.read("resource.yaml")
	l.resource, l.besides = resources[len(resources)-1], resources[:len(resources)-1]
	DeferCleanup(l.end)
	if !s.others {
		l.crd = s.read("crd.yaml")[0]
		l.apply(ctx, l.crd)
		listed(ctx, l.resource.GroupVersionKind())
	}
	place(resources...)
	if s.prepare != nil {
		s.prepare(ctx, l)
	}
	return l
}

// listed waits until a kind is served, and until discovery says so, which the API server does a little later.
func listed(ctx context.Context, gvk schema.GroupVersionKind) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		_, err := kube.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kube.List(ctx, listOf(gvk))).To(Succeed())
	}).WithContext(ctx).Should(Succeed(), "%s is served", gvk.Kind)
}

// begun waits until the box runs, and applies the resource.
func (l *life) begun(ctx context.Context) {
	GinkgoHelper()
	l.running(ctx)
	l.apply(ctx, append(l.besides, l.resource)...)
	l.expected = l.read("expected.yaml")
	place(l.expected...)
	if l.help != nil {
		l.help(ctx, l)
	}
}

// noMoreRights checks that the sample's role gives nothing that its box does not need. That it gives enough is seen by the box at work.
func (l *life) noMoreRights(ctx context.Context) {
	GinkgoHelper()
	needed := map[string]bool{}
	for _, rule := range getBox(ctx, Default, l.box.GetName()).Status.RequiredRules {
		maps.Copy(needed, rights(rule.PolicyRule))
	}
	role := &rbacv1.ClusterRole{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(l.role.Object, role)).To(Succeed())
	for _, rule := range l.gives {
		maps.Copy(needed, rights(rule))
	}
	for _, rule := range role.Rules {
		if slices.Equal(rule.Verbs, []string{"bind"}) {
			Expect(rule.ResourceNames).NotTo(BeEmpty(), "bind is for roles by name")
			continue
		}
		for right := range rights(rule) {
			Expect(needed).To(HaveKey(right))
		}
	}
}

// rights are what a rule allows, one by one.
func rights(rule rbacv1.PolicyRule) map[string]bool {
	out := map[string]bool{}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				out[verb+" "+resource+"."+group] = true
			}
		}
	}
	return out
}

// end removes what a spec that failed has left, and what belongs to no life: CRD, role and Secrets of others.
func (l *life) end(ctx context.Context) {
	// The CRD and the namespaces are waited for, too: the next life of the sample would take one that is on its way out for its own.
	all := slices.Concat([]*unstructured.Unstructured{l.resource, l.box}, l.besides)
	if l.crd != nil {
		all = append(all, l.crd)
	}
	for _, o := range all {
		l.remove(ctx, o)
	}
	if l.role != nil {
		Expect(client.IgnoreNotFound(kube.Delete(ctx, l.role))).To(Succeed())
	}
}

// remove deletes an object and waits until it is gone.
func (l *life) remove(ctx context.Context, o *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(func() bool {
		err := kube.Delete(ctx, o.DeepCopy())
		return apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
	}).WithContext(ctx).Should(BeTrue(), "%s is gone", nameOf(o))
}

// read gives the objects of one of the sample's files.
func (s sample) read(file string) []*unstructured.Unstructured {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", s.folder, file))
	Expect(err).NotTo(HaveOccurred())
	for old, replacement := range s.replace {
		text = bytes.ReplaceAll(text, []byte(old), []byte(replacement))
	}
	var out []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(o)
		if errors.Is(err, io.EOF) {
			break
		}
		Expect(err).NotTo(HaveOccurred(), file)
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
	Expect(out).NotTo(BeEmpty(), file)
	return out
}

// place puts namespaced objects without a namespace where kubectl would.
func place(objects ...*unstructured.Unstructured) {
	GinkgoHelper()
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		mapping, err := kube.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		Expect(err).NotTo(HaveOccurred())
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace && o.GetNamespace() == "" {
			o.SetNamespace(samplesNamespace)
		}
	}
}

func (l *life) apply(ctx context.Context, objects ...*unstructured.Unstructured) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.FieldOwner("e2e"), client.ForceOwnership)).To(Succeed(), nameOf(o))
	}
}

// patch merges a patch into an object.
func (l *life) patch(ctx context.Context, o *unstructured.Unstructured, patch string) {
	GinkgoHelper()
	Expect(kube.Patch(ctx, o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed(), "%s: %s", nameOf(o), patch)
}

// running waits until the box's current spec is compiled and runs.
func (l *life) running(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		box := getBox(ctx, g, l.box.GetName())
		g.Expect(box.Status.ObservedGeneration).To(Equal(box.Generation))
		g.Expect(boxCondition(box, v1alpha1.ConditionReady)).To(HaveField("Status", metav1.ConditionTrue), "%v", box.Status.Conditions)
	}).WithContext(ctx).Should(Succeed())
}

// get reads an object as it is now.
func get(ctx context.Context, g Gomega, o *unstructured.Unstructured) *unstructured.Unstructured {
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(o.GroupVersionKind())
	g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(o), now)).To(Succeed(), nameOf(o))
	return now
}

// settled waits until the resource is Ready, nothing is under way, and all of that is said of its current generation. Of an object of others
// nothing is said but in the health of the box.
func (l *life) settled(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	var now *unstructured.Unstructured
	Eventually(func(g Gomega) {
		now = get(ctx, g, l.resource)
		if l.others {
			resources := getHealth(ctx, g, l.box.GetName()).Status.Resources
			g.Expect(resources.Total).To(BeEquivalentTo(1))
			g.Expect(resources.Ready).To(BeEquivalentTo(1))
			return
		}
		observed, _, err := unstructured.NestedInt64(now.Object, "status", "observedGeneration")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(observed).To(Equal(now.GetGeneration()))
		g.Expect(condition(now, v1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue), "%v", now.Object["status"])
		g.Expect(condition(now, v1alpha1.ConditionReconciling).Status).To(Equal(metav1.ConditionFalse), "%v", now.Object["status"])
	}).WithContext(ctx).Should(Succeed())
	return now
}

// children are all objects that carry the label of the resource, by kind and name.
func (l *life) children(ctx context.Context, g Gomega) map[string]*unstructured.Unstructured {
	out := map[string]*unstructured.Unstructured{}
	uid := string(get(ctx, g, l.resource).GetUID())
	for _, kind := range getBox(ctx, g, l.box.GetName()).Status.ManagedKinds {
		for _, o := range l.labeled(ctx, g, schema.GroupVersionKind(kind), uid) {
			out[nameOf(o)] = o
		}
	}
	return out
}

// labeled are the objects of a kind that carry the label of an owner.
func (l *life) labeled(ctx context.Context, g Gomega, gvk schema.GroupVersionKind, uid string) []*unstructured.Unstructured {
	list := listOf(gvk)
	err := kube.List(ctx, list, client.MatchingLabels{v1alpha1.LabelOwnerUID: uid})
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil // a kind that is optional, and not installed, or not any more
	}
	g.Expect(err).NotTo(HaveOccurred(), gvk.Kind)
	var out []*unstructured.Unstructured
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out
}

func listOf(gvk schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return list
}

// nameOf is the kind and name of an object, with the namespace where it is not that of the samples.
func nameOf(o *unstructured.Unstructured) string {
	if ns := o.GetNamespace(); ns != "" && ns != samplesNamespace {
		return o.GetKind() + "/" + ns + "/" + o.GetName()
	}
	return o.GetKind() + "/" + o.GetName()
}

// quiet checks that a second reconcile sends nothing. It is forced by an annotation that is an input, so that every stage is
// evaluated. A cycle in which a child's own status still moved is tried again.
func (l *life) quiet(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := l.settled(ctx)
		mark, before := manager.requests.mark(), manager.evaluations(g, l.box.GetName())
		l.patch(ctx, now, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationReconcileAt+`":"`+now.GetResourceVersion()+`"}}}`)
		Eventually(func(g Gomega) {
			g.Expect(manager.evaluations(g, l.box.GetName())).To(BeNumerically(">", before))
		}).WithContext(ctx).Should(Succeed())
		g.Expect(ofResources(manager.requests.since(mark, ""))).To(BeEmpty(), "requests of a cycle where nothing changed")
	}).WithContext(ctx).Should(Succeed())
}

// ofResources leaves out what is not sent for a resource: the status of boxes and their health, the question whether a kind is installed
// by now, and what becomes of the worlds of other specs.
func ofResources(all []request) []request {
	var out []request
	for _, r := range all {
		discovery := strings.HasPrefix(r.path, "/apis/") && strings.Count(r.path, "/") <= 3
		if !discovery && !strings.HasPrefix(r.path, "/apis/"+v1alpha1.GroupName+"/") && !strings.Contains(r.path, ".e2e.test/") {
			out = append(out, r)
		}
	}
	return out
}

// hostOf is the host and port of a URL.
func hostOf(address string) string {
	GinkgoHelper()
	u, err := url.Parse(address)
	Expect(err).NotTo(HaveOccurred())
	return u.Host
}

// replaceManagerByThatOf runs the manager that the module of a sample gives until the spec ends: built from it, in a process of its own.
func replaceManagerByThatOf(sample string) {
	GinkgoHelper()
	module := filepath.Join("..", "..", "config", "samples", sample, "manager")
	binary, err := filepath.Abs(filepath.Join(GinkgoT().TempDir(), sample+"-manager"))
	Expect(err).NotTo(HaveOccurred())
	Expect(run(module, "go", "build", "-o", binary, ".")).To(Succeed())

	manager.stop()
	DeferCleanup(func() { manager = startManager(cluster.Config()) })
	session, err := gexec.Start(exec.Command(binary, "manager", "--kubeconfig", cluster.Kubeconfig(), "--namespace", ownNamespace, "--leader-elect=false",
		"--metrics-bind-address", "0", "--health-probe-bind-address", freeAddress(), "--shutdown-timeout", "10s", "--log-format", "text"), GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Terminate().Wait(patience) })
}
