package operatorbox

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/words"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/revision"
)

// Compiler compiles boxes against their CRDs. It is safe for concurrent use.
type Compiler struct {
	// Client reads from the manager's cache.
	Client client.Reader
	// Mapper resolves kinds.
	Mapper meta.RESTMapper
	// CRDs gives the CRDs of the boxes.
	CRDs *crds.Store
	// Revisions tells where former specs have made children.
	Revisions *revision.Store
	// AllowGrantingKinds lets boxes make kinds that grant rights.
	AllowGrantingKinds bool
	// ExternalOnly says that the operator names the only hosts that external calls may reach.
	ExternalOnly bool
}

// Env is what a box is compiled in, against a version of a CRD.
func (c *Compiler) Env(ctx context.Context, box string, crd pipeline.CRD) pipeline.Env {
	former, err := c.Revisions.Places(ctx, box)
	if err != nil {
		// The right to read revisions is missing, as a rule: the reconciler waits for any other error. A box runs without that right too.
		ctrl.LoggerFrom(ctx).Error(err, "Where a former version of a box has made children can't be found out")
	}
	return pipeline.Env{
		FormerPlaces: former,
		CRD:          crd, Mapper: c.Mapper, AllKinds: true, AllowGrantingKinds: c.AllowGrantingKinds, ExternalOnly: c.ExternalOnly,
		BoxSchema: func(name string) *apiextensionsv1.JSONSchemaProps { return c.schemaOf(ctx, name) },
	}
}

// schemaOf gives the schema of the CRD that another box serves; nil where it can't be had. Paths into that box's resources are not
// checked then, and a wrong one is an error when it is read.
func (c *Compiler) schemaOf(ctx context.Context, name string) *apiextensionsv1.JSONSchemaProps {
	other := &v1alpha1.OperatorBox{}
	if err := c.Client.Get(ctx, types.NamespacedName{Name: name}, other); err != nil {
		return nil
	}
	crd, err := c.CRD(ctx, other)
	if err != nil {
		return nil
	}
	picked, ok := crds.OwnVersion(other, crd)
	if !ok {
		return nil
	}
	return picked.Schema
}

// Box implements revision.Compiler.
func (c *Compiler) Box(ctx context.Context, name string) (*v1alpha1.OperatorBox, error) {
	box := &v1alpha1.OperatorBox{}
	if err := c.Client.Get(ctx, types.NamespacedName{Name: name}, box); err != nil {
		return nil, fmt.Errorf("reading OperatorBox %q: %w", name, err)
	}
	return box, nil
}

// CRD implements revision.Compiler.
func (c *Compiler) CRD(ctx context.Context, box *v1alpha1.OperatorBox) (*apiextensionsv1.CustomResourceDefinition, error) {
	return c.CRDs.Find(ctx, box.Name, crds.NameOf(box))
}

// CompileFormer implements revision.Compiler.
func (c *Compiler) CompileFormer(
	ctx context.Context, former *v1alpha1.OperatorBox, live *apiextensionsv1.CustomResourceDefinition, version string,
) (plan *pipeline.Plan, refusal string) {
	if name := crds.NameOf(former); name != live.Name {
		return nil, fmt.Sprintf(" is for CustomResourceDefinition %q, and the box serves %q", name, live.Name)
	}
	crd, ok := crds.OwnVersion(former, live)
	if version != "" {
		crd, ok = pipeline.NewCRD(live, version)
	}
	if !ok {
		return nil, ": " + crds.NotServed(former, live)
	}
	plan, errs := pipeline.Compile(former, c.Env(ctx, former.Name, crd))
	if len(errs) > 0 {
		return nil, " does not compile any more: " + words.Mistakes(errs)
	}
	return plan, ""
}
