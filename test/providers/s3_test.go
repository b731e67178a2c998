package providers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/provider/aws"
)

const storeEndpoint = "http://store.example"

// store is a gateway with what tests need of it.
type store struct {
	*server
	http provider.HTTPClient
	root *s3.Client
}

// plainHTTP sends all requests to the socket, without TLS. Signatures do not cover the scheme.
type plainHTTP struct{ client *http.Client }

func (p plainHTTP) Do(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme = "http"
	return p.client.Do(req)
}

func newStore(t *testing.T, flags ...string) *store {
	t.Helper()
	return storeAt(t, gateway(t, flags...), region)
}

// twin is another gateway over the same buckets, for another region.
func (s *store) twin(t *testing.T, region string) *store {
	t.Helper()
	return storeAt(t, gatewayOver(t, filepath.Dir(s.socket), region), region)
}

func storeAt(t *testing.T, at *server, region string) *store {
	t.Helper()
	s := &store{server: at}
	transport := &http.Transport{DialContext: s.dial}
	t.Cleanup(transport.CloseIdleConnections)
	s.http = plainHTTP{&http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	s.root = s3.NewFromConfig(sdk.Config{Region: region, HTTPClient: s.http, BaseEndpoint: sdk.String(storeEndpoint),
		Credentials: sdk.CredentialsProviderFunc(func(context.Context) (sdk.Credentials, error) {
			return sdk.Credentials{AccessKeyID: rootKey, SecretAccessKey: rootSecret}, nil
		})}, func(o *s3.Options) { o.UsePathStyle = true })
	return s
}

func bucketDriver() provider.Driver { return aws.New().Kinds()["s3bucket"].Driver }

func (s *store) life(name string, more map[string]any) *life {
	declared := map[string]any{"name": name, "region": region}
	maps.Copy(declared, more)
	return &life{driver: bucketDriver, request: provider.Request{
		Owner: provider.Owner{Box: "shop", UID: "uid-of-" + name, Namespace: "team", Name: "one"}, Declared: declared, Endpoint: storeEndpoint, HTTP: s.http,
		Credentials: map[string]string{"AWS_ACCESS_KEY_ID": rootKey, "AWS_SECRET_ACCESS_KEY": rootSecret},
	}}
}

func (s *store) tags(t *testing.T, name string) map[string]string {
	t.Helper()
	out, err := s.root.GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: &name})
	if err != nil {
		t.Fatalf("tags of %s: %v", name, err)
	}
	tags := map[string]string{}
	for _, tag := range out.TagSet {
		tags[*tag.Key] = *tag.Value
	}
	return tags
}

func (s *store) buckets(t *testing.T) []string {
	t.Helper()
	out, err := s.root.ListBuckets(t.Context(), &s3.ListBucketsInput{})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, bucket := range out.Buckets {
		names = append(names, *bucket.Name)
	}
	return names
}

func (s *store) make(t *testing.T, name string) {
	t.Helper()
	_, err := s.root.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region}})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *store) put(t *testing.T, bucket, key string) {
	t.Helper()
	if _, err := s.root.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("text")}); err != nil {
		t.Fatal(err)
	}
}

// empty deletes all that is in a bucket, with all versions.
func (s *store) empty(t *testing.T, bucket string) {
	t.Helper()
	out, err := s.root.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: &bucket})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range out.Versions {
		if _, err := s.root.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: version.Key, VersionId: version.VersionId}); err != nil {
			t.Fatal(err)
		}
	}
}

// tagless is a store that refuses tags where a bucket is made, as those do that know the former form of the request.
type tagless struct{ next provider.HTTPClient }

func (s tagless) Do(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPut && strings.Count(strings.Trim(req.URL.Path, "/"), "/") == 0 && req.URL.RawQuery == "" && req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(body, []byte("<Tag>")) {
			answer := `<?xml version="1.0"?><Error><Code>MalformedXML</Code><Message>The XML you provided was not well-formed</Message></Error>`
			return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: req}, nil
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	return s.next.Do(req)
}

func TestBucketOfAllFields(t *testing.T) {
	s := newStore(t)
	s.http = &settings{next: s.http, kept: map[string][]byte{}}
	l := s.life("everything", map[string]any{
		"versioning": true, "tags": map[string]any{"team": "a", "cost": "b"}, "publicAccessBlock": true, "encryption": map[string]any{"algorithm": "AES256"},
		"policy":    map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::everything/*"}}},
		"lifecycle": []any{map[string]any{"id": "old", "prefix": "logs/", "expirationDays": int64(30)}},
	})
	out := l.must(t)
	if !out.Created {
		t.Error("it does not say that it has made the bucket")
	}
	want := map[string]any{"name": "everything", "arn": "arn:aws:s3:::everything", "region": region, "endpoint": storeEndpoint, "url": storeEndpoint + "/everything"}
	if diff := cmp.Diff(want, out.Outputs); diff != "" {
		t.Error(diff)
	}
	wantTags := map[string]string{"team": "a", "cost": "b", "orkestra.orkspace.io/uid": "uid-of-everything", "orkestra.orkspace.io/token": "token-uid-of-everything", "orkestra.orkspace.io/box": "shop", "orkestra.orkspace.io/namespace": "team", "orkestra.orkspace.io/name": "one"}
	if diff := cmp.Diff(wantTags, s.tags(t, "everything")); diff != "" {
		t.Error(diff)
	}
	unchanged(t, l, s.http)
}

// unchanged checks that nothing is written where nothing differs.
func unchanged(t *testing.T, l *life, client provider.HTTPClient) {
	t.Helper()
	watch := &methods{next: client}
	l.request.HTTP = watch
	out := l.must(t)
	if out.Created || len(out.Differs) > 0 {
		t.Errorf("a second Ensure says created %v, differs %v", out.Created, out.Differs)
	}
	if len(watch.writes) > 0 {
		t.Errorf("a second Ensure writes: %v", watch.writes)
	}
	l.request.HTTP = client
	seen, err := l.observe(t)
	if err != nil || len(seen.Differs) > 0 {
		t.Errorf("Observe: %+v, %v", seen, err)
	}
}

// methods notes requests that are no GET.
type methods struct {
	next   provider.HTTPClient
	writes []string
}

func (m *methods) Do(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		m.writes = append(m.writes, req.Method+" "+req.URL.RequestURI())
	}
	return m.next.Do(req)
}

// settings keeps what versitygw has no room for: lifecycle, encryption, and the block of public access. What was put is given back.
type settings struct {
	next provider.HTTPClient
	kept map[string][]byte
}

func (s *settings) Do(req *http.Request) (*http.Response, error) {
	absent := map[string]string{"lifecycle": "NoSuchLifecycleConfiguration", "encryption": "ServerSideEncryptionConfigurationNotFoundError", "publicAccessBlock": "NoSuchPublicAccessBlockConfiguration"}
	for name, code := range absent {
		if !req.URL.Query().Has(name) {
			continue
		}
		key := req.URL.Path + "?" + name
		answer := func(status int, body []byte) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: req}, nil
		}
		switch req.Method {
		case http.MethodPut:
			body, err := io.ReadAll(req.Body)
			s.kept[key] = body
			if err != nil {
				return nil, err
			}
			return answer(http.StatusOK, nil)
		case http.MethodDelete:
			delete(s.kept, key)
			return answer(http.StatusNoContent, nil)
		}
		if body, found := s.kept[key]; found {
			return answer(http.StatusOK, body)
		}
		return answer(http.StatusNotFound, []byte("<Error><Code>"+code+"</Code><Message>none</Message></Error>"))
	}
	return s.next.Do(req)
}

func TestBucketDriftIsNamedAndCorrected(t *testing.T) {
	s := newStore(t)
	s.http = &settings{next: s.http, kept: map[string][]byte{}}
	l := s.life("drift", map[string]any{"versioning": true, "tags": map[string]any{"team": "a", "gone": "later"}, "encryption": map[string]any{"algorithm": "AES256"}})
	l.must(t)
	mark := s.tags(t, "drift")
	mark["team"], mark["theirs"] = "b", "stays"
	var set []types.Tag
	for _, key := range slices.Sorted(maps.Keys(mark)) {
		set = append(set, types.Tag{Key: sdk.String(key), Value: sdk.String(mark[key])})
	}
	name := sdk.String("drift")
	if _, err := s.root.PutBucketTagging(t.Context(), &s3.PutBucketTaggingInput{Bucket: name, Tagging: &types.Tagging{TagSet: set}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.root.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{Bucket: name, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusSuspended}}); err != nil {
		t.Fatal(err)
	}
	l.request.Declared["tags"] = map[string]any{"team": "a"}
	l.request.Declared["encryption"] = map[string]any{"algorithm": "aws:kms"}
	want := []string{"encryption", "tags", "versioning"}
	seen, err := l.observe(t)
	if err != nil || !slices.Equal(seen.Differs, want) {
		t.Fatalf("Observe says %+v, %v; want %v", seen, err, want)
	}
	if out := l.must(t); !slices.Equal(out.Differs, want) || out.Created {
		t.Errorf("Ensure says %+v", out)
	}
	tags := s.tags(t, "drift")
	if _, kept := tags["gone"]; kept || tags["team"] != "a" || tags["theirs"] != "stays" {
		t.Errorf("tags are %v", tags)
	}
	unchanged(t, l, s.http)
}

// Amazon S3 by its public name: the gateway answers for the bucket's name in DNS.
func TestBucketIsMadeOnceWhateverIsLost(t *testing.T) {
	s := newStore(t)
	number := 0
	for name, kind := range map[string]struct {
		endpoint string
		client   provider.HTTPClient
	}{
		"Amazon S3":                         {"", s.http},
		"a store":                           {storeEndpoint, s.http},
		"a store that refuses tags at once": {storeEndpoint, tagless{s.http}},
	} {
		t.Run(name, func(t *testing.T) {
			everyLoss(t, func(t *testing.T, lose int, before bool) int {
				t.Helper()
				number++
				bucket := fmt.Sprintf("lost-%d", number)
				l := s.life(bucket, map[string]any{"versioning": true, "tags": map[string]any{"a": "b"}})
				client := &lossy{next: kind.client, lose: lose, before: before}
				l.request.HTTP, l.request.Endpoint = client, kind.endpoint
				l.must(t)
				if got := s.buckets(t); !slices.Equal(got, []string{bucket}) {
					t.Errorf("there are buckets %v, want %s alone", got, bucket)
				}
				if tags := s.tags(t, bucket); tags["orkestra.orkspace.io/uid"] != "uid-of-"+bucket || tags["a"] != "b" {
					t.Errorf("tags are %v", tags)
				}
				l.mustDelete(t)
				if got := s.buckets(t); len(got) > 0 {
					t.Errorf("there are buckets %v after deletion", got)
				}
				return client.sent
			})
		})
	}
}

func TestBucketOfSomebodyElse(t *testing.T) {
	s := newStore(t)
	s.make(t, "untagged")
	mine := s.life("owned", nil)
	mine.must(t)
	theirs := s.life("owned", nil)
	theirs.request.Owner.UID = "another"
	for name, l := range map[string]*life{"without an owner": s.life("untagged", nil), "of another resource": theirs} {
		t.Run(name, func(t *testing.T) {
			if _, err := l.cycle(t); classOf(err) != provider.NotOwned {
				t.Errorf("a cycle gives %v, want NotOwned", err)
			}
			ctx, request := l.call(t)
			if _, err := bucketDriver().Ensure(ctx, request); classOf(err) != provider.NotOwned {
				t.Errorf("Ensure gives %v, want NotOwned", err)
			}
			if gone, err := l.delete(t); !gone || err != nil {
				t.Errorf("Delete gives %v, %v: what is somebody else's is gone for us", gone, err)
			}
		})
	}
	if got := s.buckets(t); !slices.Equal(got, []string{"owned", "untagged"}) {
		t.Fatalf("there are buckets %v", got)
	}
	ctx, request := theirs.call(t)
	_, err := bucketDriver().Ensure(ctx, request)
	if want := "CreateBucket: the bucket owned belongs to a former team/one of the box shop, which had the UID uid-of-owned: delete it, or declare another name; " +
		"to take it over, take its tag orkestra.orkspace.io/uid off and declare adopt: IfUnowned"; err == nil || err.Error() != want {
		t.Errorf("it says %v, want %s", err, want)
	}
	adopting := s.life("untagged", nil)
	adopting.request.Adopt = true
	if out := adopting.must(t); out.Created {
		t.Error("what is adopted was not made")
	}
	theirs.request.Adopt, theirs.known = true, false
	if _, err := theirs.cycle(t); classOf(err) != provider.NotOwned {
		t.Errorf("adoption takes what has an owner: %v", err)
	}
}

// A mark that was seen is what counts from then on: an untagged bucket later is another one.
func TestUntaggedBucketIsNotTakenOnceTheMarkWasSeen(t *testing.T) {
	s := newStore(t)
	for name, endpoint := range map[string]string{"remade-store": storeEndpoint, "remade-amazon": ""} {
		l := s.life(name, nil)
		l.request.Endpoint = endpoint
		l.must(t)
		if _, err := s.root.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &name}); err != nil {
			t.Fatal(err)
		}
		s.make(t, name)
		if _, err := l.cycle(t); classOf(err) != provider.NotOwned {
			t.Errorf("%s: a cycle gives %v, want NotOwned", name, err)
		}
		if gone, err := l.delete(t); !gone || err != nil || !slices.Contains(s.buckets(t), name) {
			t.Errorf("%s: Delete gives %v, %v, and there are %v", name, gone, err, s.buckets(t))
		}
	}
	// Amazon S3 marks as it makes: there an untagged bucket is never ours, not even before the mark was seen.
	l := s.life("between", nil)
	l.request.Endpoint, l.known, l.request.Absent = "", true, true
	s.make(t, "between")
	if _, err := l.cycle(t); classOf(err) != provider.NotOwned {
		t.Errorf("an untagged bucket of Amazon S3 is taken: %v", err)
	}
}

func TestBucketThatIsNotEmpty(t *testing.T) {
	s := newStore(t)
	l := s.life("full", map[string]any{"versioning": true})
	l.must(t)
	for range 2 {
		s.put(t, "full", "a")
	}
	gone, err := l.delete(t)
	want := "DeleteBucket: BucketNotEmpty: the bucket full holds 2 versions of objects: empty it, or declare forceDestroy: true before the resource is deleted"
	if gone || classOf(err) != provider.InUse || err.Error() != want {
		t.Fatalf("Delete gives %v, %v; want %s", gone, err, want)
	}
	l.request.Declared["forceDestroy"] = true
	l.must(t)
	name, key := sdk.String("full"), sdk.String("a")
	if _, err := s.root.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: name, Key: key}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.root.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: name, Key: sdk.String("big")}); err != nil {
		t.Fatal(err)
	}
	everyLossOfDeletion(t, l, s)
}

// everyLossOfDeletion deletes while one request after the other is lost.
func everyLossOfDeletion(t *testing.T, l *life, s *store) {
	t.Helper()
	client := &lossy{next: s.http}
	l.request.HTTP = client
	for lose := 1; len(s.buckets(t)) > 0; lose++ {
		if lose > 50 {
			t.Fatal("the bucket is still there when more requests were answered than it takes")
		}
		client.lose, client.sent = lose, 0
		if gone, err := l.delete(t); err != nil && !errorsLost(err) || gone && lose == 1 {
			t.Fatalf("Delete gives %v, %v", gone, err)
		}
	}
	l.mustDelete(t)
}

func errorsLost(err error) bool {
	return classOf(err) == provider.Transient && strings.Contains(err.Error(), errLost.Error())
}

func TestMistakesOfBuckets(t *testing.T) {
	s := newStore(t)
	for name, c := range map[string]struct {
		change func(*provider.Request)
		class  provider.Class
		code   string
	}{
		"wrong secret":   {func(r *provider.Request) { r.Credentials["AWS_SECRET_ACCESS_KEY"] = "hunter-two" }, provider.Denied, "SignatureDoesNotMatch"},
		"unknown key":    {func(r *provider.Request) { r.Credentials["AWS_ACCESS_KEY_ID"] = "NOBODY" }, provider.Denied, "XAdminUserNotFound"},
		"no secret":      {func(r *provider.Request) { delete(r.Credentials, "AWS_SECRET_ACCESS_KEY") }, provider.Denied, ""},
		"another region": {func(r *provider.Request) { r.Declared["region"] = "us-west-2" }, provider.Invalid, "AuthorizationHeaderMalformed"},
		"reserved tag":   {func(r *provider.Request) { r.Declared["tags"] = map[string]any{"orkestra.orkspace.io/uid": "x"} }, provider.Invalid, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := s.life("mistake", nil)
			c.change(&l.request)
			_, err := l.cycle(t)
			var failed *provider.Error
			if !errors.As(err, &failed) || failed.Class != c.class || failed.Code != c.code || failed.Message == "" {
				t.Errorf("a cycle gives %#v, want %s %s", err, c.class, c.code)
			}
			for _, secret := range []string{"hunter-two", rootSecret, "Signature="} {
				if strings.Contains(fmt.Sprint(err), secret) {
					t.Errorf("the error holds %s: %v", secret, err)
				}
			}
			gone, err := l.delete(t)
			if name != "reserved tag" && (gone || err == nil) {
				t.Errorf("Delete gives %v, %v: it must not say that the bucket is gone", gone, err)
			}
		})
	}
	if got := s.buckets(t); len(got) > 0 {
		t.Errorf("there are buckets %v", got)
	}
}

func TestStoreThatIsDown(t *testing.T) {
	s := newStore(t)
	l := s.life("down", nil)
	l.must(t)
	s.stop()
	gone, err := l.delete(t)
	if gone || classOf(err) != provider.Transient || strings.Contains(err.Error(), "store.example") && strings.Contains(err.Error(), "http://") {
		t.Errorf("Delete gives %v, %v; want a Transient without the address of the request", gone, err)
	}
}
