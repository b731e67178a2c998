package e2e_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/orkspace/orkestra/engine/discovery"
)

var _ = Describe("A watch of objects of any kind", func() {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	texts := map[string]string{
		"plain":  "a",
		"braces": `}},"object":{"kind":"Status"}`,
		"quoted": "\"\\\"\\\\\n\t\r\x00\u2028<&>",
		"wide":   "ü 🎻 \U0010ffff",
		"large":  strings.Repeat(`{"a":"}"}\`, 30_000),
		"json":   `{"type":"DELETED","object":{}}`,
	}

	It("tells just what client-go's own client tells", func(ctx context.Context) {
		w := newWorld(ctx)
		theirs, err := dynamic.NewForConfig(cluster.Config())
		Expect(err).NotTo(HaveOccurred())
		ours, err := discovery.NewClient(cluster.Config())
		Expect(err).NotTo(HaveOccurred())
		clients := []dynamic.Interface{theirs, ours}

		By("watching what is there, and what is made, changed and deleted then")
		first := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "first"}, Data: texts}
		Expect(kube.Create(ctx, first)).To(Succeed())
		var watches []watch.Interface
		for _, c := range clients {
			all := true
			stream, err := c.Resource(configMaps).Namespace(w.namespace).Watch(ctx, metav1.ListOptions{
				SendInitialEvents: &all, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
			})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(stream.Stop)
			watches = append(watches, stream)
		}
		for name, text := range texts {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, BinaryData: map[string][]byte{"b": []byte(text)}}
			Expect(kube.Create(ctx, obj)).To(Succeed())
			obj.Data = map[string]string{"text": text}
			Expect(kube.Update(ctx, obj)).To(Succeed())
			Expect(kube.Delete(ctx, obj)).To(Succeed())
		}
		Expect(kube.Delete(ctx, first)).To(Succeed())
		told := func(stream watch.Interface) (all []watch.Event) {
			GinkgoHelper()
			for event := (watch.Event{}); event.Type != watch.Deleted || event.Object.(metav1.Object).GetName() != "first"; {
				Eventually(stream.ResultChan()).WithContext(ctx).Should(Receive(&event))
				all = append(all, event)
			}
			return all
		}
		// A bookmark tells how far the API server is, which may differ between two watches, and so may how many there are.
		objects := func(all []watch.Event) (others []watch.Event, bookmark *unstructured.Unstructured) {
			for _, event := range all {
				if event.Type != watch.Bookmark {
					others = append(others, event)
				} else if bookmark == nil {
					bookmark, _ = event.Object.(*unstructured.Unstructured)
					bookmark.SetResourceVersion("")
				}
			}
			return others, bookmark
		}
		events, bookmark := objects(told(watches[0]))
		Expect(len(events)).To(BeNumerically(">=", 3*len(texts)+2), "Kubernetes makes a ConfigMap of its own in each namespace")
		Expect(bookmark).NotTo(BeNil(), "behind what was there")
		ourEvents, ourBookmark := objects(told(watches[1]))
		Expect(ourEvents).To(Equal(events))
		Expect(ourBookmark).To(Equal(bookmark))
	})
})
