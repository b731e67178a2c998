package apply

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestIsGone(t *testing.T) {
	configMaps, namespaces := schema.GroupResource{Resource: "configmaps"}, schema.GroupResource{Resource: "namespaces"}
	generic := apierrors.NewGenericServerResponse(http.StatusNotFound, "DELETE", schema.GroupResource{}, "", "404 page not found", 0, true)
	cases := map[string]struct {
		err  error
		kind string
		want bool
	}{
		"the object":              {apierrors.NewNotFound(configMaps, "web"), "ConfigMap", true},
		"the object, wrapped":     {fmt.Errorf("deleting: %w", apierrors.NewNotFound(configMaps, "web")), "ConfigMap", true},
		"another object":          {fmt.Errorf("reading a Secret: %w", apierrors.NewNotFound(configMaps, "other")), "ConfigMap", false},
		"the kind is not served":  {generic, "ConfigMap", false},
		"its namespace":           {apierrors.NewNotFound(namespaces, "web"), "ConfigMap", false},
		"the object, a Namespace": {apierrors.NewNotFound(namespaces, "web"), "Namespace", true},
		"no answer":               {errors.New("404"), "ConfigMap", false},
		"no error":                {nil, "ConfigMap", false},
		"a conflict":              {apierrors.NewConflict(configMaps, "web", errors.New("x")), "ConfigMap", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"kind": tc.kind}}
			obj.SetName("web")
			NewWithT(t).Expect(IsGone(tc.err, obj)).To(Equal(tc.want))
		})
	}
}
