package arguments

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
)

func TestArguments(t *testing.T) {
	object, address := One("KIND/NAME", "website/hello"), One("URL", "https://localhost/readyz")
	for name, tc := range map[string]struct {
		wants cobra.PositionalArgs
		args  []string
		want  string // empty: no error
	}{
		"none of none":            {None, nil, ""},
		"one of none":             {None, []string{"a"}, `wanted no argument, got 1: "a"`},
		"two of none":             {None, []string{"a", "b c"}, `wanted no argument, got 2: "a", "b c"`},
		"one of one":              {address, []string{"a"}, ""},
		"none of one":             {address, nil, "wanted one argument URL, such as https://localhost/readyz, got none"},
		"two of one":              {address, []string{"a", "b"}, `wanted one argument URL, such as https://localhost/readyz, got 2: "a", "b"`},
		"without an example":      {One("BOX", ""), nil, "wanted one argument BOX, got none"},
		"as kubectl takes them":   {object, []string{"website", "hello"}, "wanted one argument KIND/NAME, got 2: say website/hello"},
		"two of which one is one": {object, []string{"website/hello", "b"}, `wanted one argument KIND/NAME, such as website/hello, got 2: "website/hello", "b"`},
		"an empty one":            {object, []string{"website", ""}, `wanted one argument KIND/NAME, such as website/hello, got 2: "website", ""`},
		"three of one":            {object, []string{"a", "b", "c"}, `wanted one argument KIND/NAME, such as website/hello, got 3: "a", "b", "c"`},
		"none of at most one":     {AtMostOne("KEY", ""), nil, ""},
		"one of at most one":      {AtMostOne("KEY", ""), []string{"a"}, ""},
		"two of at most one":      {AtMostOne("KEY", ""), []string{"a", "b"}, `wanted at most one argument KEY, got 2: "a", "b"`},
		"a kind and a name":       {AtMostOne("BOX or KIND/NAME", ""), []string{"a", "b"}, "wanted at most one argument BOX or KIND/NAME, got 2: say a/b"},
		"none of some":            {Some("BOX or KIND/NAME"), nil, "wanted BOX or KIND/NAME"},
		"two of some":             {Some("BOX or KIND/NAME"), []string{"a", "b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := tc.wants(nil, tc.args)
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(tc.want))
		})
	}
}
