package e2e_test

import (
	"context"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// immovable are children of which a part can't be changed, by the resource that has them made.
var immovable = map[string]client.Object{"fixed": &corev1.ConfigMap{}, "chosen": &appsv1.Deployment{}, "ran": &batchv1.Job{}}

var _ = Describe("What Secrets, others and services hold", longest, func() {
	It("stands where a box puts it, and nowhere else, whatever fails", func(ctx context.Context) {
		h := &hunt{}
		canaries := map[string]*canary{}
		for _, from := range []string{"Secret", "ConfigMap", "answer"} {
			canaries[from], canaries[from+" number"] = somewhere("of the "+from), number("of the "+from+", a number")
		}
		canaries["token"], canaries["intruder"] = newCanary("of the credentials", utilrand.String(3*part)), somewhere("of somebody else who changes a child")
		h.canaries = slices.Collect(maps.Values(canaries))
		service := h.answering(canaries["answer"], canaries["answer number"])
		h.listen()

		plain, careful, ends, called, worded := newWorld(ctx), newWorld(ctx), newWorld(ctx), newWorld(ctx), newWorld(ctx)
		worlds := []*world{plain, careful, ends, called, worded}
		for _, w := range worlds {
			w.quoting(ctx)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "theirs"}, StringData: map[string]string{
				"value": canaries["Secret"].value, "number": canaries["Secret number"].value, "token": canaries["token"].value, "lines": canaries["token"].value + "\n" + canaries["token"].value,
			}}
			settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}, Data: map[string]string{
				"value": canaries["ConfigMap"].value, "number": canaries["ConfigMap number"].value,
			}}
			Expect(kube.Create(ctx, secret)).To(Succeed())
			Expect(kube.Create(ctx, settings)).To(Succeed())
			h.may(w, `object secrets NS/theirs \.data\.\w+`)
			h.may(w, `object configmaps NS/settings \.data\.\w+`)
			h.may(w, `object secrets NS/[a-z-]+-(own|drawn|kept) \.data\.\w+`)
			h.may(w, `body of PATCH /api/v1/namespaces/NS/secrets/[a-z-]+-(own|drawn|kept)`)
			h.may(w, `(URL|body) of PATCH /api/v1/namespaces/NS/configmaps/Kept \w+`) // a name that a template made of it
			h.may(w, `body of POST /api/v1/namespaces/NS/secrets`)
			h.may(w, `body of PATCH /(api/v1|apis/apps/v1)/namespaces/NS/(configmaps|services|deployments)/(secret|settings|answer|child|drawn)-[a-z]+-(child|type|structure)`)
			h.may(w, `object configmaps NS/[a-z-]+-ready-child \.data\.a`)
		}
		h.may(ends, `body of POST /api/v1/namespaces/NS/(configmaps|services)`) // what onDelete makes
		h.may(worded, `object configmaps NS/[a-z]+-copy \.(data\.\w+|metadata\.annotations\.copied)`)
		h.may(worded, `object (configmaps|deployments|replicasets|jobs) NS/(fixed-fixed|chosen-chosen(-\w+)?|ran-ran) \.(data|spec|metadata\.labels)\b.*`)
		h.may(worded, `body of PATCH /(api|apis/apps|apis/batch)/v1/namespaces/NS/(configmaps|deployments|jobs)/(fixed-fixed|chosen-chosen|ran-ran)`)
		h.may(worded, `body of POST /(api|apis/apps|apis/batch)/v1/namespaces/NS/(configmaps|deployments|jobs)`) // tried: would it be made again?
		h.may(worded, `body of PATCH /api/v1/namespaces/NS/configmaps/[a-z]+-copy`)

		By("making boxes")
		group := func(extra string, group string, froms, whats []string) (string, []string) {
			spec := unite(parsed(reads), parsed(extra))
			declared, _ := spec[group].(map[string]any)
			if declared == nil {
				declared = map[string]any{}
				spec[group] = declared
			}
			names := declares(declared, froms, whats)
			text, err := yaml.Marshal(spec)
			Expect(err).NotTo(HaveOccurred())
			return strings.ReplaceAll(string(text), "URL", service), names
		}
		all, each := slices.Sorted(maps.Keys(origins)), slices.Sorted(maps.Keys(misfits))
		text, wrong := group("resync: 10m", "onReconcile", all, each)
		plain.running(ctx, plain.box(ctx, text))
		text, _ = group("{resync: 10m, rollBackOnError: true}", "onReconcile", all, each)
		careful.running(ctx, careful.box(ctx, text))
		text, last := group("resync: 10m", "onDelete", []string{"child", "drawn"}, []string{"type", "structure", "label", "key", "json", "denied", "port"})
		ends.running(ctx, ends.box(ctx, text))
		called.running(ctx, called.box(ctx, strings.ReplaceAll(calls(), "URL", service)))
		worded.running(ctx, worded.box(ctx, strings.ReplaceAll(words, "URL", service)))

		By("making resources")
		var resources []*unstructured.Unstructured
		for _, w := range []*world{plain, careful} {
			for _, name := range wrong {
				resource := w.website(ctx, name, `{}`)
				if _, what, _ := strings.Cut(name, "-"); w == plain && slices.Contains([]string{"denied", "key", "name", "gate", "shape", "ready"}, what) {
					resources = append(resources, resource) // all others say the same to commands
				}
			}
			for _, name := range wrong {
				w.settled(ctx, name)
			}
		}
		for _, name := range last {
			resources = append(resources, ends.website(ctx, name, `{mode: `+name+`}`))
		}
		for name := range refusals {
			resources = append(resources, called.website(ctx, name, `{mode: `+name+`}`))
		}
		for _, name := range shown {
			resources = append(resources, worded.website(ctx, name, `{mode: `+name+`, image: a}`))
		}
		for _, name := range last {
			ends.settled(ctx, name)
		}

		DeferCleanup(func(ctx context.Context) {
			for _, name := range last {
				ends.annotate(ctx, name, v1alpha1.AnnotationSkipCleanup, "true")
			}
		})
		By("having them go wrong")
		for _, w := range []*world{plain, careful} {
			for _, name := range wrong {
				w.website(ctx, name, `{mode: `+name+`}`)
			}
		}
		for _, name := range last {
			Expect(kube.Delete(ctx, ends.ref(name))).To(Succeed())
		}
		goesWrong := func(w *world, name, says string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				obj := w.get(ctx, g, name)
				observed, _, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(observed).To(Equal(obj.GetGeneration()))
				ready, reconciling := condition(obj, v1alpha1.ConditionReady), condition(obj, v1alpha1.ConditionReconciling)
				g.Expect(ready.Status == metav1.ConditionFalse || reconciling.Status == metav1.ConditionTrue).To(BeTrue(), "%s", name)
				g.Expect(strings.ReplaceAll(ready.Message+reconciling.Message, "-", "")).To(ContainSubstring(says))
			}).WithContext(ctx).Should(Succeed(), "%s/%s", w.namespace, name)
		}
		for _, name := range wrong {
			goesWrong(plain, name, idOf(name))
			goesWrong(careful, name, idOf(name))
		}
		for _, name := range last {
			goesWrong(ends, name, idOf(name))
		}
		for name := range refusals {
			goesWrong(called, name, "external: "+name+": ")
		}
		for _, name := range shown {
			goesWrong(worded, name, "")
		}

		By("changing what can't be changed")
		for _, name := range []string{"fixed", "chosen", "ran"} {
			Eventually(func(g Gomega) {
				g.Expect(kube.Get(ctx, client.ObjectKey{Namespace: worded.namespace, Name: name + "-" + name}, immovable[name])).To(Succeed())
			}).WithContext(ctx).Should(Succeed())
			worded.website(ctx, name, `{mode: `+name+`, image: b}`)
		}
		for _, name := range []string{"fixed", "chosen"} {
			goesWrong(worded, name, "can't be changed")
		}
		goesWrong(worded, "ran", "")

		By("changing children")
		for _, obj := range []client.Object{
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: worded.namespace, Name: "print-copy"}, Data: map[string]string{"value": canaries["intruder"].value}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: worded.namespace, Name: "print-kept"}, StringData: map[string]string{"value": canaries["intruder"].value}},
		} {
			Expect(kube.Patch(ctx, obj, client.Merge)).To(Succeed())
		}

		for _, name := range []string{"print-copy", "print-kept"} {
			Eventually(func(g Gomega) {
				g.Expect(worded.eventsOf(ctx, g, "print")).To(ContainElement(And(HaveField("Reason", v1alpha1.ReasonPutBack), HaveField("Note", ContainSubstring(name)))))
			}).WithContext(ctx).Should(Succeed())
		}

		By("looking everywhere")
		h.draw(ctx, worlds)
		texts := slices.Concat(h.objects(ctx), h.said(Default), h.printed(ctx, worlds, resources))
		holding, found := h.look(texts)
		for from, c := range canaries {
			if !strings.HasSuffix(from, "number") && from != "intruder" {
				Expect(holding[c]).To(BeNumerically(">", 1), "the canary %s is found where it may be", c.from)
			}
		}
		Expect(strings.Join(found, "\n")).To(BeEmpty())
	}, NodeTimeout(patience*4))
})
