package value

import (
	"testing"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// A whole number keeps its digits, whatever spelling it comes in and whatever the schema calls it.
func TestNumbersKeepTheirDigits(t *testing.T) {
	g := gomega.NewWithT(t)
	const most = int64(9007199254740993) // not a float any more
	for _, wanted := range []string{"number", "integer"} {
		for _, in := range []any{"9007199254740993", most} {
			got, err := ToSchema(in, &apiextensionsv1.JSONSchemaProps{Type: wanted})
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(got).To(gomega.Equal(most), "%s of %T", wanted, in)
		}
	}
	got, err := Decode([]byte(`{"a": 9007199254740993, "b": 1.5}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(got).To(gomega.Equal(map[string]any{"a": most, "b": 1.5}))
}
