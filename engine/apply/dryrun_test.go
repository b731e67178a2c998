package apply

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhatADryRunMakesOfAnswers(t *testing.T) {
	sent := &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap"}}
	live := &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap", "live": true}}
	noNamespace := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "new")
	noKind := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Later"}}
	for name, tc := range map[string]struct {
		out   Outcome
		err   error
		want  Outcome
		fails bool // the error is passed on
	}{
		"made":                    {out: Outcome{Action: Created, Object: live}, want: Outcome{Action: None, Object: live}},
		"corrected":               {out: Outcome{Action: Corrected, Object: live, Drift: []Correction{{SetBy: "kubectl"}}}, want: Outcome{Action: None, Object: live}},
		"being deleted":           {out: Outcome{Action: Terminating, Object: live}, want: Outcome{Action: Terminating, Object: live}},
		"refused":                 {err: apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", nil), fails: true},
		"not ours":                {err: &RefusedError{Reason: "NotOwned", Message: "no"}, fails: true},
		"broken":                  {err: errors.New("the network is broken"), fails: true},
		"a child is gone":         {err: apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "a"), fails: true},
		"a bad request":           {err: apierrors.NewBadRequest("no"), fails: true},
		"no namespace yet":        {err: fmt.Errorf("applying: %w", noNamespace), want: Outcome{Action: None, Object: sent}},
		"no kind yet":             {err: fmt.Errorf("finding kind: %w", noKind), want: Outcome{Action: None, Object: sent}},
		"a webhook that can't be": {err: apierrors.NewBadRequest(`admission webhook "a" does not support dry run`), want: Outcome{Action: None, Object: sent}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			out, err := asked(tc.out, sent, tc.err)
			if tc.fails {
				g.Expect(err).To(MatchError(tc.err))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out).To(Equal(tc.want))
		})
	}
}
