package inspect

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/pipeline/overview"
	"github.com/orkspace/orkestra/engine/pipeline/patches"
)

// What a resource has noted that it patches is to be taken back, unless a declaration of a patch leads to it, or may.
func TestWhichDeclarationStandsForWhatIsNoted(t *testing.T) {
	const ready, off, waiting = overview.StateReady, overview.StateOff, overview.StateWaiting
	for name, tc := range map[string]struct {
		declared  Declaration
		id        string
		namespace string
		declares  bool
	}{
		"its object":                              {Declaration{Patch: true, patch: "cm", Kind: "ConfigMap", Name: "shared", State: ready}, "cm", "default", true},
		"its object, behind a gate":               {Declaration{Patch: true, patch: "cm", Kind: "ConfigMap", Name: "shared", State: off}, "cm", "default", true},
		"its object in another namespace":         {Declaration{Patch: true, patch: "cm", Kind: "ConfigMap", Name: "team/shared", State: ready}, "cm", "team", true},
		"an object of its name elsewhere":         {Declaration{Patch: true, patch: "cm", Kind: "ConfigMap", Name: "other/shared", State: ready}, "cm", "team", false},
		"another object":                          {Declaration{Patch: true, patch: "cm", Kind: "ConfigMap", Name: "other", State: ready}, "cm", "default", false},
		"an object of another kind":               {Declaration{Patch: true, patch: "cm", Kind: "Secret", Name: "shared", State: ready}, "cm", "default", false},
		"another patch of the object":             {Declaration{Patch: true, patch: "other", Kind: "ConfigMap", Name: "shared", State: ready}, "cm", "default", false},
		"a patch whose id begins alike":           {Declaration{Patch: true, patch: "cm", State: waiting}, "cm2", "default", false},
		"a child":                                 {Declaration{Declaration: "cm", Kind: "ConfigMap", Name: "shared", State: ready}, "cm", "default", false},
		"an item of a loop":                       {Declaration{Patch: true, patch: "cm#a", Kind: "ConfigMap", Name: "shared", State: ready}, "cm#a", "default", true},
		"another item of the loop":                {Declaration{Patch: true, patch: "cm#b", Kind: "ConfigMap", Name: "shared", State: ready}, "cm#a", "default", false},
		"a loop whose items are not known":        {Declaration{Patch: true, patch: "cm", State: waiting}, "cm#a", "default", true},
		"a loop that is off":                      {Declaration{Patch: true, patch: "cm", State: off}, "cm#a", "default", false},
		"a loop that is off, and keeps":           {Declaration{Patch: true, patch: "cm", State: off, kept: true}, "cm#a", "default", true},
		"a patch whose object can't be told":      {Declaration{Patch: true, patch: "cm", State: overview.StateError}, "cm", "default", true},
		"a patch that is off":                     {Declaration{Patch: true, patch: "cm", State: off}, "cm", "default", false},
		"a patch that is off, and what is set is": {Declaration{Patch: true, patch: "cm", State: off, kept: true}, "cm", "default", true},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
			obj.SetNamespace(tc.namespace)
			obj.SetName("shared")
			r := &Resource{Namespace: "default", Declarations: []Declaration{{Declaration: "page", Kind: "ConfigMap", Name: "page"}, tc.declared}}
			NewWithT(t).Expect(r.declares(patches.Target{ID: tc.id, Object: obj})).To(Equal(tc.declares))
		})
	}
}

// The words of the last reconcile stand at the patch that it could not set, and nowhere else.
func TestWhichPatchWasRefused(t *testing.T) {
	const why = "another one manages data.a"
	for name, tc := range map[string]struct {
		declared Declaration
		ready    bool
		message  string
		refused  bool
	}{
		"the patch":            {Declaration{Declaration: "cm", Patch: true, State: overview.StateMissing}, false, "patches: cm: " + why, true},
		"another patch":        {Declaration{Declaration: "cm", Patch: true, State: overview.StateMissing}, false, "patches: other: " + why, false},
		"one that stands":      {Declaration{Declaration: "cm", Patch: true, State: overview.StateReady}, false, "patches: cm: " + why, false},
		"one that waits":       {Declaration{Declaration: "cm", Patch: true, State: overview.StateWaiting}, false, "patches: cm: " + why, false},
		"a child":              {Declaration{Declaration: "cm", State: overview.StateMissing}, false, "patches: cm: " + why, false},
		"of another step":      {Declaration{Declaration: "cm", Patch: true, State: overview.StateMissing}, false, "onReconcile: cm: " + why, false},
		"one that is set anew": {Declaration{Declaration: "cm", Patch: true, State: overview.StateMissing}, true, "patches: cm: " + why, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, r := NewWithT(t), &Resource{Ready: tc.ready, Message: tc.message, Declarations: []Declaration{tc.declared}}
			r.refused()
			if tc.refused {
				g.Expect(r.Declarations[0]).To(And(HaveField("State", overview.StateFailed), HaveField("Reason", why)))
			} else {
				g.Expect(r.Declarations[0]).To(Equal(tc.declared))
			}
		})
	}
}
