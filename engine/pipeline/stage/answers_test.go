package stage

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The API server names the keys of maps where it names places, and a template may have made them of a Secret.
func TestPlacesAreNamedWithoutKeys(t *testing.T) {
	for name, tc := range map[string]struct{ place, group, want string }{
		"a field":                        {"spec.ports[0].port", "", "spec.ports[0].port"},
		"a key":                          {"data[Hunter 2]", "", "data[…]"},
		"a key with brackets":            {"data[a][0].hunter2[0]", "", "data[…]"},
		"a key that begins like a place": {"data[12ab]", "", "data[…]"},
		"a key of digits":                {"data[1234567]", "", "data[…]"},
		"below a place in a list":        {"spec.rules[12].a[b]", "apps", "spec.rules[12].a[…]"},
		"a field of a custom kind":       {"spec.size", "test.example.com", "spec.size"},
		"a key in a custom kind":         {"spec.settings.hunter2", "test.example.com", "spec.settings.…"},
		"a key in its list":              {"spec.list[0].hunter2.a", "test.example.com", "spec.list[0].…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withoutKeys(tc.place, tc.group); got != tc.want {
				t.Errorf("got %q, expected %q", got, tc.want)
			}
		})
	}
}

func TestAPlaceIsNamedOnce(t *testing.T) {
	labels := field.NewPath("metadata", "labels")
	refused := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", field.ErrorList{
		field.Invalid(labels, "a b", "one"), field.Invalid(labels, "c d", "another"), field.Required(field.NewPath("data"), "some"),
	})
	want := `ConfigMap "a": the API server refuses it: metadata.labels (FieldValueInvalid), data (FieldValueRequired); ` +
		"its words are not shown, because they may quote what is not the resource's own"
	if got := WithoutValues(refused, `ConfigMap "a"`).Error(); got != want {
		t.Errorf("got %s, expected %s", got, want)
	}
}
