package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Hooks and providers, by which a tenant could try the same, do not exist yet.
var _ = Describe("A tenant who may write boxes and nothing else, and tries everything", Ordered, ContinueOnFailure, func() {
	var t *tenancy
	BeforeAll(func(ctx context.Context) { t = newTenancy(ctx) })
	AfterEach(func(ctx context.Context) {
		t.victimIsWell(ctx)
		t.cleared(ctx)
	})
	const stalled, isTrue = v1alpha1.ConditionStalled, metav1.ConditionTrue

	It("does what its account may", func(ctx context.Context) {
		t.runs(ctx, `onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}`)
		t.submits(ctx, "web", `{mode: x}`)
		t.hasData(ctx, "web", map[string]string{"a": "x"})
		t.settled(ctx, "web")
	})

	It("binds nobody to cluster-admin", func(ctx context.Context) {
		const escalates = "is attempting to grant RBAC permissions not currently held"
		all := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}
		subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: t.namespace, Name: "ada"}}
		By("by hand")
		Expect(t.tenant.client.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: t.id}, RoleRef: all, Subjects: subjects})).
			To(MatchError(ContainSubstring(`cannot create resource "clusterrolebindings" in API group "rbac.authorization.k8s.io" at the cluster scope`)))
		Expect(t.tenant.client.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "all"}, RoleRef: all, Subjects: subjects})).
			To(MatchError(ContainSubstring(escalates)))
		By("by a box that says it")
		const binding = `onReconcile: {rolebindings: [{name: all, roleRef: {kind: ClusterRole, name: %s}, subjects: [{kind: ServiceAccount, name: ada}]}]}`
		t.lacksRight(ctx, fmt.Sprintf(binding, "cluster-admin"), `bind clusterroles.rbac.authorization.k8s.io "cluster-admin" in namespace "`+t.namespace+`"`)
		t.lacksRight(ctx, `onReconcile: {resources: [{manifest: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding,
			metadata: {name: "{{ .metadata.namespace }}.all"}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: ada, namespace: OWN}]}}]}`,
			`create/delete/get/patch clusterrolebindings.rbac.authorization.k8s.io, bind clusterroles.rbac.authorization.k8s.io "cluster-admin"; show what grants it`)
		By("by a box that leaves the name to a resource")
		t.runs(ctx, fmt.Sprintf(binding, `"{{ .spec.mode }}"`))
		t.submits(ctx, "web", `{mode: cluster-admin}`)
		t.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError,
			`rolebindings.rbac.authorization.k8s.io "all" is forbidden: user "`+t.own.user()+`"`)
		t.absent(ctx, &rbacv1.RoleBinding{}, "all")
	})

	It("mounts nothing of the host where the namespace does not let Pods do that", func(ctx context.Context) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}
		t.merge(ctx, namespace, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}}`)
		DeferCleanup(func(ctx context.Context) {
			t.merge(ctx, namespace, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":null}}}`)
		})
		const refused = `violates PodSecurity "baseline:latest": hostPath volumes (volume "host")`
		By("by hand")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "host"}, Spec: onePod()}
		pod.Spec.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		Expect(t.tenant.client.Create(ctx, pod)).To(MatchError(ContainSubstring(refused)))
		By("by a Deployment of a box, which Kubernetes stores, and whose Pods it refuses")
		t.runs(ctx, `onReconcile: {deployments: [{image: "busybox:1", replicas: 1, volumes: [{name: host, hostPath: {path: /}}]}]}`)
		t.submits(ctx, "web", `{}`)
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			t.child(ctx, g, d, "web")
			g.Expect(d.Status.Conditions).To(ContainElement(And(HaveField("Type", appsv1.DeploymentReplicaFailure), HaveField("Message", ContainSubstring(refused)))))
		}).WithContext(ctx).Should(Succeed())
		pods := &corev1.PodList{}
		Expect(kube.List(ctx, pods, client.InNamespace(t.namespace))).To(Succeed())
		Expect(pods.Items).To(BeEmpty())
		By("letting the namespace be weaker")
		weaker := `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`
		Expect(t.tenant.merge(ctx, namespace, weaker)).To(MatchError(ContainSubstring(`cannot patch resource "namespaces"`)))
		t.lacksRight(ctx, `onReconcile: {resources: [{adopt: IfUnowned, manifest: {apiVersion: v1, kind: Namespace, metadata: {name: "{{ .metadata.namespace }}", labels: {pod-security.kubernetes.io/enforce: privileged}}}}]}`,
			`create/delete/get/patch namespaces`)
	})

	It("reads no Secret elsewhere", func(ctx context.Context) {
		Expect(t.tenant.client.Get(ctx, client.ObjectKey{Namespace: t.victim, Name: "canary"}, &corev1.Secret{})).
			To(MatchError(ContainSubstring(`cannot get resource "secrets" in API group "" in the namespace "` + t.victim + `"`)))
		const copies = `onReconcile: {configmaps: [{data: {a: '{{ get .cross.stolen.data "password" }}'}}]}`
		By("by cross")
		t.lacksRight(ctx, `cross: [{name: stolen, apiVersion: v1, kind: Secret, selector: {name: canary, namespace: VICTIM}}]`+"\n"+copies,
			`get secrets "canary" in namespace "VICTIM"`)
		By("by cross, where a resource says which one; the namespace does not let it in")
		t.runs(ctx, `cross: [{name: stolen, apiVersion: v1, kind: Secret, selector: {name: canary, namespace: "{{ .spec.host }}"}}]`+"\n"+copies)
		t.submits(ctx, "web", `{host: VICTIM}`)
		t.shows(ctx, "web", stalled, isTrue, v1alpha1.ReasonTemplateError,
			fmt.Sprintf(`cross: stolen: selector.namespace: namespace %q does not let resources of %q in: add %q to its annotation orkestra.orkspace.io/allow-from`, t.victim, t.namespace, t.namespace))
		By("by cross, where the namespace lets it in, and the account may not read")
		t.allow(ctx, t.victim, t.namespace)
		DeferCleanup(func(ctx context.Context) { t.allow(ctx, t.victim, "") })
		t.shows(ctx, "web", v1alpha1.ConditionReconciling, isTrue, v1alpha1.ReasonForbidden,
			fmt.Sprintf(`ServiceAccount %s/operator may not read Secret "%s/canary"`, t.namespace, t.victim))
		boxShows(ctx, t.id, v1alpha1.ConditionPermissionsGranted, metav1.ConditionFalse, v1alpha1.ReasonForbidden,
			fmt.Sprintf(`ServiceAccount %s/operator may not get secrets "canary" in namespace %q`, t.namespace, t.victim))
		By("by a child of its name")
		t.lacksRight(ctx, `onReconcile: {secrets: [{id: stolen, name: canary, namespace: VICTIM, adopt: IfUnowned}], configmaps: [{data: {a: "{{ .children.stolen.data.password }}"}}]}`,
			`create/delete/get/patch secrets in namespace "VICTIM"`)
		By("by a template")
		Expect(t.writes(ctx, t.own, `onReconcile: {configmaps: [{data: {a: '{{ lookup "v1" "Secret" "VICTIM" "canary" }}'}}]}`)).To(Succeed())
		boxShows(ctx, t.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed,
			`spec.onReconcile.configmaps[0].data.a: Invalid value: `)
		boxShows(ctx, t.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed,
			`function "lookup" reads what is outside the resource, which templates cannot do`)
		By("by a secretRef")
		t.lacksRight(ctx, `external: [{name: sent, url: "https://example.com", auth: {secretRef: {name: canary, namespace: VICTIM}}}]`+"\n"+
			`onReconcile: {configmaps: [{data: {a: "{{ .external.sent.status }}"}}]}`, `get secrets "canary" in namespace "VICTIM"`)

		By("looking for it where the tenant reads")
		maps := &corev1.ConfigMapList{}
		Expect(kube.List(ctx, maps, client.InNamespace(t.namespace))).To(Succeed())
		shown, err := json.Marshal([]any{maps.Items, getBox(ctx, Default, t.id), getHealth(ctx, Default, t.id), t.get(ctx, Default, "web")})
		Expect(err).NotTo(HaveOccurred())
		Expect(string(shown)).NotTo(ContainSubstring(theirPassword))
	})

	It("adopts nothing of somebody else", func(ctx context.Context) {
		controlled := t.configMap("web")
		controlled.Data = map[string]string{"a": "theirs"}
		owner := t.configMap("owner")
		Expect(kube.Create(ctx, owner)).To(Succeed())
		controlled.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: new(true)}}
		Expect(kube.Create(ctx, controlled)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(kube.Delete(ctx, controlled))).To(Succeed())
			Expect(client.IgnoreNotFound(kube.Delete(ctx, owner))).To(Succeed())
		})
		By("what a controller owns in its own namespace")
		t.runs(ctx, `onReconcile: {configmaps: [{adopt: IfUnowned, data: {a: mine}}]}`)
		t.submits(ctx, "web", `{}`)
		t.shows(ctx, "web", stalled, isTrue, v1alpha1.ReasonNotOwned, `ConfigMap "web" exists and is controlled by ConfigMap "owner": delete it, or declare another name`)
		t.untouched(ctx, controlled)
		By("what is in another")
		t.lacksRight(ctx, `onReconcile: {secrets: [{name: canary, namespace: VICTIM, adopt: IfUnowned, data: {password: mine}}]}`, `create/delete/get/patch secrets in namespace "VICTIM"`)
	})

	It("forges no label, owner reference, field manager, mark, snapshot or revision", func(ctx context.Context) {
		t.runs(ctx, `onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}`)
		t.submits(ctx, "web", `{mode: x}`)
		website := t.settled(ctx, "web")
		made := func(change func(*corev1.ConfigMap)) *corev1.ConfigMap {
			c := t.configMap("forged")
			change(c)
			return c
		}
		By("labels and annotations of Orkestra")
		Expect(t.tenant.client.Create(ctx, made(func(c *corev1.ConfigMap) {
			c.Labels = map[string]string{v1alpha1.LabelOwnerUID: string(website.GetUID())}
		}))).
			To(refusedBy("marks", "the label "+v1alpha1.LabelOwnerUID+" is set, changed and removed by boxes alone: leave it as it is"))
		Expect(t.tenant.client.Create(ctx, made(func(c *corev1.ConfigMap) { c.Annotations = map[string]string{v1alpha1.AnnotationApplied: "x"} }))).
			To(refusedBy("marks", "the annotation "+v1alpha1.AnnotationApplied+" is set, changed and removed by boxes alone: leave it as it is"))
		Expect(t.tenant.mark(ctx, t.ref("web"), "annotations", v1alpha1.AnnotationSnapshots, "forged")).To(refusedBy("marks", "the annotation "+v1alpha1.AnnotationSnapshots))
		Expect(t.tenant.mark(ctx, t.configMap("web"), "labels", v1alpha1.LabelBox, "")).To(refusedBy("marks", "the label "+v1alpha1.LabelBox))
		By("the names under which Orkestra owns fields")
		Expect(t.tenant.merge(ctx, t.configMap("web"), `{"data":{"a":"forged"}}`, client.FieldOwner(v1alpha1.FieldManager))).
			To(refusedBy("marks", "the field managers orkestra, orkestra-initial, orkestra-repair, orkestra-marks and orkestra-status are Orkestra's: take another name"))
		By("snapshots and revisions")
		for _, label := range []string{v1alpha1.LabelSnapshot, v1alpha1.LabelRevisionOf} {
			revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "forged"}, Revision: 1, Data: runtime.RawExtension{Raw: []byte(`{"a":"b"}`)}}
			Expect(kube.Create(ctx, revision.DeepCopy())).To(Succeed())
			marked := revision.DeepCopy()
			Expect(kube.Get(ctx, client.ObjectKeyFromObject(revision), marked)).To(Succeed())
			marked.Labels = map[string]string{label: t.id}
			Expect(t.tenant.client.Update(ctx, marked)).To(Or(refusedBy("revisions", "revisions of boxes and snapshots of resources are written by the manager alone"), refusedBy("marks", label)))
			Expect(kube.Delete(ctx, revision)).To(Succeed())
		}
		Expect(t.tenant.client.List(ctx, &appsv1.ControllerRevisionList{}, client.InNamespace(ownNamespace))).
			To(MatchError(ContainSubstring(`cannot list resource "controllerrevisions" in API group "apps" in the namespace "` + ownNamespace + `"`)))
		By("all of these by a box")
		for spec, text := range map[string]string{
			`onReconcile: {configmaps: [{labels: {orkestra.orkspace.io/owner-uid: x}}]}`:                                                                                 `spec.onReconcile.configmaps[0].labels[orkestra.orkspace.io/owner-uid]`,
			`onReconcile: {configmaps: [{annotations: {orkestra.orkspace.io/applied: x}}]}`:                                                                              `spec.onReconcile.configmaps[0].annotations[orkestra.orkspace.io/applied]`,
			`onReconcile: {resources: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, managedFields: [{manager: orkestra}]}}}]}`:                     `spec.onReconcile.resources[0].manifest.metadata.managedFields`,
			`onReconcile: {resources: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, ownerReferences: [{kind: Node, name: a, uid: b}]}}}]}`:         `spec.onReconcile.resources[0].manifest.metadata.ownerReferences`,
			`onReconcile: {resources: [{manifest: {apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: web, labels: {orkestra.orkspace.io/snapshot: x}}}}]}`: `labels[orkestra.orkspace.io/snapshot]`,
		} {
			Expect(t.writes(ctx, t.own, spec)).To(Succeed())
			boxShows(ctx, t.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, text)
		}
		By("an owner reference, which is free, and makes no child")
		bait := made(func(c *corev1.ConfigMap) {
			c.Name, c.OwnerReferences = "bait", []metav1.OwnerReference{{APIVersion: t.group + "/v1", Kind: "Website", Name: "web", UID: website.GetUID(), Controller: new(true)}}
		})
		Expect(t.tenant.client.Create(ctx, bait)).To(Succeed())
		t.runs(ctx, `onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}, {id: old, name: old, data: {a: b}}]}`)
		t.hasData(ctx, "old", map[string]string{"a": "b"})
		t.runs(ctx, `onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}`)
		t.gone(ctx, &corev1.ConfigMap{}, "old")
		t.untouched(ctx, bait)
	})

	It("serves no CRD of somebody else", func(ctx context.Context) {
		other := newWorld(ctx)
		message := "the box serves " + other.crdName() + ", and " + t.tenant.name + " may not operate it: bind a ClusterRole with the verb operate on that resource"
		Expect(t.writes(ctx, t.own, `crd: {name: `+other.crdName()+`}`)).To(refusedBy("box-crd", message))
		definition, err := json.Marshal(other.crd().Spec)
		Expect(err).NotTo(HaveOccurred())
		Expect(t.writes(ctx, t.own, `crd: {adopt: IfUnowned, definition: `+string(definition)+`}`)).To(refusedBy("box-crd", message))
		By("changing a box of its own to that")
		t.runs(ctx, `onReconcile: {configmaps: [{data: {a: b}}]}`)
		Expect(t.tenant.merge(ctx, t.boxObject(t.id, "{}"), `{"spec":{"crd":{"name":"`+other.crdName()+`"}}}`)).
			To(MatchError(ContainSubstring("spec.crd: Invalid value: name is immutable; make another box")))
	})

	It("names no account of somebody else, and not the manager's", func(ctx context.Context) {
		for _, a := range []account{
			t.theirs, {namespace: ownNamespace, name: "orkestra"}, {namespace: "kube-system", name: "clusterrole-aggregation-controller"}, {namespace: t.namespace, name: "default"},
		} {
			Expect(t.writes(ctx, a, `onReconcile: {configmaps: [{data: {a: b}}]}`)).To(refusedBy("box-account", fmt.Sprintf(
				"the box names ServiceAccount %s/%s, and %s may not impersonate it: bind a role with the verb impersonate on that account", a.namespace, a.name, t.tenant.name)))
		}
		Expect(t.tenant.client.Create(ctx, t.boxObject(t.id, `{}`))).To(refusedBy("box-account",
			"the box names no account, so that it acts as the manager, and "+t.tenant.name+" may not use the identity of the manager: name an account in spec.serviceAccountRef"))
		By("taking over a box of somebody else")
		t.boxNamed(ctx, t.id, "suspend: true\n"+t.theirs.ref())
		Expect(t.writes(ctx, t.own, ``)).To(refusedBy("box-account", "until now the box names ServiceAccount "+t.victim+"/operator"))
		Expect(t.tenant.client.Delete(ctx, t.boxObject(t.id, "{}"))).To(refusedBy("box-account", "until now the box names ServiceAccount "+t.victim+"/operator"))
	})

	It("does not outlive its account", func(ctx context.Context) {
		lent, take := t.lent(ctx, "former")
		const box = `onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}`
		Expect(t.writes(ctx, lent, box)).To(Succeed())
		t.running(ctx, t.id)
		former := actsAs(ctx, t.id, lent)
		t.submits(ctx, "web", `{mode: x}`)
		t.settled(ctx, "web")

		By("deleting the account")
		take()
		lent.remove(ctx)
		lacks(ctx, t.id, v1alpha1.ReasonAccountMissing, "ServiceAccount "+t.namespace+"/former does not exist, and nothing is written for the box")
		since := auditedUntilNow()
		t.submits(ctx, "web", `{mode: "y"}`)
		By("having the tenant make it again: bindings go by name")
		Expect(t.tenant.client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: lent.namespace, Name: lent.name}})).To(Succeed())
		lacks(ctx, t.id, v1alpha1.ReasonAccountChanged, `ServiceAccount `+t.namespace+`/former was deleted and made again: its UID was "`+string(former)+`"`)
		By("confirming it without the right to act as it")
		again := &corev1.ServiceAccount{}
		t.child(ctx, Default, again, lent.name)
		message := "ServiceAccount " + t.namespace + "/former, and " + t.tenant.name + " may not impersonate it"
		Expect(t.tenant.mark(ctx, t.boxObject(t.id, "{}"), "annotations", v1alpha1.AnnotationConfirmAccount, string(again.UID))).To(refusedBy("box-annotations", message))
		Expect(t.tenant.merge(ctx, t.boxObject(t.id, "{}"), `{"spec":{"serviceAccountRef":{"uid":"`+string(again.UID)+`"}}}`)).To(refusedBy("box-account", message))
		Expect(t.tenant.client.Status().Patch(ctx, t.boxObject(t.id, "{}"), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"serviceAccount":{"uid":"`+string(again.UID)+`"}}}`)))).
			To(MatchError(ContainSubstring(`cannot patch resource "operatorboxes/status"`)))
		Expect(t.ofBox(t.audited(since))).To(BeEmpty(), "requests for its resources")
		t.hasData(ctx, "web", map[string]string{"a": "x"})
	})

	It("does not go back to a revision with another account", func(ctx context.Context) {
		strong, take := t.lent(ctx, "strong", children("", "secrets"))
		const secrets = `onReconcile: {secrets: [{data: {a: "{{ .spec.mode }}"}}]}`
		Expect(t.writes(ctx, strong, secrets)).To(Succeed())
		t.running(ctx, t.id)
		first := getBox(ctx, Default, t.id).Status.Revision
		t.submits(ctx, "web", `{mode: x}`)
		t.settled(ctx, "web")
		t.saysEvent(ctx, t.namespace, "web", v1alpha1.ReasonReconciled, "") // it is sent behind everything else, as whom the cycle acted

		By("a spec that names the weaker account, and does not compile, so that the former revision goes on")
		Expect(t.writes(ctx, t.own, `onReconcile: {configmaps: [{data: {a: "{{ .spec.nothing }}"}}]}`)).To(Succeed())
		since := auditedUntilNow()
		boxShows(ctx, t.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "; revision "+first+" goes on")
		t.submits(ctx, "web", `{mode: "y"}`)
		t.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError,
			`User "`+t.own.user()+`" cannot patch resource "secrets" in API group "" in the namespace "`+t.namespace+`"`)
		secret := &corev1.Secret{}
		t.child(ctx, Default, secret, "web")
		Expect(secret.Data).To(Equal(map[string][]byte{"a": []byte("x")}))
		for _, e := range t.ofBox(t.audited(since)) {
			Expect(e.Impersonated).To(Or(BeNil(), HaveField("Username", t.own.user())), "%s", e)
		}
		By("the former spec, when the account is no longer the tenant's")
		take()
		Expect(t.writes(ctx, strong, secrets)).To(refusedBy("box-account", "the box names ServiceAccount "+t.namespace+"/strong, and "+t.tenant.name+" may not impersonate it"))
		Expect(t.tenant.client.DeleteAllOf(ctx, &appsv1.ControllerRevision{}, client.InNamespace(ownNamespace))).
			To(MatchError(ContainSubstring(`cannot deletecollection resource "controllerrevisions"`)))
		t.own.boundAs(ctx, "secrets", t.inOwn(children("", "secrets"))...) // so that all of it can go
	})

	It("reaches no internal host that another tenant may", func(ctx context.Context) {
		box := `external: [{name: quota, url: "` + t.inside + `/v1"}]` + "\n" + `onReconcile: {configmaps: [{data: {a: "{{ .external.quota.limit }}"}}]}`
		t.runs(ctx, box)
		t.submits(ctx, "web", `{}`)
		t.shows(ctx, "web", stalled, isTrue, v1alpha1.ReasonExternalFailed,
			`host "127.0.0.1" has an address that is not public (loopback); the operator of this cluster may allow it (--external-allow, or --egress-rules for this box or its account)`)
		t.absent(ctx, &corev1.ConfigMap{}, "web")
		Expect(t.writes(ctx, t.theirs, box)).To(refusedBy("box-account", "ServiceAccount "+t.victim+"/operator"))
	})

	It("lets nobody into a namespace", func(ctx context.Context) {
		grant := `{"metadata":{"annotations":{"` + v1alpha1.AnnotationAllowFrom + `":"*"}}}`
		victim := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.victim}}
		By("by hand")
		Expect(t.tenant.merge(ctx, victim.DeepCopy(), grant)).To(MatchError(ContainSubstring(`cannot patch resource "namespaces" in API group "" in the namespace "` + t.victim + `"`)))
		By("by hand, as somebody who may patch it")
		t.tenant.mayIn(ctx, t.victim, rule("", "patch", "namespaces"))
		Expect(t.tenant.merge(ctx, victim.DeepCopy(), grant)).To(refusedBy("grants",
			"orkestra.orkspace.io/allow-from is set by those who may update Namespace "+t.victim+", and "+t.tenant.name+" may not: bind a role with the verb update on that namespace"))
		By("by a box")
		Expect(t.writes(ctx, t.own, `onReconcile: {namespaces: [{name: VICTIM, adopt: IfUnowned, annotations: {orkestra.orkspace.io/allow-from: "*"}}]}`)).To(Succeed())
		boxShows(ctx, t.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.onReconcile.namespaces[0].annotations[orkestra.orkspace.io/allow-from]")
		boxShows(ctx, t.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "a box never says whom a namespace lets in")
		By("as its account, in the name of a box, which nobody but the manager may")
		Expect(t.asBox(ctx, victim.DeepCopy(), grant)).To(MatchError(ContainSubstring(`cannot impersonate resource "userextras/orkestra.orkspace.io/box"`)))
	})

	DescribeTable("writes nothing that its account may not write, by", func(ctx context.Context, spec string) {
		t.lacksRight(ctx, spec, `create/delete/get/patch secrets in namespace "VICTIM"`)
		t.lacksRight(ctx, `onReconcile: {configmaps: [{data: {a: b}}]}`+"\n"+spec, `create/delete/get/patch secrets in namespace "VICTIM"`)
	},
		Entry("initialFields", `onReconcile: {secrets: [{name: canary, namespace: VICTIM, adopt: IfUnowned, initialFields: [data.password], data: {password: mine}}]}`),
		Entry("Orphan", `onReconcile: {secrets: [{name: left, namespace: VICTIM, deletionPolicy: Orphan, data: {a: b}}]}`),
		Entry("onRollback", `rollback: {onRollback: {secrets: [{name: canary, namespace: VICTIM, adopt: IfUnowned, data: {password: mine}}]}}`),
		Entry("onDelete", `onDelete: {secrets: [{name: left, namespace: VICTIM, data: {a: b}}]}`),
		Entry("onCreate", `onCreate: {secrets: [{name: left, namespace: VICTIM, data: {a: b}}]}`),
	)

	It("writes nothing any more where the right was withdrawn: initialFields, Orphan and onDelete", func(ctx context.Context) {
		weak, _ := t.lent(ctx, "weak")
		weak.boundAs(ctx, "more", t.inOwn(children("", "secrets"))...)
		Expect(t.writes(ctx, weak, `onReconcile: {secrets: [{initialFields: [data.a], deletionPolicy: Orphan, labels: {mode: "{{ .spec.mode }}"}, data: {a: b}}]}
onDelete: {secrets: [{name: "{{ .metadata.name }}-bye", data: {a: b}}]}`)).To(Succeed())
		t.running(ctx, t.id)
		t.submits(ctx, "web", `{mode: x}`)
		t.settled(ctx, "web")
		secret := &corev1.Secret{}
		t.child(ctx, Default, secret, "web")
		Expect(kube.Delete(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "more-0"}})).To(Succeed())
		t.submits(ctx, "web", `{mode: "y"}`)
		forbidden := `User "` + weak.user() + `" cannot patch resource "secrets" in API group "" in the namespace "` + t.namespace + `"`
		t.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, forbidden)
		t.submits(ctx, "second", `{mode: x}`)
		t.shows(ctx, "second", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, forbidden)
		Expect(t.tenant.client.Delete(ctx, t.ref("web"))).To(Succeed())
		healthShows(ctx, t.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Failing).To(ContainElement(And(HaveField("Name", "web"), HaveField("Message", ContainSubstring(`resource "secrets" in API group "" in the namespace "`+t.namespace+`"`)))))
		})
		t.untouched(ctx, secret)
		t.absent(ctx, &corev1.Secret{}, "web-bye")
		t.absent(ctx, &corev1.Secret{}, "second")
		weak.boundAs(ctx, "again", t.inOwn(children("", "secrets"))...) // so that all of it can go
	})
})

// lent makes an account that the tenant may act as until it is taken away, with rights in the tenant's namespace.
func (t *tenancy) lent(ctx context.Context, name string, rules ...rbacv1.PolicyRule) (lent account, take func()) {
	GinkgoHelper()
	lent = account{namespace: t.namespace, name: name}
	lent.make(ctx)
	lent.bound(ctx, t.inOwn(append(append(t.usualRules(), children("", "configmaps")), rules...)...)...)
	made := metav1.ObjectMeta{Namespace: t.namespace, Name: "lent-" + name}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: made, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: made.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: t.namespace, Name: "ada"}},
	}
	role := &rbacv1.Role{ObjectMeta: made, Rules: []rbacv1.PolicyRule{impersonating(name)}}
	for _, obj := range []client.Object{role, binding} {
		Expect(kube.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed()) })
	}
	t.tenant.can(ctx, t.namespace, role.Rules)
	return lent, func() {
		GinkgoHelper()
		Expect(kube.Delete(ctx, binding)).To(Succeed())
		Eventually(func() error {
			_, err := cluster.Kubectl(ctx, "auth", "can-i", "impersonate", "serviceaccounts/"+name, "--as", t.tenant.name, "-n", t.namespace, "--quiet")
			return err
		}).WithContext(ctx).ShouldNot(Succeed())
	}
}
