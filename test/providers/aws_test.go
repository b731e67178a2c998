package providers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/provider/aws"
	"github.com/orkspace/orkestra/test/providers/awsdouble"
)

const uidTag = "orkestra.orkspace.io/uid"

// account is a double with what tests need of it.
type account struct{ *awsdouble.Cloud }

func newAccount() account {
	c := account{awsdouble.New(rootKey)}
	c.PutZone("Z1")
	return c
}

func (a account) life(kind string, declared map[string]any) *life {
	return &life{driver: func() provider.Driver { return aws.New().Kinds()[kind].Driver }, request: provider.Request{
		Owner: provider.Owner{Box: "shop", UID: "uid-1", Namespace: "team", Name: "one"}, Declared: declared, HTTP: a.Cloud,
		Credentials: map[string]string{"AWS_ACCESS_KEY_ID": rootKey, "AWS_SECRET_ACCESS_KEY": rootSecret},
	}}
}

func (a account) queue(name string, more map[string]any) *life {
	declared := map[string]any{"name": name, "region": region}
	maps.Copy(declared, more)
	return a.life("sqsqueue", declared)
}

func (a account) record(name, kind string, more map[string]any) *life {
	declared := map[string]any{"zoneId": "Z1", "name": name, "type": kind}
	maps.Copy(declared, more)
	return a.life("route53record", declared)
}

func TestQueueOfAllFields(t *testing.T) {
	a := newAccount()
	policy := map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{"Effect": "Allow", "Principal": map[string]any{"AWS": "123456789012"}, "Action": "SQS:SendMessage", "Resource": "*"}}}
	l := a.queue("jobs.fifo", map[string]any{
		"fifo": true, "contentBasedDeduplication": true, "visibilityTimeoutSeconds": int64(60), "messageRetentionSeconds": int64(3600), "delaySeconds": int64(1), "maximumMessageSize": int64(2048),
		"receiveMessageWaitTimeSeconds": int64(5), "tags": map[string]any{"team": "a"}, "policy": policy,
		"redrivePolicy": map[string]any{"deadLetterTargetArn": "arn:aws:sqs:eu-west-1:1:dead.fifo", "maxReceiveCount": int64(3)}, "encryption": map[string]any{"sqsManaged": true},
	})
	out := l.must(t)
	want := map[string]any{"name": "jobs.fifo", "region": region, "url": "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs.fifo", "arn": "arn:aws:sqs:eu-west-1:123456789012:jobs.fifo"}
	if diff := cmp.Diff(want, out.Outputs); diff != "" || !out.Created || len(out.Differs) > 0 {
		t.Errorf("%+v\n%s", out, diff)
	}
	q := a.Queues()[region+"/jobs.fifo"]
	wantAttributes := map[string]string{
		"FifoQueue": "true", "ContentBasedDeduplication": "true", "VisibilityTimeout": "60", "MessageRetentionPeriod": "3600", "DelaySeconds": "1", "MaximumMessageSize": "2048",
		"ReceiveMessageWaitTimeSeconds": "5", "SqsManagedSseEnabled": "true", "RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:1:dead.fifo","maxReceiveCount":3}`,
		"QueueArn": "arn:aws:sqs:eu-west-1:123456789012:jobs.fifo",
		"Policy":   `{"Statement":[{"Action":"SQS:SendMessage","Effect":"Allow","Principal":{"AWS":"123456789012"},"Resource":"*"}],"Version":"2012-10-17"}`,
	}
	if diff := cmp.Diff(wantAttributes, q.Attributes); diff != "" {
		t.Error(diff)
	}
	// AWS gives policies back in a form of its own, and the number as a text.
	q.Attributes["Policy"] = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"AWS":["arn:aws:iam::123456789012:root"]},"Action":["SQS:SendMessage"],"Resource":["*"]}}`
	q.Attributes["RedrivePolicy"] = `{"maxReceiveCount":"3","deadLetterTargetArn":"arn:aws:sqs:eu-west-1:1:dead.fifo"}`
	if out := l.must(t); len(out.Differs) > 0 || a.Count("SetQueueAttributes")+a.Count("TagQueue") > 0 {
		t.Errorf("what means the same is written: %v, %v", out.Differs, a.Seen)
	}
	q.Attributes["VisibilityTimeout"], q.Attributes["DelaySeconds"], q.Tags["team"], q.Tags["theirs"] = "1", "2", "b", "c"
	delete(l.request.Declared, "delaySeconds")
	wantDiffers := []string{"tags", "visibilityTimeoutSeconds"}
	if seen, err := l.observe(t); err != nil || !slices.Equal(seen.Differs, wantDiffers) {
		t.Errorf("Observe says %+v, %v; want %v", seen, err, wantDiffers)
	}
	if out := l.must(t); !slices.Equal(out.Differs, wantDiffers) || q.Attributes["VisibilityTimeout"] != "60" || q.Attributes["DelaySeconds"] != "2" || q.Tags["team"] != "a" || q.Tags["theirs"] != "c" {
		t.Errorf("Ensure says %v, and the queue is %+v", out.Differs, q)
	}
	delete(l.request.Declared, "tags")
	if l.must(t); q.Tags["team"] != "" || q.Tags["theirs"] != "c" {
		t.Errorf("tags are %v: the one that is declared no more goes, others stay", q.Tags)
	}
}

func TestQueueIsMadeOnceWhateverIsLost(t *testing.T) {
	everyLoss(t, func(t *testing.T, lose int, before bool) int {
		t.Helper()
		a := newAccount()
		a.PutQueue(region, "theirs", nil)
		l := a.queue("jobs", map[string]any{"visibilityTimeoutSeconds": int64(60), "tags": map[string]any{"a": "b"}})
		client := &lossy{next: a.Cloud, lose: lose, before: before}
		l.request.HTTP = client
		l.must(t)
		queues := a.Queues()
		if q := queues[region+"/jobs"]; len(queues) != 2 || q == nil || q.Tags[uidTag] != "uid-1" || q.Tags["a"] != "b" {
			t.Errorf("there are queues %v", queues)
		}
		l.mustDelete(t)
		if queues := a.Queues(); len(queues) != 1 || queues[region+"/theirs"] == nil {
			t.Errorf("after deletion there are queues %v", queues)
		}
		return client.sent
	})
}

func TestQueueOfSomebodyElse(t *testing.T) {
	a := newAccount()
	a.PutQueue(region, "bare", nil)
	a.PutQueue(region, "owned", map[string]string{uidTag: "other", "orkestra.orkspace.io/box": "b", "orkestra.orkspace.io/name": "n"})
	for name, message := range map[string]string{"bare": "the queue bare is there already, and has no owner: declare another name, or adopt: IfUnowned", "owned": "the queue owned belongs to n of the box b: declare another name"} {
		l := a.queue(name, nil)
		l.known = true
		if _, err := l.cycle(t); classOf(err) != provider.NotOwned || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", name, err)
		}
		if gone, err := l.delete(t); !gone || err != nil || len(a.Queues()) != 2 {
			t.Errorf("%s: Delete gives %v, %v", name, gone, err)
		}
	}
	l := a.queue("bare", nil)
	l.request.Adopt = true
	if out := l.must(t); out.Created || a.Queues()[region+"/bare"].Tags[uidTag] != "uid-1" {
		t.Errorf("adoption: %+v", out)
	}
}

// SQS answers a second CreateQueue with the queue that is there: the tags say that it is another's.
func TestQueueThatSomebodyMakesAtTheSameMoment(t *testing.T) {
	a := newAccount()
	l := a.queue("race", nil)
	l.request.HTTP = before(a.Cloud, "AmazonSQS.CreateQueue", func() { a.PutQueue(region, "race", nil) })
	if _, err := l.cycle(t); classOf(err) != provider.NotOwned {
		t.Errorf("a cycle gives %v, want NotOwned", err)
	}
}

func TestRecordOfAllSorts(t *testing.T) {
	a := newAccount()
	for name, c := range map[string]struct {
		life  *life
		check func(awsdouble.Set) bool
	}{
		"values": {a.record("WWW.example.com", "A", map[string]any{"records": []any{"192.0.2.2", "192.0.2.1"}}), func(s awsdouble.Set) bool {
			return s.Name == "www.example.com." && *s.TTL == 300 && len(s.Records.Values) == 2
		}},
		"wildcard": {a.record("*.example.com", "CNAME", map[string]any{"records": []any{"a.example.net"}, "ttl": int64(60)}), func(s awsdouble.Set) bool { return s.Name == "*.example.com." && *s.TTL == 60 }},
		"text":     {a.record("t.example.com", "TXT", map[string]any{"records": []any{`v=spf1 "x"`}}), func(s awsdouble.Set) bool { return s.Records.Values[0].Value == `"v=spf1 \"x\""` }},
		"alias":    {a.record("example.com", "A", map[string]any{"alias": map[string]any{"name": "LB.example.net", "zoneId": "Z9"}}), func(s awsdouble.Set) bool { return s.TTL == nil && s.AliasTarget.DNSName == "lb.example.net." }},
		"weighted": {a.record("w.example.com", "A", map[string]any{"records": []any{"192.0.2.1"}, "setIdentifier": "blue", "weight": int64(0)}), func(s awsdouble.Set) bool { return *s.Weight == 0 && s.SetIdentifier == "blue" }},
		"its twin": {a.record("w.example.com", "A", map[string]any{"records": []any{"192.0.2.1"}, "setIdentifier": "green", "failover": "PRIMARY", "healthCheckId": "h"}), func(s awsdouble.Set) bool { return s.Failover == "PRIMARY" && s.HealthCheckID == "h" }},
	} {
		t.Run(name, func(t *testing.T) {
			earlier := a.Sets("Z1")
			out := c.life.must(t)
			if !out.Created || out.Waiting == "" || out.Noted["change"] == "" {
				t.Errorf("Ensure says %+v", out)
			}
			sets := a.Sets("Z1")[len(earlier):]
			if len(sets) != 2 || !c.check(sets[1]) || sets[0].Type != "TXT" || !strings.HasPrefix(sets[0].Name, "_orkestra-") {
				t.Fatalf("there are %+v", sets)
			}
			if out := c.life.must(t); out.Waiting == "" || len(out.Differs) > 0 || out.Created {
				t.Errorf("while Route 53 is at it: %+v", out)
			}
			writes := a.Count("ChangeResourceRecordSets")
			for range 2 {
				if out := c.life.must(t); out.Waiting != "" || out.Noted != nil || len(out.Differs) > 0 {
					t.Errorf("after that: %+v", out)
				}
			}
			if a.Count("ChangeResourceRecordSets") != writes {
				t.Error("it writes where nothing differs")
			}
			c.life.mustDelete(t)
			if left := a.Sets("Z1"); len(left) != len(earlier) {
				t.Errorf("after deletion there are %+v", left)
			}
		})
	}
}

func TestRecordIsMadeOnceWhateverIsLost(t *testing.T) {
	everyLoss(t, func(t *testing.T, lose int, before bool) int {
		t.Helper()
		a := newAccount()
		l := a.record("www.example.com", "A", map[string]any{"records": []any{"192.0.2.1"}})
		client := &lossy{next: a.Cloud, lose: lose, before: before}
		l.request.HTTP = client
		l.must(t)
		l.request.Declared["records"] = []any{"192.0.2.2"}
		l.must(t)
		sets := a.Sets("Z1")
		if len(sets) != 2 || sets[1].Records.Values[0].Value != "192.0.2.2" {
			t.Errorf("there are %+v", sets)
		}
		l.mustDelete(t)
		if sets := a.Sets("Z1"); len(sets) != 0 {
			t.Errorf("after deletion there are %+v", sets)
		}
		return client.sent
	})
}

func TestRecordOfSomebodyElse(t *testing.T) {
	a := newAccount()
	theirs := a.record("owned.example.com", "A", map[string]any{"records": []any{"192.0.2.9"}})
	theirs.request.Owner = provider.Owner{Box: "b", UID: "other", Name: "n"}
	theirs.must(t)
	ttl := int64(5)
	bare := awsdouble.Set{Name: "bare.example.com.", Type: "A", TTL: &ttl, Records: a.Sets("Z1")[1].Records}
	a.PutZone("Z1", append(a.Sets("Z1"), bare)...)
	for name, message := range map[string]string{"bare": "has no owner", "owned": "belongs to n of the box b"} {
		l := a.record(name+".example.com", "A", map[string]any{"records": []any{"192.0.2.1"}})
		l.known = true
		if _, err := l.cycle(t); classOf(err) != provider.NotOwned || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", name, err)
		}
		if gone, err := l.delete(t); !gone || err != nil || len(a.Sets("Z1")) != 3 {
			t.Errorf("%s: Delete gives %v, %v", name, gone, err)
		}
	}
	l := a.record("bare.example.com", "A", map[string]any{"records": []any{"192.0.2.1"}})
	l.request.Adopt = true
	if out := l.must(t); out.Created || !slices.Equal(out.Differs, []string{"records", "ttl"}) || len(a.Sets("Z1")) != 4 {
		t.Errorf("adoption: %+v, %+v", out, a.Sets("Z1"))
	}
}

// What was read is part of the change: if somebody changes the record in between, Route 53 refuses the batch, and the next cycle reads again.
func TestRecordThatSomebodyChangesAtTheSameMoment(t *testing.T) {
	a := newAccount()
	l := a.record("www.example.com", "A", map[string]any{"records": []any{"192.0.2.1"}})
	l.must(t)
	l.request.Declared["ttl"] = int64(60)
	l.request.HTTP = before(a.Cloud, "POST", func() {
		sets, ttl := a.Sets("Z1"), int64(7)
		sets[1].TTL = &ttl
		a.PutZone("Z1", sets...)
	})
	if _, err := l.cycle(t); err == nil || !strings.Contains(err.Error(), "InvalidChangeBatch: the record www.example.com of type A is refused") {
		t.Errorf("a cycle gives %v", err)
	}
	l.request.HTTP = a.Cloud
	if out := l.must(t); !slices.Equal(out.Differs, []string{"ttl"}) || *a.Sets("Z1")[1].TTL != 60 {
		t.Errorf("the next one: %+v", out)
	}
}

func TestMistakesOfRecords(t *testing.T) {
	values := []any{"192.0.2.1"}
	for name, c := range map[string]struct {
		declared map[string]any
		class    provider.Class
		text     string
	}{
		"neither":            {map[string]any{}, provider.Invalid, "declare either records, with at least one value, or alias"},
		"both":               {map[string]any{"records": values, "alias": map[string]any{"name": "a", "zoneId": "Z"}}, provider.Invalid, "declare either records"},
		"ttl of an alias":    {map[string]any{"ttl": int64(1), "alias": map[string]any{"name": "a", "zoneId": "Z"}}, provider.Invalid, "ttl: an alias"},
		"weight alone":       {map[string]any{"records": values, "weight": int64(1)}, provider.Invalid, "setIdentifier: declare one"},
		"identifier alone":   {map[string]any{"records": values, "setIdentifier": "a"}, provider.Invalid, "setIdentifier: declare weight"},
		"no such zone":       {map[string]any{"records": values, "zoneId": "Z404"}, provider.NotFound, "NoSuchHostedZone"},
		"zone with its path": {map[string]any{"records": values, "zoneId": "/hostedzone/Z404"}, provider.NotFound, "No hosted zone found with ID: Z404"},
	} {
		l := newAccount().record("www.example.com", "A", c.declared)
		l.known = true
		if _, err := l.cycle(t); classOf(err) != c.class || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %s %s", name, err, c.class, c.text)
		}
	}
}

func TestWebIdentity(t *testing.T) {
	a := newAccount()
	a.Tokens["web.token"] = "ROLEKEY"
	a.Keys["ROLEKEY"] = true
	driver := aws.New().Kinds()["sqsqueue"].Driver
	l := a.queue("jobs", nil)
	l.driver = func() provider.Driver { return driver }
	l.request.Credentials, l.request.WebIdentity = nil, &provider.WebIdentity{Token: "web.token", RoleARN: "arn:aws:iam::123456789012:role/box"}
	l.must(t)
	l.must(t)
	if n := a.Count("AssumeRoleWithWebIdentity"); n != 1 {
		t.Errorf("the role is assumed %d times, want once while its credentials last", n)
	}
	l.request.WebIdentity = &provider.WebIdentity{Token: "wrong.token", RoleARN: "arn:aws:iam::123456789012:role/box"}
	_, err := l.cycle(t)
	if want := "AssumeRoleWithWebIdentity: InvalidIdentityToken: The token [hidden] is not valid (request request-"; classOf(err) != provider.Denied || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("it says %v, want %s", err, want)
	}
}

// Nothing of the manager's Pod goes along: not its credentials, its region, its endpoints, or the name of its platform.
func TestEnvironmentOfTheManagerIsNotUsed(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS",
		"AWS_EXECUTION_ENV", "AWS_LAMBDA_FUNCTION_NAME", "_X_AMZN_TRACE_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_SDK_UA_APP_ID"} {
		t.Setenv(name, "leaked-environment")
	}
	a := newAccount()
	a.Keys["leaked-environment"] = true
	l := a.queue("jobs", nil)
	l.must(t)
	if text := fmt.Sprint(a.Headers); strings.Contains(text, "leaked") {
		t.Errorf("the request holds %s", text)
	}
	l.request.Credentials = nil
	if _, err := l.cycle(t); classOf(err) != provider.Denied {
		t.Errorf("without credentials a cycle gives %v, want Denied", err)
	}
}

func TestErrorsOfServices(t *testing.T) {
	for _, kind := range []string{"sqsqueue", "route53record"} {
		t.Run(kind, func(t *testing.T) {
			a := newAccount()
			l := a.queue("jobs", nil)
			if kind == "route53record" {
				l = a.record("www.example.com", "A", map[string]any{"records": []any{"192.0.2.1"}})
			}
			a.Throttle = 1
			_, err := l.cycle(t)
			var failed *provider.Error
			if !errors.As(err, &failed) || failed.Class != provider.Throttled || failed.Code != "Throttling" || failed.RequestID == "" || failed.Operation == "" {
				t.Errorf("a cycle gives %#v, want Throttled with code, operation and request", err)
			}
			if n := len(a.Seen); n != 0 {
				t.Errorf("%d requests more were sent: pauses are the caller's", n)
			}
			l.must(t)
			l.request.Credentials["AWS_ACCESS_KEY_ID"] = "WRONG"
			if _, err := l.cycle(t); classOf(err) != provider.Denied {
				t.Errorf("wrong key: %v", err)
			}
			if gone, err := l.delete(t); gone || classOf(err) != provider.Denied {
				t.Errorf("Delete with a wrong key: %v, %v", gone, err)
			}
			l.request.Credentials["AWS_ACCESS_KEY_ID"] = rootKey
			a.Down = true
			if gone, err := l.delete(t); gone || classOf(err) != provider.Transient || strings.Contains(err.Error(), "https://") {
				t.Errorf("Delete while the service is down: %v, %v", gone, err)
			}
		})
	}
}
