package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	for name, tc := range map[string]struct {
		name       string
		candidates []string
		want       string
	}{
		"a slip is found":                             {"replcas", []string{"image", "replicas"}, "replicas"},
		"case does not count":                         {"readyreplicas", []string{"readyReplicas", "replicas"}, "readyReplicas"},
		"nothing near gives nothing":                  {"zzz", []string{"image", "replicas"}, ""},
		"a short name allows two edits":               {"tsl", []string{"tls"}, "tls"},
		"two letters in the wrong order are one slip": {"wbe", []string{"db", "web"}, "web"},
		"and further back":                            {"databsae", []string{"databases", "database"}, "database"},
		"letters that stand twice":                    {"buket", []string{"basket", "bucket"}, "bucket"},
		"letters of other alphabets":                  {"größe", []string{"grösse", "große"}, "große"},
		"ties go to the alphabet":                     {"ab", []string{"ac", "aa"}, "aa"},
		"half of it is no slip":                       {"self", []string{"mulf", "seq"}, ""},
		"an end that is missing":                      {"conf", []string{"config", "cron"}, "config"},
		"no candidates":                               {"x", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Nearest(tc.name, tc.candidates); got != tc.want {
				t.Errorf("Nearest(%q) = %q, want %q", tc.name, got, tc.want)
			}
		})
	}
}

func TestDidYouMean(t *testing.T) {
	if got := DidYouMean("imge", []string{"image"}); got != `, did you mean "image"?` {
		t.Errorf("got %q", got)
	}
	if got := DidYouMean("zzz", []string{"image"}); got != "" {
		t.Errorf("got %q", got)
	}
}

// A name that is far longer than all valid ones is compared with none of them: with each, that takes the product of their lengths.
func TestALongNameIsNearToNone(t *testing.T) {
	candidates := make([]string, 1000)
	for i := range candidates {
		candidates[i] = strings.Repeat("replicas", 8)
	}
	if got := Nearest(strings.Repeat("replicas", 1<<21), candidates); got != "" {
		t.Errorf("got %q", got)
	}
}
