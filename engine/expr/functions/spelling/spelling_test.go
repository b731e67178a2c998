package spelling_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr/functions/spelling"
)

// Words are split where there is a separator, before a capital letter that begins a word, and before digits.
func TestSeparated(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "A": "a", "FirstName": "first_name", "firstName": "first_name", "HTTPServer": "http_server", "serverHTTP": "server_http",
		"aB": "a_b", "AB": "ab", "ABc": "a_bc", "a1": "a_1", "a12": "a_12", "1a": "1a", "v2Name": "v_2name", "a-b c_d": "a_b_c_d", "  a  b ": "a_b",
		"already_snake": "already_snake", "__a__": "a", "ÄrgerÖl": "ärger_öl", "a.b/c": "a.b/c",
	} {
		NewWithT(t).Expect(spelling.Separated(text, '_')).To(Equal(want), "%q", text)
	}
	NewWithT(t).Expect(spelling.Separated("FooBar baz", '/')).To(Equal("foo/bar/baz"))
}

func TestPascal(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "A", "first name": "FirstName", "first-name_x": "FirstNameX", "HTTPServer": "HTTPServer", "__": "", "ärger öl": "ÄrgerÖl", "1a b": "1aB",
	} {
		NewWithT(t).Expect(spelling.Pascal(text)).To(Equal(want), "%q", text)
	}
}

func TestFirst(t *testing.T) {
	g := NewWithT(t)
	g.Expect(spelling.First("", unicode.ToUpper)).To(BeEmpty())
	g.Expect(spelling.First("ärger hier", unicode.ToUpper)).To(Equal("Ärger hier"))
	g.Expect(spelling.First(" a", unicode.ToUpper)).To(Equal(" a"))
	g.Expect(spelling.FirstOfWords("ärger  da\thier", unicode.ToTitle)).To(Equal("Ärger  Da\tHier"))
	g.Expect(spelling.FirstOfWords("", unicode.ToTitle)).To(BeEmpty())
	g.Expect(spelling.SwapCase("aB1 ßÄ")).To(Equal("Ab1 ßä"))
	g.Expect(spelling.Initials("ärger Da  x")).To(Equal("äDx"))
}

// A part of a text never holds half a character, whatever the bounds are.
func TestPart_neverHalf(t *testing.T) {
	for _, text := range []string{"", "abc", "äöü", "a€b", "😀x"} {
		for start := -12; start <= 12; start++ {
			for end := -12; end <= 12; end++ {
				part := spelling.Part(start, end, text)
				if !utf8.ValidString(part) || !strings.Contains(text, part) {
					t.Errorf("%q from %d to %d is %q", text, start, end, part)
				}
			}
			if cut := spelling.Truncate(start, text); !utf8.ValidString(cut) || len(cut) > max(start, -start) {
				t.Errorf("%q cut to %d is %q", text, start, cut)
			}
		}
	}
}

// What is abbreviated is as long as asked for, or was short enough.
func TestAbbreviate_length(t *testing.T) {
	const text = "abcdefghijklmnopqrstuvwxyz äöü"
	length := utf8.RuneCountInString(text)
	for width := range 40 {
		for offset := range 40 {
			short := spelling.Abbreviate(offset, width, text)
			n := utf8.RuneCountInString(short)
			if short != text && n > width || short == text && width >= 7 && width < length {
				t.Errorf("to %d from %d: %q", width, offset, short)
			}
		}
	}
}

// Lines are no longer than asked for, unless a word is and may not be cut, and no letter is lost.
func TestWrap_lines(t *testing.T) {
	const text = "a bb ccc dddd eeeee ffffff äöüäöüäöü"
	for length := 1; length < 20; length++ {
		for _, cut := range []bool{false, true} {
			wrapped := spelling.Wrap(length, "\n", text, cut)
			for line := range strings.SplitSeq(wrapped, "\n") {
				if utf8.RuneCountInString(line) > length && (cut || strings.Contains(line, " ")) {
					t.Errorf("to %d: %q", length, line)
				}
			}
			letters := strings.NewReplacer(" ", "", "\n", "")
			if letters.Replace(wrapped) != letters.Replace(text) {
				t.Errorf("to %d: %q", length, wrapped)
			}
		}
	}
}
