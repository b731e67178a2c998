package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managerAgent is the user agent of managers in this process, by which the audit log tells their requests from those of the specs.
const managerAgent = "orkestra-e2e-manager"

// account is a ServiceAccount with a ClusterRole of its own.
type account struct {
	namespace, name string
}

// user is how the API server names the account.
func (a account) user() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

// ref is the account as a box names it.
func (a account) ref() string {
	return "serviceAccountRef: {name: " + a.name + ", namespace: " + a.namespace + "}\n"
}

// newAccount makes an account with these rights in all namespaces.
func newAccount(ctx context.Context, namespace, name string, rules ...rbacv1.PolicyRule) account {
	GinkgoHelper()
	a := account{namespace: namespace, name: name}
	a.make(ctx)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: a.name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: a.name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.namespace, Name: a.name}},
	}
	for _, obj := range []client.Object{role, binding} {
		Expect(kube.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed()) })
	}
	return a
}

// account makes an account for the world in the manager's own namespace, with the rights that its boxes mostly need, and these.
func (w *world) account(ctx context.Context, rules ...rbacv1.PolicyRule) account {
	GinkgoHelper()
	return newAccount(ctx, ownNamespace, w.id+"-"+rand.String(6), append(w.usualRules(), rules...)...)
}

// usualRules are the rights over the world's kind, and over events about its resources.
func (w *world) usualRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		may(w.group, "websites", "get", "list", "watch", "patch"), may(w.group, "websites/status", "patch"),
		may(w.group, "websites/finalizers", "update"), may("events.k8s.io", "events", "create", "patch"),
	}
}

// children are the rights over a kind of children.
func children(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
	}
}

func may(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// make makes the ServiceAccount and gives its UID.
func (a account) make(ctx context.Context) types.UID {
	GinkgoHelper()
	obj := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: a.name}}
	Expect(kube.Create(ctx, obj)).To(Succeed())
	DeferCleanup(a.remove)
	return obj.UID
}

// remove deletes the ServiceAccount.
func (a account) remove(ctx context.Context) {
	obj := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: a.name}}
	Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed())
}

// grant gives the account these rights, and takes all others.
func (a account) grant(ctx context.Context, rules ...rbacv1.PolicyRule) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{}
	Expect(kube.Get(ctx, types.NamespacedName{Name: a.name}, role)).To(Succeed())
	role.Rules = rules
	Expect(kube.Update(ctx, role)).To(Succeed())
}

// auditEvent is what the API server notes of a request.
type auditEvent struct {
	Verb              string            `json:"verb"`
	RequestURI        string            `json:"requestURI"`
	UserAgent         string            `json:"userAgent"`
	User              auditUser         `json:"user"`
	Impersonated      *auditUser        `json:"impersonatedUser"`
	ObjectRef         auditRef          `json:"objectRef"`
	ResponseStatus    auditStatus       `json:"responseStatus"`
	AuditAnnotations  map[string]string `json:"annotations"`
	RequestReceivedAt string            `json:"requestReceivedTimestamp"`
}

type auditStatus struct {
	Code int `json:"code"`
}

type auditUser struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Extra    map[string][]string `json:"extra"`
}

type auditRef struct {
	Resource    string `json:"resource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	APIGroup    string `json:"apiGroup"`
	Subresource string `json:"subresource"`
}

// String names the request.
func (e auditEvent) String() string {
	as := e.User.Username
	if e.Impersonated != nil {
		as = e.Impersonated.Username + " for box " + strings.Join(e.Impersonated.Extra["orkestra.orkspace.io/box"], ",")
	}
	return e.Verb + " " + e.RequestURI + " as " + as
}

// writes says whether a request changes something.
func (e auditEvent) writes() bool { return !slices.Contains([]string{"get", "list", "watch"}, e.Verb) }

// audited gives what managers of this process have requested since a place in the audit log, and until another where one is given, as far
// as it concerns the world.
func (w *world) audited(since int64, until ...int64) []auditEvent {
	GinkgoHelper()
	return auditedOf(since, func(text string) bool { return strings.Contains(text, w.id) }, until...)
}

// auditedOf gives what managers of this process have requested since a place in the audit log, and until another where one is given, of the
// lines that are asked for.
func auditedOf(since int64, concerns func(line string) bool, until ...int64) []auditEvent {
	GinkgoHelper()
	file, err := os.Open(auditLog)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(file.Close()).To(Succeed()) }()
	_, err = file.Seek(since, 0)
	Expect(err).NotTo(HaveOccurred())
	var out []auditEvent
	var part io.Reader = file
	for _, end := range until {
		part = io.LimitReader(file, end-since)
	}
	lines := bufio.NewScanner(part)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !concerns(lines.Text()) || !strings.Contains(lines.Text(), managerAgent) {
			continue
		}
		var e auditEvent
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // the last line may be on its way
		}
		if e.UserAgent == managerAgent {
			out = append(out, e)
		}
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return out
}

// auditedUntilNow is the place in the audit log from which a spec reads on.
func auditedUntilNow() int64 {
	GinkgoHelper()
	info, err := os.Stat(auditLog)
	Expect(err).NotTo(HaveOccurred())
	return info.Size()
}
