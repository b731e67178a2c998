package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// repositoryURL is where files are that are not on the site.
const repositoryURL = "https://github.com/orkspace/orkestra"

// resolve has the links and pictures of a page lead to where their targets are on the site, and names those that lead nowhere.
func (s *site) resolve(p *page) error {
	var wrong []error
	_ = ast.Walk(p.document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			destination, err := s.lead(p, string(n.Destination))
			n.Destination = []byte(destination)
			wrong = append(wrong, err)
		case *ast.Image:
			wrong = append(wrong, s.picture(p, n))
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(wrong...)
}

// lead is where a link of a page leads to on the site.
func (s *site) lead(p *page, destination string) (string, error) {
	if strings.Contains(destination, "://") || strings.HasPrefix(destination, "mailto:") {
		return destination, nil
	}
	name, id, _ := strings.Cut(destination, "#")
	file := cmp.Or(name, path.Base(p.source))
	file = path.Join(path.Dir(p.source), file)
	info, err := fs.Stat(s.repository, file)
	if err != nil {
		return "", fmt.Errorf("%s:%d: the link %q leads nowhere: there is no %s", p.source, p.lineOf(destination), destination, file)
	}
	if id != "" {
		if err := s.heading(p, file, id, destination); err != nil {
			return "", err
		}
		id = "#" + id
	}
	switch to := s.pages[file]; {
	case name == "":
		return id, nil
	case to != nil:
		return relative(p.target, to.target) + id, nil
	case info.IsDir():
		return repositoryURL + "/tree/main/" + file, nil
	case strings.HasPrefix(file, pagesFolder+"/") && !isPage(file):
		return relative(p.target, s.copied(file)), nil
	}
	return repositoryURL + "/blob/main/" + file + id, nil
}

// heading looks for the heading that a link names.
func (s *site) heading(p *page, file, id, destination string) error {
	to := cmp.Or(s.pages[file], s.others[file])
	if to == nil {
		if !isPage(file) {
			return fmt.Errorf("%s:%d: the link %q leads nowhere: %s is no page with headings", p.source, p.lineOf(destination), destination, file)
		}
		var err error
		if to, err = s.read(file); err != nil {
			return err
		}
		s.others[file] = to
	}
	if !to.has(id) {
		return fmt.Errorf("%s:%d: the link %q leads nowhere: %s has no heading %q", p.source, p.lineOf(destination), destination, file, id)
	}
	return nil
}

// picture has a picture be copied, and its dark twin, if there is one.
func (s *site) picture(p *page, n *ast.Image) error {
	destination := string(n.Destination)
	file := path.Join(path.Dir(p.source), destination)
	if _, err := fs.Stat(s.repository, file); err != nil {
		return fmt.Errorf("%s:%d: there is no picture %q: pictures are files of the repository", p.source, p.lineOf(destination), destination)
	}
	if len(bytes.TrimSpace([]byte(p.text(n)))) == 0 {
		return fmt.Errorf("%s:%d: the picture %q needs a text for those who can't see it", p.source, p.lineOf(destination), destination)
	}
	n.Destination = []byte(relative(p.target, s.copied(file)))
	size, err := s.size(file)
	if err != nil {
		return fmt.Errorf("%s:%d: the picture %q: %w", p.source, p.lineOf(destination), destination, err)
	}
	n.SetAttributeString("size", size)
	if dark, ok := darkOf(file); ok {
		if _, err := fs.Stat(s.repository, dark); err == nil {
			n.SetAttributeString("dark", relative(p.target, s.copied(dark)))
		}
	}
	return nil
}

// darkOf is the name that the twin of a picture for dark pages has.
func darkOf(file string) (string, bool) {
	extension := path.Ext(file)
	name, ok := strings.CutSuffix(strings.TrimSuffix(file, extension), "-light")
	return name + "-dark" + extension, ok
}

// copied is where a file of the repository is on the site.
func (s *site) copied(file string) string {
	name := strings.TrimPrefix(file, pagesFolder+"/")
	s.pictures[file] = name
	return name
}

// lineOf is the line of the first link to a destination.
func (p *page) lineOf(destination string) int {
	return p.line(max(0, bytes.Index(p.content, []byte("]("+destination))))
}

// relative is the way from one file of the site to another.
func relative(from, to string) string {
	steps := strings.Split(path.Dir(from), "/")
	if steps[0] == "." {
		steps = nil
	}
	goal := strings.Split(to, "/")
	for len(steps) > 0 && len(goal) > 1 && steps[0] == goal[0] {
		steps, goal = steps[1:], goal[1:]
	}
	return strings.Repeat("../", len(steps)) + strings.Join(goal, "/")
}
