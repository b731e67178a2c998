package initialize

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/cmd/orkestra/initialize/derive"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/rbac"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/rendering"
	"github.com/orkspace/orkestra/engine/pipeline/check"
)

// made is what the command makes.
type made struct {
	*draft.Draft

	flags     *flags
	kind      derive.Kind
	resources []derive.Resource
	files     []string // that were read, in their order
	notes     []string // of the compiler

	role     map[string]any // nil: the box does not compile
	expected [][]byte       // by resource; nil: it can't be rendered
}

// translate makes the operator of manifests.
func (m *made) translate(instances []derive.Instance) {
	for _, instance := range instances {
		for _, doc := range instance.Docs {
			if !slices.Contains(m.files, doc.File) {
				m.files = append(m.files, doc.File)
			}
			m.Unreadable(doc)
		}
	}
	m.resources = derive.Translate(m.Draft, m.kind, m.flags.allowGranting, instances)
}

// compile compiles what was made, and renders the resources.
func (m *made) compile(ctx context.Context) error {
	if len(m.resources) == 0 {
		return nil
	}
	compiled, err := m.Compile(ctx, draft.Options{CRDs: input.NewCRDs(), Kinds: m.kinds(), AllowGranting: m.flags.allowGranting, Providers: m.flags.providers})
	if err != nil {
		return err
	}
	m.notes = compiled.Notes
	if len(compiled.Boxes) == 0 {
		return nil // the remarks say why
	}
	box := compiled.Boxes[0]
	m.role = rbac.OfManager(box.Name, box.Plan.Required())
	all := &rendering.Rendering{Validator: compiled.Validator, Now: m.flags.now(), Words: rendering.Words{Boxes: "the output", GiveRest: "by orkestra render --with", Unread: "was not read: no cluster is asked"}}
	if all.Known, err = all.ReadState(nil); err != nil {
		return fmt.Errorf("preparing to render: %w", err)
	}
	if len(compiled.Docs) != len(m.Objects) {
		return fmt.Errorf("reading what was written: %d documents of %d objects", len(compiled.Docs), len(m.Objects))
	}
	docs := compiled.Docs[len(compiled.Docs)-len(m.resources):]
	m.expected = make([][]byte, len(m.resources))
	for i, r := range m.resources {
		if m.expected[i], err = m.render(ctx, all, docs[i], r); err != nil {
			return err
		}
	}
	return nil
}

// render renders a resource, compares it with the manifests, and writes it.
func (m *made) render(ctx context.Context, all *rendering.Rendering, doc input.Document, r derive.Resource) ([]byte, error) {
	rendered, err := all.Resource(ctx, doc)
	if err != nil {
		return nil, fmt.Errorf("rendering %s %q: %w", doc.Kind(), doc.Name(), err)
	}
	for _, wrong := range rendered.Mistakes {
		r.Object.Fail(wrong.Path, "", fmt.Sprintf("the resource that is made of it is refused: %s: %s", wrong.Path, wrong.Message))
	}
	if rendered.Err != nil {
		r.Object.Fail("", "", "the resource that is made of it can't be rendered: "+rendered.Err.Error())
	}
	if len(rendered.Mistakes) > 0 || rendered.Err != nil {
		return nil, nil //nolint:nilerr // it is among the remarks
	}
	m.compare(r, rendered.Objects)
	var b bytes.Buffer
	for i, obj := range rendered.Objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		if err := output.WriteYAML(&b, obj.Object); err != nil {
			return nil, fmt.Errorf("writing what is expected: %w", err)
		}
	}
	return b.Bytes(), nil
}

// compare says where what a resource renders is not what the manifests say.
func (m *made) compare(r derive.Resource, rendered []*unstructured.Unstructured) {
	for _, wanted := range r.Wanted {
		key := wanted.Doc.APIVersion() + "/" + wanted.Doc.Kind() + "/" + wanted.Doc.Name()
		at := slices.IndexFunc(rendered, func(obj *unstructured.Unstructured) bool {
			return obj.GetAPIVersion()+"/"+obj.GetKind()+"/"+obj.GetName() == key
		})
		path, why := "", "it is not made"
		if at >= 0 {
			path, why = difference(wanted.Content, plainly(rendered[at].Object))
		}
		if why != "" && path != "" && wanted.Doc.Kind() == "Secret" {
			why = "it has another value" // which is for nobody to read
		}
		if why != "" {
			m.Say(wanted.Doc, fmt.Sprintf("%s %q", wanted.Doc.Kind(), wanted.Doc.Name()), path, "the resource does not render this manifest: "+why, true)
		}
	}
}

// kinds takes the kinds of children that are none of Kubernetes for such with namespaces: what is rendered here is not sent to a cluster.
func (m *made) kinds() meta.RESTMapper {
	out := meta.NewDefaultRESTMapper(nil)
	for _, r := range m.resources {
		for _, wanted := range r.Wanted {
			gvk := schema.FromAPIVersionAndKind(wanted.Doc.APIVersion(), wanted.Doc.Kind())
			if check.Scope(gvk, nil) == "" {
				out.Add(gvk, meta.RESTScopeNamespace)
			}
		}
	}
	return out
}
