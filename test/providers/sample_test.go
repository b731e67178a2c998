package providers

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ktypes "k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// sampleFile gives the objects of a file of the sample, those with a namespace in the namespace of the resource.
func sampleFile(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "config", "samples", "bucket", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(obj)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(obj.Object) > 0 {
			out = append(out, obj)
		}
	}
}

// TestSampleBucket is the life of config/samples/bucket. The servers on loopback stand for those of AWS: its box gets their address as endpoint.
func TestSampleBucket(t *testing.T) {
	g, p, f := gomega.NewWithT(t), newPlane(t), newFront(t)
	kube := p.kube
	crd, box, resource := sampleFile(t, "crd.yaml")[0], sampleFile(t, "box.yaml")[0], sampleFile(t, "resource.yaml")[0]
	resource.SetNamespace(metav1.NamespaceDefault)
	declared, _, err := unstructured.NestedSlice(box.Object, "spec", "providers", "aws")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(declared).To(gomega.HaveLen(2))
	for _, one := range declared {
		one.(map[string]any)["endpoint"] = f.URL
	}
	g.Expect(unstructured.SetNestedSlice(box.Object, declared, "spec", "providers", "aws")).To(gomega.Succeed())
	process := p.manager(t)
	apply := func(obj *unstructured.Unstructured) {
		t.Helper()
		g.Expect(kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj.DeepCopy()), client.FieldOwner("test"), client.ForceOwnership)).To(gomega.Succeed())
	}
	patch := func(obj client.Object, text string) {
		t.Helper()
		g.Expect(kube.Patch(t.Context(), obj, client.RawPatch(ktypes.MergePatchType, []byte(text)))).To(gomega.Succeed())
	}
	now := func(g gomega.Gomega) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(resource.GroupVersionKind())
		g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(resource), obj)).To(gomega.Succeed())
		return obj
	}
	settled := func() *unstructured.Unstructured {
		t.Helper()
		return p.settled(t, resource.DeepCopy())
	}
	running := func() *v1alpha1.OperatorBox {
		t.Helper()
		return p.running(t, box.GetName())
	}
	// expected compares what is in the cluster with what the sample says.
	expected := func() {
		t.Helper()
		for _, want := range sampleFile(t, "expected.yaml") {
			found := &corev1.ConfigMap{}
			g.Expect(want.GetKind()).To(gomega.Equal("ConfigMap"))
			eventually(t, func(g gomega.Gomega) {
				g.Expect(kube.Get(t.Context(), ktypes.NamespacedName{Namespace: metav1.NamespaceDefault, Name: want.GetName()}, found)).To(gomega.Succeed())
				data, _, _ := unstructured.NestedStringMap(want.Object, "data")
				g.Expect(found.Data).To(gomega.Equal(data))
			})
		}
	}
	versioning := func() types.BucketVersioningStatus {
		out, err := f.store.root.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: new("example-invoices")})
		g.Expect(err).NotTo(gomega.HaveOccurred())
		return out.Status
	}
	queue := func() map[string]string { return f.cloud.Queues()["eu-west-1/example-invoices-jobs"].Attributes }

	apply(crd)
	for _, role := range sampleFile(t, "clusterrole.yaml") {
		apply(role)
	}
	apply(box)
	needs := running().Status.RequiredRules
	for _, role := range sampleFile(t, "clusterrole.yaml") {
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		for _, rule := range rules {
			verbs, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "verbs")
			resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
			g.Expect(needs).To(gomega.ContainElement(gomega.And(gomega.HaveField("PolicyRule.Resources", gomega.ContainElement(resources[0])), gomega.HaveField("PolicyRule.Verbs", gomega.ContainElements(verbs)))))
		}
	}

	apply(resource)
	eventually(t, func(g gomega.Gomega) {
		for kind, status := range map[string]metav1.ConditionStatus{v1alpha1.ConditionReady: metav1.ConditionFalse, v1alpha1.ConditionReconciling: metav1.ConditionTrue} {
			g.Expect(condition(now(g), kind)).To(gomega.And(gomega.HaveField("Status", status), gomega.HaveField("Reason", v1alpha1.ReasonWaitingForProvider),
				gomega.HaveField("Message", gomega.ContainSubstring(`Secret "default/aws" does not exist`))))
		}
	})
	g.Expect(f.asked()).To(gomega.BeEmpty())
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "aws"}, StringData: map[string]string{"AWS_ACCESS_KEY_ID": rootKey, "AWS_SECRET_ACCESS_KEY": rootSecret}}
	g.Expect(kube.Create(t.Context(), credentials)).To(gomega.Succeed())
	shown := settled()
	expected()
	g.Expect(versioning()).To(gomega.Equal(types.BucketVersioningStatusEnabled))
	g.Expect(queue()).To(gomega.HaveKeyWithValue("VisibilityTimeout", "300"))
	g.Expect(f.store.tags(t, "example-invoices")).To(gomega.HaveKeyWithValue("filestore", "default/invoices"))
	g.Expect(shown.Object["status"]).To(gomega.And(gomega.HaveKeyWithValue("bucket", "arn:aws:s3:::example-invoices"), gomega.HaveKeyWithValue("queue", "arn:aws:sqs:eu-west-1:123456789012:example-invoices-jobs")))

	// An edit.
	patch(resource.DeepCopy(), `{"spec":{"jobMinutes":30}}`)
	settled()
	g.Expect(queue()).To(gomega.HaveKeyWithValue("VisibilityTimeout", "1800"))

	// What others change, in the cluster and outside.
	patch(box.DeepCopy(), `{"spec":{"resync":"1s"}}`)
	running()
	g.Expect(kube.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "invoices"}})).To(gomega.Succeed())
	_, err = f.store.root.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{Bucket: new("example-invoices"), VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusSuspended}})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	eventually(t, func(g gomega.Gomega) { g.Expect(versioning()).To(gomega.Equal(types.BucketVersioningStatusEnabled)) })
	expected()

	// Another process knows nothing, and makes nothing twice.
	process.end(syscall.SIGTERM)
	g.Expect(process.start()).To(gomega.Succeed())
	f.asked()
	eventually(t, func(g gomega.Gomega) { g.Expect(f.asked()).NotTo(gomega.BeEmpty()) })
	settled()
	g.Expect(f.store.buckets(t)).To(gomega.Equal([]string{"example-invoices"}))
	g.Expect(f.cloud.Queues()).To(gomega.HaveLen(1))

	// A bucket that holds files stays until they are gone.
	f.store.put(t, "example-invoices", "one")
	g.Expect(kube.Delete(t.Context(), resource.DeepCopy())).To(gomega.Succeed())
	eventually(t, func(g gomega.Gomega) {
		g.Expect(condition(now(g), v1alpha1.ConditionReady)).To(gomega.HaveField("Message", gomega.And(gomega.ContainSubstring("BucketNotEmpty"), gomega.ContainSubstring("bucket: aws/s3bucket (name example-invoices, region eu-west-1 at "+f.URL+"): "))))
	})
	g.Expect(f.cloud.Queues()).To(gomega.BeEmpty())
	f.store.empty(t, "example-invoices")
	eventually(t, func(g gomega.Gomega) {
		g.Expect(apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(resource), resource.DeepCopy()))).To(gomega.BeTrue())
	})
	g.Expect(f.store.buckets(t)).To(gomega.BeEmpty())
	g.Expect(kube.Delete(t.Context(), box.DeepCopy())).To(gomega.Succeed())
	eventually(t, func(g gomega.Gomega) {
		g.Expect(apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(box), box.DeepCopy()))).To(gomega.BeTrue())
	})
}
