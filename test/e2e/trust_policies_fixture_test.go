package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	policyfiles "github.com/orkspace/orkestra/config/policies"
)

// boxShape is the policy that knows mistakes of boxes.
const boxShape = "box-shape"

// managerAccount is the manager for the API server, in config/.
const managerAccount = "system:serviceaccount:orkestra-system:orkestra"

// policies puts the policies of config/ in force, and waits until they are: all specs run with them. The manager of most specs is the
// administrator of the cluster, who may do everything that a policy asks for.
func policies(ctx context.Context) {
	GinkgoHelper()
	installPolicies(ctx)
	// The API server learns of them in the order in which they were made, and this is the last one.
	somebody := &user{name: "orkestra-e2e-somebody", client: as("orkestra-e2e-somebody")}
	somebody.mayIn(ctx, "default", rule("", "create", "podtemplates"))
	Eventually(func() error {
		return somebody.client.Create(ctx, &corev1.PodTemplate{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"},
			Template:   corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelBox: "any"}}, Spec: onePod()},
		}, client.DryRunAll)
	}).WithContext(ctx).Should(refusedBy("templates", "take those that are called orkestra-owner"))
}

// shaped is the label of boxes that box-shape judges. The other specs are about what the manager says of mistakes.
const shaped = "e2e.test/shaped"

// installPolicies applies the policies of config/. Their order is that of the names.
func installPolicies(ctx context.Context) {
	GinkgoHelper()
	var all []string
	for _, name := range policyfiles.Names() {
		content, err := policyfiles.Read(name)
		Expect(err).NotTo(HaveOccurred())
		text := string(content)
		if name == boxShape {
			text += "  matchResources: {objectSelector: {matchExpressions: [{key: " + shaped + ", operator: Exists}]}}\n"
		}
		all = append(all, text)
	}
	folder, err := os.MkdirTemp("", "policies")
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(os.RemoveAll(folder)).To(Succeed()) }()
	file := filepath.Join(folder, "policies.yaml")
	Expect(os.WriteFile(file, []byte(strings.Join(all, "\n---\n")), 0o600)).To(Succeed())
	_, err = cluster.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", file)
	Expect(err).NotTo(HaveOccurred())
}

func onePod() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox:1"}}}
}

// refusedBy matches the error of a request that a policy refuses, with a text in its message.
func refusedBy(policy, text string) types.GomegaMatcher {
	return MatchError(And(ContainSubstring("ValidatingAdmissionPolicy 'orkestra-"+policy+"'"), ContainSubstring(policy+": "), ContainSubstring(text)))
}

// user is somebody who uses the cluster with rights of their own.
type user struct {
	name   string
	client client.Client
}

// as gives a client that sends its requests as a user, by impersonation.
func as(name string, changes ...func(*rest.ImpersonationConfig)) client.Client {
	GinkgoHelper()
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: name}
	for _, change := range changes {
		change(&config.Impersonate)
	}
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: kube.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// forBox has requests say that they are made for a box, as the manager does.
func forBox(box string) func(*rest.ImpersonationConfig) {
	return func(c *rest.ImpersonationConfig) {
		c.Extra = map[string][]string{v1alpha1.GroupName + "/box": {box}}
	}
}

// tenant gives somebody who may write boxes, and everything in the world's namespace that people of a team may write.
func (w *world) tenant(ctx context.Context) *user {
	GinkgoHelper()
	u := &user{name: w.id + "-tenant"}
	u.client = as(u.name)
	u.may(ctx, rule(v1alpha1.GroupName, "get list watch create update patch delete deletecollection", "operatorboxes"))
	all := "get list watch create update patch delete deletecollection"
	u.mayIn(ctx, w.namespace,
		rule("", all, "configmaps", "secrets", "services", "services/status", "pods", "pods/binding", "podtemplates", "serviceaccounts"),
		rule("apps", all, "deployments", "deployments/status", "statefulsets", "replicasets", "controllerrevisions"),
		rule("batch", all, "jobs", "cronjobs"), rule(w.group, all, "websites"),
	)
	return u
}

// rule lets somebody do what the verbs say, which are separated by spaces.
func rule(group, verbs string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: strings.Fields(verbs), Resources: resources}
}

// may gives a user rights in the whole cluster until the spec ends, and waits until they have them.
func (u *user) may(ctx context.Context, rules ...rbacv1.PolicyRule) { u.mayIn(ctx, "", rules...) }

// mayIn gives a user rights in a namespace, which is empty for the whole cluster.
func (u *user) mayIn(ctx context.Context, namespace string, rules ...rbacv1.PolicyRule) {
	GinkgoHelper()
	made := metav1.ObjectMeta{GenerateName: "trust-", Namespace: namespace}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: u.name}}
	var role, binding client.Object = &rbacv1.Role{ObjectMeta: made, Rules: rules}, nil
	if namespace == "" {
		role = &rbacv1.ClusterRole{ObjectMeta: made, Rules: rules}
	}
	Expect(kube.Create(ctx, role)).To(Succeed())
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.GetName()}
	binding = &rbacv1.RoleBinding{ObjectMeta: made, RoleRef: ref, Subjects: subjects}
	if namespace == "" {
		ref.Kind = "ClusterRole"
		binding = &rbacv1.ClusterRoleBinding{ObjectMeta: made, RoleRef: ref, Subjects: subjects}
	}
	Expect(kube.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		for _, obj := range []client.Object{binding, role} {
			Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed())
		}
	})
	u.can(ctx, namespace, rules)
}

// can waits until the API server knows the rights of a user.
func (u *user) can(ctx context.Context, namespace string, rules []rbacv1.PolicyRule) {
	GinkgoHelper()
	for _, r := range rules {
		resource, sub, _ := strings.Cut(r.Resources[0], "/")
		if r.APIGroups[0] != "" {
			resource += "." + r.APIGroups[0]
		}
		if len(r.ResourceNames) > 0 {
			resource += "/" + r.ResourceNames[0]
		}
		args := []string{"auth", "can-i", r.Verbs[0], resource, "--as", u.name, "--quiet"}
		if sub != "" {
			args = append(args, "--subresource", sub)
		}
		if namespace != "" {
			args = append(args, "-n", namespace)
		} else {
			args = append(args, "--all-namespaces")
		}
		Eventually(func() error {
			_, err := cluster.Kubectl(ctx, args...)
			return err
		}).WithContext(ctx).Should(Succeed(), "%q", args)
	}
}

// merge sends a merge patch and gives the error.
func (u *user) merge(ctx context.Context, obj client.Object, patch string, options ...client.PatchOption) error {
	return u.client.Patch(ctx, obj, client.RawPatch(apitypes.MergePatchType, []byte(patch)), options...)
}

// mark patches one label or annotation: "labels" or "annotations"; an empty value removes it.
func (u *user) mark(ctx context.Context, obj client.Object, kind, key, value string) error {
	var v any
	if value != "" {
		v = value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{kind: map[string]any{key: v}}})
	if err != nil {
		return err
	}
	return u.merge(ctx, obj, string(patch))
}

// manifest is a ConfigMap of the world's namespace as it is applied.
func (w *world) manifest(name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"a": "b"}}}
	obj.SetAPIVersion("v1")
	obj.SetKind("ConfigMap")
	obj.SetNamespace(w.namespace)
	obj.SetName(name)
	return obj
}

// setPolicy gives a variable of a policy another expression until the spec ends, and waits until a request is answered as it should be.
func (w *world) setPolicy(ctx context.Context, policy, variable, expression string, try func() error, answer types.GomegaMatcher) {
	GinkgoHelper()
	set := func(ctx context.Context, expression string) (before string) {
		GinkgoHelper()
		Expect(retry.RetryOnConflict(retry.DefaultRetry, func() error {
			p := &admissionregistrationv1.ValidatingAdmissionPolicy{}
			if err := kube.Get(ctx, apitypes.NamespacedName{Name: "orkestra-" + policy}, p); err != nil {
				return err
			}
			for i, v := range p.Spec.Variables {
				if v.Name == variable {
					before, p.Spec.Variables[i].Expression = v.Expression, expression
				}
			}
			return kube.Update(ctx, p)
		})).To(Succeed())
		Expect(before).NotTo(BeEmpty(), "the policy has the variable")
		return before
	}
	before := set(ctx, expression)
	DeferCleanup(func(ctx context.Context) { set(ctx, before) })
	Eventually(try).WithContext(ctx).Should(answer)
}
