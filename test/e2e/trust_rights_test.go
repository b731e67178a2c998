package e2e_test

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"path"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
)

// bound gives an account exactly these rules: in the namespaces that each names, by Roles, else by a ClusterRole.
func (a account) bound(ctx context.Context, rules ...v1alpha1.RequiredRule) {
	GinkgoHelper()
	a.boundAs(ctx, a.name, rules...)
}

// boundAs is bound with roles of another name.
func (a account) boundAs(ctx context.Context, name string, rules ...v1alpha1.RequiredRule) {
	GinkgoHelper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.namespace, Name: a.name}}
	for i, rule := range rules {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i)}
		var objects []client.Object
		for _, namespace := range rule.Namespaces {
			meta.Namespace = namespace
			objects = append(objects, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule.PolicyRule}},
				&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}})
		}
		if len(rule.Namespaces) == 0 {
			objects = append(objects, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule.PolicyRule}},
				&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}})
		}
		for _, obj := range objects {
			Expect(kube.Create(ctx, obj)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed()) })
		}
	}
}

// bare makes an account without any right.
func bare(ctx context.Context, prefix string) account {
	GinkgoHelper()
	a := account{namespace: ownNamespace, name: prefix + "-" + rand.String(6)}
	a.make(ctx)
	return a
}

// requires waits until a box says that rights are missing, and gives those that it needs.
func requires(ctx context.Context, box string, a account) []v1alpha1.RequiredRule {
	GinkgoHelper()
	var rules []v1alpha1.RequiredRule
	Eventually(func(g Gomega) {
		now := getBox(ctx, g, box)
		g.Expect(boxCondition(now, v1alpha1.ConditionPermissionsGranted)).To(And(HaveField("Status", metav1.ConditionFalse),
			HaveField("Reason", v1alpha1.ReasonForbidden), HaveField("Message", HavePrefix("ServiceAccount "+a.namespace+"/"+a.name+" may not "))))
		rules = now.Status.RequiredRules
	}).WithContext(ctx).Should(Succeed())
	return rules
}

// liveAsAccount runs a sample as an account that gets the rights that the box asks for when it has none, and no others.
func (s sample) liveAsAccount(ctx context.Context) {
	GinkgoHelper()
	l := s.life(ctx)
	l.apply(ctx, l.role) // for the manager's caches
	a := bare(ctx, path.Base(s.folder))
	l.actAs(ctx, a)
	rules := requires(ctx, l.box.GetName(), a)
	for _, given := range s.gives {
		rules = append(rules, v1alpha1.RequiredRule{PolicyRule: given})
	}
	a.bound(ctx, rules...)
	l.begun(ctx)
	l.settled(ctx)
	l.asExpected(ctx)
	l.quiet(ctx)
	l.patch(ctx, l.resource, s.edit)
	l.settled(ctx)
	l.follows(ctx)
	l.remakes(ctx, s.remake)
	uid, children := string(get(ctx, Default, l.resource).GetUID()), l.children(ctx, Default)
	kinds := getBox(ctx, Default, l.box.GetName()).Status.ManagedKinds
	l.remove(ctx, l.resource)
	l.left(ctx, uid, kinds, children)
	l.remove(ctx, l.box)
}

// lacking is a sample whose box acts as accounts one after the other, each of which lacks another of the rules that it requires.
type lacking struct {
	*life

	rules    []v1alpha1.RequiredRule
	taken    []int     // the rules that are taken, by their place among these
	accounts []account // each without one of the rules that are taken
}

// taken is how many of the rules of a sample are taken: each takes an account and a life of the box, and there are hundreds. The seed says which.
const taken = 5

// lackingEach applies a sample, and makes its accounts.
func (s sample) lackingEach(ctx context.Context) *lacking {
	GinkgoHelper()
	l := &lacking{life: s.life(ctx)}
	l.apply(ctx, l.role) // for the manager's caches
	none := bare(ctx, path.Base(s.folder))
	l.actAs(ctx, none)
	l.rules = requires(ctx, l.box.GetName(), none)
	var all [][]v1alpha1.RequiredRule
	withoutEach(l.rules, func(_ v1alpha1.RequiredRule, left []v1alpha1.RequiredRule) { all = append(all, left) })
	l.rules = l.rules[:len(l.rules)-s.later] // the others are asked for before the box begins
	random := mathrand.New(mathrand.NewPCG(uint64(GinkgoRandomSeed()), 11))
	l.taken = random.Perm(len(l.rules))
	l.taken = l.taken[:min(taken, len(l.taken))]
	for _, i := range l.taken {
		a := bare(ctx, path.Base(s.folder))
		a.bound(ctx, all[i]...)
		l.accounts = append(l.accounts, a)
	}
	return l
}

// actAs applies the box with an account.
func (l *life) actAs(ctx context.Context, a account) {
	GinkgoHelper()
	Expect(unstructured.SetNestedStringMap(l.box.Object, map[string]string{"namespace": a.namespace, "name": a.name}, "spec", "serviceAccountRef")).To(Succeed())
	l.apply(ctx, l.box)
}

// begin has the boxes act as the accounts of a round; false: there are no more.
func begin(ctx context.Context, round int, all []*lacking) (more bool) {
	GinkgoHelper()
	for _, l := range all {
		if round < len(l.taken) {
			l.actAs(ctx, l.accounts[round])
			more = true
		}
	}
	return more
}

// shows waits until the box names what the account of a round lacks, and nothing else.
func (l *lacking) shows(ctx context.Context, round int) {
	GinkgoHelper()
	if round >= len(l.taken) {
		return
	}
	a, rule := l.accounts[round], l.rules[l.taken[round]]
	var lacked []access.Right
	for _, right := range access.Rights([]v1alpha1.RequiredRule{rule}) {
		if !slices.ContainsFunc(l.rules, func(other v1alpha1.RequiredRule) bool {
			return !reflect.DeepEqual(other, rule) && slices.Contains(access.Rights([]v1alpha1.RequiredRule{other}), right)
		}) {
			lacked = append(lacked, right)
		}
	}
	missing := access.Missing{Account: identity.Account{Namespace: a.namespace, Name: a.name}, Box: l.box.GetName(), Rights: access.Sorted(lacked)}
	for _, kind := range []string{v1alpha1.ConditionPermissionsGranted, v1alpha1.ConditionReady} {
		boxShows(ctx, l.box.GetName(), kind, metav1.ConditionFalse, v1alpha1.ReasonForbidden, access.Lacks(missing)+"; ")
	}
}

// everything is a box that needs rights of every sort, in its own namespace and in another.
func (w *world) everything(a account) string {
	return a.ref() + `
namespaces: {include: [` + w.namespace + `]}
cross:
- {name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: settings}}
- {name: all, apiVersion: v1, kind: Service, selector: {matchLabels: {app: web}}, optional: true}
external: [{name: quota, url: "https://quota.example.com", onError: Continue, auth: {secretRef: {name: quota}}}]
onReconcile:
  configmaps: [{data: {a: "{{ .cross.settings.data.a }}"}}]
  rolebindings: [{name: viewers, roleRef: {kind: ClusterRole, name: view}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: viewers}]}]`
}

// withoutEach gives the rules without each of them, one after the other.
func withoutEach(rules []v1alpha1.RequiredRule, visit func(taken v1alpha1.RequiredRule, left []v1alpha1.RequiredRule)) {
	for i := range rules {
		visit(rules[i], slices.Delete(slices.Clone(rules), i, i+1))
	}
}

var _ = Describe("The rights of an account", func() {
	BeforeEach(func() {
		replaceManager(func(s *settings) { s.orkestra.AllowGrantingKinds = true })
	})

	It("are all asked for: a box from which any is taken names it and begins nothing, and begins when it is given", func(ctx context.Context) {
		w := newWorld(ctx)
		Expect(kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}, Data: map[string]string{"a": "b"}})).To(Succeed())
		first := bare(ctx, w.id)
		w.box(ctx, w.everything(first))
		rules := requires(ctx, w.id, first)
		Expect(rules).To(HaveEach(HaveField("Namespaces", Equal([]string{w.namespace}))), "an account with Roles alone can run the box")
		w.website(ctx, "web", `{}`)
		since := auditedUntilNow()
		withoutEach(rules, func(taken v1alpha1.RequiredRule, left []v1alpha1.RequiredRule) {
			By("taking " + strings.Join(taken.Verbs, "/") + " " + strings.Join(taken.Resources, ","))
			a := bare(ctx, w.id)
			a.bound(ctx, left...)
			w.box(ctx, w.everything(a))
			actsAs(ctx, w.id, a)
			resource, sub, _ := strings.Cut(taken.Resources[0], "/")
			text := strings.Join(slices.Sorted(slices.Values(taken.Verbs)), "/") + " " + strings.TrimSuffix(resource+"."+taken.APIGroups[0], ".")
			if sub != "" {
				text += "/" + sub
			}
			for _, name := range taken.ResourceNames {
				text += fmt.Sprintf(" %q", name)
			}
			for _, kind := range []string{v1alpha1.ConditionPermissionsGranted, v1alpha1.ConditionReady} {
				boxShows(ctx, w.id, kind, metav1.ConditionFalse, v1alpha1.ReasonForbidden, fmt.Sprintf(
					`ServiceAccount %s/%s may not %s in namespace %q; show what grants it with "kubectl get operatorbox %s -o yaml | orkestra rbac -f - --cluster", read that, and apply it`, a.namespace, a.name, text, w.namespace, w.id))
			}
		})
		Expect(w.ofBox(w.audited(since))).To(BeEmpty(), "requests for its resources")
		By("having all of them")
		first.bound(ctx, rules...)
		w.box(ctx, w.everything(first))
		w.running(ctx, w.id)
		w.hasData(ctx, "web", map[string]string{"a": "b"})
		boxShows(ctx, w.id, v1alpha1.ConditionPermissionsGranted, metav1.ConditionTrue, v1alpha1.ReasonGranted, "no right is missing")
	})

	It("to read what a template leads to are asked for when it is read; what reads it waits and stays, all others go on", func(ctx context.Context) {
		w, other := newWorld(ctx), newWorld(ctx)
		for name, mode := range map[string]string{"settings": "one", "secret": "canary"} {
			obj := other.ref(name)
			obj.SetNamespace(w.namespace)
			obj.Object["spec"] = map[string]any{"mode": mode}
			Expect(kube.Create(ctx, obj)).To(Succeed())
		}
		a := bare(ctx, w.id)
		w.box(ctx, a.ref()+`
namespaces: {include: [`+w.namespace+`]}
cross: [{name: settings, apiVersion: `+other.group+`/v1, kind: Website, selector: {name: "{{ .spec.mode }}"}}]
onReconcile:
  configmaps: [{data: {a: "{{ .cross.settings.spec.mode }}"}}, {id: other, name: "{{ .metadata.name }}-other", data: {a: "{{ .spec.replicas }}"}}]`)
		rules := requires(ctx, w.id, a)
		last := len(rules) - 1
		Expect(rules[last]).To(And(HaveField("Verbs", []string{"get"}), HaveField("Resources", []string{"websites"}), HaveField("ResourceNames", BeEmpty())))
		a.bound(ctx, rules[:last]...)
		w.running(ctx, w.id)

		By("reading what it may not")
		since := auditedUntilNow()
		withheld := func(resource, object string) {
			Eventually(func(g Gomega) { // what may be read is believed for a minute
				waits := condition(w.get(ctx, g, resource), v1alpha1.ConditionReconciling)
				g.Expect(waits).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonForbidden), HaveField("Message",
					ContainSubstring(`ServiceAccount `+a.namespace+"/"+a.name+` may not read Website "`+w.namespace+`/`+object+`"`))))
			}).WithContext(ctx).WithTimeout(2 * patience).Should(Succeed())
			boxShows(ctx, w.id, v1alpha1.ConditionPermissionsGranted, metav1.ConditionFalse, v1alpha1.ReasonForbidden,
				`may not get websites.`+other.group+` "`+object+`" in namespace "`+w.namespace+`"`)
		}
		w.website(ctx, "web", `{mode: secret, replicas: 1}`)
		withheld("web", "secret")
		Expect(other.audited(since)).NotTo(ContainElement(HaveField("ObjectRef.Resource", "websites")), "nobody watches what nobody may read")
		Expect(apierrors.IsNotFound(kube.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "web-other"}, &corev1.ConfigMap{}))).To(BeTrue(), "a new resource waits as a whole")

		By("reading what it may")
		named := rules[last]
		named.ResourceNames = []string{"settings"}
		a.boundAs(ctx, "reader", named)
		w.website(ctx, "web", `{mode: settings, replicas: 1}`)
		w.hasData(ctx, "web", map[string]string{"a": "one"})
		w.settled(ctx, "web")
		boxShows(ctx, w.id, v1alpha1.ConditionPermissionsGranted, metav1.ConditionTrue, v1alpha1.ReasonGranted, "no right is missing")

		By("taking the right away")
		Expect(kube.Delete(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "reader-0"}})).To(Succeed())
		withheld("web", "settings")
		w.website(ctx, "web", `{mode: settings, replicas: 2}`)
		w.hasData(ctx, "web-other", map[string]string{"a": "2"})
		withheld("web", "settings")
		w.hasData(ctx, "web", map[string]string{"a": "one"})
		w.running(ctx, w.id)
	})
})
