package supervisor

import (
	"fmt"
	"os"
	"strings"
	"time"

	node "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	pod "sigs.k8s.io/kwok/kustomize/stage/pod/fast"

	"github.com/orkspace/orkestra/test/cluster/internal/pki"
)

// The files of the folder.
const (
	adminKubeconfigFile = "kubeconfig"
	auditPolicyFile     = "audit-policy.yaml"
	kubectlFile         = "kubectl"
	readyFile           = "ready.json"
	schedulerConfigFile = "kube-scheduler.yaml"
	stagesFile          = "kwok.yaml"
	tokenPrivateFile    = "token.key"
	tokenPublicFile     = "token.pub"
)

// logEnding is that of the logs of components.
const logEnding = ".log"

// maxAuditLog is the size of the audit log, in megabytes, that is never reached.
const maxAuditLog = "1000000"

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %s
  qps: 500
  burst: 1000
`

func certFile(name string) string       { return name + ".crt" }
func keyFile(name string) string        { return name + ".key" }
func logFile(name string) string        { return name + logEnding }
func kubeconfigFile(name string) string { return name + ".kubeconfig" }

// writeFiles puts everything that the components read into the folder.
func (s *Supervisor) writeFiles(now time.Time) error {
	authority, err := pki.NewAuthority(now)
	if err != nil {
		return err
	}
	serving, err := authority.Serving(apiServer, loopback, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	private, public, err := pki.NewSigningKey()
	if err != nil {
		return err
	}
	files := map[string][]byte{
		certFile("ca"):      authority.Pair().Cert,
		keyFile("ca"):       authority.Pair().Key,
		certFile("serving"): serving.Cert,
		keyFile("serving"):  serving.Key,
		tokenPrivateFile:    private,
		tokenPublicFile:     public,
		auditPolicyFile:     []byte(auditPolicy),
		schedulerConfigFile: fmt.Appendf(nil, schedulerConfig, kubeconfigFile(scheduler)),
		stagesFile:          []byte(stages()),
	}
	if err := s.addKubeconfigs(authority, files); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(s.folder.File(name), data, 0o600); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	if err := os.Symlink(s.binary, s.folder.File(kubectlFile)); err != nil {
		return fmt.Errorf("linking kubectl: %w", err)
	}
	return nil
}

// addKubeconfigs makes one client per user. kwok plays every kubelet, the collector deletes objects of all kinds, and both may do
// everything; the others are bound by the roles that the API server makes for them.
func (s *Supervisor) addKubeconfigs(authority *pki.Authority, files map[string][]byte) error {
	const masters = "system:masters"
	for _, client := range []struct{ file, user, group string }{
		{adminKubeconfigFile, "orkestra-admin", masters},
		{kubeconfigFile(kwok), "kwok", masters},
		{kubeconfigFile(collector), "garbage-collector", masters},
		{kubeconfigFile(controllerManager), "system:kube-controller-manager", ""},
		{kubeconfigFile(scheduler), "system:kube-scheduler", ""},
	} {
		var groups []string
		if client.group != "" {
			groups = append(groups, client.group)
		}
		pair, err := authority.Client(client.user, groups...)
		if err != nil {
			return err
		}
		if files[client.file], err = authority.Kubeconfig(s.server(), pair); err != nil {
			return err
		}
	}
	return nil
}

// stages are kwok's own: nodes become and stay ready, pods run at once, pods of Jobs complete, deleted pods go.
func stages() string {
	return strings.Join([]string{
		node.DefaultNodeInit,
		heartbeat.DefaultNodeHeartbeatWithLease,
		pod.DefaultPodReady,
		pod.DefaultPodComplete,
		pod.DefaultPodDelete,
	}, "\n---\n")
}
