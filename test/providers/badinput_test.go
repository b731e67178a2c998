package providers

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// hushed are the values that no status, event, log or box may hold.
var hushed = []string{"hunter-two", rootSecret, "lesser-secret", adminPassword, "first-password", "second-password", "third-password", "Signature="}

// quiet checks that nothing that people read holds a secret.
func (w *place) quiet(t *testing.T, m *manager) {
	t.Helper()
	g, ctx := gomega.NewWithT(t), t.Context()
	var events corev1.EventList
	g.Expect(w.kube.List(ctx, &events)).To(gomega.Succeed())
	var boxes v1alpha1.OperatorBoxList
	g.Expect(w.kube.List(ctx, &boxes)).To(gomega.Succeed())
	var health v1alpha1.CRDHealthList
	g.Expect(w.kube.List(ctx, &health)).To(gomega.Succeed())
	websites, err := w.cluster.Kubectl(ctx, "get", "websites."+w.group(), "-A", "-o", "yaml", "--show-managed-fields")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for what, text := range map[string]string{"events": fmt.Sprint(events.Items), "boxes": fmt.Sprint(boxes.Items), "health": fmt.Sprint(health.Items), "resources": websites, "the log": m.log.String()} {
		for _, secret := range hushed {
			g.Expect(strings.Contains(text, secret)).To(gomega.BeFalse(), "%s hold %s", what, secret)
		}
	}
}

// lesserUsers are the users of the gateway besides root: one that may make no buckets.
const lesserUsers = `{"accessAccounts":{"LESSERKEY":{"access":"LESSERKEY","secret":"lesser-secret","role":"user","userID":7,"groupID":7}}}`

// What a service refuses stands in the status in its own words, and what this resource has not made stays.
func TestBadInputOfBuckets(t *testing.T) {
	g, w := gomega.NewWithT(t), newPlane(t).place(t)
	iam := folder(t)
	g.Expect(os.WriteFile(filepath.Join(iam, "users.json"), []byte(lesserUsers), 0o600)).To(gomega.Succeed())
	f := newFront(t, "--iam-dir", iam)
	m := w.manager(t)
	w.secrets(t)
	w.secret(t, "wrong", map[string]string{"AWS_ACCESS_KEY_ID": rootKey, "AWS_SECRET_ACCESS_KEY": "hunter-two"})
	w.secret(t, "lesser", map[string]string{"AWS_ACCESS_KEY_ID": "LESSERKEY", "AWS_SECRET_ACCESS_KEY": "lesser-secret"})
	w.box(t, `
resync: 2s
providers:
  aws:
  - id: bucket
    s3bucket: {name: "{{ .metadata.name }}", region: "{{ .spec.host | default \"eu-west-1\" }}", forceDestroy: "{{ .spec.tls | default false }}"}
    credentials: {secretRef: {name: "{{ .spec.mode | default \"aws\" }}"}}
    endpoint: `+f.URL+`
`)
	const stalled = v1alpha1.ConditionStalled

	t.Run("wrong credentials", func(t *testing.T) {
		w.website(t, "wrong", "{mode: wrong}")
		w.shows(t, "wrong", stalled, metav1.ConditionTrue, v1alpha1.ReasonProviderDenied, "bucket (name wrong, region eu-west-1 at "+f.URL+"): GetBucketTagging: SignatureDoesNotMatch: The request signature we calculated does not match the signature you provided. Check your key and signing method. (request ")
		w.website(t, "wrong", "{image: x}")
		w.settled(t, "wrong")
		w.website(t, "wrong", "{mode: wrong}")
		w.shows(t, "wrong", stalled, metav1.ConditionTrue, v1alpha1.ReasonProviderDenied)
		w.delete(t, "wrong")
		w.shows(t, "wrong", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "deletion: ", "bucket: aws/s3bucket (name wrong, region eu-west-1 at "+f.URL+"): ")
		g.Expect(f.store.buckets(t)).To(gomega.ContainElement("wrong"))
		w.secret(t, "wrong", map[string]string{"AWS_ACCESS_KEY_ID": rootKey, "AWS_SECRET_ACCESS_KEY": rootSecret})
		w.vanished(t, "wrong")
		g.Expect(f.store.buckets(t)).NotTo(gomega.ContainElement("wrong"))
	})
	t.Run("credentials that lack a right", func(t *testing.T) {
		w.website(t, "lesser", "{mode: lesser}")
		w.shows(t, "lesser", stalled, metav1.ConditionTrue, v1alpha1.ReasonProviderDenied, "bucket (name lesser, region eu-west-1 at "+f.URL+"): CreateBucket: AccessDenied: ", "(request ")
		w.delete(t, "lesser")
		w.vanished(t, "lesser")
		g.Expect(f.store.buckets(t)).To(gomega.BeEmpty())
	})
	t.Run("a bucket of somebody else", func(t *testing.T) {
		f.store.make(t, "theirs")
		f.store.make(t, "marked")
		_, err := f.store.root.PutBucketTagging(t.Context(), &s3.PutBucketTaggingInput{Bucket: new("marked"), Tagging: &types.Tagging{TagSet: []types.Tag{{Key: new("orkestra.orkspace.io/uid"), Value: new("another")}}}})
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for name, wanted := range map[string]string{"theirs": "the bucket theirs is there already, and has no owner", "marked": "the bucket marked belongs to the resource with the UID another: declare another name"} {
			w.website(t, name, "{tls: true}")
			w.shows(t, name, stalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, "bucket (name "+name+", ", wanted)
			w.delete(t, name)
			w.vanished(t, name)
			g.Expect(f.store.buckets(t)).To(gomega.ContainElement(name))
			_, err := f.store.root.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &name})
			g.Expect(err).NotTo(gomega.HaveOccurred())
		}
	})
	t.Run("a bucket whose mark somebody changes", func(t *testing.T) {
		w.website(t, "lost", "{tls: true}")
		w.settled(t, "lost")
		_, err := f.store.root.PutBucketTagging(t.Context(), &s3.PutBucketTaggingInput{Bucket: new("lost"), Tagging: &types.Tagging{TagSet: []types.Tag{{Key: new("orkestra.orkspace.io/uid"), Value: new("another")}}}})
		g.Expect(err).NotTo(gomega.HaveOccurred())
		w.shows(t, "lost", stalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned)
		w.delete(t, "lost")
		w.vanished(t, "lost")
		g.Expect(f.store.buckets(t)).To(gomega.ContainElement("lost"))
	})
	t.Run("another region", func(t *testing.T) {
		w.website(t, "region", "{host: us-west-2}")
		w.shows(t, "region", stalled, metav1.ConditionTrue, v1alpha1.ReasonProviderRefused, "bucket (name region, region us-west-2 at "+f.URL+"): ", "AuthorizationHeaderMalformed")
		w.website(t, "region", "{image: x}")
		w.settled(t, "region")
		w.delete(t, "region")
		w.vanished(t, "region")
	})
	t.Run("a bucket that is not empty", func(t *testing.T) {
		w.website(t, "full", "{image: x}")
		w.settled(t, "full")
		f.store.put(t, "full", "one")
		w.delete(t, "full")
		w.shows(t, "full", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "DeleteBucket: BucketNotEmpty: ", "forceDestroy")
		f.store.empty(t, "full")
		w.vanished(t, "full")
		w.website(t, "forced", "{tls: true}")
		w.settled(t, "forced")
		f.store.put(t, "forced", "one")
		w.delete(t, "forced")
		w.vanished(t, "forced")
		g.Expect(f.store.buckets(t)).NotTo(gomega.ContainElements("full", "forced"))
	})
	t.Run("a service that asks for fewer calls", func(t *testing.T) {
		var left atomic.Int32
		left.Store(3)
		f.answers(func(_ string, w http.ResponseWriter) bool {
			if left.Add(-1) < 0 {
				return false
			}
			refuses(w, http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
			return true
		})
		defer f.answers(nil)
		w.website(t, "slow", "{image: x}")
		shown := w.shows(t, "slow", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForProvider, "bucket (name slow, region eu-west-1 at "+f.URL+"): ", "SlowDown: Please reduce your request rate.")
		g.Expect(condition(shown, stalled)).To(gomega.HaveField("Status", metav1.ConditionFalse), "it is no failure")
		w.settled(t, "slow")
		w.delete(t, "slow")
		w.vanished(t, "slow")
	})
	t.Run("a service that is down, and comes back", func(t *testing.T) {
		w.website(t, "down", "{image: x}")
		w.settled(t, "down")
		f.answers(func(string, http.ResponseWriter) bool { panic(http.ErrAbortHandler) })
		defer f.answers(nil)
		w.shows(t, "down", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "the service can't be reached")
		w.delete(t, "down")
		w.shows(t, "down", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "deletion: ", "the service can't be reached")
		g.Expect(f.store.buckets(t)).To(gomega.ContainElement("down"))
		f.answers(nil)
		w.vanished(t, "down")
		g.Expect(f.store.buckets(t)).NotTo(gomega.ContainElement("down"))
	})
	g.Expect(f.store.buckets(t)).To(gomega.Equal([]string{"lost"}), "this one is somebody else's by now")
	w.quiet(t, m)
}

// bucketAt is spec.providers with a bucket by the name of the resource, in a store.
func bucketAt(endpoint string) string {
	return `
providers:
  aws:
  - id: bucket
    s3bucket: {name: "{{ .metadata.name }}", region: eu-west-1}
    credentials: {secretRef: {name: aws}}
    endpoint: ` + endpoint + `
`
}

// Where a resource goes, other credentials are tried at once, too, and the same ones when people ask for it. Each call in vain makes the pause after it
// longer: soon it is longer than this test waits.
func TestADeletionIsTriedAgainWithOtherCredentials(t *testing.T) {
	g, w, f := gomega.NewWithT(t), newPlane(t).place(t), newFront(t)
	m := w.manager(t)
	w.secrets(t)
	w.box(t, "resync: 1h\n"+bucketAt(f.URL))
	w.website(t, "web", "{image: x}")
	w.settled(t, "web")
	credentials := func(secret string) {
		w.secret(t, "aws", map[string]string{"AWS_ACCESS_KEY_ID": rootKey, "AWS_SECRET_ACCESS_KEY": secret})
	}
	said := ""
	refused := func(when string) { // by the answer to another request than before
		t.Helper()
		soon(t, func(g gomega.Gomega) {
			obj := w.resource("web")
			g.Expect(w.kube.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(gomega.Succeed())
			message := condition(obj, v1alpha1.ConditionReady).Message
			g.Expect(message).To(gomega.And(gomega.HavePrefix("deletion: "), gomega.ContainSubstring("SignatureDoesNotMatch"), gomega.Not(gomega.Equal(said))), when)
			said = message
		})
	}
	credentials("hunter-two")
	w.shows(t, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonProviderDenied)
	w.delete(t, "web")
	refused("it is deleted")
	credentials("hunter-two of others")
	refused("the credentials are others")
	g.Expect(w.kube.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.id, Name: "aws"}})).To(gomega.Succeed())
	w.shows(t, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, `Secret "`+w.id+`/aws" does not exist`)
	credentials("hunter-two anew")
	refused("the Secret is made anew")
	g.Expect(w.kube.Patch(t.Context(), w.resource("web"), client.RawPatch(apitypes.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationReconcileAt+`":"now"}}}`)))).To(gomega.Succeed())
	refused("people ask for it")
	g.Expect(f.store.buckets(t)).To(gomega.ContainElement("web"))
	credentials(rootSecret)
	soon(t, func(g gomega.Gomega) {
		obj := w.resource("web")
		err := w.kube.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
		g.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue(), "%v", obj.Object["status"])
	})
	g.Expect(f.store.buckets(t)).To(gomega.BeEmpty())
	w.quiet(t, m)
}

// soon is for what does not wait for a pause.
func soon(t *testing.T, f func(g gomega.Gomega)) {
	t.Helper()
	gomega.NewWithT(t).Eventually(f).WithContext(t.Context()).WithTimeout(patience).WithPolling(patience / 600).Should(gomega.Succeed())
}

func TestAServerOnLoopbackNeedsTheFlag(t *testing.T) {
	w, f := newPlane(t).place(t), newFront(t)
	m := w.manager(t)
	m.end(os.Interrupt)
	m.args = m.args[:len(m.args)-2]
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	w.secrets(t)
	w.box(t, bucketAt(f.URL))
	w.website(t, "web", "{image: x}")
	w.shows(t, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonProviderRefused, "127.0.0.1", "loopback")
	gomega.NewWithT(t).Expect(f.asked()).To(gomega.BeEmpty())
}

// What somebody else has in MongoDB stays, a password follows its Secret, and a server that was down is asked again.
func TestBadInputOfMongoDB(t *testing.T) {
	g, w := gomega.NewWithT(t), newPlane(t).place(t)
	server := database(t)
	f, one := newMongoFront(t, server), admin(t, server)
	m := w.manager(t)
	w.secrets(t)
	w.secret(t, "wrong", map[string]string{"username": adminName, "password": "hunter-two"})
	w.box(t, `
resync: 2s
providers:
  mongodb:
  - id: database
    database: {name: "{{ .metadata.name }}"}
    credentials: {secretRef: {name: "{{ .spec.mode | default \"mongo\" }}"}}
    endpoint: "`+f.endpoint()+`"
  - id: user
    user: {database: "{{ .metadata.name }}", name: app, passwordSecretRef: {name: app, key: password}}
    credentials: {secretRef: {name: "{{ .spec.mode | default \"mongo\" }}"}}
    endpoint: "`+f.endpoint()+`"
`)
	login := func(database, password string) error {
		return mongoClient(t, server, database, "app", password).Ping(t.Context(), nil)
	}

	t.Run("wrong credentials", func(t *testing.T) {
		w.website(t, "wrong", "{mode: wrong}")
		w.shows(t, "wrong", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonProviderDenied, "database (name wrong at "+f.endpoint()+"): ", "the server refuses the username and the password of the Secret of the credentials")
		w.delete(t, "wrong")
		w.vanished(t, "wrong")
	})
	t.Run("a database of somebody else", func(t *testing.T) {
		g.Expect(one.Database("theirs").CreateCollection(t.Context(), "orders")).To(gomega.Succeed())
		w.website(t, "theirs", "{image: x}")
		w.shows(t, "theirs", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, "database (name theirs at "+f.endpoint()+"): ")
		w.delete(t, "theirs")
		w.vanished(t, "theirs")
		g.Expect(collections(t, one, "theirs")).To(gomega.ContainElement("orders"))
	})
	t.Run("a password that is rotated", func(t *testing.T) {
		w.website(t, "rotated", "{image: x}")
		w.settled(t, "rotated")
		g.Expect(login("rotated", "first-password")).To(gomega.Succeed())
		w.secret(t, "app", map[string]string{"password": "second-password"})
		eventually(t, func(g gomega.Gomega) { g.Expect(login("rotated", "second-password")).To(gomega.Succeed()) })
		g.Expect(login("rotated", "first-password")).NotTo(gomega.Succeed())
		w.settled(t, "rotated")
	})
	t.Run("a database that is not empty", func(t *testing.T) {
		g.Expect(one.Database("rotated").CreateCollection(t.Context(), "orders")).To(gomega.Succeed())
		w.delete(t, "rotated")
		w.shows(t, "rotated", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "deletion: ", "database: mongodb/database (name rotated at "+f.endpoint()+"): ", "forceDestroy")
		g.Expect(users(t, one, "rotated")).To(gomega.BeZero(), "the user was made after it, and is gone")
		g.Expect(one.Database("rotated").Collection("orders").Drop(t.Context())).To(gomega.Succeed())
		w.vanished(t, "rotated")
		g.Expect(collections(t, one, "rotated")).To(gomega.BeEmpty())
	})
	t.Run("a server that is down, and comes back", func(t *testing.T) {
		w.website(t, "down", "{image: x}")
		w.settled(t, "down")
		f.down()
		w.delete(t, "down")
		w.shows(t, "down", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "deletion: ", "user: mongodb/user (database down, name app at "+f.endpoint()+"): ", "the server can't be reached: ", "connection refused")
		g.Expect(users(t, one, "down")).To(gomega.Equal(1))
		f.up(t)
		w.vanished(t, "down")
		g.Expect(collections(t, one, "down")).To(gomega.BeEmpty())
	})
	w.quiet(t, m)
}
