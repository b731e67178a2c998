package supervisor

import (
	"fmt"
	"strconv"
)

// The components, in the order in which they are started.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	collector         = "garbage-collector"
	kwok              = "kwok"
)

// The sockets of etcd are in the folder, so that nobody else on the machine can read the store. etcd wants a host and a port in
// the name, and names the file after them; it is relative because the names of sockets must be short.
const (
	etcdSocketFile = "localhost:2379"
	etcdSocket     = "unix://" + etcdSocketFile
	peerSocket     = "unix://localhost:2380"
)

const serviceCIDR = "10.96.0.0/16"

func components() []string {
	return []string{etcd, apiServer, controllerManager, scheduler, collector, kwok}
}

// arguments returns the command line of a component. Paths are relative to the folder, in which all of them run.
func (s *Supervisor) arguments(name string) ([]string, error) {
	switch name {
	case etcd:
		return etcdArguments(), nil
	case apiServer:
		return s.apiServerArguments(), nil
	case controllerManager:
		return s.controllerManagerArguments(), nil
	case scheduler:
		return append(s.servingArguments(scheduler), "--config="+schedulerConfigFile), nil
	case collector:
		return []string{"--kubeconfig=" + kubeconfigFile(collector)}, nil
	case kwok:
		return []string{"--config=" + stagesFile, "--kubeconfig=" + kubeconfigFile(kwok), "--manage-all-nodes=true"}, nil
	}
	return nil, fmt.Errorf("no component is called %q", name)
}

func etcdArguments() []string {
	return []string{
		"--name=orkestra",
		"--data-dir=etcd",
		"--unsafe-no-fsync", // nobody needs the data after a crash of the machine
		"--listen-client-urls=" + etcdSocket,
		"--advertise-client-urls=http://localhost:2379", // must look like an address; nobody uses it
		"--listen-peer-urls=" + peerSocket,
		"--initial-advertise-peer-urls=" + peerSocket,
		"--initial-cluster=orkestra=" + peerSocket,
		"--log-level=warn",
	}
}

func (s *Supervisor) apiServerArguments() []string {
	args := []string{
		"--etcd-servers=" + etcdSocket,
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		"--endpoint-reconciler-type=none", // loopback is not allowed as an endpoint of the kubernetes service
		"--secure-port=" + strconv.Itoa(s.ports[apiServer].number),
		"--permit-port-sharing=true", // see port
		"--tls-cert-file=" + certFile("serving"),
		"--tls-private-key-file=" + keyFile("serving"),
		"--client-ca-file=" + certFile("ca"),
		"--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + tokenPublicFile,
		"--service-account-signing-key-file=" + tokenPrivateFile,
		"--service-cluster-ip-range=" + serviceCIDR,
		"--allow-privileged=true",
		"--max-requests-inflight=1600", // this and the next are four times the defaults: tests meet 429 only where they ask for it
		"--max-mutating-requests-inflight=800",
		"--shutdown-watch-termination-grace-period=1s", // or a stop waits for watches until it is forced
		"--profiling=false",
	}
	if s.options.AuditLog != "" {
		// Without a size the file would be renamed at 100 MB, and begun anew: those who read on from a place would miss what was written before.
		args = append(args, "--audit-policy-file="+auditPolicyFile, "--audit-log-path="+s.options.AuditLog, "--audit-log-maxsize="+maxAuditLog)
	}
	return args
}

func (s *Supervisor) controllerManagerArguments() []string {
	return append(s.servingArguments(controllerManager),
		"--kubeconfig="+kubeconfigFile(controllerManager),
		"--leader-elect=false",
		"--controllers=*,-garbage-collector-controller", // the component garbage-collector takes its place
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+tokenPrivateFile,
		"--root-ca-file="+certFile("ca"),
		"--cluster-signing-cert-file="+certFile("ca"),
		"--cluster-signing-key-file="+keyFile("ca"),
		"--service-cluster-ip-range="+serviceCIDR,
		"--node-monitor-grace-period=1h", // a busy machine must not make the node NotReady
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		"--profiling=false",
	)
}

// servingArguments are those of the components that serve health and metrics beside their work.
func (s *Supervisor) servingArguments(name string) []string {
	return []string{
		"--authentication-kubeconfig=" + kubeconfigFile(name),
		"--authentication-skip-lookup=true", // the API server has no front proxy to tell them about
		"--client-ca-file=" + certFile("ca"),
		"--authorization-kubeconfig=" + kubeconfigFile(name),
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(s.ports[name].number),
		"--permit-port-sharing=true",
		"--tls-cert-file=" + certFile("serving"),
		"--tls-private-key-file=" + keyFile("serving"),
	}
}
