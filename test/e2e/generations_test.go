package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
)

// boxesSeen collects a box as it changes.
func boxesSeen(ctx context.Context, name string) func() []*v1alpha1.OperatorBox {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	stream, err := watcher.Watch(ctx, &v1alpha1.OperatorBoxList{}, client.MatchingFields{"metadata.name": name})
	Expect(err).NotTo(HaveOccurred())
	var (
		mu   sync.Mutex
		all  []*v1alpha1.OperatorBox
		done = make(chan struct{})
	)
	go func() {
		defer close(done)
		for event := range stream.ResultChan() {
			if box, ok := event.Object.(*v1alpha1.OperatorBox); ok {
				mu.Lock()
				all = append(all, box)
				mu.Unlock()
			}
		}
	}()
	DeferCleanup(func() {
		stream.Stop()
		<-done
	})
	return func() []*v1alpha1.OperatorBox {
		mu.Lock()
		defer mu.Unlock()
		return append([]*v1alpha1.OperatorBox(nil), all...)
	}
}

// ofOneSpec checks that each status that was seen names the revision of the generation that it speaks of, and gives the last generation.
func ofOneSpec(g Gomega, seen []*v1alpha1.OperatorBox) int64 {
	revisions, last := map[int64]string{}, int64(0)
	for _, box := range seen {
		revisions[box.Generation] = boxspec.Revision(box)
		if s := box.Status; s.ObservedGeneration > 0 && s.Revision != "" {
			last = s.ObservedGeneration
			g.Expect(s.Revision).To(Equal(revisions[last]), "generation %d: %v", last, s.Conditions)
		}
	}
	return last
}

var _ = Describe("The status of a box that is edited", func() {
	It("names the revision of the generation that it speaks of", func(ctx context.Context) {
		w := newWorld(ctx)
		seen := boxesSeen(ctx, w.id)
		for i := range 10 {
			w.box(ctx, fmt.Sprintf(`{namespaces: {include: [%s, "a%d"]}, onReconcile: {configmaps: [{data: {a: "%d"}}]}}`, w.namespace, i/3, i))
			if i%2 == 0 {
				w.running(ctx, w.id)
			}
		}
		w.running(ctx, w.id)
		Eventually(func(g Gomega) { g.Expect(ofOneSpec(g, seen())).To(BeEquivalentTo(10)) }).WithContext(ctx).Should(Succeed())
	})

	It("never speaks of the CRD of before where the box defines it", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		spec := w.crd().Spec
		fields := spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
		seen := boxesSeen(ctx, w.id)
		for i := range 5 {
			name := fmt.Sprintf("added%d", i)
			fields[name] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			written, err := json.Marshal(spec)
			Expect(err).NotTo(HaveOccurred())
			w.box(ctx, `{crd: {definition: `+string(written)+`}, onReconcile: {configmaps: [{data: {a: "v{{ default 1 .spec.`+name+` }}"}}]}}`)
			w.running(ctx, w.id)
		}
		Eventually(func(g Gomega) { g.Expect(ofOneSpec(g, seen())).To(BeEquivalentTo(5)) }).WithContext(ctx).Should(Succeed())
		for _, box := range seen() {
			Expect(boxCondition(box, v1alpha1.ConditionCompiled)).To(Or(BeNil(), HaveField("Status", Not(Equal(metav1.ConditionFalse)))))
		}
	})
})
