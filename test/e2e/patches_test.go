package e2e_test

import (
	"context"
	"math/rand/v2"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Patches", func() {
	const patched = `
resync: 24h
onReconcile:
  patches:
  - id: url
    target: {apiVersion: v1, kind: ConfigMap, name: theirs}
    when: [{field: spec.mode, notEquals: "off"}]
    patch: {metadata: {labels: {team: "{{ .spec.mode }}"}}, data: {url: "http://{{ .metadata.name }}.{{ .spec.mode }}"}}
`

	It("set fields of what others own, keep them, and take them back with the gate, the declaration and the resource", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, patched))
		theirs := w.owned(ctx, "theirs", map[string]string{"own": "x"})
		w.website(ctx, "web", `{mode: x}`)
		w.hasData(ctx, "theirs", map[string]string{"own": "x", "url": "http://web.x"})
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
		manager0 := v1alpha1.PatchManager(w.get(ctx, Default, "web").GetUID(), "url")
		Expect(theirs.Labels).To(Equal(map[string]string{"team": "x"}), "no label of ours")
		Expect(theirs.OwnerReferences).To(BeEmpty())
		Expect(theirs.Annotations).To(BeEmpty())
		Expect(theirs.ManagedFields).To(ContainElement(And(HaveField("Manager", manager0), HaveField("Operation", metav1.ManagedFieldsOperationApply))))
		Expect(w.settled(ctx, "web").GetAnnotations()[v1alpha1.AnnotationPatches]).To(Equal(
			`[{"id":"url","apiVersion":"v1","kind":"ConfigMap","namespace":"` + w.namespace + `","name":"theirs"}]`))
		nothingSent(ctx, w, "web")

		By("changing what the patch reads")
		w.website(ctx, "web", `{mode: z}`)
		w.hasData(ctx, "theirs", map[string]string{"own": "x", "url": "http://web.z"})

		By("changing what the patch says nothing of, and taking its field away")
		w.merge(ctx, theirs, `{"data":{"own":"z","more":"m"}}`)
		w.merge(ctx, theirs, `{"data":{"url":null}}`)
		w.hasData(ctx, "theirs", map[string]string{"own": "z", "more": "m", "url": "http://web.z"})
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")

		By("closing the gate")
		w.website(ctx, "web", `{mode: "off"}`)
		w.hasData(ctx, "theirs", map[string]string{"own": "z", "more": "m"})
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationPatches))
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
			g.Expect(theirs.Labels).To(BeEmpty())
			g.Expect(theirs.ManagedFields).NotTo(ContainElement(HaveField("Manager", manager0)))
		}).WithContext(ctx).Should(Succeed())

		By("opening it, and taking the declaration out while no manager runs")
		w.website(ctx, "web", `{mode: z}`)
		w.hasData(ctx, "theirs", map[string]string{"own": "z", "more": "m", "url": "http://web.z"})
		w.settled(ctx, "web")
		manager.stop()
		w.box(ctx, `{resync: 24h, onReconcile: {configmaps: [{name: mine, data: {a: b}}]}}`)
		manager = startManager(cluster.Config())
		w.configMapOf(ctx, "mine")
		w.hasData(ctx, "theirs", map[string]string{"own": "z", "more": "m"})

		By("deleting the resource")
		w.running(ctx, w.box(ctx, patched))
		w.hasData(ctx, "theirs", map[string]string{"own": "z", "more": "m", "url": "http://web.z"})
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.gone(ctx, w.ref("web"), "web")
		w.hasData(ctx, "theirs", map[string]string{"own": "z", "more": "m"})
	})

	It("leave an object as it would be without them, whatever others have changed meanwhile", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  patches:
  - {id: p, target: {apiVersion: v1, kind: ConfigMap, name: theirs}, when: [{field: spec.mode, equals: "on"}], patch: {metadata: {labels: {b: p}}, data: {b: p, c: p}}}
`))
		seed := GinkgoRandomSeed()
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		names := []string{"theirs", "twin"}
		for _, name := range names {
			w.owned(ctx, name, map[string]string{"a": "x"})
		}
		keys := []string{"a", "b", "c", "d"}
		for round := range 12 {
			mode := []string{"on", "off"}[round%2]
			w.website(ctx, "web", `{mode: "`+mode+`"}`)
			for range 1 + random.IntN(4) {
				key, value := keys[random.IntN(len(keys))], []string{`null`, `"x"`, `"y"`}[random.IntN(3)]
				apply := random.IntN(3) == 0
				for _, name := range names {
					switch obj := w.configMap(name); {
					case apply && value != "null":
						change := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{key: strings.Trim(value, `"`)}}}
						change.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
						change.SetNamespace(w.namespace)
						change.SetName(name)
						Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(change), client.FieldOwner("applier"), client.ForceOwnership)).To(Succeed())
					default:
						w.merge(ctx, obj, `{"data":{"`+key+`":`+value+`},"metadata":{"labels":{"`+key+`":`+value+`}}}`)
					}
				}
			}
			if mode == "on" {
				continue
			}
			Eventually(func(g Gomega) {
				g.Expect(w.get(ctx, g, "web").GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationPatches))
				theirs, twin := &corev1.ConfigMap{}, &corev1.ConfigMap{}
				w.child(ctx, g, theirs, "theirs")
				w.child(ctx, g, twin, "twin")
				g.Expect(theirs.Data).To(Equal(twin.Data))
				g.Expect(theirs.Labels).To(Equal(twin.Labels))
			}).WithContext(ctx).Should(Succeed(), "seed %d, round %d", seed, round)
		}
	})

	It("go with a box that takes all it has made with it", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, patched))
		w.owned(ctx, "theirs", map[string]string{"own": "x"})
		w.website(ctx, "web", `{mode: x}`)
		w.hasData(ctx, "theirs", map[string]string{"own": "x", "url": "http://web.x"})
		w.settled(ctx, "web")
		box := getBox(ctx, Default, w.id)
		w.merge(ctx, box, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationCleanup+`":"true"}}}`)
		Expect(kube.Delete(ctx, box)).To(Succeed())
		w.hasData(ctx, "theirs", map[string]string{"own": "x"})
		Eventually(func(g Gomega) { g.Expect(w.get(ctx, g, "web").GetAnnotations()).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())
	})

	It("wait for their target, and are made anew for one that comes again", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, patched))
		w.website(ctx, "web", `{mode: x}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForTarget,
			`url: ConfigMap "`+w.namespace+`/theirs" does not exist`)
		w.absent(ctx, "theirs")
		theirs := w.owned(ctx, "theirs", nil)
		w.hasData(ctx, "theirs", map[string]string{"url": "http://web.x"})
		w.settled(ctx, "web")

		Expect(kube.Delete(ctx, theirs)).To(Succeed())
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForTarget, "does not exist")
		w.absent(ctx, "theirs")
		w.owned(ctx, "theirs", map[string]string{"new": "n"})
		w.hasData(ctx, "theirs", map[string]string{"new": "n", "url": "http://web.x"})
	})

	It("name who manages a field, and take it only where it is let go of", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, patched))
		theirs := w.owned(ctx, "theirs", map[string]string{"url": "mine"})
		w.website(ctx, "web", `{mode: x}`)
		w.website(ctx, "next", `{mode: "off"}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonConflict,
			`url: patching ConfigMap "theirs": "somebody" manages data.url; take the field out of the patch, or have the other manager let go of it`)
		Consistently(func(g Gomega) {
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
			g.Expect(theirs.Data).To(Equal(map[string]string{"url": "mine"}))
			g.Expect(theirs.Labels).To(BeEmpty(), "all of a patch, or nothing")
		}, "1s").WithContext(ctx).Should(Succeed())

		By("letting go of the field")
		w.merge(ctx, theirs, `{"data":null}`)
		w.hasData(ctx, "theirs", map[string]string{"url": "http://web.x"})
		w.settled(ctx, "web")

		By("patching the same field for another resource")
		w.website(ctx, "next", `{mode: x}`)
		w.shows(ctx, "next", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonConflict, `url: patching ConfigMap "theirs": the patch "url" of Website "`+w.namespace+`/web" (box "`+w.id+`") manages data.url`)
		w.website(ctx, "web", `{mode: "off"}`)
		w.hasData(ctx, "theirs", map[string]string{"url": "http://next.x"})
		w.settled(ctx, "next")
	})

	It("take what others hold where they are told to, and give it back with its former manager", func(ctx context.Context) {
		w := newWorld(ctx)
		const forced = `
resync: 24h
onReconcile:
  patches:
  - {id: url, force: true, target: {apiVersion: v1, kind: ConfigMap, name: theirs}, when: [{field: spec.mode, notEquals: "off"}], patch: {data: {url: "http://{{ .spec.mode }}", more: m}}}
`
		w.running(ctx, w.box(ctx, forced))
		theirs := w.owned(ctx, "theirs", map[string]string{"url": "former", "own": "x"})
		w.website(ctx, "web", `{mode: x}`)
		w.hasData(ctx, "theirs", map[string]string{"own": "x", "url": "http://x", "more": "m"})
		Expect(w.settled(ctx, "web").GetAnnotations()[v1alpha1.AnnotationPatches]).To(And(ContainSubstring(`"manager":"somebody"`), ContainSubstring(`"value":"former"`)))
		nothingSent(ctx, w, "web")

		By("changing another field, and what is set")
		w.merge(ctx, theirs, `{"data":{"own":"z"}}`)
		w.website(ctx, "web", `{mode: z}`)
		w.hasData(ctx, "theirs", map[string]string{"own": "z", "url": "http://z", "more": "m"})

		By("patching the same field for another resource")
		w.website(ctx, "next", `{mode: other}`)
		w.shows(ctx, "next", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonConflict, `the patch "url" of Website "`+w.namespace+`/web" (box "`+w.id+`") manages data.url`)
		Expect(kube.Delete(ctx, w.ref("next"))).To(Succeed())
		w.gone(ctx, w.ref("next"), "next")

		By("deleting the resource")
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.gone(ctx, w.ref("web"), "web")
		w.hasData(ctx, "theirs", map[string]string{"own": "z", "url": "former"})
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
		Expect(theirs.ManagedFields).To(ContainElement(And(HaveField("Manager", "somebody"), HaveField("Operation", metav1.ManagedFieldsOperationUpdate),
			HaveField("FieldsV1.Raw", ContainSubstring(`f:url`)))))
	})

	It("are refused for children of Orkestra, and for the resource itself", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  configmaps: [{name: "{{ .metadata.name }}", data: {a: b}}]
  patches:
  - {id: child, target: {apiVersion: v1, kind: ConfigMap, name: other}, when: [{field: spec.mode, equals: child}], patch: {data: {a: c}}}
`))
		w.website(ctx, "other", `{}`)
		w.configMapOf(ctx, "other")
		w.website(ctx, "web", `{mode: child}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned,
			`child: ConfigMap "`+w.namespace+`/other" is a child of "other", which box "`+w.id+`" makes`)
		w.hasData(ctx, "other", map[string]string{"a": "b"})
	})

	It("leave what the API server would give a value of its own, and say so", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  patches:
  - {id: paused, target: {apiVersion: apps/v1, kind: Deployment, name: theirs}, patch: {spec: {paused: true, progressDeadlineSeconds: 33}}}
`))
		Expect(w.applied(ctx, "somebody", `containers: [{name: main, image: nginx}]`)).To(Succeed()) // whose defaults nobody manages
		deployment := &appsv1.Deployment{}
		w.website(ctx, "web", `{}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, deployment, "theirs")
			g.Expect(deployment.Spec.Paused).To(BeTrue())
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.gone(ctx, w.ref("web"), "web")
		w.child(ctx, Default, deployment, "theirs")
		Expect(deployment.Spec.Paused).To(BeFalse(), "that one can go")
		Expect(*deployment.Spec.ProgressDeadlineSeconds).To(BeEquivalentTo(33))
		Expect(deployment.ManagedFields).NotTo(ContainElement(HaveField("Manager", HavePrefix("orkestra"))))
		w.told(ctx, "web", v1alpha1.ReasonPatchLeft, `paused: Deployment "`+w.namespace+`/theirs" keeps spec.progressDeadlineSeconds as it was set: `+
			`otherwise the API server would put in values of its own; no field manager has them any more`)
	})

	It("stand in nobody's way where they can't be taken back as a whole, and leave no more than has to stay", func(ctx context.Context) {
		w := newWorld(ctx)
		const proxy = `
resync: 24h
onReconcile:
  patches:
  - id: ID
    target: {apiVersion: apps/v1, kind: Deployment, name: theirs}
    patch: {spec: {template: {spec: {containers: [{name: proxy, image: "{{ .spec.mode }}", env: [{name: A, value: b}], ports: [{containerPort: 80, name: web}]}]}}}}
`
		const image = "spec.template.spec.containers[name=proxy].image"
		deployment := &appsv1.Deployment{}
		containers := func(names ...string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				w.child(ctx, g, deployment, "theirs")
				found := []string{}
				for _, c := range deployment.Spec.Template.Spec.Containers {
					found = append(found, c.Name+" "+c.Image)
				}
				g.Expect(found).To(ConsistOf(names))
			}).WithContext(ctx).Should(Succeed())
		}
		w.running(ctx, w.box(ctx, strings.ReplaceAll(proxy, "ID", "first")))
		Expect(w.applied(ctx, "somebody", `containers: [{name: main, image: nginx}]`)).To(Succeed())
		w.website(ctx, "web", `{mode: one}`)
		containers("main nginx", "proxy one")

		By("removing the owner's container, and the patch: a Deployment without a container is refused")
		Expect(w.applied(ctx, "somebody", `terminationGracePeriodSeconds: 30`)).To(Succeed())
		containers("proxy one")
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.gone(ctx, w.ref("web"), "web")
		containers("proxy one")
		Expect(deployment.Spec.Template.Spec.Containers[0].Env).To(BeEmpty())
		Expect(deployment.Spec.Template.Spec.Containers[0].Ports).To(BeEmpty())
		Expect(deployment.ManagedFields).NotTo(ContainElement(HaveField("Manager", HavePrefix("orkestra"))))
		w.told(ctx, "web", v1alpha1.ReasonPatchLeft, `first: Deployment "`+w.namespace+`/theirs" keeps `+image+` as it was set: otherwise the API server would refuse the object: `)

		By("patching the same fields by a new box")
		Expect(kube.Delete(ctx, getBox(ctx, Default, w.id))).To(Succeed())
		Eventually(func() error { return kube.Get(ctx, client.ObjectKey{Name: w.id}, &v1alpha1.OperatorBox{}) }).WithContext(ctx).Should(MatchError(apierrors.IsNotFound, "gone"))
		w.running(ctx, w.boxNamed(ctx, w.id+"-new", strings.ReplaceAll(proxy, "ID", "second")))
		w.website(ctx, "next", `{mode: two}`)
		containers("proxy two")
		w.settled(ctx, "next")
		Expect(kube.Delete(ctx, w.ref("next"))).To(Succeed())
		w.gone(ctx, w.ref("next"), "next")
		containers("proxy two")

		By("taking what was left over by an apply of somebody else, who then removes it")
		Expect(w.applied(ctx, "else", `containers: [{name: proxy, image: three}]`)).To(Succeed())
		containers("proxy three")
		Expect(w.applied(ctx, "else", `containers: [{name: main, image: nginx}]`)).To(Succeed())
		containers("main nginx")
	})

	It("keep the name of a container that they add to, until they go", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  patches:
  - id: env
    target: {apiVersion: apps/v1, kind: Deployment, name: theirs}
    when: [{field: spec.mode, notEquals: "off"}]
    patch: {spec: {template: {spec: {containers: [{name: main, env: [{name: A, value: b}]}]}}}}
`))
		Expect(w.applied(ctx, "somebody", `containers: [{name: main, image: nginx}]`)).To(Succeed())
		w.website(ctx, "web", `{mode: x}`)
		deployment := &appsv1.Deployment{}
		Eventually(func(g Gomega) {
			w.child(ctx, g, deployment, "theirs")
			g.Expect(deployment.Spec.Template.Spec.Containers[0].Env).To(HaveLen(1))
		}).WithContext(ctx).Should(Succeed())
		const renamed = `containers: [{name: renamed, image: nginx}]`
		Expect(w.applied(ctx, "somebody", renamed)).To(MatchError(ContainSubstring(`.image: Required value`)))

		By("closing the gate")
		w.website(ctx, "web", `{mode: "off"}`)
		Eventually(func(g Gomega) { g.Expect(w.applied(ctx, "somebody", renamed)).To(Succeed()) }).WithContext(ctx).Should(Succeed())
		w.child(ctx, Default, deployment, "theirs")
		Expect(deployment.Spec.Template.Spec.Containers).To(ConsistOf(HaveField("Name", "renamed")))
	})

	It("are refused where the box is applied by what is known of them", func(ctx context.Context) {
		w := newWorld(ctx)
		const target = `target: {apiVersion: v1, kind: ConfigMap, name: a}`
		for spec, text := range map[string]string{
			`{onCreate: {patches: [{T, patch: {data: {a: b}}}]}}`:                                                                       `spec.onCreate.patches: a patch stands as long as its declaration does`,
			`{onDelete: {patches: [{T, patch: {data: {a: b}}}]}}`:                                                                       `spec.onDelete.patches: a patch stands`,
			`{onReconcile: {patches: [{T, patch: {status: {a: b}}}]}}`:                                                                  `spec.onReconcile.patches[0].patch.status: not for a patch to set`,
			`{onReconcile: {patches: [{T, patch: {metadata: {finalizers: [a/b]}}}]}}`:                                                   `spec.onReconcile.patches[0].patch.metadata.finalizers: not for a patch to set`,
			`{onReconcile: {patches: [{T, patch: {metadata: {labels: {orkestra-owner: a}}}}]}}`:                                         `spec.onReconcile.patches[0].patch.metadata.labels`,
			`{onReconcile: {patches: [{T, patch: {dat: {a: b}}}]}}`:                                                                     `spec.onReconcile.patches[0].patch.dat: unknown field, did you mean "data"?`,
			`{onReconcile: {patches: [{target: {apiVersion: v1, kind: Secret, name: a}, patch: {data: {a: Yg==}}, force: true}]}}`:      `spec.onReconcile.patches[0].force: the former values of what is taken are kept in an annotation`,
			`{onReconcile: {configmaps: [{data: {a: b}, force: true}]}}`:                                                                `spec.onReconcile.configmaps[0].force: unknown field`,
			`{onReconcile: {patches: [{T, patch: {data: {a: b}}, once: true}]}}`:                                                        `spec.onReconcile.patches[0].once: it says how a child is made`,
			`{onReconcile: {patches: [{T, patch: {data: {a: b}}}, {T, patch: {data: {c: d}}}]}}`:                                        `spec.onReconcile.patches[1]: Duplicate value`,
			`{onReconcile: {patches: [{target: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, name: a}, patch: {rules: []}}]}}`: `Role grants rights`,
		} {
			box := w.box(ctx, strings.ReplaceAll(spec, "T,", target+","))
			boxShows(ctx, box, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, text)
		}
	})
})

// owned makes a ConfigMap that somebody else owns.
func (w *world) owned(ctx context.Context, name string, data map[string]string) *corev1.ConfigMap {
	GinkgoHelper()
	obj := w.configMap(name)
	obj.Data = data
	Expect(kube.Create(ctx, obj, client.FieldOwner("somebody"))).To(Succeed())
	return obj
}

// applied applies a Deployment as somebody else does, with what its Pods are to be; nothing is taken from others.
func (w *world) applied(ctx context.Context, manager, pod string) error {
	GinkgoHelper()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	Expect(yaml.Unmarshal([]byte(`spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {`+pod+`}}}`), &obj.Object)).To(Succeed())
	obj.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	obj.SetNamespace(w.namespace)
	obj.SetName("theirs")
	return kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(manager))
}
