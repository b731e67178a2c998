package kinds

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestBuildJobs(t *testing.T) {
	for name, tc := range map[string]buildCase{
		"the smallest Job": {
			key: "jobs", short: `{image: postgres, command: [./cleanup.sh], ttlSecondsAfterFinished: 60, failurePolicy: Continue}`,
			want: `
apiVersion: batch/v1
kind: Job
metadata: {name: web, namespace: team}
spec:
  backoffLimit: 3
  ttlSecondsAfterFinished: 60
  template:
    metadata: {labels: {app.kubernetes.io/instance: shop}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: postgres, command: [./cleanup.sh]}]
`,
		},
		"a Job with all fields": {
			key: "jobs",
			short: `
image: postgres
backoffLimit: 0
ttlSecondsAfterFinished: "60"
activeDeadlineSeconds: 30
parallelism: 2
completions: 4
serviceAccountName: cleaner
resources: {limits: {memory: 1Gi}}
volumes: [{name: a, persistentVolumeClaim: {claimName: data}}]
volumeMounts: [{name: a, mountPath: /data}]
`,
			spec: `{template: {spec: {restartPolicy: OnFailure}}}`,
			want: `
apiVersion: batch/v1
kind: Job
metadata: {name: web, namespace: team}
spec:
  backoffLimit: 0
  ttlSecondsAfterFinished: 60
  activeDeadlineSeconds: 30
  parallelism: 2
  completions: 4
  template:
    metadata: {labels: {app.kubernetes.io/instance: shop}}
    spec:
      restartPolicy: OnFailure
      serviceAccountName: cleaner
      volumes: [{name: a, persistentVolumeClaim: {claimName: data}}]
      containers:
      - name: main
        image: postgres
        resources: {limits: {memory: 1Gi}}
        volumeMounts: [{name: a, mountPath: /data}]
`,
		},
	} {
		t.Run(name, tc.run)
	}
}

func TestFailurePolicyOf(t *testing.T) {
	g := NewWithT(t)
	policy, err := FailurePolicyOf(tree(t, `{image: x}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(policy)).To(Equal("Block"))

	policy, err = FailurePolicyOf(tree(t, `{failurePolicy: Continue}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(policy)).To(Equal("Continue"))

	_, err = FailurePolicyOf(tree(t, `{failurePolicy: Retry}`))
	g.Expect(err).To(MatchError("failurePolicy: want Block or Continue, got string"))
}
