package draw

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

func TestFormat(t *testing.T) {
	for _, tc := range []struct {
		value      float64
		unit, want string
	}{
		{0, "s", "0 s"},
		{.00002, "s", "20 µs"},
		{.25, "s", "250 ms"},
		{90, "s", "90 s"},
		{.5, "percentunit", "50 %"},
		{512, "bytes", "512 B"},
		{2048, "bytes", "2 KiB"},
		{3 << 20, "bytes", "3 MiB"},
		{2.5, "wps", "2.5/s"},
		{12, "short", "12"},
	} {
		if got := format(tc.value, tc.unit); got != tc.want {
			t.Errorf("%v in %s: want %s, got %s", tc.value, tc.unit, tc.want, got)
		}
	}
}

func TestRound(t *testing.T) {
	for value, want := range map[float64]float64{0: 1, 1: 1, 1.1: 2, 3: 5, 7: 10, 120: 200, .03: .05} {
		if got := round(value); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: want %v, got %v", value, want, got)
		}
	}
}

// TestSVG: lines with their names, breaks where nothing was measured, states, tables, and what says that there is nothing.
func TestSVG(t *testing.T) {
	b, err := Read("testdata/board.json")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Unix(1000, 0)
	err = b.Ask(func(query string) ([]Series, error) {
		switch query {
		case "depth":
			return []Series{{Labels: map[string]string{"box": "a<b"}, Points: []Point{{1000, 0}, {1002, 10}, {1004, math.NaN()}, {1080, 5}, {1082, 0}}}}, nil
		case "state":
			return []Series{{Labels: map[string]string{"state": "Healthy"}, Points: []Point{{1100, 1}}}, {Labels: map[string]string{"state": "Gone"}, Points: []Point{{1010, 1}}}}, nil
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := b.SVG(from, from.Add(100*time.Second))
	for _, want := range []string{"Does it work?", "a&lt;b", "M52 118.0L59 62.0M318 90.0L324 118.0", ">Healthy 1<", ">Healthy</text>", ">state</text>", ">No data<", ">all well<", ">10<", ">100 s<"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Gone") {
		t.Error("what is over is shown as if it were there")
	}
	for decoder := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	wrong := errors.New("no such series")
	if err := b.Ask(func(string) ([]Series, error) { return nil, wrong }); !errors.Is(err, wrong) {
		t.Errorf("want %v, got %v", wrong, err)
	}
}
