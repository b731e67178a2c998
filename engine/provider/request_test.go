package provider

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeReadsWhatIsDeclared(t *testing.T) {
	var got struct {
		Name  string         `json:"name"`
		Count int32          `json:"count"`
		Free  map[string]any `json:"free"`
	}
	r := &Request{Declared: map[string]any{"name": "a", "count": float64(3), "free": map[string]any{"x": int64(1)}}}
	if err := r.Decode(&got); err != nil || got.Name != "a" || got.Count != 3 || got.Free["x"] != float64(1) {
		t.Fatalf("got %+v, %v", got, err)
	}
	for name, declared := range map[string]map[string]any{"unknown field": {"other": 1}, "another type": {"name": 1}} {
		r := &Request{Declared: declared}
		class, ok := r.Decode(&got).(*Error) //nolint:errorlint // Decode gives it as it is.
		if !ok || class.Class != Invalid {
			t.Errorf("%s: got %v, want an Invalid", name, class)
		}
	}
}

func TestLineHidesCredentialsAndIsShort(t *testing.T) {
	r := &Request{
		Credentials: map[string]string{"a": "key", "b": "key-and-more", "empty": ""},
		Secrets:     map[string]Secret{"passwordSecretRef": {Value: "pass"}},
		WebIdentity: &WebIdentity{Token: "tok.en"},
	}
	want := "said [hidden] [hidden] [hidden] [hidden]"
	if diff := cmp.Diff(want, r.Line("said\n\tkey-and-more key pass  tok.en\r\n")); diff != "" {
		t.Error(diff)
	}
	short := &Request{Credentials: map[string]string{"username": "u", "password": "pé"}}
	if diff := cmp.Diff("current topology of [hidden]@host: [hidden], pépé u2 [hidden]", short.Line("current topology of u@host: pé, pépé u2 u")); diff != "" {
		t.Error(diff)
	}
	long := r.Line(strings.Repeat("é", maxMessage))
	if len(long) > maxMessage+len("…") || !utf8.ValidString(long) {
		t.Errorf("%d bytes, valid %v", len(long), utf8.ValidString(long))
	}
}

func TestOwnersAreNamedForPeople(t *testing.T) {
	for want, owner := range map[string]Owner{
		"team-a/web of the box site":   {UID: "u1", Box: "site", Namespace: "team-a", Name: "web"},
		"web of the box site":          {UID: "u1", Box: "site", Name: "web"},
		"the resource with the UID u1": {UID: "u1"},
		"the resource with the UID u2": {UID: "u2", Namespace: "team-a", Name: "web"},
	} {
		if got := owner.String(); got != want {
			t.Errorf("%+v is called %q, want %q", owner, got, want)
		}
	}
}

// TestForeignTellsAFormerResourceOfTheNameFromAnother: "belongs to default/one" would be said to default/one itself.
func TestForeignTellsAFormerResourceOfTheNameFromAnother(t *testing.T) {
	own := Owner{Box: "shop", UID: "new", Namespace: "default", Name: "one"}
	for want, marked := range map[string]Owner{
		"the bucket a belongs to a former default/one of the box shop, which had the UID old: delete it, or declare another name; to take it over, take its tag off and declare adopt: IfUnowned": {Box: "shop", UID: "old", Namespace: "default", Name: "one"},
		"the bucket a belongs to default/two of the box shop: declare another name":                                                                                                               {Box: "shop", UID: "old", Namespace: "default", Name: "two"},
		"the bucket a belongs to team/one of the box shop: declare another name":                                                                                                                  {Box: "shop", UID: "old", Namespace: "team", Name: "one"},
		"the bucket a belongs to default/one of the box other: declare another name":                                                                                                              {Box: "other", UID: "old", Namespace: "default", Name: "one"},
		"the bucket a belongs to the resource with the UID old: declare another name":                                                                                                             {UID: "old"},
	} {
		if got := own.Foreign("the bucket a", marked, "take its tag off"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got, want := (Owner{UID: "new"}).Foreign("it", Owner{UID: "old"}, ""), "it belongs to the resource with the UID old: declare another name"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
