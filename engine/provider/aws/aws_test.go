package aws

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/test/fixtures"
)

func TestKindsKeepTheContract(t *testing.T) {
	fixtures.CheckKinds(t, New(), map[string]any{"s3bucket": bucketSpec{}, "sqsqueue": queueSpec{}, "route53record": recordSpec{}})
	for name, kind := range New().Kinds() {
		if !kind.WebIdentity || kind.Audience != "sts.amazonaws.com" || len(kind.Credentials) != 3 {
			t.Errorf("%s is not whole: %+v", name, kind)
		}
	}
}

func TestPoliciesThatMeanTheSame(t *testing.T) {
	const declared = `{"Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Allow","Principal":{"AWS":["123456789012","arn:aws:iam::210987654321:role/x"]},"Action":["s3:PutObject","s3:GetObject"],"Resource":"arn:aws:s3:::b/*","Condition":{"NumericLessThan":{"s3:max-keys":1000000},"Bool":{"aws:SecureTransport":true}}}]}`
	for name, c := range map[string]struct {
		current string
		same    bool
	}{
		"the same":          {declared, true},
		"as AWS writes it":  {`{"Statement":{"Effect":"Allow","Sid":"a","Principal":{"AWS":["arn:aws:iam::210987654321:role/x","arn:aws:iam::123456789012:root"]},"Action":["s3:getobject","s3:PutObject"],"Resource":["arn:aws:s3:::b/*"],"Condition":{"Bool":{"aws:securetransport":"true"},"NumericLessThan":{"s3:max-keys":"1000000"}}},"Version":"2012-10-17"}`, true},
		"another action":    {strings.Replace(declared, "s3:PutObject", "s3:DeleteObject", 1), false},
		"another effect":    {strings.Replace(declared, "Allow", "Deny", 1), false},
		"another principal": {strings.Replace(declared, "123456789012", "123456789013", 1), false},
		"another condition": {strings.Replace(declared, "1000000", "1000001", 1), false},
		"another resource":  {strings.Replace(declared, "b/*", "B/*", 1), false},
		"no JSON":           {"none", false},
		"none":              {"", false},
	} {
		var policy map[string]any
		if err := json.Unmarshal([]byte(declared), &policy); err != nil {
			t.Fatal(err)
		}
		if got := samePolicy(policy, c.current); got != c.same {
			t.Errorf("%s: same is %v", name, got)
		}
	}
	if !samePolicy(map[string]any{}, "") {
		t.Error("an empty policy is none")
	}
	everybody := map[string]any{"Statement": []any{map[string]any{"Principal": "*"}}}
	if !samePolicy(everybody, `{"Statement":[{"Principal":{"AWS":"*"}}]}`) || samePolicy(everybody, `{"Statement":[{"Principal":{"Service":"*"}}]}`) {
		t.Error("everybody is written in two ways")
	}
}

func TestLifecycleRulesThatMeanTheSame(t *testing.T) {
	off := false
	declared := []lifecycleRule{{ID: "a", ExpirationDays: 30, Transitions: []transition{{90, "GLACIER"}, {30, "STANDARD_IA"}}}, {ID: "b", Enabled: &off, Prefix: "logs/"}}
	current := func() []s3types.LifecycleRule {
		return []s3types.LifecycleRule{declared[1].toRule(), declared[0].toRule()}
	}
	old := current()
	old[0].Filter, old[0].Prefix = nil, sdk.String("logs/") //nolint:staticcheck // As old rules are.
	old[1].Filter = &s3types.LifecycleRuleFilter{}
	old[1].Expiration.ExpiredObjectDeleteMarker = sdk.Bool(false)
	old[1].Transitions[0], old[1].Transitions[1] = old[1].Transitions[1], old[1].Transitions[0]
	tagged := current()
	tagged[0].Filter = &s3types.LifecycleRuleFilter{Tag: &s3types.Tag{Key: sdk.String("a"), Value: sdk.String("b")}}
	later := current()
	later[1].Expiration.Days = sdk.Int32(31)
	on := current()
	on[0].Status = s3types.ExpirationStatusEnabled
	for name, c := range map[string]struct {
		rules []s3types.LifecycleRule
		same  bool
	}{
		"in another order": {current(), true}, "as older services write them": {old, true}, "another filter": {tagged, false}, "other days": {later, false},
		"switched on": {on, false}, "one more": {append(current(), s3types.LifecycleRule{ID: sdk.String("c")}), false}, "one less": {current()[:1], false},
		"one twice": {[]s3types.LifecycleRule{current()[0], current()[0]}, false},
	} {
		if got := sameRules(declared, c.rules); got != c.same {
			t.Errorf("%s: same is %v", name, got)
		}
	}
}

func TestMarksOfRecords(t *testing.T) {
	for name, c := range map[string]struct {
		spec recordSpec
		want string
	}{
		"name":       {recordSpec{Name: "WWW.Example.com", Type: "AAAA"}, "_orkestra-aaaa.www.example.com."},
		"wildcard":   {recordSpec{Name: `\052.example.com.`, Type: "A"}, "_orkestra-a._wildcard.example.com."},
		"identifier": {recordSpec{Name: "a.example.com", Type: "A", SetIdentifier: "blue"}, "_orkestra-a-16477688c0e00699.a.example.com."},
	} {
		if got := markRecordName(c.spec); got != c.want {
			t.Errorf("%s: the mark is at %s, want %s", name, got, c.want)
		}
	}
	owner := provider.Owner{Box: "shop", UID: "u", Namespace: "team", Name: strings.Repeat("n", 300)}
	set := markRecord(recordSpec{Name: "a.example.com", Type: "A"}, &provider.Request{Owner: owner, Token: "t"})
	got := marksOf(&set)
	want := map[string]string{markUID: "u", markToken: "t", markBox: "shop", markNamespace: "team", markName: strings.Repeat("n", maxText-len(textName))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := marksOf(&types.ResourceRecordSet{ResourceRecords: []types.ResourceRecord{{Value: sdk.String(`"v=spf1" "unfinished`)}}}); len(got) > 0 {
		t.Errorf("a text of somebody else gives %v", got)
	}
}

func TestTextsAreQuoted(t *testing.T) {
	long := strings.Repeat("x", 300)
	for value, want := range map[string]string{
		"a b": `"a b"`, `"quoted" "already"`: `"quoted" "already"`, `a"b\`: `"a\"b\\"`, long: `"` + long[:255] + `" "` + long[255:] + `"`,
	} {
		if got := quote(value); got != want {
			t.Errorf("%s becomes %s, want %s", value, got, want)
		}
	}
}

func TestClassesOfErrors(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   provider.Class
	}{
		{400, "Throttling", provider.Throttled}, {503, "SlowDown", provider.Throttled}, {429, "", provider.Throttled}, {400, "PriorRequestNotComplete", provider.Throttled},
		{503, "ServiceUnavailable", provider.Transient}, {500, "Unheard", provider.Transient}, {0, "", provider.Transient}, {409, "OperationAborted", provider.Transient}, {404, "", provider.Transient},
		{404, "Unheard", provider.Transient}, {403, "AccessDenied", provider.Denied}, {403, "Unheard", provider.Denied}, {400, "ExpiredToken", provider.Denied}, {404, "NoSuchBucket", provider.NotFound},
		{400, "AWS.SimpleQueueService.NonExistentQueue", provider.NotFound}, {409, "BucketAlreadyExists", provider.NotOwned}, {409, "BucketNotEmpty", provider.InUse},
		{400, "InvalidChangeBatch", provider.Invalid}, {301, "PermanentRedirect", provider.Invalid}, {501, "NotImplemented", provider.Invalid},
	} {
		if got := classify(c.status, c.code); got != c.want {
			t.Errorf("%d %s is %s, want %s", c.status, c.code, got, c.want)
		}
	}
}

// A bucket in another region is told with the region that it is in, the one in which it was asked for, and what to do.
func TestABucketInAnotherRegion(t *testing.T) {
	const moved = "<Error><Code>PermanentRedirect</Code><Message>must be addressed using the specified endpoint</Message><Endpoint>shop.s3.eu-west-1.amazonaws.com</Endpoint></Error>"
	const explained = "the bucket shop is in the region eu-west-1, and was asked for in us-east-1: declare the region eu-west-1, or give the bucket another name"
	for name, c := range map[string]struct {
		answering
		region string
		want   string
	}{
		"moved":                 {answering{status: 301, body: moved}, "eu-west-1", "GetBucketTagging: PermanentRedirect: " + explained},
		"signed for another":    {answering{status: 400, body: "<Error><Code>AuthorizationHeaderMalformed</Code><Message>expecting 'eu-west-1'</Message></Error>"}, "eu-west-1", "GetBucketTagging: AuthorizationHeaderMalformed: " + explained},
		"no region is told":     {answering{status: 301, body: moved}, "", "GetBucketTagging: PermanentRedirect: must be addressed using the specified endpoint"},
		"another mistake there": {answering{status: 400, body: "<Error><Code>InvalidRequest</Code><Message>wrong</Message></Error>"}, "us-east-1", "GetBucketTagging: InvalidRequest: wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			c.header = http.Header{"X-Amz-Bucket-Region": {c.region}}
			r := &provider.Request{
				HTTP: c.answering, Declared: map[string]any{"name": "shop", "region": "us-east-1"},
				Credentials: map[string]string{keyID: "id", keySecret: "hidden-secret"},
			}
			_, err := bucketDriver{services: &services{sessions: newSessions()}}.Observe(t.Context(), r)
			if !provider.IsClass(err, provider.Invalid) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestErrorsHoldNoAddress(t *testing.T) {
	r := &provider.Request{Credentials: map[string]string{keySecret: "hidden-secret"}}
	err := explain(t.Context(), r, &url.Error{Op: "Get", URL: "https://host/?X-Amz-Signature=abc", Err: errors.New("dial: hidden-secret refused")})
	if want := ": the service can't be reached: dial: [hidden] refused"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := explain(ended, r, errors.New("any")); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context has ended, an error is %v", err)
	}
}

func TestTagsAreMerged(t *testing.T) {
	r := &provider.Request{Owner: provider.Owner{Box: "b", UID: "u", Name: "n"}, Noted: map[string]string{notedTags: "old\nkept"}}
	current := map[string]string{"old": "1", "kept": "1", "theirs": "1", markUID: "u", markBox: "b", markName: "n"}
	got := retag(current, map[string]string{"kept": "1"}, r)
	want := map[string]string{"kept": "1", "theirs": "1", markUID: "u", markBox: "b", markName: "n"}
	if diff := cmp.Diff(want, got.all); diff != "" || !got.declared || len(got.removed) != 1 {
		t.Errorf("%+v\n%s", got, diff)
	}
	delete(current, "old")
	if got := retag(current, map[string]string{"kept": "1"}, r); got.changed {
		t.Errorf("nothing differs, and it would write %+v", got)
	}
	delete(current, markName)
	if got := retag(current, nil, &provider.Request{Owner: r.Owner}); !got.changed || got.declared {
		t.Errorf("the mark alone differs: %+v", got)
	}
}

// One bucket may be found at two addresses. The token tells whose of two declarations of one resource it is.
func TestTheTokenTellsDeclarationsOfOneResource(t *testing.T) {
	marked := func(uid, token string) map[string]string {
		return marks(&provider.Request{Owner: provider.Owner{UID: uid}, Token: token})
	}
	for name, c := range map[string]struct {
		tags  map[string]string
		token string // of the one who asks
		want  ownership
	}{
		"of nobody":                       {map[string]string{"a": "b"}, "mine", unmarked},
		"with this token":                 {marked("u", "mine"), "mine", ours},
		"with another token":              {marked("u", "other"), "mine", twin},
		"before a token is drawn":         {marked("u", "other"), "", ours},
		"made by a former version":        {marked("u", ""), "mine", ours},
		"of another resource":             {marked("v", "mine"), "mine", others},
		"of another one, without a token": {marked("v", ""), "mine", others},
		"of another one, before a draw":   {marked("v", "other"), "", others},
	} {
		if got := whose(c.tags, &provider.Request{Owner: provider.Owner{UID: "u"}, Token: c.token}); got != c.want {
			t.Errorf("%s: it is %v, want %v", name, got, c.want)
		}
	}
	asks := &provider.Request{Owner: provider.Owner{UID: "u"}, Token: "mine"}
	for class, tags := range map[provider.Class]map[string]string{provider.Duplicate: marked("u", "other"), provider.NotOwned: marked("v", "other")} {
		if err := refusal(asks, "GetBucket", "the bucket b", untag, tags); !provider.IsClass(err, class) {
			t.Errorf("it is refused with %v, want %s", err, class)
		}
	}
	if got := retag(marked("u", ""), nil, &provider.Request{Owner: provider.Owner{UID: "u"}, Token: "mine"}); !got.changed || got.all[markToken] != "mine" {
		t.Errorf("a mark of a former version gets no token: %+v", got)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	s := newSessions()
	now := time.Unix(1_000_000, 0)
	key := func(i int) (out [32]byte) {
		binary.BigEndian.PutUint64(out[:], uint64(i))
		return out
	}
	const last = 3 * maxSessions
	for i := range last + 1 {
		s.put(key(i), sdk.Credentials{Expires: now.Add(2 * spare)}, now)
		if len(s.kept) > maxSessions {
			t.Fatalf("%d sessions are kept", len(s.kept))
		}
	}
	if _, ok := s.get(key(last), now); !ok {
		t.Error("the last one is not kept")
	}
	if _, ok := s.get(key(last), now.Add(spare)); ok {
		t.Error("one that ends soon is used")
	}
}
