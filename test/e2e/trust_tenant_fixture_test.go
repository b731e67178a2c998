package e2e_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/external"
)

// theirPassword is what a Secret of somebody else holds.
const theirPassword = "canary-of-the-other-team"

// tenancy is a team that may write boxes, and things of its own in one namespace, beside another team.
type tenancy struct {
	*world

	tenant *user // by a token of its own
	login  *rest.Config
	own    account // as which the tenant's boxes may act; it may write ConfigMaps, Deployments and bindings in the tenant's namespace
	theirs account // the other team's account
	victim string  // the other team's namespace
	inside string  // a URL that the other team's account may reach, and nobody else
}

// newTenancy makes both teams, and a manager that lets boxes use the accounts of both namespaces.
func newTenancy(ctx context.Context) *tenancy {
	GinkgoHelper()
	t := &tenancy{world: newWorld(ctx)}
	t.victim = t.anotherNamespace(ctx)
	t.own, t.theirs = account{namespace: t.namespace, name: "operator"}, account{namespace: t.victim, name: "operator"}
	t.own.make(ctx)
	t.theirs.make(ctx)
	t.own.bound(ctx, t.inOwn(append(t.usualRules(), children("", "configmaps"), children("apps", "deployments"), children(rbacv1.GroupName, "rolebindings"))...)...)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: t.victim, Name: "canary"}, StringData: map[string]string{"password": theirPassword}}
	Expect(kube.Create(ctx, secret)).To(Succeed())

	person := account{namespace: t.namespace, name: "ada"}
	person.make(ctx)
	t.login = person.signedIn(ctx)
	c, err := client.New(t.login, client.Options{Scheme: scheme, Mapper: kube.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	t.tenant = &user{name: person.user(), client: c}
	all := "get list watch create update patch delete deletecollection"
	t.tenant.may(ctx, rule(v1alpha1.GroupName, all, "operatorboxes"), rule(t.group, "operate", "websites"))
	t.tenant.mayIn(ctx, t.namespace,
		impersonating(t.own.name), rule("", all, "configmaps", "secrets", "services", "pods", "serviceaccounts"), rule(rbacv1.GroupName, all, "roles", "rolebindings"),
		rule("apps", all, "deployments", "controllerrevisions"), rule("batch", all, "jobs"), rule(t.group, all, "websites"))

	t.inside = newService().url
	replaceManager(func(s *settings) { //nolint:contextcheck // a manager outlives the node that starts it
		s.orkestra.RequireServiceAccount, s.orkestra.BoxNamespaces = true, []string{t.namespace, t.victim}
		s.orkestra.ExternalAllow = nil
		s.orkestra.EgressRules = external.EgressRules{Allow: external.EgressLists{Accounts: map[string][]string{t.theirs.namespace + "/" + t.theirs.name: {"127.0.0.1"}}}}
	})
	return t
}

// signedIn gives what one needs to use the cluster as a ServiceAccount: a token that the API server has issued.
func (a account) signedIn(ctx context.Context) *rest.Config {
	GinkgoHelper()
	token := &authenticationv1.TokenRequest{}
	Expect(kube.SubResource("token").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: a.name}}, token)).To(Succeed())
	config := rest.AnonymousClientConfig(cluster.Config())
	config.BearerToken = token.Status.Token
	return config
}

// asBox has the tenant send a patch as its account, in the name of its box.
func (t *tenancy) asBox(ctx context.Context, obj client.Object, patch string) error {
	GinkgoHelper()
	config := rest.CopyConfig(t.login)
	config.Impersonate = rest.ImpersonationConfig{UserName: t.own.user(), Extra: map[string][]string{v1alpha1.GroupName + "/box": {t.id}}}
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: kube.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	return c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// inOwn are rules in the tenant's namespace alone.
func (t *tenancy) inOwn(rules ...rbacv1.PolicyRule) []v1alpha1.RequiredRule {
	var out []v1alpha1.RequiredRule
	for _, r := range rules {
		out = append(out, v1alpha1.RequiredRule{PolicyRule: r, Namespaces: []string{t.namespace}})
	}
	return out
}

// writes has the tenant apply a box that acts as an account, and gives the error.
func (t *tenancy) writes(ctx context.Context, as account, spec string) error {
	GinkgoHelper()
	text := as.ref() + "namespaces: {include: [" + t.namespace + "]}\n" + strings.NewReplacer("VICTIM", t.victim, "OWN", t.namespace).Replace(spec)
	return t.tenant.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(t.boxObject(t.id, text)), client.FieldOwner("tenant"), client.ForceOwnership)
}

// runs has the tenant apply a box that acts as its own account, and waits until it runs.
func (t *tenancy) runs(ctx context.Context, spec string) {
	GinkgoHelper()
	Expect(t.writes(ctx, t.own, spec)).To(Succeed())
	t.running(ctx, t.id)
}

// lacksRight has the tenant apply a box that acts as its own account, and waits until the box says that the account lacks a right.
func (t *tenancy) lacksRight(ctx context.Context, spec, right string) {
	GinkgoHelper()
	Expect(t.writes(ctx, t.own, spec)).To(Succeed())
	t.submits(ctx, "web", `{mode: x}`)
	lacks(ctx, t.id, v1alpha1.ReasonForbidden, "ServiceAccount "+t.own.namespace+"/"+t.own.name+" may not "+strings.ReplaceAll(right, "VICTIM", t.victim))
}

// submits has the tenant apply a resource.
func (t *tenancy) submits(ctx context.Context, name, spec string) {
	GinkgoHelper()
	obj := t.ref(name)
	content := map[string]any{}
	Expect(yaml.Unmarshal([]byte(strings.ReplaceAll(spec, "VICTIM", t.victim)), &content)).To(Succeed())
	obj.Object["spec"] = content
	Expect(t.tenant.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("tenant"), client.ForceOwnership)).To(Succeed())
}

// cleared ends the tenant's resources and box, as the administrator.
func (t *tenancy) cleared(ctx context.Context) {
	GinkgoHelper()
	all := t.list()
	Expect(kube.List(ctx, all)).To(Succeed())
	for i := range all.Items {
		// The try may have deleted it, so that it goes while we look.
		Expect(client.IgnoreNotFound(kube.Patch(ctx, &all.Items[i], skipsCleanup()))).To(Succeed())
		Expect(client.IgnoreNotFound(kube.Delete(ctx, &all.Items[i]))).To(Succeed())
	}
	for i := range all.Items {
		t.vanished(ctx, all.Items[i].GetName())
	}
	Expect(client.IgnoreNotFound(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: t.id}}))).To(Succeed())
	boxGone(ctx, t.id)
}

// skipsCleanup is the change by which a resource goes without what its box does when it goes.
func skipsCleanup() client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationSkipCleanup+`":"true"}}}`))
}

// victimIsWell checks that a box has made nothing in the other team's namespace, and that what was there is as it was.
func (t *tenancy) victimIsWell(ctx context.Context) {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: t.victim, Name: "canary"}, secret)).To(Succeed())
	Expect(secret.Data).To(Equal(map[string][]byte{"password": []byte(theirPassword)}))
	Expect(secret.Labels).To(BeEmpty())
	for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.SecretList{}, &rbacv1.RoleBindingList{}} {
		Expect(kube.List(ctx, list, client.InNamespace(t.victim), client.HasLabels{v1alpha1.LabelManaged})).To(Succeed())
		Expect(list).To(HaveField("Items", BeEmpty()))
	}
}

// absent checks that an object of the tenant's namespace does not exist.
func (t *tenancy) absent(ctx context.Context, obj client.Object, name string) {
	GinkgoHelper()
	Expect(apierrors.IsNotFound(kube.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: name}, obj))).To(BeTrue(), "%T %s", obj, name)
}
