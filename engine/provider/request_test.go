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
