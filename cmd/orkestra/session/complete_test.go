package session

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	shared "github.com/orkspace/orkestra/test/fixtures"
)

// offered is what a shell is told that could follow: words, and how the shell treats them.
func offered(t *testing.T, server *shared.APIServer, complete func(*Flags) cobra.CompletionFunc, typed ...string) string {
	t.Helper()
	f := &Flags{}
	cmd := &cobra.Command{Use: "do", Run: func(*cobra.Command, []string) {}, ValidArgsFunction: complete(f)}
	f.Bind(cmd)
	stdout, _, code := shared.Run(t, cmd, "", append([]string{cobra.ShellCompNoDescRequestCmd, "do", "--kubeconfig", server.Start(t)}, typed...)...)
	NewWithT(t).Expect(code).To(BeZero())
	return strings.Join(strings.Fields(stdout), " ")
}

func TestNamesAreCompleted(t *testing.T) {
	const names, kind = ":4", ":6" // no files; nor a space, since a name follows the slash
	of := func(o Offer) func(*Flags) cobra.CompletionFunc {
		return func(f *Flags) cobra.CompletionFunc { return f.Complete(o) }
	}
	both := of(Offer{Boxes: true, Resources: true})
	kinds := func(f *Flags) cobra.CompletionFunc { return f.CompleteKinds() }
	for name, tc := range map[string]struct {
		complete func(*Flags) cobra.CompletionFunc
		typed    []string
		want     string
	}{
		"a box, or a kind":            {both, []string{""}, "shops shop/ " + kind},
		"a box":                       {both, []string{"shops"}, "shops " + names},
		"neither":                     {both, []string{"x"}, names},
		"only boxes":                  {of(Offer{Boxes: true}), []string{""}, "shops " + names},
		"only kinds":                  {of(Offer{Resources: true}), []string{""}, "shop/ " + kind},
		"a resource":                  {both, []string{"shop/fl"}, "shop/flowers " + names},
		"in an empty namespace":       {both, []string{"-n", "team-a", "shop/"}, names},
		"of an unknown kind":          {both, []string{"shpo/"}, names},
		"what is there already":       {both, []string{"shops", ""}, "shop/ " + kind},
		"more than one may be":        {of(Offer{Boxes: true, Most: 1}), []string{"other", ""}, names},
		"the kinds of get":            {kinds, []string{""}, "boxes shops " + names},
		"a kind of get":               {kinds, []string{"b"}, "boxes " + names},
		"names of get":                {kinds, []string{"shops", "f"}, "flowers " + names},
		"names of get with its kind":  {kinds, []string{"obox/"}, "obox/shops " + names},
		"a namespace":                 {both, []string{"--namespace", ""}, "team-a team-b " + names},
		"another namespace":           {both, []string{"--manager-namespace", "team-b"}, "team-b " + names},
		"a context of the kubeconfig": {both, []string{"--context", ""}, "test " + names},
	} {
		t.Run(name, func(t *testing.T) {
			server := &shared.APIServer{Objects: shared.Objects(t, clusterFile)}
			for _, name := range []string{"team-a", "team-b"} {
				namespace := find(server, "ConfigMap").DeepCopy()
				namespace.SetKind("Namespace")
				namespace.SetNamespace("")
				namespace.SetName(name)
				server.Objects = append(server.Objects, namespace)
			}
			NewWithT(t).Expect(offered(t, server, tc.complete, tc.typed...)).To(Equal(tc.want))
		})
	}
}

// A prompt is no place for errors.
func TestNothingIsOfferedWhereTheClusterCanNotBeAsked(t *testing.T) {
	server := &shared.APIServer{Refuse: func(string) int { return http.StatusForbidden }}
	NewWithT(t).Expect(offered(t, server, func(f *Flags) cobra.CompletionFunc { return f.Complete(Offer{Boxes: true, Resources: true}) }, "")).To(Equal(":4"))
}

func TestArguments(t *testing.T) {
	for arg, want := range map[string]Argument{"shop": {Name: "shop"}, "website/hello": {Kind: "website", Name: "hello"}, "websites.v1.demo.example.com/a": {Kind: "websites.v1.demo.example.com", Name: "a"}} {
		got, err := Parse([]string{arg})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(got).To(HaveExactElements(want))
	}
	for _, arg := range []string{"", "/", "a/", "/a", "a/b/c"} {
		_, err := Parse([]string{"good", arg})
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("wanted BOX, or KIND/NAME, such as website/hello")), arg)
	}
}
