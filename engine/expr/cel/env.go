// Package cel compiles the CEL expressions of conditions and evaluates them against a resource, with the functions of the API server. What an expression
// costs is charged before each call and each step of a loop, which the API server's own counting does not: see meter.
package cel

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/orkspace/orkestra/engine/expr/roots"
)

// rootSelf is the variable that holds the resource: apiVersion, kind, metadata, spec and status.
const rootSelf = "self"

// Env is what the expressions of one place share. It is made when the first of them is compiled, and safe for concurrent use.
type Env struct {
	roots *roots.Set

	once  sync.Once
	err   error
	cel   *cel.Env // for conditions
	mixed *cel.Env // for values, which build lists and maps of several types
	base  *base
	types *typeProvider
	mu    sync.Mutex // guards types while an expression is compiled
}

// NewEnv gives the environment of a place that may read these roots.
func NewEnv(set *roots.Set) *Env { return &Env{roots: set} }

// prepare makes the environment, once.
func (e *Env) prepare() error {
	e.once.Do(func() {
		if e.base, e.err = newBase(); e.err != nil {
			return
		}
		e.types = newTypeProvider(e.roots, e.base.env.CELTypeProvider())
		options := []cel.EnvOption{cel.CustomTypeProvider(e.types)}
		for _, name := range variables(e.roots) {
			options = append(options, cel.Variable(name, e.types.root(name)))
		}
		if e.cel, e.err = e.base.env.Extend(options...); e.err == nil {
			e.mixed, e.err = e.base.mixed.Extend(options...)
		}
		if e.err != nil {
			e.err = fmt.Errorf("preparing CEL: %w", e.err)
		}
	})
	return e.err
}

// variables are the names that an expression may begin with.
func variables(set *roots.Set) []string {
	names := []string{rootSelf}
	for _, name := range set.Names() {
		if !roots.OfResource(name) && name != rootSelf {
			names = append(names, name)
		}
	}
	return names
}

// base is what all expressions share. It takes a few milliseconds to make, so that only boxes with CEL pay.
type base struct {
	env, mixed *cel.Env
	functions  *functions
}

// newBase gives the environment of Kubernetes 1.36, without what asks an authorizer. The versions of the libraries are fixed, so
// that an expression which compiles today also does after an update. Only in mixed may the elements of a list, and the values of a map, that
// are written out be of several types: a rule of an Ingress is such a map, and what a condition compares is none.
var newBase = sync.OnceValues(func() (*base, error) {
	common := []cel.EnvOption{
		cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), cel.EnableIdentifierEscapeSyntax(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		library.URLs(), library.Regex(), library.Lists(library.ListsVersion(0)), library.Quantity(), library.IP(), library.CIDR(),
		library.Format(), library.SemverLib(library.SemverVersion(1)),
		ext.Strings(ext.StringsVersion(2)), ext.Sets(), ext.TwoVarComprehensions(), ext.Lists(ext.ListsVersion(3)),
		lowerEstimates(), declareOrdered(),
	}
	mixed, err := cel.NewEnv(common...)
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	env, err := cel.NewEnv(append(slices.Clip(common), cel.HomogeneousAggregateLiterals(), cel.ASTValidators(cel.ValidateHomogeneousAggregateLiterals()))...)
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	functions, err := newFunctions(env)
	return &base{env: env, mixed: mixed, functions: functions}, err
})
