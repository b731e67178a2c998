package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// impersonating lets somebody act as an account of a namespace.
func impersonating(account string) rbacv1.PolicyRule {
	r := rule("", "impersonate", "serviceaccounts")
	r.ResourceNames = []string{account}
	return r
}

// collector is the garbage collector, as it is in every cluster.
const collector = "system:serviceaccount:kube-system:generic-garbage-collector"

var _ = Describe("Who writes a box", func() {
	var w *world
	var tenant *user
	var own, others string // what a box says of its account
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		tenant = w.tenant(ctx)
		own = `serviceAccountRef: {name: mine, namespace: ` + w.namespace + `}`
		others = `serviceAccountRef: {name: theirs, namespace: ` + w.namespace + `}`
	})
	operates := func(ctx context.Context) {
		GinkgoHelper()
		tenant.may(ctx, rule(w.group, "operate", "websites"))
	}
	owns := func(ctx context.Context) {
		GinkgoHelper()
		tenant.mayIn(ctx, w.namespace, impersonating("mine"))
	}
	// tried creates a box without storing it.
	tried := func(ctx context.Context, spec string) error {
		return tenant.client.Create(ctx, w.boxObject(w.id, "{"+spec+"}"), client.DryRunAll)
	}
	ref := func() *unstructured.Unstructured { return w.boxObject(w.id, "{}") }
	// theirs is a box of somebody else, suspended so that it makes nothing.
	theirs := func(ctx context.Context, account string) {
		GinkgoHelper()
		w.box(ctx, `{suspend: true, `+account+`}`)
		Eventually(func(g Gomega) { // the manager holds it, so that there is something to take off
			box := ref()
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(box), box)).To(Succeed())
			g.Expect(box.GetFinalizers()).NotTo(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
	}

	It("may act as the account that the box names", func(ctx context.Context) {
		operates(ctx)
		Expect(tried(ctx, own)).To(refusedBy("box-account", fmt.Sprintf(
			`the box names ServiceAccount %[1]s/mine, and %[1]s-tenant may not impersonate it: bind a role with the verb impersonate on that account`, w.id)))
		owns(ctx)
		Expect(tried(ctx, own)).To(Succeed())
		Expect(tried(ctx, others)).To(refusedBy("box-account", "ServiceAccount "+w.namespace+"/theirs"))
		Expect(tried(ctx, `serviceAccountRef: {name: mine, namespace: kube-system}`)).To(refusedBy("box-account", "ServiceAccount kube-system/mine"))
	})

	It("makes boxes of names that the author may change, and takes no name of somebody else", func(ctx context.Context) {
		operates(ctx)
		author := &user{name: w.id + "-author", client: as(w.id + "-author")}
		named := rule(v1alpha1.GroupName, "get update patch delete", "operatorboxes")
		named.ResourceNames = []string{w.id}
		author.may(ctx, rule(v1alpha1.GroupName, "create", "operatorboxes"), named, rule(w.group, "operate", "websites"))
		author.mayIn(ctx, w.namespace, impersonating("mine"))
		Expect(author.client.Create(ctx, w.boxObject(w.id+"-theirs", "{"+own+"}"), client.DryRunAll)).To(refusedBy("box-account",
			author.name+" may make boxes, and not one named "+w.id+"-theirs: bind a ClusterRole with the verb update on operatorboxes of orkestra.orkspace.io with that name"))
		Expect(author.client.Create(ctx, w.boxObject(w.id, "{"+own+"}"), client.DryRunAll)).To(Succeed())
	})

	It("may use the identity of the manager, where the box names no account", func(ctx context.Context) {
		operates(ctx)
		Expect(tried(ctx, "")).To(refusedBy("box-account",
			"the box names no account, so that it acts as the manager, and "+tenant.name+" may not use the identity of the manager: name an account in spec.serviceAccountRef"))
		tenant.may(ctx, rule(v1alpha1.GroupName, "use", "operatorboxes/manager-identity"))
		Expect(tried(ctx, "")).To(Succeed())
	})

	It("may act as the account that the box named before, too: nobody takes over a box, or ends it", func(ctx context.Context) {
		operates(ctx)
		owns(ctx)
		for _, account := range []string{"", others} {
			theirs(ctx, account)
			named := "until now the box names no account"
			if account != "" {
				named = "until now the box names ServiceAccount " + w.namespace + "/theirs"
			}
			By("repointing it")
			mine := `{"name":"mine","namespace":"` + w.namespace + `"}`
			Expect(tenant.merge(ctx, ref(), `{"spec":{"serviceAccountRef":`+mine+`}}`)).To(refusedBy("box-account", named))
			Expect(tenant.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(w.boxObject(w.id, "{suspend: true, "+own+"}")),
				client.FieldOwner("e2e"), client.ForceOwnership)).To(refusedBy("box-account", named))
			By("leaving the account, and changing what it does")
			Expect(tenant.merge(ctx, ref(), `{"spec":{"suspend":false}}`)).To(refusedBy("box-account", "box names "))
			By("deleting it, by name or among others")
			Expect(tenant.client.Delete(ctx, ref())).To(refusedBy("box-account", named))
			Expect(tenant.client.DeleteAllOf(ctx, ref())).To(refusedBy("box-account", ""))
			By("having it go by others: without what holds it, or as a dependent of what is gone")
			Expect(tenant.merge(ctx, ref(), `{"metadata":{"finalizers":null}}`)).To(refusedBy("box-account", "box names "))
			Expect(tenant.merge(ctx, ref(), `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone","uid":"gone"}]}}`)).
				To(refusedBy("box-account", "box names "))
			By("leaving all that alone")
			Expect(tenant.merge(ctx, ref(), `{"metadata":{"labels":{"team":"a"}}}`)).To(Succeed())
		}
	})

	It("who may act as its account changes and deletes it", func(ctx context.Context) {
		operates(ctx)
		owns(ctx)
		theirs(ctx, own)
		Expect(tenant.merge(ctx, ref(), `{"spec":{"workers":1}}`)).To(Succeed())
		Expect(tenant.merge(ctx, ref(), `{"spec":{"serviceAccountRef":null}}`)).To(refusedBy("box-account", "no account"), "that would be the manager")
		Expect(tenant.client.Delete(ctx, ref())).To(Succeed())
	})

	It("and the garbage collector, which deletes what others have decided about", func(ctx context.Context) {
		theirs(ctx, others)
		gc := &user{name: collector, client: as(collector)}
		gc.may(ctx, rule(w.group, "operate", "websites")) // so that just one policy refuses
		Expect(gc.merge(ctx, ref(), `{"metadata":{"finalizers":["orkestra.orkspace.io/cleanup","foregroundDeletion"]}}`, client.DryRunAll)).To(Succeed())
		Expect(gc.merge(ctx, ref(), `{"spec":{"workers":1}}`)).To(refusedBy("box-account", "theirs"), "its part is not the spec")
		Expect(gc.client.Delete(ctx, ref(), client.DryRunAll)).To(Succeed())
	})

	It("is not the manager, whose finalizers pass and whose other writes do not", func(ctx context.Context) {
		theirs(ctx, others)
		me := &user{name: managerAccount, client: as(managerAccount)}
		me.may(ctx, rule(v1alpha1.GroupName, "patch", "operatorboxes"), rule(w.group, "operate", "websites"))
		Expect(me.merge(ctx, ref(), `{"metadata":{"finalizers":["orkestra.orkspace.io/cleanup","e2e.test/other"]}}`, client.DryRunAll)).To(Succeed())
		Expect(me.merge(ctx, ref(), `{"spec":{"workers":1}}`)).To(refusedBy("box-account", "theirs"))
		boxed := &user{name: managerAccount, client: as(managerAccount, forBox("other"))}
		Expect(boxed.merge(ctx, ref(), `{"metadata":{"finalizers":["orkestra.orkspace.io/cleanup","e2e.test/other"]}}`)).
			To(refusedBy("box-account", "theirs"), "a box that uses the manager's account is no manager")
	})

	It("may operate the kind of others some of whose objects the box serves", func(ctx context.Context) {
		owns(ctx)
		tenant.may(ctx, rule("apps", "operate", "statefulsets"))
		kind := own + `, selector: {matchLabels: {serve: "yes"}}, crd: {apiVersion: apps/v1, kind: `
		Expect(tried(ctx, kind+`Deployment}`)).To(refusedBy("box-crd", "the box serves deployments.apps, and "+tenant.name+" may not operate it"))
		Expect(tried(ctx, kind+`Deployment, plural: statefulsets}`)).To(Succeed(), "and the manager refuses it: the plural is another")
		Expect(tried(ctx, kind+`StatefulSet}`)).To(Succeed())
	})

	It("may operate the resource that the box serves: nobody takes somebody's CRD", func(ctx context.Context) {
		owns(ctx)
		message := "the box serves websites." + w.group + ", and " + tenant.name + " may not operate it: bind a ClusterRole with the verb operate on that resource"
		Expect(tried(ctx, own)).To(refusedBy("box-crd", message))
		definition := own + `, crd: {definition: {group: ` + w.group + `, names: {plural: websites, kind: Website}, scope: Namespaced, versions: [{name: v1}]}}`
		Expect(tried(ctx, definition)).To(refusedBy("box-crd", message))

		By("a Role in a namespace, which is not enough: one box serves all of them")
		tenant.mayIn(ctx, w.namespace, rule(w.group, "operate", "websites"))
		Expect(tried(ctx, own)).To(refusedBy("box-crd", message))

		By("a ClusterRole")
		operates(ctx)
		Expect(tried(ctx, own)).To(Succeed())
		Expect(tried(ctx, definition)).To(Succeed())

		By("a box of their own that is led to somebody's CRD, and one of somebody's that is led away")
		defines := func(name, group string) *unstructured.Unstructured {
			return w.boxObject(name, `{suspend: true, crd: {definition: {group: `+group+`, names: {plural: websites}}}, `+own+`}`)
		}
		mine, other := defines(w.id+"-mine", w.group), defines(w.id+"-other", "other."+w.group)
		Expect(kube.Create(ctx, mine)).To(Succeed())
		Expect(kube.Create(ctx, other)).To(Succeed())
		Expect(tenant.merge(ctx, mine, `{"spec":{"crd":{"definition":{"group":"other.`+w.group+`"}}}}`)).To(refusedBy("box-crd", "the box serves websites.other."+w.group))
		Expect(tenant.merge(ctx, other, `{"spec":{"crd":{"definition":{"group":"`+w.group+`"}}}}`)).To(refusedBy("box-crd", "until now the box serves websites.other."+w.group))
	})

	It("may enforce rules on the resource that the box serves, to have the API server judge by them", func(ctx context.Context) {
		operates(ctx)
		owns(ctx)
		judged := own + `, admission: {validation: true}, validation: {rules: [{field: spec.replicas, operator: lte, value: "10"}]}`
		message := "spec.admission has the API server refuse resources of websites." + w.group + ", and " + tenant.name + " may not enforce rules on them"
		Expect(tried(ctx, judged)).To(refusedBy("box-account", message))
		theirs(ctx, judged)
		Expect(tenant.merge(ctx, ref(), `{"spec":{"validation":{"rules":[{"field":"spec.replicas","operator":"lte","value":"0"}]}}}`)).To(refusedBy("box-account", message))
		Expect(tenant.merge(ctx, ref(), `{"spec":{"admission":null}}`)).To(refusedBy("box-account", message))
		Expect(tenant.mark(ctx, ref(), "labels", "team", "a")).To(Succeed())

		tenant.may(ctx, rule(w.group, "enforce", "websites"))
		Expect(tried(ctx, judged)).To(MatchError(ContainSubstring("already exists")), "it is refused no more")
		Expect(tenant.merge(ctx, ref(), `{"spec":{"admission":null}}`)).To(Succeed())
	})

	It("may update boxes, and act as its account, to have it clean up or to confirm its account", func(ctx context.Context) {
		operates(ctx)
		owns(ctx)
		theirs(ctx, others)
		for _, annotation := range []string{v1alpha1.AnnotationCleanup, v1alpha1.AnnotationConfirmAccount} {
			Expect(tenant.mark(ctx, ref(), "annotations", annotation, "true")).To(refusedBy("box-annotations", "ServiceAccount "+w.namespace+"/theirs"))
			w.merge(ctx, ref(), `{"metadata":{"annotations":{"`+annotation+`":"x"}}}`)
			Expect(tenant.mark(ctx, ref(), "annotations", annotation, "")).To(refusedBy("box-annotations", "ServiceAccount "+w.namespace+"/theirs"))
		}

		By("somebody who may only patch")
		patcher := &user{name: w.id + "-patcher", client: as(w.id + "-patcher")}
		patcher.may(ctx, rule(v1alpha1.GroupName, "patch create", "operatorboxes"), rule(w.group, "operate", "websites"))
		patcher.mayIn(ctx, w.namespace, impersonating("theirs"))
		Expect(patcher.mark(ctx, ref(), "annotations", v1alpha1.AnnotationCleanup, "true")).
			To(refusedBy("box-annotations", patcher.name+" may not: bind a role with the verb update on operatorboxes"))
		created := w.boxObject(w.id+"-new", "{"+others+"}")
		created.SetAnnotations(map[string]string{v1alpha1.AnnotationCleanup: "true"})
		Expect(patcher.client.Create(ctx, created)).To(refusedBy("box-annotations", "may not"))

		By("somebody who may do both")
		patcher.may(ctx, rule(v1alpha1.GroupName, "update", "operatorboxes"))
		Expect(patcher.mark(ctx, ref(), "annotations", v1alpha1.AnnotationCleanup, "true")).To(Succeed())
	})

	It("is said on purpose: the admin of a namespace may not", func(ctx context.Context) {
		admin := &user{name: w.id + "-admin", client: as(w.id + "-admin")}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "admin"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: admin.name}},
		}
		Expect(kube.Create(ctx, binding)).To(Succeed())
		admin.can(ctx, w.namespace, []rbacv1.PolicyRule{rule("", "create", "configmaps")})
		Expect(admin.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}})).To(Succeed())
		Expect(admin.client.Create(ctx, w.boxObject(w.id, "{"+own+"}"))).To(MatchError(ContainSubstring(`cannot create resource "operatorboxes"`)))
	})
})
