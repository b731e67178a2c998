package revision

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// maxPlans is how many plans of old revisions are kept compiled, over all boxes. A rollback asks for one of them for each of its
// resources, and few boxes are rolled back at a time.
const maxPlans = 32

// Compiler reads boxes, and compiles their former specs.
type Compiler interface {
	// Box gives a box as it is now.
	Box(ctx context.Context, name string) (*v1alpha1.OperatorBox, error)
	// CRD gives the CRD that a box serves, as it is now.
	CRD(ctx context.Context, box *v1alpha1.OperatorBox) (*apiextensionsv1.CustomResourceDefinition, error)
	// CompileFormer compiles a box with a former spec against a CRD: in the version that the spec asks for, or in the one that is
	// given. refusal says why that is not possible, as the end of a sentence about the revision; empty: it is.
	CompileFormer(
		ctx context.Context, former *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition, version string,
	) (plan *pipeline.Plan, refusal string)
}

// Plans compiles kept revisions of boxes, and keeps the plans that were used last. It is safe for concurrent use.
type Plans struct {
	store    *Store
	compiler Compiler
	compiled *lru.Cache // of *pipeline.Plan, by planKey
}

// NewPlans gives one that has compiled nothing.
func NewPlans(store *Store, compiler Compiler) *Plans {
	return &Plans{store: store, compiler: compiler, compiled: lru.New(maxPlans)}
}

// planKey is everything that a plan of an old revision depends on: when any of it changes, the plan is compiled again.
type planKey struct {
	box        types.UID
	revision   Ref
	crd        types.UID
	generation int64 // of the CRD
	going      bool  // the CRD is being deleted, which is no new generation
	version    string
	known      v1alpha1.CRDStatus // the box's status says in which version of the CRD it worked
}

// PlanOf gives the plan of a kept revision of a box, compiled against the box's CRD as it is now. It reads from the API server
// unless the plan was asked for before. hash is that of the whole content; empty: it is not known. Errors say which revision of
// which box, and why it can't be had.
func (p *Plans) PlanOf(ctx context.Context, box, revision, hash string) (*pipeline.Plan, error) {
	now, err := p.compiler.Box(ctx, box)
	if err != nil {
		return nil, err
	}
	crd, err := p.compiler.CRD(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("revision %q of box %q can't be compiled without its CRD: %w", revision, box, err)
	}
	return p.Compile(ctx, now, crd, Ref{Name: revision, Hash: hash}, "")
}

// FinalizersOf gives the finalizers that the kept revisions of a box name. It reads from the API server.
func (p *Plans) FinalizersOf(ctx context.Context, box string) ([]string, error) {
	return p.store.Finalizers(ctx, box)
}

// Compile gives the plan of a kept revision of a box against a CRD: in the version that it asks for, or in the one that is given.
// An Error says why it can't be had; any other error is the API server's, and may go by itself.
func (p *Plans) Compile(
	ctx context.Context, box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition, of Ref, version string,
) (*pipeline.Plan, error) {
	key := planKey{
		box: box.UID, revision: of, crd: crd.UID, generation: crd.Generation, going: crd.DeletionTimestamp != nil,
		version: version, known: box.Status.CRD,
	}
	if known, ok := p.compiled.Get(key); ok {
		plan, _ := known.(*pipeline.Plan)
		return plan, nil
	}
	spec, err := p.store.Read(ctx, box.Name, of)
	if err != nil {
		return nil, err
	}
	former := box.DeepCopy()
	former.Spec = *spec
	former.Generation = 0 // its spec is not the one of the box's generation
	plan, refusal := p.compiler.CompileFormer(ctx, former, crd, version)
	if refusal != "" {
		return nil, Error(fmt.Sprintf("revision %q of box %q%s", of.Name, box.Name, refusal))
	}
	p.compiled.Add(key, plan)
	return plan, nil
}
