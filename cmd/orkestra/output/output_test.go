package output

import (
	"bytes"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
)

// broken can't be written to.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestFormats(t *testing.T) {
	g := NewWithT(t)
	value := map[string]any{"b": "<&>", "a": []int{1}}
	var out bytes.Buffer
	g.Expect(WriteJSON(&out, value)).To(Succeed())
	g.Expect(out.String()).To(Equal("{\n  \"a\": [\n    1\n  ],\n  \"b\": \"<&>\"\n}\n"), "what people read is not escaped for browsers")
	out.Reset()
	g.Expect(WriteYAML(&out, value)).To(Succeed())
	g.Expect(out.String()).To(Equal("a:\n- 1\nb: <&>\n"))
}

func TestTable(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(Table(&out, [][]string{{"NAME", "STATE", "REASON"}, {"a", "Ready", ""}, {"└─longer", "-", "why"}})).To(Succeed())
	g.Expect(out.String()).To(Equal("NAME       STATE   REASON\na          Ready\n└─longer   -       why\n"), "nothing stands at the ends of lines")
}

// Messages come from everybody who can write an object's status: they move no cursor, and begin no line.
func TestTextThatIsNotForTerminals(t *testing.T) {
	for text, want := range map[string]string{
		"as it is: “é” └─ 日本 🎉": "as it is: “é” └─ 日本 🎉",
		"a\tb\r\n\nc":           "a b c",
		"\x1b[31mred\x1b]0;t\a": `\x1b[31mred\x1b]0;t\a`,
		"\u202egnp.exe":         `\u202egnp.exe`,
		"\u009b2J\x00":          `\u009b2J\x00`,
		"cut \xff":              "cut \ufffd",
	} {
		t.Run(want, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(Plain(text)).To(Equal(want))
			var out bytes.Buffer
			g.Expect(Table(&out, [][]string{{"NAME", "WHY"}, {text, "x"}})).To(Succeed())
			g.Expect(out.String()).To(And(ContainSubstring(want+"   x\n"), Not(ContainSubstring("\x1b"))))
		})
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	for name, write := range map[string]func() error{
		"JSON":  func() error { return WriteJSON(broken{}, 1) },
		"YAML":  func() error { return WriteYAML(broken{}, 1) },
		"table": func() error { return Table(broken{}, [][]string{{"a"}}) },
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(write()).To(MatchError("no space")) })
	}
	NewWithT(t).Expect(WriteYAML(&bytes.Buffer{}, func() {})).NotTo(Succeed())
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 boxes", 1: "1 box", 2: "2 boxes"} {
		NewWithT(t).Expect(Count(n, "box", "boxes")).To(Equal(want))
	}
}
