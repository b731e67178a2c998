package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/provider/mongodb"
	"github.com/orkspace/orkestra/test/providers/mongodouble"
)

const mongoEndpoint = "mongodb://db.example:27017/?directConnection=true&authSource=setup"

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

func mongoLife(dial dialFunc, kind string, declared map[string]any) *life {
	return &life{driver: func() provider.Driver { return mongodb.New().Kinds()[kind].Driver }, request: provider.Request{
		Owner: provider.Owner{Box: "shop", UID: "uid-1", Namespace: "team", Name: "one"}, Declared: declared, Endpoint: mongoEndpoint, Dial: dial,
		Credentials: map[string]string{"username": adminName, "password": adminPassword},
		Secrets:     map[string]provider.Secret{"passwordSecretRef": {Value: "first-password", Version: "1"}},
	}}
}

func databaseOf(dial dialFunc, name string, more map[string]any) *life {
	return mongoLife(dial, "database", with(map[string]any{"name": name}, more))
}

func collectionOf(dial dialFunc, database, name string, more map[string]any) *life {
	return mongoLife(dial, "collection", with(map[string]any{"database": database, "name": name}, more))
}

func userOf(dial dialFunc, database, name string, more map[string]any) *life {
	return mongoLife(dial, "user", with(map[string]any{"database": database, "name": name, "passwordSecretRef": map[string]any{"name": "s", "key": "k"}}, more))
}

func with(declared, more map[string]any) map[string]any {
	maps.Copy(declared, more)
	return declared
}

// mongoClient is a client of somebody else.
func mongoClient(t *testing.T, s *server, source, name, password string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().SetHosts([]string{"db.example:27017"}).SetDirect(true).SetDialer(dialerOf(s.dial)).
		SetAuth(options.Credential{AuthSource: source, Username: name, Password: password, PasswordSet: true}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

type dialerOf dialFunc

func (d dialerOf) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

func admin(t *testing.T, s *server) *mongo.Client {
	t.Helper()
	return mongoClient(t, s, "setup", adminName, adminPassword)
}

func collections(t *testing.T, client *mongo.Client, database string) []string {
	t.Helper()
	names, err := client.Database(database).ListCollectionNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func users(t *testing.T, client *mongo.Client, database string) int {
	t.Helper()
	var out struct{ Users []bson.D }
	if err := client.Database(database).RunCommand(t.Context(), bson.D{{Key: "usersInfo", Value: 1}}).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return len(out.Users)
}

// lossyDial loses one command: before the server sees it, or after the server has done what it asks. What keeps a connection does not count.
type lossyDial struct {
	next   dialFunc
	lose   int
	before bool
	sent   int
}

func (l *lossyDial) dial(ctx context.Context, network, address string) (net.Conn, error) {
	connection, err := l.next(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &lossyConnection{Conn: connection, of: l}, nil
}

type lossyConnection struct {
	net.Conn
	of   *lossyDial
	lost bool
}

// keepsConnection says of a command that it changes nothing, and asks for nothing that is kept.
func keepsConnection(command string) bool {
	return slices.Contains([]string{"hello", "ismaster", "saslstart", "saslcontinue", "endsessions", "ping"}, strings.ToLower(command))
}

// Write is called with one whole message.
func (c *lossyConnection) Write(message []byte) (int, error) {
	_, op, body, err := mongodouble.ReadMessage(strings.NewReader(string(message)))
	if err != nil {
		return 0, err
	}
	command, err := mongodouble.Command(op, body)
	if err != nil {
		return 0, err
	}
	if keepsConnection(command[0].Key) {
		return c.Conn.Write(message)
	}
	c.of.sent++
	if c.of.sent == c.of.lose {
		if c.lost = true; c.of.before {
			return 0, errLost
		}
	}
	return c.Conn.Write(message)
}

// Read takes a lost answer from the server, so that it has acted, and keeps it.
func (c *lossyConnection) Read(into []byte) (int, error) {
	if !c.lost {
		return c.Conn.Read(into)
	}
	if _, _, _, err := mongodouble.ReadMessage(c.Conn); err != nil {
		return 0, err
	}
	return 0, errLost
}

func TestThingsOfMongoDBAreMadeOnceWhateverIsLost(t *testing.T) {
	s := database(t)
	root := admin(t, s)
	number := 0
	for kind, make := range map[string]func(dial dialFunc, name string) *life{
		"database": func(dial dialFunc, name string) *life { return databaseOf(dial, name, nil) },
		"user":     func(dial dialFunc, name string) *life { return userOf(dial, name, "app", nil) },
		"collection": func(dial dialFunc, name string) *life {
			return collectionOf(dial, name, "orders", map[string]any{"indexes": []any{map[string]any{"name": "by_a", "keys": []any{map[string]any{"field": "a"}}}}})
		},
	} {
		t.Run(kind, func(t *testing.T) {
			everyLoss(t, func(t *testing.T, lose int, before bool) int {
				t.Helper()
				number++
				name := "lost" + kind + string(rune('a'+number/26)) + string(rune('a'+number%26))
				wire := &lossyDial{next: s.dial, lose: lose, before: before}
				l := make(wire.dial, name)
				l.must(t)
				want, wantUsers := []string{"orkestra.ownership"}, 0
				switch kind {
				case "collection":
					want = []string{"orders", "orkestra.ownership"}
				case "user":
					wantUsers = 1
				}
				if got := collections(t, root, name); !slices.Equal(got, want) || users(t, root, name) != wantUsers {
					t.Errorf("there are collections %v, want %v, and %d users", got, want, users(t, root, name))
				}
				l.request.Dial = s.dial
				if seen, err := l.observe(t); err != nil || len(seen.Differs) > 0 {
					t.Errorf("Observe says %+v, %v", seen, err)
				}
				l.request.Dial = wire.dial
				l.mustDelete(t)
				left := collections(t, root, name)
				if kind == "database" && len(left) > 0 || slices.Contains(left, "orders") || users(t, root, name) > 0 {
					t.Errorf("after deletion there are collections %v and %d users", left, users(t, root, name))
				}
				return wire.sent
			})
		})
	}
}

func TestPasswordIsRotatedByItsVersion(t *testing.T) {
	s := database(t)
	l := userOf(s.dial, "appdb", "app", nil)
	if out := l.must(t); !out.Created || out.Outputs["authSource"] != "appdb" {
		t.Errorf("Ensure says %+v", out)
	}
	login := func(password string) error {
		return mongoClient(t, s, "appdb", "app", password).Ping(t.Context(), nil)
	}
	if err := login("first-password"); err != nil {
		t.Fatalf("the first password: %v", err)
	}
	wire := &lossyDial{next: s.dial}
	l.request.Dial = wire.dial
	if out := l.must(t); len(out.Differs) > 0 || out.Created {
		t.Errorf("nothing has changed, and Ensure says %+v", out)
	}
	l.request.Secrets = map[string]provider.Secret{"passwordSecretRef": {Value: "second-password", Version: "2"}}
	want := []string{"passwordSecretRef"}
	if seen, err := l.observe(t); err != nil || !slices.Equal(seen.Differs, want) {
		t.Errorf("Observe says %+v, %v", seen, err)
	}
	// The answer to updateUser is lost: find, usersInfo, updateUser.
	wire.sent, wire.lose = 0, 3
	if _, err := l.cycle(t); classOf(err) != provider.Transient {
		t.Errorf("a cycle whose answer is lost gives %v", err)
	}
	if out := l.must(t); !slices.Equal(out.Differs, want) {
		t.Errorf("Ensure says %+v", out)
	}
	if login("first-password") == nil || login("second-password") != nil {
		t.Error("the second password is not the one")
	}
	if out := l.must(t); len(out.Differs) > 0 {
		t.Errorf("it was set, and Ensure says %+v", out)
	}
}

func TestThingsOfMongoDBOfSomebodyElse(t *testing.T) {
	s := database(t)
	root := admin(t, s)
	if err := root.Database("bare").CreateCollection(t.Context(), "theirs"); err != nil {
		t.Fatal(err)
	}
	if err := root.Database("bare").RunCommand(t.Context(), bson.D{{Key: "createUser", Value: "theirs"}, {Key: "pwd", Value: "x"}, {Key: "roles", Value: bson.A{}}}).Err(); err != nil {
		t.Fatal(err)
	}
	// The database comes first: with a collection in it, it would be there already, without an owner.
	for i, l := range []*life{databaseOf(s.dial, "owned", nil), collectionOf(s.dial, "owned", "theirs", nil), userOf(s.dial, "owned", "theirs", nil)} {
		l.request.Owner = provider.Owner{Box: "b", UID: fmt.Sprintf("other-%d", i), Name: "n"}
		l.must(t)
	}
	for database, reason := range map[string]string{"bare": "is there already, and has no owner: declare another name, or adopt: IfUnowned", "owned": "belongs to n of the box b: declare another name"} {
		// In this order: what is adopted of a database makes it one that is in use.
		for _, of := range []struct {
			kind string
			*life
		}{
			{"database", databaseOf(s.dial, database, nil)}, {"collection", collectionOf(s.dial, database, "theirs", nil)}, {"user", userOf(s.dial, database, "theirs", nil)},
		} {
			t.Run(of.kind+" "+database, func(t *testing.T) {
				l := of.life
				l.request.Noted = map[string]string{"forceDestroy": "true"}
				if _, err := l.observe(t); classOf(err) != provider.NotOwned || !strings.HasSuffix(err.Error(), reason) {
					t.Errorf("Observe gives %v", err)
				}
				l.known = true
				if _, err := l.cycle(t); classOf(err) != provider.NotOwned || !strings.HasSuffix(err.Error(), reason) {
					t.Errorf("Ensure gives %v", err)
				}
				if gone, err := l.delete(t); !gone || err != nil {
					t.Errorf("Delete gives %v, %v", gone, err)
				}
				if got := collections(t, root, database); !slices.Contains(got, "theirs") || users(t, root, database) != 1 {
					t.Errorf("there are collections %v and %d users", got, users(t, root, database))
				}
				l.request.Adopt = true
				_, err := l.cycle(t)
				if adopted := database == "bare"; adopted != (err == nil) {
					t.Errorf("with adoption: %v", err)
				}
			})
		}
	}
}

func TestThingsOfMongoDBThatAreNotEmpty(t *testing.T) {
	s := database(t)
	root := admin(t, s)
	db, orders, app := databaseOf(s.dial, "shop", nil), collectionOf(s.dial, "shop", "orders", nil), userOf(s.dial, "shop", "app", nil)
	for _, l := range []*life{db, orders, app} {
		l.must(t)
	}
	if _, err := root.Database("shop").Collection("orders").InsertOne(t.Context(), bson.D{{Key: "a", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	refuses := func(l *life, message string) {
		t.Helper()
		if gone, err := l.delete(t); gone || classOf(err) != provider.InUse || !strings.Contains(err.Error(), message) {
			t.Errorf("Delete gives %v, %v; want InUse with %s", gone, err, message)
		}
	}
	refuses(orders, "the collection orders of the database shop holds 1 documents: delete them, or declare forceDestroy: true before the resource is deleted")
	db.request.Noted = map[string]string{"forceDestroy": "true"}
	refuses(db, "the database shop has resources that are declared (user app of team/one of the box shop): delete them first")
	app.mustDelete(t)
	db.request.Noted = nil
	refuses(db, "the database shop has collections (orders): drop them, or declare forceDestroy: true before the resource is deleted")
	if got := collections(t, root, "shop"); !slices.Contains(got, "orders") {
		t.Fatalf("there are collections %v", got)
	}
	orders.request.Declared["forceDestroy"] = true
	orders.must(t)
	orders.mustDelete(t)
	if err := root.Database("shop").CreateCollection(t.Context(), "of_the_application"); err != nil {
		t.Fatal(err)
	}
	refuses(db, "has collections (of_the_application)")
	db.request.Declared["forceDestroy"] = true
	db.must(t)
	db.mustDelete(t)
	if got := collections(t, root, "shop"); len(got) > 0 {
		t.Errorf("there are collections %v", got)
	}
}

func TestIndexesAreComparedAndCorrected(t *testing.T) {
	s := database(t)
	root := admin(t, s)
	index := func(name, field string, more map[string]any) map[string]any {
		return with(map[string]any{"name": name, "keys": []any{map[string]any{"field": field}, map[string]any{"field": "z", "order": int64(-1)}}}, more)
	}
	l := collectionOf(s.dial, "shop", "orders", map[string]any{"indexes": []any{index("first", "a", nil), index("second", "b", map[string]any{"unique": true})}})
	if out := l.must(t); !out.Created || out.Outputs["namespace"] != "shop.orders" {
		t.Errorf("Ensure says %+v", out)
	}
	if seen, err := l.observe(t); err != nil || len(seen.Differs) > 0 {
		t.Errorf("Observe says %+v, %v", seen, err)
	}
	names := func() []string {
		specs, err := root.Database("shop").Collection("orders").Indexes().ListSpecifications(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := []string{}
		for _, spec := range specs {
			out = append(out, spec.Name)
		}
		slices.Sort(out)
		return out
	}
	if _, err := root.Database("shop").Collection("orders").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{Key: "t", Value: 1}}, Options: options.Index().SetName("theirs")}); err != nil {
		t.Fatal(err)
	}
	// One is another now, one is declared no more.
	l.request.Declared["indexes"] = []any{index("first", "c", nil)}
	if seen, err := l.observe(t); err != nil || !slices.Equal(seen.Differs, []string{"indexes"}) {
		t.Errorf("Observe says %+v, %v", seen, err)
	}
	if out := l.must(t); !slices.Equal(out.Differs, []string{"indexes"}) || !slices.Equal(names(), []string{"_id_", "first", "theirs"}) {
		t.Errorf("Ensure says %+v, and there are %v", out, names())
	}
	if out := l.must(t); len(out.Differs) > 0 {
		t.Errorf("nothing differs, and Ensure says %+v", out)
	}
}

func TestMistakesOfMongoDB(t *testing.T) {
	s := database(t)
	for name, c := range map[string]struct {
		change func(*provider.Request)
		class  provider.Class
		text   string
	}{
		"wrong password":    {func(r *provider.Request) { r.Credentials["password"] = "hunter-two" }, provider.Denied, "AuthenticationFailed: the server refuses the username and the password of the Secret of the credentials"},
		"no password":       {func(r *provider.Request) { delete(r.Credentials, "password") }, provider.Denied, "a username and no password"},
		"no endpoint":       {func(r *provider.Request) { r.Endpoint = "" }, provider.Invalid, "the endpoint must begin with mongodb://"},
		"file of the Pod":   {func(r *provider.Request) { r.Endpoint = "mongodb://a/?tlsCAFile=/etc/passwd" }, provider.Invalid, `the option "tlsCAFile"`},
		"roles of the Pod":  {func(r *provider.Request) { r.Endpoint = "mongodb://a/?authMechanism=MONGODB-AWS" }, provider.Invalid, "authMechanism"},
		"name of DNS alone": {func(r *provider.Request) { r.Endpoint = "mongodb+srv://a/" }, provider.Invalid, "must begin with mongodb://"},
		"server's database": {func(r *provider.Request) { r.Declared["name"] = "admin" }, provider.Invalid, "is the server's own"},
		"no certificate":    {func(r *provider.Request) { r.Endpoint, r.Credentials["ca.crt"] = "mongodb://a/?tls=true", "none" }, provider.Invalid, "holds no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			l := databaseOf(s.dial, "mistakes", nil)
			c.change(&l.request)
			_, err := l.cycle(t)
			if classOf(err) != c.class || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "hunter-two") {
				t.Errorf("a cycle gives %v, want %s %s", err, c.class, c.text)
			}
			if gone, err := l.delete(t); gone || err == nil {
				t.Errorf("Delete gives %v, %v", gone, err)
			}
		})
	}
}

func TestServerOfMongoDBThatIsDown(t *testing.T) {
	s := database(t)
	l := databaseOf(s.dial, "down", nil)
	l.must(t)
	s.stop()
	ctx, cancel := context.WithCancel(t.Context())
	request := l.request
	dialed := make(chan struct{}, 100)
	request.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed <- struct{}{}
		return s.dial(ctx, network, address)
	}
	go func() {
		<-dialed
		cancel()
	}()
	if gone, err := l.driver().Delete(ctx, &request); gone || !errors.Is(err, context.Canceled) {
		t.Errorf("Delete gives %v, %v: it must end with its context, and not say that the database is gone", gone, err)
	}
}

// A server that takes connections and says nothing must not keep anything of a client alive.
func TestNothingOutlivesACall(t *testing.T) {
	before := goleak.IgnoreCurrent()
	test := t.Context()
	silent := func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		context.AfterFunc(test, func() { _ = there.Close() })
		return here, ctx.Err()
	}
	double := mongodouble.New()
	for name, dial := range map[string]dialFunc{"silent": silent, "answering": double.Dial} {
		ctx, cancel := context.WithCancel(t.Context())
		l := databaseOf(dial, "calls", nil)
		l.request.Credentials = nil
		if name == "silent" {
			l.request.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				defer cancel()
				return dial(ctx, network, address)
			}
		}
		_, err := l.driver().Ensure(ctx, &l.request)
		cancel()
		if failed := err != nil; failed != (name == "silent") {
			t.Errorf("%s: %v", name, err)
		}
	}
	goleak.VerifyNone(t, before)
}

func TestRolesAreSetAndCorrected(t *testing.T) {
	double := mongodouble.New()
	l := userOf(double.Dial, "shop", "app", map[string]any{"roles": []any{map[string]any{"role": "readWrite"}, map[string]any{"role": "read", "db": "other"}}})
	l.request.Credentials = nil
	l.must(t)
	roles := func(pairs ...string) bson.A {
		out := bson.A{}
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, bson.D{{Key: "role", Value: pairs[i]}, {Key: "db", Value: pairs[i+1]}})
		}
		return out
	}
	same := func(a, b bson.A) bool {
		return slices.EqualFunc(a, b, func(x, y any) bool { return slices.Equal(x.(bson.D), y.(bson.D)) })
	}
	if got := double.Users["shop.app"]; !same(got, roles("read", "other", "readWrite", "shop")) || double.Passwords["shop.app"] != "first-password" {
		t.Errorf("the user has roles %v and the password %s", got, double.Passwords["shop.app"])
	}
	double.Users["shop.app"] = roles("readWrite", "shop", "read", "other")
	if out := l.must(t); len(out.Differs) > 0 || len(double.Writes) != 1 {
		t.Errorf("the same roles in another order: %+v, %v", out, double.Writes)
	}
	double.Users["shop.app"], double.Passwords["shop.app"] = roles("root", "admin"), "untouched"
	want := []string{"roles"}
	if seen, err := l.observe(t); err != nil || !slices.Equal(seen.Differs, want) {
		t.Errorf("Observe says %+v, %v", seen, err)
	}
	if out := l.must(t); !slices.Equal(out.Differs, want) || len(double.Users["shop.app"]) != 2 || double.Passwords["shop.app"] != "untouched" {
		t.Errorf("Ensure says %+v, and the user has %v", out, double.Users["shop.app"])
	}
}

func TestCappedCollection(t *testing.T) {
	s := database(t)
	l := collectionOf(s.dial, "shop", "log", map[string]any{"capped": map[string]any{"sizeBytes": int64(4096), "maxDocuments": int64(10)}})
	l.must(t)
	if out := l.must(t); len(out.Differs) > 0 || out.Created {
		t.Errorf("nothing differs, and Ensure says %+v", out)
	}
	l.request.Declared["capped"] = map[string]any{"sizeBytes": int64(4096), "maxDocuments": int64(11)}
	if seen, err := l.observe(t); err != nil || !slices.Equal(seen.Differs, []string{"capped"}) {
		t.Errorf("Observe says %+v, %v", seen, err)
	}
	if _, err := l.cycle(t); classOf(err) != provider.Invalid || !strings.Contains(err.Error(), "capped.maxDocuments: the collection has another limit than 11") {
		t.Errorf("another limit: %v", err)
	}
}

func TestValidatorIsSetAndCorrected(t *testing.T) {
	double := mongodouble.New()
	validator := map[string]any{"$jsonSchema": map[string]any{"required": []any{"a"}, "properties": map[string]any{"a": map[string]any{"bsonType": "string", "maxLength": int64(5)}}}}
	l := collectionOf(double.Dial, "shop", "orders", map[string]any{"validator": validator, "validationAction": "warn", "validationLevel": "strict"})
	l.request.Credentials = nil
	l.must(t)
	if out := l.must(t); len(out.Differs) > 0 || !slices.Equal(double.Writes, []string{"create"}) {
		t.Errorf("nothing differs, and Ensure says %+v, %v", out, double.Writes)
	}
	delete(l.request.Declared, "validationLevel")
	l.request.Declared["validator"], l.request.Declared["validationAction"] = map[string]any{}, "error"
	want := []string{"validationAction", "validator"}
	if seen, err := l.observe(t); err != nil || !slices.Equal(seen.Differs, want) {
		t.Errorf("Observe says %+v, %v", seen, err)
	}
	if out := l.must(t); !slices.Equal(out.Differs, want) {
		t.Errorf("Ensure says %+v", out)
	}
	if out := l.must(t); len(out.Differs) > 0 || !slices.Equal(double.Writes, []string{"create", "collMod"}) {
		t.Errorf("nothing differs, and Ensure says %+v, %v", out, double.Writes)
	}
	l.request.Declared["capped"] = map[string]any{"sizeBytes": int64(4096)}
	if _, err := l.cycle(t); classOf(err) != provider.Invalid || !strings.Contains(err.Error(), "capped: the collection has no limits") {
		t.Errorf("what can't be changed: %v", err)
	}
}
