package render

import (
	"context"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/rendering"
)

// words say by which flags what is missing can be given.
var words = rendering.Words{
	Boxes: "-f", GiveCRD: "by --crd, or --cluster", GiveRest: "by --with",
	Unread: "was not read: no cluster is given; give it by --with, or let --cluster read it",
}

// results are what is printed.
type results struct {
	status  bool // each resource is printed, too
	objects []*unstructured.Unstructured
	patches []*unstructured.Unstructured // after the objects: fields of objects of others
}

// resource renders one resource. ok is false where it, or what is made of it, has a mistake.
func (p *results) resource(ctx context.Context, all *rendering.Rendering, doc input.Document, notes io.Writer) (ok bool, err error) {
	r, err := all.Resource(ctx, doc)
	if err != nil {
		return false, err //nolint:wrapcheck // it says what was done
	}
	var lines []string
	for _, m := range r.Mistakes {
		lines = append(lines, fmt.Sprintf("%s:%d: %s %q: %s: %s", doc.File, m.Line, doc.Kind(), doc.Name(), m.Path, m.Message))
	}
	if len(lines) > 0 {
		return false, writeLines(notes, lines...)
	}
	subject := fmt.Sprintf("%s %q", r.Stored.GetKind(), r.Stored.GetName())
	if r.Constructor != "" {
		return true, writeLines(notes, fmt.Sprintf("%s: it is reconciled by the constructor %s, which is compiled into a manager and is not run here: there is nothing to render", subject, r.Constructor))
	}
	p.objects, p.patches = append(p.objects, r.Objects...), append(p.patches, r.Patches...)
	if p.status {
		p.objects = append(p.objects, r.Shown)
	}
	for _, c := range r.Conditions {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s: %s=%s %s: %s", subject, c.Type, c.Status, c.Reason, c.Message), ": "))
	}
	for _, wait := range r.Waits {
		lines = append(lines, fmt.Sprintf("%s: waits: %s", subject, wait))
	}
	for _, e := range r.Events {
		lines = append(lines, fmt.Sprintf("%s: event: %s: %s", subject, e.Reason, e.Message))
	}
	return r.Err == nil, writeLines(notes, lines...)
}

// notServed says of documents of -r that no box serves them.
func notServed(docs []input.Document) []string {
	lines := make([]string, 0, len(docs))
	for _, doc := range docs {
		lines = append(lines, fmt.Sprintf("%s: %s %q: no box in -f serves it; it is taken for what the cluster has", doc.File, doc.Kind(), doc.Name()))
	}
	return lines
}

func writeLines(w io.Writer, lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("writing notes: %w", err)
	}
	return nil
}
