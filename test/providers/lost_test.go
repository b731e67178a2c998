package providers

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// warnings are the messages of the warning events of a place, by their reason.
func (w *place) warnings(t *testing.T, g gomega.Gomega) map[string][]string {
	t.Helper()
	var events corev1.EventList
	g.Expect(w.kube.List(t.Context(), &events, client.InNamespace(w.id))).To(gomega.Succeed())
	out := map[string][]string{}
	for i := range events.Items {
		e := &events.Items[i]
		if e.Type == corev1.EventTypeWarning && !slices.Contains(out[e.Reason], e.Message) {
			out[e.Reason] = append(out[e.Reason], e.Message)
		}
	}
	return out
}

// What somebody deletes behind the back of a resource is made again, and a warning says that what it held is lost. What is made for the first time
// is no loss, also where the process was another one then.
func TestWhatIsLostIsMadeAgainWithAWarning(t *testing.T) {
	g, w := gomega.NewWithT(t), newPlane(t).place(t)
	server := database(t)
	f, m, one := newFront(t), newMongoFront(t, server), admin(t, server)
	process := w.manager(t)
	w.secrets(t)
	w.box(t, `
resync: 2s
providers:
  aws:
  - id: bucket
    s3bucket: {name: web-bucket, region: eu-west-1}
    credentials: {secretRef: {name: aws}}
    endpoint: `+f.URL+`
  - id: queue
    sqsqueue: {name: web-queue, region: eu-west-1}
    credentials: {secretRef: {name: aws}}
    endpoint: `+f.URL+`
  mongodb:
  - id: database
    database: {name: web}
    credentials: {secretRef: {name: mongo}}
    endpoint: "`+m.endpoint()+`"
  - id: orders
    collection: {database: web, name: orders}
    credentials: {secretRef: {name: mongo}}
    endpoint: "`+m.endpoint()+`"
  - id: user
    user: {database: web, name: app, passwordSecretRef: {name: app, key: password}}
    credentials: {secretRef: {name: mongo}}
    endpoint: "`+m.endpoint()+`"
`)
	w.website(t, "web", "{image: x}")
	w.settled(t, "web")
	g.Expect(w.warnings(t, g)).NotTo(gomega.HaveKey(v1alpha1.ReasonProviderLost))
	g.Expect(process.die()).To(gomega.Succeed())

	told := func(what ...string) {
		t.Helper()
		eventually(t, func(g gomega.Gomega) {
			lost := strings.Join(w.warnings(t, g)[v1alpha1.ReasonProviderLost], "; ") // events of one cycle are told together
			for _, one := range what {
				g.Expect(lost).To(gomega.ContainSubstring(one + " was gone, and not by Orkestra: it is made again as it is declared, and what else it held is lost"))
			}
		})
	}
	_, err := f.store.root.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: new("web-bucket")})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	f.cloud.DropQueue("eu-west-1", "web-queue")
	g.Expect(one.Database("web").RunCommand(t.Context(), bson.D{{Key: "dropUser", Value: "app"}}).Err()).To(gomega.Succeed())
	g.Expect(one.Database("web").Collection("orders").Drop(t.Context())).To(gomega.Succeed())
	told(
		"bucket: aws/s3bucket (name web-bucket, region eu-west-1 at "+f.URL+")", "queue: aws/sqsqueue (name web-queue, region eu-west-1 at "+f.URL+")",
		"orders: mongodb/collection (database web, name orders at "+m.endpoint()+")", "user: mongodb/user (database web, name app at "+m.endpoint()+")",
	)
	w.settled(t, "web")
	g.Expect(f.store.buckets(t)).To(gomega.Equal([]string{"web-bucket"}))
	g.Expect(f.cloud.Queues()).To(gomega.HaveKey("eu-west-1/web-queue"))
	g.Expect(collections(t, one, "web")).To(gomega.ContainElement("orders"))
	g.Expect(users(t, one, "web")).To(gomega.Equal(1))

	w.quiet(t, process)
	w.delete(t, "web")
	w.vanished(t, "web")
}
