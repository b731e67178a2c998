package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	nodeName     = "node-1"
	pollInterval = 25 * time.Millisecond
	pollTimeout  = 5 * time.Second
)

func newClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	config.Timeout = pollTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client, nil
}

// Ping returns nil if the API server that the kubeconfig names is ready.
func Ping(ctx context.Context, kubeconfig string) error {
	client, err := newClient(kubeconfig)
	if err != nil {
		return err
	}
	return healthy(ctx, client, "/readyz")
}

func healthy(ctx context.Context, client kubernetes.Interface, path string) error {
	return client.Discovery().RESTClient().Get().AbsPath(path).Do(ctx).Error()
}

// waitReady waits until a component that was just started does its work.
func (s *Supervisor) waitReady(ctx context.Context, name string) error {
	switch name {
	case apiServer:
		return s.wait(ctx, name, func(ctx context.Context) error { return healthy(ctx, s.client, "/readyz") })
	case etcd:
		// Without its socket the API server would fail once and then wait for a whole second.
		err := s.wait(ctx, name, func(context.Context) error {
			_, err := os.Stat(s.folder.File(etcdSocketFile))
			return err
		})
		if _, ok := s.processes[apiServer]; !ok || err != nil {
			return err
		}
		return s.wait(ctx, name, func(ctx context.Context) error { return healthy(ctx, s.client, "/readyz/etcd") })
	case controllerManager, scheduler:
		client, err := s.clientOf(name)
		if err != nil {
			return err
		}
		return s.wait(ctx, name, func(ctx context.Context) error { return healthy(ctx, client, "/healthz") })
	default: // the others serve nothing
		return s.Failure()
	}
}

// clientOf returns a client for a component's own health endpoint.
func (s *Supervisor) clientOf(name string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags(s.address(name), s.folder.File(adminKubeconfigFile))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.Timeout = pollTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", name, err)
	}
	return client, nil
}

// waitUsable waits until pods can be made and run.
func (s *Supervisor) waitUsable(ctx context.Context) error {
	for _, name := range []string{controllerManager, scheduler} {
		if err := s.waitReady(ctx, name); err != nil {
			return err
		}
	}
	err := s.wait(ctx, "the default service account", func(ctx context.Context) error {
		_, err := s.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return s.wait(ctx, "the node", func(ctx context.Context) error {
		node, err := s.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return schedulable(node)
	})
}

// wait calls check until it returns nil; it gives up when the context ends or a component dies.
func (s *Supervisor) wait(ctx context.Context, what string, check func(context.Context) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if failure := s.Failure(); failure != nil {
			return failure
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last answer: %w", what, context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

// createNode makes the node that all pods run on. kwok fills its status, with more room than any test needs.
func createNode(ctx context.Context, client kubernetes.Interface) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: nodeName,
		Labels: map[string]string{
			corev1.LabelHostname:   nodeName,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: "amd64",
		},
	}}
	_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the node: %w", err)
	}
	return nil
}

// schedulable returns nil if pods can be bound to the node: it is ready, and the taint it was born with is gone.
func schedulable(node *corev1.Node) error {
	if len(node.Spec.Taints) > 0 {
		return errors.New("the node is tainted")
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return errors.New("the node is not ready")
}
