package crdhealth

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

func TestDependencyState(t *testing.T) {
	own := func(ref string, state v1alpha1.HealthState, started bool, owners ...metav1.OwnerReference) *v1alpha1.CRDHealth {
		h := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: "db", OwnerReferences: owners}}
		if ref != "" {
			h.Spec.OperatorBoxRef = &v1alpha1.OperatorBoxReference{Name: ref}
		}
		h.Status.State = state
		if started {
			h.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStarted, Status: metav1.ConditionTrue}}
		}
		return h
	}
	const healthy, pending = v1alpha1.HealthHealthy, v1alpha1.HealthPending
	cases := map[string]struct {
		hasBox bool
		known  *v1alpha1.CRDHealth
		want   pipeline.DependencyState
	}{
		"nothing":                         {false, nil, pipeline.DependencyState{}},
		"a box that has just been made":   {true, nil, pipeline.DependencyState{OfBox: true, State: pending}},
		"its CRDHealth says nothing yet":  {true, own("db", "", false), pipeline.DependencyState{OfBox: true, State: pending}},
		"a healthy box":                   {true, own("db", healthy, true), pipeline.DependencyState{OfBox: true, State: healthy, Started: true}},
		"a box that is about to take one": {true, own("", healthy, true), pipeline.DependencyState{OfBox: true, State: pending}},
		"left behind by a box":            {false, own("db", healthy, true), pipeline.DependencyState{}},
		"one that goes with its box":      {false, own("", healthy, true, boxOwner("db", "uid")), pipeline.DependencyState{}},
		"another operator's":              {false, own("", healthy, true), pipeline.DependencyState{State: healthy, Started: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(stateOf(tc.hasBox, tc.known)).To(Equal(tc.want))
		})
	}
}
