package providers

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/test/providers/awsdouble"
)

// other is another declaration of the same resource that stands for the same, as Observe finds it: with a token of its own.
func (l *life) other() *life {
	out := &life{driver: l.driver, request: l.request, known: true}
	out.request.Token = "not " + l.request.Token
	out.request.Declared, out.request.Noted = maps.Clone(l.request.Declared), maps.Clone(l.request.Noted)
	return out
}

// isTwin checks that nothing of a twin is touched, and that Observe without a token tells which it has.
func isTwin(t *testing.T, l *life) {
	t.Helper()
	twin := l.other()
	if _, err := twin.cycle(t); classOf(err) != provider.Duplicate {
		t.Errorf("Ensure gives %v, want Duplicate", err)
	}
	if _, err := twin.observe(t); classOf(err) != provider.Duplicate {
		t.Errorf("Observe gives %v, want Duplicate", err)
	}
	if gone, err := twin.delete(t); !gone || err != nil {
		t.Errorf("Delete gives %v, %v: what has another token is gone for this one", gone, err)
	}
	twin.request.Token = ""
	if seen, err := twin.observe(t); err != nil || seen.Token != l.request.Token {
		t.Errorf("Observe finds %+v, %v; want the token %s", seen, err, l.request.Token)
	}
	if seen, err := l.observe(t); err != nil || len(seen.Differs) > 0 {
		t.Errorf("it is touched: %+v, %v", seen, err)
	}
}

// A declaration with another address does not touch what one of the same resource has made. A mark of a former version, without a token, gets one.
func TestDeclarationsOfOneResourceAreToldApart(t *testing.T) {
	s, a, db := newStore(t), newAccount(), database(t)
	for name, l := range map[string]*life{
		"bucket":     s.life("twin", map[string]any{"forceDestroy": true}),
		"queue":      a.queue("twin", nil),
		"record":     a.record("twin.example.com", "A", map[string]any{"records": []any{"192.0.2.1"}}),
		"database":   databaseOf(db.dial, "twin", map[string]any{"forceDestroy": true}),
		"user":       userOf(db.dial, "twinuser", "app", nil),
		"collection": collectionOf(db.dial, "twincollection", "orders", map[string]any{"forceDestroy": true}),
	} {
		t.Run(name, func(t *testing.T) {
			l.known, l.request.Absent = true, true
			l.must(t)
			if seen, err := l.observe(t); err != nil || seen.Token != "" {
				t.Fatalf("made without a token, Observe finds %+v, %v", seen, err)
			}
			l.request.Token = "token"
			l.must(t)
			isTwin(t, l)
			l.mustDelete(t)
		})
	}
}

// A mark in a place of its own may be left without what it is of: who stands for that now makes it again.
func TestAMarkWithoutItsThingIsARemnant(t *testing.T) {
	a, db := newAccount(), database(t)
	one := admin(t, db)
	for name, c := range map[string]struct {
		life *life
		drop func()
	}{
		"record": {a.record("left.example.com", "A", map[string]any{"records": []any{"192.0.2.1"}}), func() {
			a.PutZone("Z1", slices.DeleteFunc(a.Sets("Z1"), func(set awsdouble.Set) bool { return set.Type == "A" })...)
		}},
		"user": {userOf(db.dial, "left", "app", nil), func() {
			if err := one.Database("left").RunCommand(t.Context(), bson.D{{Key: "dropUser", Value: "app"}}).Err(); err != nil {
				t.Fatal(err)
			}
		}},
		"collection": {collectionOf(db.dial, "leftcollection", "orders", nil), func() {
			if err := one.Database("leftcollection").Collection("orders").Drop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.life.must(t)
			c.drop()
			next := c.life.other()
			if _, err := next.observe(t); classOf(err) != provider.NotFound {
				t.Errorf("Observe gives %v, want NotFound", err)
			}
			if out := next.must(t); !out.Created {
				t.Error("it does not say that it has made it")
			}
			isTwin(t, next)
		})
	}
}

// Two gateways for two regions keep their buckets in one folder, and a server of databases has two names. With another region and another endpoint
// a box stands for what it has made: nothing is deleted, and nothing is lost.
func TestWhatIsDeclaredWithAnotherAddressStays(t *testing.T) {
	g, w := gomega.NewWithT(t), newPlane(t).place(t)
	server := database(t)
	f, m, m2, one := newFront(t), newMongoFront(t, server), newMongoFront(t, server), admin(t, server)
	f2 := frontOf(t, f.store.twin(t, "us-east-1"))
	w.manager(t)
	w.secrets(t)
	const spec = `
resync: 2s
providers:
  aws:
  - id: assets
    s3bucket: {name: "{{ .metadata.name }}-assets", region: REGION, forceDestroy: true}
    credentials: {secretRef: {name: aws}}
    endpoint: STORE
  mongodb:
  - id: database
    database: {name: "{{ .metadata.name }}", forceDestroy: true}
    credentials: {secretRef: {name: mongo}}
    endpoint: "MONGO"
  - id: orders
    collection: {database: "{{ .metadata.name }}", name: orders, forceDestroy: true}
    credentials: {secretRef: {name: mongo}}
    endpoint: "MONGO"
  - id: user
    user: {database: "{{ .metadata.name }}", name: app, passwordSecretRef: {name: app, key: password}}
    credentials: {secretRef: {name: mongo}}
    endpoint: "MONGO"
`
	w.box(t, strings.NewReplacer("REGION", region, "STORE", f.URL, "MONGO", m.endpoint()).Replace(spec))
	w.website(t, "daisies", "{image: x}")
	was := w.settled(t, "daisies").GetAnnotations()[v1alpha1.AnnotationProviders]
	f.store.put(t, "daisies-assets", "logo.svg")
	_, err := one.Database("daisies").Collection("orders").InsertOne(t.Context(), bson.D{{Key: "a", Value: 1}})
	g.Expect(err).NotTo(gomega.HaveOccurred())

	w.box(t, strings.NewReplacer("REGION", "us-east-1", "STORE", f2.URL, "MONGO", m2.endpoint()).Replace(spec))
	moved := strings.NewReplacer(`"region":"`+region, `"region":"us-east-1`, f.URL, f2.URL, m.listener.Addr().String(), m2.listener.Addr().String()).Replace(was)
	eventually(t, func(g gomega.Gomega) {
		g.Expect(w.settled(t, "daisies").GetAnnotations()[v1alpha1.AnnotationProviders]).To(gomega.Equal(moved), "each thing has kept its token")
	})
	out, err := f.store.root.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: new("daisies-assets")})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(out.Contents).To(gomega.HaveLen(1))
	count, err := one.Database("daisies").Collection("orders").CountDocuments(t.Context(), bson.D{})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(count).To(gomega.BeEquivalentTo(1))
	g.Expect(users(t, one, "daisies")).To(gomega.Equal(1))
	g.Expect(w.warnings(t, g)).NotTo(gomega.HaveKey(v1alpha1.ReasonProviderLost))
	for _, call := range slices.Concat(f.asked(), f2.asked()) {
		g.Expect(call).NotTo(gomega.HavePrefix("s3 " + http.MethodDelete))
	}

	w.delete(t, "daisies")
	w.vanished(t, "daisies")
	g.Expect(f.store.buckets(t)).To(gomega.BeEmpty())
	g.Expect(users(t, one, "daisies")).To(gomega.BeZero())
}
