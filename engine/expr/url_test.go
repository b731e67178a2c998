package expr

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
)

func TestURLsAreEscapedByPlace(t *testing.T) {
	for name, tc := range map[string]struct{ url, team, want string }{
		"a segment":                {"https://a.example.com/teams/{{ .spec.team }}/quota", "x/../../admin?all=1#", "https://a.example.com/teams/x%2F..%2F..%2Fadmin%3Fall=1%23/quota"},
		"a plain segment":          {"https://a.example.com/teams/{{ .spec.team }}", "blue", "https://a.example.com/teams/blue"},
		"a part of a segment":      {"https://a.example.com/team-{{ .spec.team }}.json", "a/b", "https://a.example.com/team-a%2Fb.json"},
		"a value of the query":     {"https://a.example.com/?team={{ .spec.team }}&x=1", "a&admin=1#/", "https://a.example.com/?team=a%26admin%3D1%23%2F&x=1"},
		"escaped by its author":    {"https://a.example.com/?team={{ .spec.team | urlquery }}", "a&b", "https://a.example.com/?team=a%26b"},
		"a path that says so":      {"https://a.example.com/{{ .spec.team | urlPath }}/x", "a b/c?d", "https://a.example.com/a%20b/c%3Fd/x"},
		"a path in the query":      {"https://a.example.com/?x={{ .spec.team | urlPath }}", "a&b/", "https://a.example.com/?x=a%26b%2F"},
		"a function":               {`https://a.example.com/{{ printf "%s/x" .spec.team }}`, "a", "https://a.example.com/a%2Fx"},
		"inside of if":             {"https://a.example.com/{{ if .spec.team }}{{ .spec.team }}{{ else }}none{{ end }}", "a/b", "https://a.example.com/a%2Fb"},
		"inside of with":           {"https://a.example.com/{{ with .spec.team }}{{ . }}{{ end }}?x={{ .spec.team }}", "a/b", "https://a.example.com/a%2Fb?x=a%2Fb"},
		"a variable":               {"{{ $t := .spec.team }}https://a.example.com/{{ $t }}", "a/b", "https://a.example.com/a%2Fb"},
		"a host from a resource":   {"https://{{ .spec.team }}/x/{{ .spec.team }}", "b.example.com:80", "https://b.example.com:80/x/b.example.com:80"},
		"text that looks like one": {`https://a.example.com/{{ "a/b" }}`, "", "https://a.example.com/a%2Fb"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			compiled, err := NewScope(nil).CompileURL(tc.url)
			g.Expect(err).NotTo(HaveOccurred())
			v, err := compiled.Eval(context.Background(), Data{"spec": map[string]any{"team": tc.team}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(v).To(Equal(tc.want))
		})
	}
	_, err := NewScope(nil).CompileURL(`https://a.example.com/{{ define "x" }}/{{ .spec.team }}{{ end }}{{ template "x" . }}`)
	NewWithT(t).Expect(err).To(HaveOccurred())
}

func TestURLsLeadWhereTheyShow(t *testing.T) {
	for url, fine := range map[string]bool{
		"https://a.example.com/a/b": true, "https://a.example.com": true, "https://a.example.com/a/": true, "https://a.example.com/?x=..": true,
		"https://a.example.com/a%2F..%2Fb": false, "https://a.example.com/a..b": true,
		"https://a.example.com/teams/../quota": false, "https://a.example.com/teams/./quota": false, "https://a.example.com/teams/%2e%2e/quota": false,
		"https://a.example.com/teams//quota": false, "https://a.example.com/teams/..": false, `https://a.example.com/teams/..%5Cquota`: false,
	} {
		NewWithT(t).Expect(CheckURLPath(url) == nil).To(Equal(fine), url)
	}
}
