// Package cluster reaches the API server as kubectl does, and reads objects there.
package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/version"
	"github.com/orkspace/orkestra/controllers/crds"
)

// requestTimeout is how long the API server may take for one answer.
const requestTimeout = 30 * time.Second

// Flags say where the API server is.
type Flags struct {
	// Kubeconfig is the file; empty: KUBECONFIG, else the default kubeconfig, else in-cluster.
	Kubeconfig string
	// Context of the kubeconfig; empty: its current one.
	Context string
}

func (f Flags) load() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.Context})
}

// Namespace is that of the context; "default" where it has none.
func (f Flags) Namespace() (string, error) {
	namespace, _, err := f.load().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return namespace, nil
}

// Contexts are those of the kubeconfig, by name; none where it can't be read.
func (f Flags) Contexts() []string {
	config, err := f.load().RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

// Config gives what the flags lead to. Its requests have no timeout, and no rate of client-go's own.
func (f Flags) Config() (*rest.Config, error) {
	config, err := f.load().ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		// Said in client-go's words, it names a variable that nobody uses any more.
		named := "there is no kubeconfig, and this is no Pod"
		if file := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); file != "" {
			named = fmt.Sprintf("KUBECONFIG is %q, where no cluster is named", file)
		}
		return nil, fmt.Errorf("finding the API server: %s: name a kubeconfig by --kubeconfig or KUBECONFIG, or write ~/.kube/config", named)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	config.UserAgent = version.UserAgent()
	config.QPS = -1 // 0 is client-go's own limit
	return config, nil
}

// ManagerNamespace is the manager's: the one that is given, else POD_NAMESPACE, else orkestra-system.
func ManagerNamespace(given string) string {
	return cmp.Or(given, os.Getenv("POD_NAMESPACE"), "orkestra-system")
}

// Scheme knows the kinds of Kubernetes, CRDs and our own.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			// The types are compiled in: this can't fail at run time unless two of them clash, which every test would show.
			panic(err)
		}
	}
	return s
}

// Client gives a client whose requests end in time, and the configuration that it has. Nothing is asked yet.
func (f Flags) Client() (client.Client, *rest.Config, error) { return f.client(nil) }

// client is Client, with a transport around that of the configuration; nil: none.
func (f Flags) client(around transport.WrapperFunc) (client.Client, *rest.Config, error) {
	config, err := f.Config()
	if err != nil {
		return nil, nil, err
	}
	config.Wrap(around)
	config.Timeout = requestTimeout
	// A command prints its answer and nothing else: no warnings of the API server, and no logs of controller-runtime, which would also
	// complain that nobody has set a logger.
	config.WarningHandler = rest.NoWarnings{}
	log.SetLogger(logr.Discard())
	c, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, nil, fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	return c, config, nil
}

// Cluster reads objects from an API server. What does not exist is nil, and no error.
type Cluster struct {
	// Client reads.
	Client client.Client
	// Config is how the server is reached.
	Config *rest.Config
	// Clock tells the server's time.
	Clock *Clock
}

// Connect gives a Cluster. It asks for a kind at once, so that it fails where the API server can't be reached: later, a failed look-up would
// only say that there is no such kind.
func (f Flags) Connect() (*Cluster, error) {
	clk := NewClock(clock.RealClock{})
	c, config, err := f.client(clk.Wrap)
	if err != nil {
		return nil, err
	}
	gvk := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	if _, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
		return nil, fmt.Errorf("asking %s for its kinds: %w", config.Host, err)
	}
	return &Cluster{Client: c, Config: config, Clock: clk}, nil
}

// Get gives an object, or nil where there is none of this name.
func (c *Cluster) Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	err := c.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, obj)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // No object is a legal answer.
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, strings.TrimPrefix(namespace+"/"+name, "/"), err)
	}
	return obj, nil
}

// List gives the objects of a namespace, or of all, that the labels select.
func (c *Cluster) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, err)
	}
	out := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// CRD gives a CRD, or nil where there is none of this name.
func (c *Cluster) CRD(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := c.Client.Get(ctx, types.NamespacedName{Name: name}, crd)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // No CRD is a legal answer.
	}
	if err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
	}
	return crd, nil
}

// Boxes gives all of them. The error of a server that has no such kind is one of meta.IsNoMatchError.
func (c *Cluster) Boxes(ctx context.Context) ([]v1alpha1.OperatorBox, error) {
	var list v1alpha1.OperatorBoxList
	if err := c.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing OperatorBoxes: %w", err)
	}
	return list.Items, nil
}

// Nearest implements validation.Cluster.
func (c *Cluster) Nearest(ctx context.Context, name string, others ...string) string {
	return crds.Nearest(ctx, c.Client, name, others...)
}
