package kinds

import (
	"testing"
)

func TestBuildStatefulSets(t *testing.T) {
	for name, tc := range map[string]buildCase{
		"a StatefulSet takes its Service from the box": {
			key: "statefulsets", short: `{image: postgres, port: 5432}`, service: &Service{Name: "peers"},
			want: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: team}
spec:
  serviceName: peers
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
    spec:
      containers: [{name: main, image: postgres, ports: [{containerPort: 5432}]}]
`,
		},
		"a container has the name that it is given": {
			key: "statefulsets", short: `{image: postgres, containerName: db}`, service: &Service{Name: "peers"},
			spec: `{template: {spec: {containers: [{name: db, tty: true}]}}}`,
			want: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: team}
spec:
  serviceName: peers
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
    spec:
      containers: [{name: db, image: postgres, tty: true}]
`,
		},
		"a StatefulSet with everything": {
			key: "statefulsets", service: &Service{Name: "peers"},
			short: `
image: postgres
replicas: "3"
serviceName: other
strategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}
volumeMounts: [{name: data, mountPath: /data}]
volumeClaimTemplates:
- metadata: {name: data}
  spec: {resources: {requests: {storage: 10Gi}}}
- metadata: {name: wal, labels: {a: b}}
  spec: {accessModes: [ReadWriteOncePod], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
- metadata: {name: bare}
`,
			spec: `{podManagementPolicy: Parallel, template: {spec: {containers: [{name: main, tty: true}]}}}`,
			want: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: team}
spec:
  replicas: 3
  serviceName: other
  podManagementPolicy: Parallel
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
    spec:
      containers: [{name: main, image: postgres, tty: true, volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
  - metadata: {name: wal, labels: {a: b}}
    spec: {accessModes: [ReadWriteOncePod], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
  - metadata: {name: bare}
    spec: {accessModes: [ReadWriteOnce]}
`,
		},
		"a StatefulSet without a Service, on purpose": {
			key: "statefulsets", short: `{image: a, serviceName: ""}`,
			want: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: team}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
    spec: {containers: [{name: main, image: a}]}
`,
		},
		"a StatefulSet whose spec names the Service": {
			key: "statefulsets", short: `{image: a}`, spec: `{serviceName: own}`,
			want: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: team}
spec:
  serviceName: own
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
    spec: {containers: [{name: main, image: a}]}
`,
		},
		"a DaemonSet": {
			key: "daemonsets", short: `{image: agent, tolerations: [{operator: Exists}], strategy: {type: OnDelete}}`, spec: `{minReadySeconds: 5}`,
			want: `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: web, namespace: team}
spec:
  minReadySeconds: 5
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: shop}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: main, image: agent}]
`,
		},
	} {
		t.Run(name, tc.run)
	}
}

func TestBuildCronJobs(t *testing.T) {
	for name, tc := range map[string]buildCase{
		"the smallest CronJob": {
			key: "cronjobs", short: `{image: tools, schedule: "30 2 * * *"}`,
			want: `
apiVersion: batch/v1
kind: CronJob
metadata: {name: web, namespace: team}
spec:
  schedule: 30 2 * * *
  jobTemplate:
    spec:
      backoffLimit: 3
      template:
        metadata: {labels: {app.kubernetes.io/instance: shop}}
        spec: {restartPolicy: Never, containers: [{name: main, image: tools}]}
`,
		},
		"a CronJob with everything": {
			key: "cronjobs",
			short: `
image: tools
args: [backup]
env: [{name: A, value: 1}]
schedule: "@daily"
timeZone: Europe/Berlin
suspend: "true"
concurrencyPolicy: Forbid
successfulJobsHistoryLimit: 0
failedJobsHistoryLimit: 2
startingDeadlineSeconds: 100
backoffLimit: 0
ttlSecondsAfterFinished: 60
activeDeadlineSeconds: 30
parallelism: 2
completions: 4
`,
			spec: `{jobTemplate: {spec: {template: {spec: {containers: [{name: main, workingDir: /x}]}}}}}`,
			want: `
apiVersion: batch/v1
kind: CronJob
metadata: {name: web, namespace: team}
spec:
  schedule: "@daily"
  timeZone: Europe/Berlin
  suspend: true
  concurrencyPolicy: Forbid
  successfulJobsHistoryLimit: 0
  failedJobsHistoryLimit: 2
  startingDeadlineSeconds: 100
  jobTemplate:
    spec:
      backoffLimit: 0
      ttlSecondsAfterFinished: 60
      activeDeadlineSeconds: 30
      parallelism: 2
      completions: 4
      template:
        metadata: {labels: {app.kubernetes.io/instance: shop}}
        spec:
          restartPolicy: Never
          containers: [{name: main, image: tools, args: [backup], env: [{name: A, value: "1"}], workingDir: /x}]
`,
		},
		"a CronJob whose spec has all": {
			key: "cronjobs", short: `{}`,
			spec: `{schedule: "@daily", jobTemplate: {spec: {template: {spec: {containers: [{name: app, image: x}]}}}}}`,
			want: `
apiVersion: batch/v1
kind: CronJob
metadata: {name: web, namespace: team}
spec:
  schedule: "@daily"
  jobTemplate:
    spec:
      backoffLimit: 3
      template:
        metadata: {labels: {app.kubernetes.io/instance: shop}}
        spec: {restartPolicy: Never, containers: [{name: app, image: x}]}
`,
		},
	} {
		t.Run(name, tc.run)
	}
}
