package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// ofBox are the requests that a box makes for its resources: whatever changes something of them and their children, and what is read of
// them one by one.
func (w *world) ofBox(all []auditEvent) []auditEvent {
	return slices.DeleteFunc(all, func(e auditEvent) bool {
		if e.Verb == "list" || e.Verb == "watch" || e.ObjectRef.APIGroup == v1alpha1.GroupName {
			return true
		}
		return e.ObjectRef.Namespace != w.namespace && e.ObjectRef.APIGroup != w.group
	})
}

// actedAs checks as whom requests of the world's box were made.
func (w *world) actedAs(all []auditEvent, a account, uid types.UID) {
	GinkgoHelper()
	for _, e := range all {
		Expect(e.Impersonated).NotTo(BeNil(), "%s", e)
		Expect(e.Impersonated.Username).To(Equal(a.user()), "%s", e)
		Expect(e.Impersonated.UID).To(BeEquivalentTo(uid), "%s", e)
		Expect(e.Impersonated.Extra).To(Equal(map[string][]string{"orkestra.orkspace.io/box": {w.id}}), "%s", e)
	}
}

// actsAs waits until a box has pinned its account, and gives the UID.
func actsAs(ctx context.Context, box string, a account) types.UID {
	GinkgoHelper()
	var pinned *v1alpha1.ServiceAccountStatus
	Eventually(func(g Gomega) {
		pinned = getBox(ctx, g, box).Status.ServiceAccount
		g.Expect(pinned).To(And(HaveField("Name", a.name), HaveField("Namespace", a.namespace)))
	}).WithContext(ctx).Should(Succeed())
	return pinned.UID
}

// lacks waits until a box says that it can't act as its account.
func lacks(ctx context.Context, box, reason, text string) {
	GinkgoHelper()
	for _, kind := range []string{v1alpha1.ConditionPermissionsGranted, v1alpha1.ConditionReady} {
		boxShows(ctx, box, kind, metav1.ConditionFalse, reason, text)
	}
}

var _ = Describe("A box with an account", func() {
	It("makes, corrects, marks, shows and deletes as that account, and tells events as that account", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.account(ctx, children("", "configmaps"))
		since := auditedUntilNow()
		w.running(ctx, w.box(ctx, a.ref()+`onReconcile: {configmaps: [{deletionPolicy: Orphan, data: {a: "{{ .spec.mode }}"}}, {id: second, name: second, data: {a: b}}]}`))
		uid := actsAs(ctx, w.id, a)
		w.website(ctx, "web", `{mode: x}`)
		w.settled(ctx, "web")

		By("changing a child, and a declaration")
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		c.Data["a"] = "somebody else's"
		Expect(kube.Update(ctx, c)).To(Succeed())
		Eventually(func(g Gomega) {
			w.child(ctx, g, c, "web")
			g.Expect(c.Data).To(HaveKeyWithValue("a", "x"))
		}).WithContext(ctx).Should(Succeed())
		w.box(ctx, a.ref()+`onReconcile: {configmaps: [{deletionPolicy: Orphan, data: {a: "{{ .spec.mode }}"}}]}`)
		w.gone(ctx, c, "second")

		By("deleting the resource")
		w.removed(ctx, "web")
		w.child(ctx, Default, c, "web")
		Expect(c.Labels).NotTo(HaveKey(v1alpha1.LabelOwnerUID), "it was let go")

		var all []auditEvent
		Eventually(func(g Gomega) {
			all = w.ofBox(w.audited(since))
			verbs := map[string]bool{}
			for _, e := range all {
				verbs[e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource] = true
			}
			g.Expect(verbs).To(And(HaveKey("patch configmaps/"), HaveKey("delete configmaps/"), HaveKey("patch websites/"),
				HaveKey("patch websites/status"), HaveKey("create events/")))
		}).WithContext(ctx).Should(Succeed())
		w.actedAs(all, a, uid)
	})

	It("costs no request more than one without, and none where nothing has changed", func(ctx context.Context) {
		const spec = `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-a", data: {a: "{{ .spec.mode }}"}}, {name: "{{ .metadata.name }}-b", data: {a: b}}]}`
		plain, w := newWorld(ctx), newWorld(ctx)
		plain.running(ctx, plain.box(ctx, spec))
		a := w.account(ctx, children("", "configmaps"))
		w.running(ctx, w.box(ctx, a.ref()+spec))
		costs := func(w *world) []string {
			mark := manager.requests.mark()
			w.website(ctx, "web", `{mode: x}`)
			w.settled(ctx, "web")
			return w.spent(mark)
		}
		Expect(costs(w)).To(ConsistOf(costs(plain)))
		nothingSent(ctx, w, "web")
	})

	It("does what its account may, beside another with another account", func(ctx context.Context) {
		first, second := newWorld(ctx), newWorld(ctx)
		rights := append(second.usualRules(), children("", "configmaps"))
		a, b := first.account(ctx, children("", "configmaps")), second.account(ctx, children("", "configmaps"))
		const works = "resync: 2s\n" + `onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}`
		since := auditedUntilNow()
		for w, as := range map[*world]account{first: a, second: b} {
			w.running(ctx, w.box(ctx, as.ref()+works))
			w.website(ctx, "web", `{mode: x}`)
			w.settled(ctx, "web")
		}
		By("taking a right away")
		b.grant(ctx, second.usualRules()...)
		for _, w := range []*world{first, second} {
			w.website(ctx, "web", `{mode: "y"}`)
		}
		first.hasData(ctx, "web", map[string]string{"a": "y"})
		Eventually(func(g Gomega) {
			g.Expect(condition(second.get(ctx, g, "web"), v1alpha1.ConditionReady)).To(And(HaveField("Status", metav1.ConditionFalse),
				HaveField("Message", ContainSubstring(`User "`+b.user()+`" cannot patch resource "configmaps"`))))
		}).WithContext(ctx).Should(Succeed())
		By("giving it back")
		b.grant(ctx, rights...)
		second.hasData(ctx, "web", map[string]string{"a": "y"})
		second.settled(ctx, "web")
		first.actedAs(first.ofBox(first.audited(since)), a, actsAs(ctx, first.id, a))
		second.actedAs(second.ofBox(second.audited(since)), b, actsAs(ctx, second.id, b))
	})

	It("writes nothing while its account is gone, and nothing as one that was made again until somebody confirms it", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.account(ctx, children("", "configmaps"))
		w.running(ctx, w.box(ctx, a.ref()+`onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}`))
		w.website(ctx, "web", `{mode: x}`)
		w.settled(ctx, "web")
		former := actsAs(ctx, w.id, a)

		By("deleting the account")
		a.remove(ctx)
		lacks(ctx, w.id, v1alpha1.ReasonAccountMissing, "ServiceAccount "+a.namespace+"/"+a.name+" does not exist")
		since := auditedUntilNow()
		w.website(ctx, "web", `{mode: "y"}`)
		w.website(ctx, "another", `{mode: z}`)
		By("making it again")
		uid := a.make(ctx)
		lacks(ctx, w.id, v1alpha1.ReasonAccountChanged, `its UID was "`+string(former)+`" and is "`+string(uid)+`" now`)
		Expect(w.ofBox(w.audited(since))).To(BeEmpty(), "requests for its resources")
		By("confirming it")
		w.merge(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}},
			`{"metadata":{"annotations":{"`+v1alpha1.AnnotationConfirmAccount+`":"`+string(uid)+`"}}}`)
		w.hasData(ctx, "web", map[string]string{"a": "y"})
		w.hasData(ctx, "another", map[string]string{"a": "z"})
		w.settled(ctx, "web")
		w.running(ctx, w.id)
		Expect(actsAs(ctx, w.id, a)).To(Equal(uid))
		w.actedAs(w.ofBox(w.audited(since)), a, uid)

		By("naming another account, and the first one again")
		b := w.account(ctx, children("", "configmaps"))
		w.box(ctx, b.ref()+`onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}`)
		w.running(ctx, w.id)
		other := actsAs(ctx, w.id, b)
		since = auditedUntilNow()
		w.website(ctx, "web", `{mode: other}`)
		w.hasData(ctx, "web", map[string]string{"a": "other"})
		w.settled(ctx, "web")
		w.actedAs(w.ofBox(w.audited(since)), b, other)
	})

	It("lets go without its account: the manager deletes what is marked, and the rest waits and is named", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.account(ctx, children("", "configmaps"))
		w.running(ctx, w.box(ctx, a.ref()+`
finalizers: [example.com/held]
onReconcile: {configmaps: [{data: {a: b}}, {id: kept, name: "{{ .metadata.name }}-kept", deletionPolicy: Orphan, data: {a: b}}]}
onDelete: {configmaps: [{name: "{{ .metadata.name }}-bye", data: {a: b}}]}`))
		for _, name := range []string{"web", "second"} {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
		a.remove(ctx)
		lacks(ctx, w.id, v1alpha1.ReasonAccountMissing, "does not exist")
		since := auditedUntilNow()
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Failing).To(ContainElement(And(HaveField("Name", "web"), HaveField("Message", And(
				HavePrefix(`waiting for the account, or for the annotation orkestra.orkspace.io/skip-cleanup: "true", with onDelete, letting ConfigMap "web-kept" go, taking off the finalizers example.com/held; `),
				ContainSubstring("ServiceAccount "+a.namespace+"/"+a.name))))))
		})
		Expect(w.ofBox(w.audited(since))).To(BeEmpty())

		By("skipping what waits")
		w.annotate(ctx, "web", v1alpha1.AnnotationSkipCleanup, "true")
		c := &corev1.ConfigMap{}
		w.gone(ctx, c, "web")
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").GetFinalizers()).To(Equal([]string{"example.com/held"}), "that of others stays")
		}).WithContext(ctx).Should(Succeed())
		w.child(ctx, Default, c, "web-kept")
		Expect(apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "web-bye"}, c))).To(BeTrue())
		w.merge(ctx, w.ref("web"), `{"metadata":{"finalizers":null}}`)
		var did []string
		for _, e := range w.ofBox(w.audited(since)) {
			Expect(e.Impersonated).To(BeNil(), "%s: nobody acts as an account that is gone", e)
			if e.ResponseStatus.Code == http.StatusConflict {
				continue // this spec writes the resource as well, and the manager tries again
			}
			did = append(did, e.Verb+" "+e.ObjectRef.Resource+" "+e.ObjectRef.Name)
		}
		Expect(did).To(ConsistOf("delete configmaps web", "patch websites web"))

		By("deleting the box")
		Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}})).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: w.id}, &v1alpha1.OperatorBox{}))
		}).WithContext(ctx).Should(BeTrue())
		Expect(w.get(ctx, Default, "second").GetFinalizers()).To(Equal([]string{"example.com/held"}))
		w.child(ctx, Default, c, "second")
		w.merge(ctx, w.ref("second"), `{"metadata":{"finalizers":null}}`)
	})

	It("installs and deletes the CRD that it defines as that account, and says whose right is missing", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		definition, err := json.Marshal(w.crd().Spec)
		Expect(err).NotTo(HaveOccurred())
		a := w.account(ctx, children("", "configmaps"), may(w.group, "websites", "delete"))
		since := auditedUntilNow()
		w.box(ctx, a.ref()+`crd: {deletionPolicy: Delete, definition: `+string(definition)+`}`)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonForbidden,
			`ServiceAccount `+a.namespace+"/"+a.name+` may not create/delete/patch customresourcedefinitions.apiextensions.k8s.io "`+w.crdName()+`"`)
		a.grant(ctx, append(w.usualRules(), children("", "configmaps"), may(w.group, "websites", "delete"),
			may("apiextensions.k8s.io", "customresourcedefinitions", "get", "create", "patch", "delete"))...)
		w.running(ctx, w.id)
		uid := actsAs(ctx, w.id, a)
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}})).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: w.crdName()}, w.crd()))
		}).WithContext(ctx).Should(BeTrue())
		all := slices.DeleteFunc(w.audited(since), func(e auditEvent) bool {
			return !e.writes() || e.ObjectRef.APIGroup != "apiextensions.k8s.io" && e.ObjectRef.APIGroup != w.group
		})
		w.actedAs(all, a, uid)
		Expect(all).To(ContainElement(And(HaveField("Verb", "delete"), HaveField("ObjectRef.Resource", "customresourcedefinitions"))))
		Expect(all).To(ContainElement(And(HaveField("Verb", "delete"), HaveField("ObjectRef.Resource", "websites"))))
	})

	It("keeps its CRD and its resources while its account is gone", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		definition, err := json.Marshal(w.crd().Spec)
		Expect(err).NotTo(HaveOccurred())
		a := w.account(ctx, may("apiextensions.k8s.io", "customresourcedefinitions", "get", "create", "patch", "delete"), may(w.group, "websites", "delete"))
		w.box(ctx, a.ref()+`crd: {deletionPolicy: Delete, definition: `+string(definition)+`}`)
		w.running(ctx, w.id)
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		a.remove(ctx)
		lacks(ctx, w.id, v1alpha1.ReasonAccountMissing, "does not exist")
		since := auditedUntilNow()
		Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}})).To(Succeed())
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked,
			"its resources and their CRD are deleted as its account: ServiceAccount "+a.namespace+"/"+a.name+" does not exist")
		Expect(w.get(ctx, Default, "web").GetDeletionTimestamp()).To(BeNil())
		Expect(w.ofBox(w.audited(since))).To(BeEmpty())
		w.merge(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}, `{"spec":{"crd":{"deletionPolicy":"Retain"}}}`)
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: w.id}, &v1alpha1.OperatorBox{}))
		}).WithContext(ctx).Should(BeTrue())
		Expect(w.get(ctx, Default, "web").GetFinalizers()).To(BeEmpty())
	})

	It("goes without its account where its CRD was never installed, or is not its own", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		definition, err := json.Marshal(w.crd().Spec)
		Expect(err).NotTo(HaveOccurred())
		a := w.account(ctx) // without a right on CRDs
		gone := func() {
			GinkgoHelper()
			Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}})).To(Succeed())
			boxGone(ctx, w.id)
		}
		w.box(ctx, a.ref()+`crd: {deletionPolicy: Delete, definition: `+string(definition)+`}`)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonForbidden, "customresourcedefinitions")
		a.remove(ctx)
		lacks(ctx, w.id, v1alpha1.ReasonAccountMissing, "does not exist")
		gone()

		By("with a CRD that somebody else made")
		Expect(kube.Create(ctx, w.crd())).To(Succeed())
		w.waitEstablished(ctx)
		w.box(ctx, a.ref()+`crd: {deletionPolicy: Delete, definition: `+string(definition)+`}`)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDNotOwned, "this box did not make it")
		gone()
		live := w.crd()
		Expect(kube.Get(ctx, types.NamespacedName{Name: live.Name}, live)).To(Succeed())
		Expect(live.DeletionTimestamp).To(BeNil())
	})

	It("may use no account of another namespace", func(ctx context.Context) {
		w := newWorld(ctx)
		a := newAccount(ctx, w.namespace, w.id, w.usualRules()...)
		since := auditedUntilNow()
		w.box(ctx, a.ref()+`onReconcile: {configmaps: [{data: {a: b}}]}`)
		w.website(ctx, "web", `{}`)
		lacks(ctx, w.id, v1alpha1.ReasonAccountNotAllowed, `spec.serviceAccountRef.namespace: wanted a namespace whose accounts boxes may use (`+ownNamespace+`), found "`+w.namespace+`"`)
		Expect(w.ofBox(w.audited(since))).To(BeEmpty())
	})

	It("may not use the manager's own, whoever wrote it", func(ctx context.Context) {
		w := newWorld(ctx)
		me := newAccount(ctx, ownNamespace, w.id+"-manager", may("*", "*", "*"))
		replaceManager(func(s *settings) { s.config.Impersonate.UserName = me.user() })
		since := auditedUntilNow()
		w.box(ctx, me.ref()+`onReconcile: {configmaps: [{data: {a: b}}]}`) // by the administrator, whom no policy refuses
		w.website(ctx, "web", `{}`)
		lacks(ctx, w.id, v1alpha1.ReasonAccountNotAllowed, "spec.serviceAccountRef: wanted an account that is for boxes, found ServiceAccount "+
			me.namespace+"/"+me.name+", which is the manager's own: a box that acts as it has all rights of the manager; make an account for the box, and name that")
		Expect(w.ofBox(w.audited(since))).To(BeEmpty())
	})
})

var _ = Describe("A manager that demands accounts", func() {
	It("runs no box without one, and lets the accounts of all its namespaces be used", func(ctx context.Context) {
		w, named := newWorld(ctx), newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}}`))
		w.website(ctx, "web", `{mode: x}`)
		w.settled(ctx, "web")
		manager.stop()
		manager = startManager(cluster.Config(), func(s *settings) {
			s.orkestra.RequireServiceAccount, s.orkestra.BoxNamespaces = true, []string{ownNamespace, named.namespace}
		})
		DeferCleanup(func() {
			manager.stop()
			manager = startManager(cluster.Config())
		})
		lacks(ctx, w.id, v1alpha1.ReasonAccountRequired, "the manager runs with --require-service-account")
		since := auditedUntilNow()
		w.website(ctx, "web", `{mode: "y"}`)
		a := newAccount(ctx, named.namespace, named.id, append(named.usualRules(), children("", "configmaps"))...)
		named.running(ctx, named.box(ctx, a.ref()+`onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}`))
		named.website(ctx, "web", `{mode: z}`)
		named.settled(ctx, "web")
		Expect(w.ofBox(w.audited(since))).To(BeEmpty())
		Expect(client.IgnoreNotFound(kube.Delete(ctx, w.ref("web")))).To(Succeed())
		w.vanished(ctx, "web")
	})
})
