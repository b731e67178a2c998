package serve

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/discovery"
	"github.com/orkspace/orkestra/engine/web/person"
)

// checking is what boxes are checked with that the person has written: as the manager does, with what the person may read, and without a request.
func (s *Source) checking(r *reader) validation.Options {
	o := s.Checking
	o.Cluster, o.Kinds = r, usedKinds{DefaultRESTMapper: meta.NewDefaultRESTMapper(nil), mapper: s.Mapper}
	return o
}

// CRD implements validation.Cluster: of those that boxes serve, for somebody who may read CRDs.
func (r *reader) CRD(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	kept := r.source.CRDs.Kept(name)
	if kept == nil {
		return nil, nil //nolint:nilnil // none is known
	}
	want := person.Right{Verb: verbGet, Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Name: name}
	if err := r.allowed(ctx, want); err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
	}
	return kept, nil
}

// Nearest implements validation.Cluster: which CRDs there are is not known.
func (*reader) Nearest(context.Context, string, ...string) string { return "" }

// usedKinds are those that boxes use, or have asked for. It asks nobody.
type usedKinds struct {
	*meta.DefaultRESTMapper

	mapper *discovery.Mapper
}

// RESTMapping implements meta.RESTMapper.
func (k usedKinds) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	for _, version := range versions {
		if mapping := k.mapper.Used(kind.WithVersion(version)); mapping != nil {
			return mapping, nil
		}
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
}
