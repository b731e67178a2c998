package kinds

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const name = "websites.demo.example.com"

// told is a mapper that notes what it is told.
type told struct {
	awaits bool
	words  []string
}

func (t *told) Awaits(string) bool { return t.awaits }

func (t *told) Installed(crd *apiextensionsv1.CustomResourceDefinition) {
	t.words = append(t.words, "installed "+crd.Name)
}

func (t *told) Uninstalled(crd string) { t.words = append(t.words, "uninstalled "+crd) }

// of is a cluster with CRDs, whose full form can't be read with an error.
func of(t *testing.T, unread error, crds ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(crds...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, full := obj.(*apiextensionsv1.CustomResourceDefinition); full && unread != nil {
				return unread
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()
}

func TestWhatIsToldOfACRD(t *testing.T) {
	crd := func(established apiextensionsv1.ConditionStatus, going bool) *apiextensionsv1.CustomResourceDefinition {
		out := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		out.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: established}}
		if going {
			now := metav1.Now()
			out.DeletionTimestamp, out.Finalizers = &now, []string{"held"}
		}
		return out
	}
	away := errors.New("the API server is away")
	for what, tc := range map[string]struct {
		crd    client.Object
		unread error
		awaits bool
		want   []string
		fails  bool
	}{
		"served":              {crd: crd(apiextensionsv1.ConditionTrue, false), awaits: true, want: []string{"installed " + name}},
		"not served yet":      {crd: crd(apiextensionsv1.ConditionFalse, false), awaits: true},
		"going":               {crd: crd(apiextensionsv1.ConditionTrue, true), awaits: true},
		"nobody waits for it": {crd: crd(apiextensionsv1.ConditionTrue, false), unread: away},
		"gone":                {want: []string{"uninstalled " + name}},
		"it can't be read":    {crd: crd(apiextensionsv1.ConditionTrue, false), awaits: true, unread: away, fails: true},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			var all []client.Object
			if tc.crd != nil {
				all = append(all, tc.crd)
			}
			c, mapper := of(t, tc.unread, all...), &told{awaits: tc.awaits}
			_, err := (&Reconciler{Cached: c, Live: c, Mapper: mapper}).Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
			g.Expect(err != nil).To(Equal(tc.fails))
			g.Expect(mapper.words).To(Equal(tc.want))
		})
	}
}
