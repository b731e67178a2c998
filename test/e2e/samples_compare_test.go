package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// asExpected checks that the children are those that somebody wrote by hand, on every field that is written there, after the
// API server has put both into its own form; and that there are no others.
func (l *life) asExpected(ctx context.Context) {
	GinkgoHelper()
	children := l.children(ctx, Default)
	var names []string
	for _, written := range l.expected {
		names = append(names, nameOf(written))
		child := children[nameOf(written)]
		Expect(child).NotTo(BeNil(), "%s is made", nameOf(written))
		normal := l.normal(ctx, written)
		Expect(differences(written.Object, normal.Object, child.Object, "")).To(BeEmpty(), nameOf(written))
	}
	Expect(slices.Collect(maps.Keys(children))).To(ConsistOf(names))
}

// normal is an object as the API server would store it.
func (l *life) normal(ctx context.Context, written *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	o := written.DeepCopy()
	o.SetName(written.GetName() + "-by-hand") // the name itself is taken
	Expect(kube.Create(ctx, o, client.DryRunAll)).To(Succeed(), nameOf(written))
	o.SetName(written.GetName())
	return o
}

// differences names the fields that are written and that a child does not have, or has with another value than the normal form.
func differences(written, normal, child any, at string) []string {
	switch w := written.(type) {
	case map[string]any:
		n, _ := normal.(map[string]any)
		c, isMap := child.(map[string]any)
		if !isMap {
			return []string{fmt.Sprintf("%s: written %v, made %v", at, written, child)}
		}
		var out []string
		for _, key := range slices.Sorted(maps.Keys(w)) {
			out = append(out, differences(w[key], n[key], c[key], at+"."+key)...)
		}
		return out
	case []any:
		n, _ := normal.([]any)
		c, isList := child.([]any)
		if !isList || len(c) != len(w) || len(n) != len(w) {
			return []string{fmt.Sprintf("%s: written %v, made %v", at, written, child)}
		}
		var out []string
		for i := range w {
			out = append(out, differences(w[i], n[i], c[i], fmt.Sprintf("%s[%d]", at, i))...)
		}
		return out
	default:
		if !reflect.DeepEqual(normal, child) {
			return []string{fmt.Sprintf("%s: written %v, made %v", at, written, child)}
		}
		return nil
	}
}

// content is an object without what the cluster does with it: what must be the same after a drift.
func content(o *unstructured.Unstructured) map[string]any {
	c := o.DeepCopy()
	for _, path := range [][]string{
		{"status"}, {"metadata", "managedFields"}, {"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "uid"},
		{"metadata", "creationTimestamp"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "healthCheckNodePort"},
		{"spec", "nodeName"},
	} {
		unstructured.RemoveNestedField(c.Object, path...)
	}
	if ports, ok, _ := unstructured.NestedSlice(c.Object, "spec", "ports"); ok && c.GetKind() == "Service" {
		for _, p := range ports {
			if port, isMap := p.(map[string]any); isMap {
				delete(port, "nodePort")
			}
		}
		Expect(unstructured.SetNestedSlice(c.Object, ports, "spec", "ports")).To(Succeed())
	}
	annotations := c.GetAnnotations()
	maps.DeleteFunc(annotations, func(name, _ string) bool {
		return name == "deployment.kubernetes.io/revision" || name == "deprecated.daemonset.template.generation"
	})
	c.SetAnnotations(annotations)
	return c.Object
}

// snapshot is the content of all children.
type snapshot map[string]map[string]any

func (l *life) snapshot(ctx context.Context, g Gomega) snapshot {
	out := snapshot{}
	for name, child := range l.children(ctx, g) {
		out[name] = content(child)
	}
	return out
}

// drift changes a field of each kind of child, to a value that no sample has.
var drift = map[string]func(o map[string]any){
	"AccessKey":               func(o map[string]any) { change(o, "drifted", "spec", "writeConnectionSecretToRef", "name") },
	"ClusterRole":             func(o map[string]any) { change(o, "drifted", "rules", 0, "verbs", 0) },
	"ClusterRoleBinding":      func(o map[string]any) { change(o, "drifted", "subjects", 0, "name") },
	"ConfigMap":               func(o map[string]any) { change(o, "drifted", "data", "") },
	"CronJob":                 func(o map[string]any) { change(o, "1 1 1 1 1", "spec", "schedule") },
	"DaemonSet":               func(o map[string]any) { change(o, "drifted:1", "spec", "template", "spec", "containers", 0, "image") },
	"Deployment":              func(o map[string]any) { change(o, "drifted:1", "spec", "template", "spec", "containers", 0, "image") },
	"HorizontalPodAutoscaler": func(o map[string]any) { change(o, int64(50), "spec", "maxReplicas") },
	"Ingress":                 func(o map[string]any) { change(o, "drifted.example.com", "spec", "rules", 0, "host") },
	"Job":                     func(o map[string]any) { change(o, "drifted", "metadata", "labels", "app.kubernetes.io/part-of") },
	"LimitRange":              func(o map[string]any) { change(o, "1Gi", "spec", "limits", 0, "default", "memory") },
	"Namespace": func(o map[string]any) {
		change(o, "privileged", "metadata", "labels", "pod-security.kubernetes.io/enforce")
	},
	"NetworkPolicy":         func(o map[string]any) { change(o, otherTypes(o), "spec", "policyTypes") },
	"Network":               func(o map[string]any) { change(o, "10.99.0.0/16", "spec", "cidr") },
	"PersistentVolumeClaim": func(o map[string]any) { change(o, "drifted", "metadata", "labels", "app.kubernetes.io/part-of") },
	"Pod":                   func(o map[string]any) { change(o, "drifted:1", "spec", "containers", 0, "image") },
	"PodDisruptionBudget":   func(o map[string]any) { change(o, int64(7), "spec", "maxUnavailable") },
	"PodMonitor":            func(o map[string]any) { change(o, "drifted", "spec", "podMetricsEndpoints", 0, "port") },
	"ResourceQuota":         func(o map[string]any) { change(o, "499", "spec", "hard", "pods") },
	"RoleBinding":           func(o map[string]any) { change(o, "mallory", "subjects", 0, "name") },
	"RouteTable":            func(o map[string]any) { change(o, []any{}, "spec", "subnetIDs") },
	"Secret":                func(o map[string]any) { change(o, "ZHJpZnRlZA==", "data", "") },
	"Service":               func(o map[string]any) { change(o, int64(9999), "spec", "ports", 0, "targetPort") },
	"ServiceAccount":        func(o map[string]any) { change(o, true, "automountServiceAccountToken") },
	"StatefulSet":           func(o map[string]any) { change(o, "drifted:1", "spec", "template", "spec", "containers", 0, "image") },
	"User":                  func(o map[string]any) { change(o, "drifted", "spec", "forProvider") },
	"Subnet":                func(o map[string]any) { change(o, "10.99.1.0/24", "spec", "cidr") },
}

// otherTypes are not the directions of a NetworkPolicy, but valid for one.
func otherTypes(policy map[string]any) []any {
	if reflect.DeepEqual(at(policy, "spec.policyTypes"), []any{"Ingress"}) {
		return []any{"Ingress", "Egress"}
	}
	return []any{"Ingress"}
}

// change sets what stands at a path, which must be there. The key "" is the first one.
func change(at any, value any, path ...any) {
	GinkgoHelper()
	switch step := path[0].(type) {
	case int:
		list, ok := at.([]any)
		Expect(ok && step < len(list)).To(BeTrue(), "%v has no element %d", at, step)
		if len(path) == 1 {
			list[step] = value
			return
		}
		change(list[step], value, path[1:]...)
	case string:
		object, ok := at.(map[string]any)
		if step == "" && ok && len(object) > 0 {
			step = slices.Min(slices.Collect(maps.Keys(object)))
		}
		Expect(ok).To(BeTrue(), "%v is no object", at)
		Expect(object).To(HaveKey(step))
		if len(path) == 1 {
			object[step] = value
			return
		}
		change(object[step], value, path[1:]...)
	}
}

// drifts changes every child by hand, and waits until all of it is undone. What was made once stays as it was changed.
func (l *life) drifts(ctx context.Context) {
	GinkgoHelper()
	before := l.snapshot(ctx, Default)
	for name, child := range l.children(ctx, Default) {
		if slices.Contains(l.once, name) {
			continue
		}
		do := drift[child.GetKind()]
		Expect(do).NotTo(BeNil(), "how does a %s drift?", child.GetKind())
		drifted := child.DeepCopy()
		do(drifted.Object)
		Expect(kube.Patch(ctx, drifted, client.MergeFrom(child))).To(Succeed(), name)
		Expect(content(drifted)).NotTo(Equal(before[name]), "the change of %s is a change", name)
	}
	Eventually(func(g Gomega) { g.Expect(l.snapshot(ctx, g)).To(Equal(before)) }).WithContext(ctx).Should(Succeed())
}

// remakes deletes a child and waits until it is made again.
func (l *life) remakes(ctx context.Context, name string) {
	GinkgoHelper()
	before := l.snapshot(ctx, Default)
	child := l.children(ctx, Default)[name]
	Expect(child).NotTo(BeNil(), name)
	Expect(kube.Delete(ctx, child.DeepCopy())).To(Succeed())
	Eventually(func(g Gomega) {
		again := l.children(ctx, g)[name]
		g.Expect(again).NotTo(BeNil())
		g.Expect(again.GetUID()).NotTo(Equal(child.GetUID()))
		g.Expect(l.snapshot(ctx, g)).To(Equal(before))
	}).WithContext(ctx).Should(Succeed())
}

// uids are those of all children.
func (l *life) uids(ctx context.Context, g Gomega) map[string]string {
	out := map[string]string{}
	for name, child := range l.children(ctx, g) {
		out[name] = string(child.GetUID())
	}
	return out
}

// left checks that nothing is left of the children but what should stay, and that this is nobody's any more.
func (l *life) left(ctx context.Context, uid string, kinds []v1alpha1.GroupVersionKind, children map[string]*unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		for _, kind := range kinds {
			g.Expect(l.labeled(ctx, g, schema.GroupVersionKind(kind), uid)).To(BeEmpty(), kind.Kind)
		}
	}).WithContext(ctx).Should(Succeed())
	for _, name := range l.stays {
		now := get(ctx, Default, children[name])
		Expect(now.GetUID()).To(Equal(children[name].GetUID()))
		Expect(now.GetDeletionTimestamp()).To(BeNil())
		Expect(now.GetOwnerReferences()).To(BeEmpty())
	}
}
