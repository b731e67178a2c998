package declare

import (
	"slices"

	"github.com/orkspace/orkestra/engine/expr"
)

// paths is everything that the declaration reads.
func (d *Declaration) paths() []expr.Path {
	out := d.contentPaths()
	if d.Gate != nil {
		out = append(out, d.Gate.Paths()...)
	}
	return out
}

// contentPaths is everything that its objects are made of.
func (d *Declaration) contentPaths() []expr.Path {
	out := d.Content.paths()
	if d.Loop != nil {
		out = append(out, d.Loop.Paths()...)
		if d.Loop.Key != nil {
			out = append(out, d.Loop.Key.Paths()...)
		}
	}
	if d.Rollout != nil {
		out = append(out, templatePaths(d.Rollout.Template)...)
	}
	return out
}

// paths is everything that the templates of an object read.
func (c *Content) paths() []expr.Path { return c.collect((*expr.Template).Paths, (*expr.Value).Paths) }

// needs are paths without which no object can be rendered.
func (c *Content) needs() []expr.Path { return c.collect((*expr.Template).Needs, (*expr.Value).Needs) }

func (c *Content) collect(template func(*expr.Template) []expr.Path, tree func(*expr.Value) []expr.Path) []expr.Path {
	var out []expr.Path
	for _, t := range []*expr.Template{c.Name, c.Namespace} {
		if t != nil {
			out = append(out, template(t)...)
		}
	}
	for _, v := range slices.Concat(c.Labels, c.Annotations, []*expr.Value{c.Short, c.Spec}) {
		if v != nil {
			out = append(out, tree(v)...)
		}
	}
	return out
}

func templatePaths(t *expr.Template) []expr.Path {
	if t == nil {
		return nil
	}
	return t.Paths()
}

// defaultPaths is what others read of a declaration that they take defaults from: the name of its object, and its ports.
func defaultPaths(d *Declaration) []expr.Path {
	out := slices.Clone(templatePaths(d.Name))
	if d.Ports != nil {
		out = append(out, d.Ports.Paths()...)
	}
	return out
}

// outsidePaths are the paths of a declaration, and those by which it takes defaults from others.
func (d *Declaration) outsidePaths() []expr.Path {
	out := d.paths()
	if w := d.takes.workload; w != nil {
		out = append(out, defaultPaths(w)...)
	}
	if s := d.takes.service; s != nil {
		out = append(out, defaultPaths(s)...)
		if w := s.takes.workload; w != nil {
			out = append(out, defaultPaths(w)...)
		}
	}
	return out
}
