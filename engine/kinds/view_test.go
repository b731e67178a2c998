package kinds

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestView(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"a Deployment that was just made": {
			`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}}`,
			`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2},
			  status: {replicas: 0, readyReplicas: 0, availableReplicas: 0, updatedReplicas: 0, unavailableReplicas: 0}}`,
		},
		"counters that are there stay": {
			`{apiVersion: apps/v1, kind: Deployment, status: {replicas: 3, readyReplicas: 1, observedGeneration: 2}}`,
			`{apiVersion: apps/v1, kind: Deployment,
			  status: {replicas: 3, readyReplicas: 1, observedGeneration: 2, availableReplicas: 0, updatedReplicas: 0, unavailableReplicas: 0}}`,
		},
		"a StatefulSet": {
			`{apiVersion: apps/v1, kind: StatefulSet, status: {}}`,
			`{apiVersion: apps/v1, kind: StatefulSet,
			  status: {replicas: 0, readyReplicas: 0, availableReplicas: 0, updatedReplicas: 0, currentReplicas: 0}}`,
		},
		"a ReplicaSet": {
			`{apiVersion: apps/v1, kind: ReplicaSet}`,
			`{apiVersion: apps/v1, kind: ReplicaSet, status: {replicas: 0, readyReplicas: 0, availableReplicas: 0, fullyLabeledReplicas: 0}}`,
		},
		"a DaemonSet": {
			`{apiVersion: apps/v1, kind: DaemonSet, status: {numberReady: 1}}`,
			`{apiVersion: apps/v1, kind: DaemonSet, status: {numberReady: 1, currentNumberScheduled: 0, desiredNumberScheduled: 0,
			  numberAvailable: 0, numberMisscheduled: 0, numberUnavailable: 0, updatedNumberScheduled: 0}}`,
		},
		"a Job": {
			`{apiVersion: batch/v1, kind: Job, status: {active: 1}}`,
			`{apiVersion: batch/v1, kind: Job, status: {active: 1, succeeded: 0, failed: 0}}`,
		},
		"an autoscaler": {
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {desiredReplicas: 1}}`,
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {desiredReplicas: 1, currentReplicas: 0}}`,
		},
		"a disruption budget": {
			`{apiVersion: policy/v1, kind: PodDisruptionBudget, status: {currentHealthy: 2}}`,
			`{apiVersion: policy/v1, kind: PodDisruptionBudget, status: {currentHealthy: 2, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0}}`,
		},
		"a Secret": {
			`{apiVersion: v1, kind: Secret, type: Opaque, data: {a: YQ==}, stringData: {b: c},
			  metadata: {name: x, annotations: {kubectl.kubernetes.io/last-applied-configuration: "{data}", n: m}}}`,
			`{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: x, annotations: {n: m}}}`,
		},
		"a Secret without annotations": {
			`{apiVersion: v1, kind: Secret, data: {a: YQ==}, metadata: {name: x}}`, `{apiVersion: v1, kind: Secret, metadata: {name: x}}`,
		},
		"others are as they are": {
			`{apiVersion: example.com/v1, kind: Deployment, data: {a: b}}`, `{apiVersion: example.com/v1, kind: Deployment, data: {a: b}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			obj := &unstructured.Unstructured{Object: tree(t, tc.in)}
			g.Expect(View(obj)).To(Equal(tree(t, tc.want)))
			g.Expect(obj.Object).To(Equal(tree(t, tc.in)), "the cache must not be changed")
		})
	}
}

func TestViewOfNothing(t *testing.T) {
	NewWithT(t).Expect(View(nil)).To(BeNil())
	NewWithT(t).Expect(View(&unstructured.Unstructured{})).To(BeEmpty())
}

func TestViewWithAStatusThatIsNoObject(t *testing.T) {
	g := NewWithT(t)
	obj := &unstructured.Unstructured{Object: tree(t, `{apiVersion: batch/v1, kind: Job, status: broken}`)}
	g.Expect(View(obj)["status"]).To(Equal(tree(t, `{active: 0, succeeded: 0, failed: 0}`)))
}
