package draw

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"
)

// The measures of a picture, in pixels.
const (
	column, line = 50, 32 // of the grid
	gap          = 6
	axis         = 52 // left of a plot, for values
	above, below = 30, 36
	letter       = 6 // about as wide as one is
)

// colors are those of lines, in their order.
var colors = []string{"#3274d9", "#e0752d", "#37872d", "#c4162a", "#8f3bb8", "#b58900", "#16a2b8", "#7f7f7f", "#e377c2", "#8c564b"}

// svg collects the elements of a picture.
type svg struct {
	strings.Builder
}

// draw adds an element.
func (s *svg) draw(format string, args ...any) { fmt.Fprintf(&s.Builder, format, args...) }

func (s *svg) text(x, y float64, style, text string) {
	s.draw("<text x=\"%.0f\" y=\"%.0f\" %s>%s</text>\n", x, y, style, html.EscapeString(text))
}

// SVG draws a board for the time about which it has asked.
func (b *Board) SVG(from, to time.Time) string {
	s, height := &svg{}, 0
	for _, p := range b.Panels {
		height = max(height, p.GridPos.Y+p.GridPos.H)
	}
	height = height*line + gap
	s.draw("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\" fill=\"#333\">\n", 24*column, height)
	s.draw("<title>%s</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#f2f3f5\"/>\n", html.EscapeString(b.Title), 24*column, height)
	for i := range b.Panels {
		b.Panels[i].draw(s, from, to)
	}
	s.WriteString("</svg>\n")
	return s.String()
}

func (p *Panel) draw(s *svg, from, to time.Time) {
	x, y := float64(p.GridPos.X*column), float64(p.GridPos.Y*line)
	w, h := float64(p.GridPos.W*column-gap), float64(p.GridPos.H*line-gap)
	if p.Type == "row" {
		s.text(x+gap, y+20, `font-size="14" font-weight="bold"`, p.Title)
		return
	}
	s.draw("<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"3\" fill=\"#fff\" stroke=\"#d8dade\"/>\n", x+gap/2, y+gap/2, w, h)
	s.text(x+12, y+20, `font-weight="bold"`, p.Title)
	switch {
	case len(p.Found) == 0:
		nothing := p.Config.Defaults.NoValue
		if nothing == "" {
			nothing = "No data"
		}
		s.text(x+w/2, y+h/2+10, `text-anchor="middle" fill="#999"`, nothing)
	case p.Type == "stat":
		p.stat(s, x, y, w, h, to)
	case p.Type == "table":
		p.table(s, x, y, w, h, to)
	default:
		p.lines(s, x, y, w, h, from, to)
	}
}

// last is the value at the end of the time, and whether there is one.
func (s *Series) last(to time.Time) (float64, bool) {
	if len(s.Points) == 0 {
		return 0, false
	}
	end := s.Points[len(s.Points)-1]
	return end.Value, !math.IsNaN(end.Value) && float64(to.Unix())-end.At < 10
}

// top is the largest value.
func (s *Series) top() (top float64) {
	for _, point := range s.Points {
		if !math.IsNaN(point.Value) {
			top = max(top, point.Value)
		}
	}
	return top
}

func (p *Panel) stat(s *svg, x, y, w, h float64, to time.Time) {
	var words []string
	for _, one := range p.Found {
		value, there := one.last(to)
		switch shown := format(value, p.Config.Defaults.Unit); {
		case !there:
		case p.Options.TextMode == "name":
			words = append(words, one.Name)
		case p.Options.TextMode == "value_and_name":
			words = append(words, one.Name+" "+shown)
		default:
			words = append(words, shown)
		}
	}
	size := min(26, int(h)/(len(words)+2))
	for i, word := range words {
		s.text(x+w/2, y+h/2+10+float64(size+4)*(float64(i)-float64(len(words)-1)/2)+float64(size)/3,
			fmt.Sprintf(`text-anchor="middle" font-size="%d"`, size), word)
	}
}

// table has a row for each series that there is at the end, with its labels.
func (p *Panel) table(s *svg, x, y, w, h float64, to time.Time) {
	var names []string
	for name := range p.Found[0].Labels {
		names = append(names, name)
	}
	slices.Sort(names)
	wide := (w - 24) / float64(max(len(names), 1))
	for i, name := range names {
		s.text(x+12+float64(i)*wide, y+42, `fill="#777"`, name)
	}
	at := y + 60
	for _, one := range p.Found {
		if _, there := one.last(to); !there || at > y+h {
			continue
		}
		for i, name := range names {
			value := one.Labels[name]
			s.text(x+12+float64(i)*wide, at, "", value[:min(len(value), int(wide)/letter)])
		}
		at += 18
	}
}

// lines draws each series over time, with its name below.
func (p *Panel) lines(s *svg, x, y, w, h float64, from, to time.Time) {
	slices.SortStableFunc(p.Found, func(a, b Series) int { // the names of those that can be seen go first
		return cmp.Or(cmp.Compare(b.top(), a.top()), strings.Compare(a.Name, b.Name))
	})
	top := round(p.Found[0].top())
	if p.Config.Defaults.Unit == "bytes" {
		top = 1024 * round(p.Found[0].top()/1024)
	}
	left, right, high, low := x+axis, x+w-10, y+above, y+h-below
	for _, part := range []float64{0, .5, 1} {
		at := low - part*(low-high)
		s.draw("<path d=\"M%.0f %.0fH%.0f\" stroke=\"#e4e5e8\"/>\n", left, at, right)
		s.text(left-5, at+4, `text-anchor="end" font-size="10" fill="#777"`, format(part*top, p.Config.Defaults.Unit))
	}
	s.text(left, low+13, `font-size="10" fill="#777"`, "0 s")
	s.text(right, low+13, `text-anchor="end" font-size="10" fill="#777"`, fmt.Sprintf("%.0f s", to.Sub(from).Seconds()))
	begin, lasts, name := float64(from.UnixMilli())/1000, to.Sub(from).Seconds(), left
	for i, one := range p.Found {
		color := colors[i%len(colors)]
		var path strings.Builder
		before := math.Inf(-1)
		for _, point := range one.Points {
			if math.IsNaN(point.Value) {
				continue
			}
			to := "L"
			if point.At-before > lasts/40 {
				to = "M" // nothing was there in between
			}
			before = point.At
			fmt.Fprintf(&path, "%s%.0f %.1f", to, left+(point.At-begin)/lasts*(right-left), low-point.Value/top*(low-high))
		}
		if path.Len() == 0 {
			continue
		}
		s.draw("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" stroke-linecap=\"round\"/>\n", path.String(), color)
		if width := float64(len(one.Name)*letter + 20); name+width < right+20 {
			s.draw("<rect x=\"%.0f\" y=\"%.0f\" width=\"10\" height=\"3\" fill=\"%s\"/>\n", name, low+24, color)
			s.text(name+13, low+28, `font-size="10"`, one.Name)
			name += width
		}
	}
}

// round gives the next of 1, 2, 5, 10, 20, 50 and so on.
func round(value float64) float64 {
	if value <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(value)))
	for _, step := range []float64{1, 2, 5} {
		if value <= step*power {
			return step * power
		}
	}
	return 10 * power
}

// format writes a value in a unit of Grafana.
func format(value float64, unit string) string {
	short := func(value float64) string { return strings.TrimSuffix(fmt.Sprintf("%.3g", value), "e+00") }
	switch {
	case unit == "percentunit":
		return short(100*value) + " %"
	case unit == "s" && value != 0 && value < .001:
		return short(1e6*value) + " µs"
	case unit == "s" && value != 0 && value < 1:
		return short(1000*value) + " ms"
	case unit == "s":
		return short(value) + " s"
	case unit == "bytes" && value >= 1<<20:
		return short(value/(1<<20)) + " MiB"
	case unit == "bytes" && value >= 1<<10:
		return short(value/(1<<10)) + " KiB"
	case unit == "bytes":
		return short(value) + " B"
	case unit == "ops" || unit == "reqps" || unit == "wps":
		return short(value) + "/s"
	}
	return short(value)
}
