// Package draw draws a Grafana dashboard as a picture, from what Prometheus answers: for pages, where no Grafana is to be had.
package draw

import (
	"encoding/json"
	"os"
	"regexp"
)

// Board is what is drawn of a dashboard.
type Board struct {
	Title  string  `json:"title"`
	Panels []Panel `json:"panels"`
}

// Panel is a panel, or a row with the question that those below answer.
type Panel struct {
	Type    string   `json:"type"`
	Title   string   `json:"title"`
	GridPos Place    `json:"gridPos"`
	Targets []Target `json:"targets"`
	Config  struct {
		Defaults struct {
			Unit    string `json:"unit"`
			NoValue string `json:"noValue"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Options struct {
		TextMode string `json:"textMode"`
	} `json:"options"`
	// Found is what Ask was answered, with names by the legend.
	Found []Series `json:"-"`
}

// Place is one in Grafana's grid of 24 columns.
type Place struct {
	X int `json:"x"`
	Y int `json:"y"`
	W int `json:"w"`
	H int `json:"h"`
}

// Target is a query.
type Target struct {
	Expr   string `json:"expr"`
	Legend string `json:"legendFormat"`
}

// Series is a line.
type Series struct {
	Name   string
	Labels map[string]string
	Points []Point
}

// Point is a value at a time, in seconds since 1970.
type Point struct {
	At, Value float64
}

// Read reads a dashboard from a file.
func Read(file string) (*Board, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	b := &Board{}
	return b, json.Unmarshal(text, b)
}

// Ask asks every query, and keeps what is answered.
func (b *Board) Ask(answer func(query string) ([]Series, error)) error {
	for i := range b.Panels {
		p := &b.Panels[i]
		for _, target := range p.Targets {
			found, err := answer(target.Expr)
			if err != nil {
				return err
			}
			for _, one := range found {
				one.Name = legend.ReplaceAllStringFunc(target.Legend, func(label string) string {
					return one.Labels[legend.FindStringSubmatch(label)[1]]
				})
				p.Found = append(p.Found, one)
			}
		}
	}
	return nil
}

var legend = regexp.MustCompile(`{{\s*(\w+)\s*}}`)
