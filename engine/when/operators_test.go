package when

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
)

// enumOf reads the values of the enum marker above a type of the API.
func enumOf(t *testing.T, name string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/when_types.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE || gen.Specs[0].(*ast.TypeSpec).Name.Name != name {
			continue
		}
		for _, line := range gen.Doc.List {
			if _, values, ok := strings.Cut(line.Text, "+kubebuilder:validation:Enum="); ok {
				return strings.Split(values, ";")
			}
		}
	}
	t.Fatalf("type %s has no enum marker", name)
	return nil
}

func TestEveryOperatorOfTheAPIHasARow(t *testing.T) {
	g := NewWithT(t)
	var rows []string
	for _, o := range operators {
		rows = append(rows, string(o.name))
	}
	g.Expect(rows).To(Equal(enumOf(t, "Operator")), "one row for each value, in the same order")
}

func TestEveryShortFormHasARow(t *testing.T) {
	g := NewWithT(t)
	shorts := reflect.TypeFor[v1alpha1.ShortForms]()
	g.Expect(operators).To(HaveLen(shorts.NumField()))
	for i := range shorts.NumField() {
		key, _, _ := strings.Cut(shorts.Field(i).Tag.Get("json"), ",")
		var forms v1alpha1.ShortForms
		value := &apiextensionsv1.JSON{Raw: []byte("1")}
		reflect.ValueOf(&forms).Elem().Field(i).Set(reflect.ValueOf(value))
		var rows []string
		for _, o := range operators {
			if o.form(&forms) == value {
				rows = append(rows, o.short)
			}
		}
		g.Expect(rows).To(Equal([]string{key}), "one row reads the short form, under its key")
	}
}

func TestEveryValueTypeOfTheAPIIsKnown(t *testing.T) {
	g := NewWithT(t)
	var known []string
	for _, as := range allTypes {
		known = append(known, string(as))
	}
	g.Expect(known).To(ConsistOf(enumOf(t, "ValueType")))
}

func TestRowsAreComplete(t *testing.T) {
	g := NewWithT(t)
	for _, o := range operators {
		g.Expect(o.test).NotTo(BeNil(), string(o.name))
		g.Expect(o.phrase).NotTo(BeEmpty(), string(o.name))
		g.Expect(o.shape != nil).NotTo(Equal(o.flag), string(o.name))
	}
}

func TestEveryOperatorHasAnExample(t *testing.T) {
	for _, o := range Descriptions() {
		t.Run(string(o.Name), func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(o.Field).NotTo(BeEmpty())
			for _, form := range []string{"operator: " + string(o.Name) + ", value: ", o.Short + ": "} {
				text := "{field: " + o.Field + ", " + form + o.Value + "}"
				c, errs := Compile(read[v1alpha1.Test](t, text), expr.NewScope(nil), field.NewPath("when"))
				g.Expect(errs).To(BeEmpty(), text)
				g.Expect(c.op.name).To(Equal(o.Name), text)
			}
		})
	}
}
