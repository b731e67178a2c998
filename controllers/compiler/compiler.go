// Package compiler compiles boxes with what the cluster says of their CRDs, of other boxes and of former revisions.
package compiler

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/words"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/provider"
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
	// Revisions tells where former specs have made children. nil: that does not matter, because no plan will run.
	Revisions *revision.Store
	// AllowGrantingKinds lets boxes make kinds that grant rights.
	AllowGrantingKinds bool
	// Code has the functions that are compiled into the manager. nil: it is not known which.
	Code *hook.Registry
	// Providers are those that the manager has. nil: that is not known.
	Providers *provider.Registry
	// WebhookServices are those that webhooks may be, by namespace or namespace/name. nil: that is not known.
	WebhookServices []string
	// Restricted says whether the operator names the only hosts that the external calls of a box may reach. nil: of none.
	Restricted func(box *v1alpha1.OperatorBox) bool
	// Unknown gives an error for each field of a box in the cluster that the Go types of this build lack. nil: it has none that they lack.
	Unknown func(ctx context.Context, box string) (field.ErrorList, error)
}

// Compile compiles a box of the cluster against a version of its CRD. dependsOn gives what another box depends on. An error is one of reading.
func (c *Compiler) Compile(
	ctx context.Context, box *v1alpha1.OperatorBox, crd pipeline.CRD, dependsOn func(box string) []string,
) (plan *pipeline.Plan, wrong field.ErrorList, err error) {
	if c.Unknown != nil {
		if wrong, err = c.Unknown(ctx, box.Name); err != nil || len(wrong) > 0 {
			return nil, wrong, err
		}
	}
	env := c.Env(ctx, box, crd)
	env.DependsOn = dependsOn
	plan, wrong = pipeline.Compile(box, env)
	return plan, wrong, nil
}

// Env is what a box is compiled in, against a version of a CRD.
func (c *Compiler) Env(ctx context.Context, box *v1alpha1.OperatorBox, crd pipeline.CRD) pipeline.Env {
	return pipeline.Env{
		FormerPlaces: c.formerPlaces(ctx, box.Name), Elders: c.Elders(ctx, box),
		CRD: crd, Mapper: c.Mapper, AllKinds: true, AllowGrantingKinds: c.AllowGrantingKinds, Code: c.Code, Providers: c.Providers, WebhookServices: c.WebhookServices, ExternalOnly: c.Restricted != nil && c.Restricted(box),
		BoxSchema: func(name string) *apiextensionsv1.JSONSchemaProps {
			if crd := c.crdOf(ctx, name); crd != nil {
				return crd.Schema
			}
			return nil
		},
		BoxCRD: func(name string) *pipeline.CRD { return c.crdOf(ctx, name) },
	}
}

// Elders are the older boxes over the kind of others that a box serves, by age. They have what they select until they are gone.
func (c *Compiler) Elders(ctx context.Context, box *v1alpha1.OperatorBox) []pipeline.Elder {
	if crds.OthersName(box) == "" {
		return nil
	}
	var boxes v1alpha1.OperatorBoxList
	if err := c.Client.List(ctx, &boxes); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Older boxes over the same kind can't be listed") // a cache fails only while it is filled
	}
	all := slices.DeleteFunc(boxes.Items, func(b v1alpha1.OperatorBox) bool {
		return crds.OthersName(&b) != crds.OthersName(box) || crds.Older(&b, box) >= 0
	})
	slices.SortFunc(all, func(a, b v1alpha1.OperatorBox) int { return crds.Older(&a, &b) })
	var elders []pipeline.Elder
	for i := range all {
		elders = append(elders, ElderOf(&all[i]))
	}
	return elders
}

// ElderOf is what younger boxes over the same kind of others leave to a box.
func ElderOf(box *v1alpha1.OperatorBox) pipeline.Elder {
	return pipeline.Elder{Box: box.Name, Namespaces: box.Spec.Namespaces, Selector: box.Spec.Selector, Annotations: box.Spec.AnnotationSelector}
}

func (c *Compiler) formerPlaces(ctx context.Context, box string) boxspec.Places {
	if c.Revisions == nil {
		return boxspec.Places{}
	}
	former, err := c.Revisions.Places(ctx, box)
	if err != nil {
		// The right to read revisions is missing, as a rule: the reconciler waits for any other error. A box runs without that right too.
		ctrl.LoggerFrom(ctx).Error(err, "Where a former version of a box has made children can't be found out")
	}
	return former
}

// crdOf gives the CRD that another box serves; nil where it can't be had. Paths into that box's resources are not checked then, nor the
// right to read them: what is wrong is an error when it is read.
func (c *Compiler) crdOf(ctx context.Context, name string) *pipeline.CRD {
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
	return &picked
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
	return c.CRDs.Of(ctx, box, crds.NameOf(box))
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
	plan, errs := pipeline.Compile(former, c.Env(ctx, former, crd))
	if len(errs) > 0 {
		return nil, " does not compile any more: " + words.Mistakes(errs)
	}
	return plan, ""
}
