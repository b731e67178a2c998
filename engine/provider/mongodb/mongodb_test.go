package mongodb

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/test/fixtures"
)

func TestKindsKeepTheContract(t *testing.T) {
	fixtures.CheckKinds(t, New(), map[string]any{"database": databaseSpec{}, "user": userSpec{}, "collection": collectionSpec{}})
	for name, kind := range New().Kinds() {
		if !kind.NeedsEndpoint {
			t.Errorf("%s: MongoDB has no public address", name)
		}
	}
}

func TestEndpoints(t *testing.T) {
	got, err := parseEndpoint("mongodb://a:27017,b:27018/?replicaSet=rs0&tls=true&authSource=x&authMechanism=SCRAM-SHA-1&directConnection=false")
	want := &endpoint{hosts: []string{"a:27017", "b:27018"}, replicaSet: "rs0", authSource: "x", authMechanism: "SCRAM-SHA-1", tls: true}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(endpoint{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, message := range map[string]string{
		"":                               "the endpoint must begin with mongodb:// and name the servers, as in mongodb://a:27017,b:27017/?replicaSet=rs0",
		"mongodb://u:p@a/":               "the endpoint must not hold credentials: put username and password into the Secret of the credentials",
		"mongodb://a/db":                 "the endpoint must not name a database: declare it as a field",
		"mongodb:///":                    "the endpoint must name a server between mongodb:// and the next / or comma",
		"mongodb://a,,b/":                "the endpoint must name a server between mongodb:// and the next / or comma",
		"mongodb://a/?x=%":               "the options of the endpoint can't be read: they are written as ?name=value&name=value",
		"mongodb://a/?proxyHost=b":       `the endpoint has the option "proxyHost": it may have authMechanism, authSource, directConnection, replicaSet and tls`,
		"mongodb://a/?tls=yes":           "the option tls of the endpoint must be true or false",
		"mongodb://a/?authMechanism=AWS": "authMechanism: the endpoint may say SCRAM-SHA-1 or SCRAM-SHA-256",
	} {
		_, err := parseEndpoint(text)
		failed, ok := err.(*provider.Error) //nolint:errorlint // It is given as it is.
		if !ok || failed.Class != provider.Invalid || failed.Message != message {
			t.Errorf("%q gives %v, want %s", text, err, message)
		}
	}
}

func TestURIHasNoCredentials(t *testing.T) {
	for given, want := range map[string]string{"mongodb://a": "mongodb://a/shop", "mongodb://a,b/?replicaSet=x": "mongodb://a,b/shop?replicaSet=x"} {
		if got := uri(&provider.Request{Endpoint: given}, "shop"); got != want {
			t.Errorf("%s gives %s, want %s", given, got, want)
		}
	}
}

func TestValuesThatMeanTheSame(t *testing.T) {
	declared := document(map[string]any{"b": []any{float64(1), "x", nil}, "a": map[string]any{"n": int64(5), "half": 0.5, "large": 1e300}})
	current := bson.D{{Key: "a", Value: bson.D{{Key: "large", Value: 1e300}, {Key: "half", Value: 0.5}, {Key: "n", Value: int32(5)}}}, {Key: "b", Value: bson.A{1.0, "x", nil}}}
	if !same(declared, current) {
		t.Errorf("%v is not %v", declared, current)
	}
	if declared[0].Key != "a" || declared[1].Value.(bson.A)[0] != int64(1) {
		t.Errorf("keys are in order and whole numbers whole: %v", declared)
	}
	for name, other := range map[string]any{"another number": bson.D{{Key: "a", Value: 2}}, "a type of its own": bson.D{{Key: "a", Value: bson.NewObjectID()}}, "none": nil, "a text": bson.D{{Key: "a", Value: "1"}}} {
		if same(bson.D{{Key: "a", Value: 1}}, other) {
			t.Errorf("%s is the same", name)
		}
	}
}

func TestIndexesAreToldApart(t *testing.T) {
	seconds, others := int64(60), int64(61)
	one := index{Name: "i", Keys: []indexKey{{Field: "a"}, {Field: "b", Order: -1}}, ExpireAfterSeconds: &seconds}
	there := built{Name: "i", Key: bson.D{{Key: "a", Value: int32(1)}, {Key: "b", Value: -1.0}}, ExpireAfterSeconds: int32(60)}
	if !one.toBuilt().equal(there) {
		t.Errorf("%+v is not %+v", one.toBuilt(), there)
	}
	for name, change := range map[string]func(*index){
		"order of keys": func(i *index) { i.Keys[0], i.Keys[1] = i.Keys[1], i.Keys[0] }, "fewer keys": func(i *index) { i.Keys = i.Keys[:1] }, "unique": func(i *index) { i.Unique = true },
		"sparse": func(i *index) { i.Sparse = true }, "time": func(i *index) { i.ExpireAfterSeconds = &others }, "type": func(i *index) { i.Keys[0].Type = "hashed" },
		"filter": func(i *index) { i.PartialFilterExpression = map[string]any{"a": true} },
	} {
		other := one
		other.Keys = append([]indexKey{}, one.Keys...)
		change(&other)
		if other.toBuilt().equal(there) {
			t.Errorf("%s makes no difference", name)
		}
	}
}
