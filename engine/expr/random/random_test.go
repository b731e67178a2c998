package random_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/random"
)

var begin = time.Date(2026, 3, 25, 10, 0, 0, 0, time.FixedZone("", 3600))

// drawing draws from a source.
func drawing(source io.Reader) *random.Drawing {
	return &random.Drawing{
		Budget: budget.Until(func() error { return nil }), Source: &random.Source{Reader: source, Now: func() time.Time { return begin }},
	}
}

// zeros is a source that gives as many zeros as asked for.
func zeros() io.Reader { return bytes.NewReader(make([]byte, 1<<16)) }

// The same source gives the same, and what is drawn is as long as asked for.
func TestText(t *testing.T) {
	for _, tc := range []struct {
		characters string
		length     int
		want       string
	}{
		{random.Letters, 3, "aaa"}, {random.Digits, 5, "00000"}, {random.ASCII, 2, "  "}, {"x", 4, "xxxx"}, {random.Letters, 0, ""},
	} {
		NewWithT(t).Expect(drawing(zeros()).Text(tc.characters, tc.length)).To(Equal(tc.want))
	}
	g := NewWithT(t)
	g.Expect(random.ASCII).To(HaveLen(95))
	first, err := drawing(rand.Reader).Text(random.Letters, 64)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(drawing(rand.Reader).Text(random.Letters, 64)).NotTo(Equal(first))
	for _, length := range []int{-1, 4097} {
		_, err := drawing(zeros()).Text(random.Digits, length)
		g.Expect(err).To(MatchError("a length must be from 0 to 4096"))
		_, err = drawing(zeros()).Base64(length)
		g.Expect(err).To(MatchError("a length must be from 0 to 4096"))
	}
}

// Every character is as likely as the others: 10 does not divide 256.
func TestText_isFair(t *testing.T) {
	g := NewWithT(t)
	count := map[rune]int{}
	for range 10 {
		text, err := drawing(rand.Reader).Text(random.Digits, 4096)
		g.Expect(err).NotTo(HaveOccurred())
		for _, c := range text {
			count[c]++
		}
	}
	for c, n := range count {
		g.Expect(n).To(BeNumerically("~", 4096, 600), "%c", c) // ten standard deviations
	}
	g.Expect(count).To(HaveLen(10))
}

func TestBase64(t *testing.T) {
	g := NewWithT(t)
	for _, length := range []int{0, 1, 32, 4096} {
		text, err := drawing(rand.Reader).Base64(length)
		g.Expect(err).NotTo(HaveOccurred())
		raw, err := base64.StdEncoding.DecodeString(text)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(raw).To(HaveLen(length))
	}
}

func TestInt(t *testing.T) {
	g := NewWithT(t)
	seen := map[int64]bool{}
	for range 200 {
		n, err := drawing(rand.Reader).Int(-2, 2)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(n).To(And(BeNumerically(">=", -2), BeNumerically("<", 2)))
		seen[n] = true
	}
	g.Expect(seen).To(HaveLen(4))
	g.Expect(drawing(zeros()).Int(5, 6)).To(BeEquivalentTo(5))
	for _, bad := range [][2]int64{{5, 5}, {6, 5}, {-1 << 63, 1<<63 - 1}} {
		_, err := drawing(zeros()).Int(bad[0], bad[1])
		g.Expect(err).To(MatchError("MIN must be less than MAX"), "%v", bad)
	}
}

// Nothing is lost and nothing is added, and each place can be anybody's.
func TestShuffle(t *testing.T) {
	g := NewWithT(t)
	firsts := map[string]bool{}
	for range 200 {
		text, err := drawing(rand.Reader).Shuffle("äbc")
		g.Expect(err).NotTo(HaveOccurred())
		letters := strings.Split(text, "")
		firsts[letters[0]] = true
		slices.Sort(letters)
		g.Expect(strings.Join(letters, "")).To(Equal("bcä"))
	}
	g.Expect(firsts).To(HaveLen(3))
	g.Expect(drawing(zeros()).Shuffle("")).To(BeEmpty())
	g.Expect(drawing(zeros()).Shuffle("a")).To(Equal("a"))
	_, err := drawing(zeros()).Shuffle(strings.Repeat("ä", 4097))
	g.Expect(err).To(MatchError("a text to shuffle may have at most 4096 characters"))
}

func TestUUID(t *testing.T) {
	g := NewWithT(t)
	g.Expect(drawing(zeros()).UUID()).To(Equal("00000000-0000-4000-8000-000000000000"))
	g.Expect(drawing(bytes.NewReader(bytes.Repeat([]byte{0xff}, 16))).UUID()).To(Equal("ffffffff-ffff-4fff-bfff-ffffffffffff"))
	g.Expect(drawing(rand.Reader).UUID()).To(MatchRegexp(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`))
}

// What is drawn is charged before it is drawn; an evaluation that has no work left draws nothing.
func TestDrawing_charges(t *testing.T) {
	for name, draw := range map[string]func(d *random.Drawing) error{
		"a text":        func(d *random.Drawing) error { _, err := d.Text(random.Letters, 4096); return err },
		"a shuffle":     func(d *random.Drawing) error { _, err := d.Shuffle(strings.Repeat("a", 4096)); return err },
		"a private key": func(d *random.Drawing) error { _, err := d.PrivateKey("rsa"); return err },
		"a certificate": func(d *random.Drawing) error {
			_, err := d.Certificate(random.Certificate{Name: "x", Days: 1})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			source := zeros()
			d := drawing(source)
			g.Expect(d.Work(budget.MaxWork - 10)).To(Succeed())
			over, ok := errors.AsType[*budget.ExceededError](draw(d))
			g.Expect(ok).To(BeTrue())
			g.Expect(over.Limit).To(Equal(budget.Work))
			left, err := io.ReadAll(source)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(left).To(HaveLen(1<<16), "something was drawn")
		})
	}
}

// A source that fails is an error of its own, that says nothing of the source.
func TestDrawing_failingSource(t *testing.T) {
	for name, draw := range map[string]func(d *random.Drawing) error{
		"a text":    func(d *random.Drawing) error { _, err := d.Text(random.Letters, 1); return err },
		"bytes":     func(d *random.Drawing) error { _, err := d.Base64(1); return err },
		"a number":  func(d *random.Drawing) error { _, err := d.Int(0, 2); return err },
		"a shuffle": func(d *random.Drawing) error { _, err := d.Shuffle("ab"); return err },
		"a UUID":    func(d *random.Drawing) error { _, err := d.UUID(); return err },
	} {
		err := draw(drawing(iotest.ErrReader(errors.New("/dev/secret is broken"))))
		NewWithT(t).Expect(err).To(MatchError("the source of randomness fails"), name)
	}
}
