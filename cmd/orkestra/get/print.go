package get

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
)

// printer prints what a shelf shows.
type printer struct {
	*flags

	shelf      shelf
	names      []string // those that are wanted; empty: all
	out, notes io.Writer
	grid       output.Grid
	lines      map[string]line // as they were last printed, while they are followed
}

func sorted(lines map[string]line) []line {
	out := make([]line, 0, len(lines))
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		out = append(out, lines[key])
	}
	return out
}

func (p *printer) wants(l line) bool { return len(p.names) == 0 || slices.Contains(p.names, l.name) }

// read gives what is wanted of what is there, and the errors of names that are not.
func (p *printer) read(ctx context.Context, c client.Reader) (all []line, absent []error, err error) {
	all, notes, err := read(ctx, c, p.shelf, p.names)
	if err != nil {
		return nil, nil, err
	}
	for _, note := range notes {
		_, _ = fmt.Fprintln(p.notes, output.Plain(note)) // what there is follows
	}
	for _, name := range p.names {
		if !slices.ContainsFunc(all, func(l line) bool { return l.name == name }) {
			absent = append(absent, p.shelf.absent(name))
		}
	}
	return all, absent, nil
}

// list prints what is there. A name that is not there is an error behind that.
func (p *printer) list(ctx context.Context, c client.Reader) error {
	all, absent, err := p.read(ctx, c)
	if err != nil {
		return err
	}
	if err := p.write(all, len(absent) > 0); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return errors.Join(absent...)
}

func (p *printer) write(all []line, someAbsent bool) error {
	values := make([]any, 0, len(all))
	for _, l := range all {
		values = append(values, l.value)
	}
	var answer any = map[string]any{"items": values}
	if len(p.names) == 1 && len(values) == 1 {
		answer = values[0] // as kubectl does
	}
	switch {
	case someAbsent && len(all) == 0:
		return nil
	case p.format == output.JSON:
		return output.WriteJSON(p.out, answer)
	case p.format == output.YAML:
		return output.WriteYAML(p.out, answer)
	case len(all) == 0:
		_, err := fmt.Fprintln(p.notes, p.shelf.none())
		return err
	default:
		return p.grid.Write(p.out, p.rows(all)...)
	}
}

func (p *printer) rows(all []line) [][]string {
	wide := p.format == output.Wide
	rows := [][]string{p.shelf.header(wide)}
	for _, l := range all {
		rows = append(rows, l.cells(p.now(), wide))
	}
	return rows
}

// follow prints what is there, and then each object that changes what is shown of it.
func (p *printer) follow(ctx context.Context, i *session.Inspector) error {
	watching, err := i.Watching()
	if err != nil {
		return err
	}
	all, absent, err := p.read(ctx, watching)
	if err = errors.Join(append(absent, err)...); err != nil {
		return err
	}
	if err := p.begin(all); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	follows := p.shelf.follows()
	for n := range follows {
		follows[n].Client = watching
	}
	err = cluster.Together(ctx, follows, func(obj *unstructured.Unstructured, gone bool) (bool, error) {
		l, changes := p.shelf.put(obj, gone)
		if !changes || !p.wants(l) {
			return false, nil
		}
		return false, p.change(l)
	})
	if errors.Is(err, context.Canceled) {
		return nil // somebody has told it to stop
	}
	return err
}

// begin prints what is there at first.
func (p *printer) begin(all []line) error {
	for _, l := range all {
		p.lines[l.key] = l
	}
	if p.format != output.JSON && p.format != output.YAML {
		return p.grid.Write(p.out, p.rows(all)...)
	}
	for _, l := range all {
		if err := p.object(l); err != nil {
			return err
		}
	}
	return nil
}

// change prints one that is shown otherwise than before.
func (p *printer) change(l line) error {
	was, known := p.lines[l.key]
	if known && p.same(was, l) || !known && l.gone {
		return nil
	}
	if p.lines[l.key] = l; l.gone {
		delete(p.lines, l.key)
	}
	if p.format == output.JSON || p.format == output.YAML {
		return p.object(l)
	}
	return p.grid.Write(p.out, l.cells(p.now(), p.format == output.Wide))
}

// same says whether two states of an object are shown in the same way, but for their ages.
func (p *printer) same(a, b line) bool {
	if p.format == output.JSON || p.format == output.YAML {
		return reflect.DeepEqual(a.value, b.value)
	}
	now, wide := p.now(), p.format == output.Wide
	return slices.Equal(a.cells(now, wide), b.cells(now, wide))
}

// object prints one of a stream of objects.
func (p *printer) object(l line) error {
	if p.format == output.JSON {
		return output.WriteJSON(p.out, l.value)
	}
	if _, err := fmt.Fprintln(p.out, "---"); err != nil {
		return fmt.Errorf("writing an object: %w", err)
	}
	return output.WriteYAML(p.out, l.value)
}
