package declare

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// compiled compiles the declarations of a box that has no mistakes. Nothing is known of its CRD.
func compiled(tb testing.TB, spec string) *Set {
	tb.Helper()
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "website"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &box.Spec); err != nil {
		tb.Fatal(err)
	}
	b := &compile.Box{
		OperatorBox: box, Scope: expr.NewScope(nil).WithNames(compile.RootChildren, ChildSchemas(box, false)),
		Secrets: expr.NewScope(nil).WithNames(compile.RootChildren, ChildSchemas(box, true)),
	}
	set := Compile(b)
	if errs := b.Mistakes(); len(errs) > 0 {
		tb.Fatalf("the box does not compile: %v", errs.ToAggregate())
	}
	return set
}
