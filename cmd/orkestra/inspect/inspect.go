// Package inspect says how resources stand, as far as a cluster shows it to the caller. It needs no manager, and writes nothing.
package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/controllers/compiler"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/suggest"
)

// Flags are those of every command that inspects resources.
type Flags struct {
	// Namespace of the resource; empty: that of the kubeconfig's context.
	Namespace string

	server  cluster.Flags
	manager string
}

// Bind gives the flags to a command.
func (f *Flags) Bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&f.Namespace, "namespace", "n", "", "the resource's namespace; default: that of the kubeconfig's context")
	fs.StringVar(&f.manager, "manager-namespace", "", "the manager's namespace; default: POD_NAMESPACE, else orkestra-system")
	fs.StringVar(&f.server.Kubeconfig, "kubeconfig", "", "where the API server is; default: KUBECONFIG, else the default kubeconfig, else in-cluster")
	fs.StringVar(&f.server.Context, "context", "", "context of the kubeconfig")
}

// Session is a connection to an API server with the rights of the caller. It serves many inspectors, also at the same time.
type Session struct {
	cluster   *cluster.Cluster
	mapper    meta.RESTMapper // as kubectl has it, with short names
	plans     *revision.Plans
	compiler  *compiler.Compiler
	revisions *revision.Store
	namespace string // of resources
	manager   string // the manager's namespace
}

// Inspector answers questions of one moment. It is for one goroutine.
type Inspector struct {
	*Session

	now      time.Time
	boxes    []v1alpha1.OperatorBox // those of the cluster
	boxesErr error                  // why they could not be listed
	healths  map[string]boxHealth   // those that were asked for, by the names of their boxes
}

// New finds the API server, and reads its kinds and boxes.
func (f *Flags) New(ctx context.Context, now time.Time) (*Inspector, error) {
	s, err := f.Session()
	if err != nil {
		return nil, err
	}
	return s.Inspector(ctx, now)
}

// Session finds the API server.
func (f *Flags) Session() (*Session, error) {
	connected, err := f.server.Connect()
	if err != nil {
		return nil, err
	}
	namespace, err := f.server.Namespace()
	if err != nil {
		return nil, err
	}
	if f.Namespace != "" {
		namespace = f.Namespace
	}
	c, config := connected.Client, connected.Config
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	cached := memory.NewMemCacheClient(server)
	s := &Session{
		cluster: connected, namespace: namespace, manager: cluster.ManagerNamespace(f.manager),
		mapper: restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil),
	}
	// The manager's flags are not known here. Nothing is written, so the compiler may allow everything.
	s.revisions = revision.NewStore(nil, c, s.manager)
	s.compiler = &compiler.Compiler{
		Client: c, Mapper: c.RESTMapper(), CRDs: crds.NewStore(c, c), Revisions: s.revisions, AllowGrantingKinds: true,
		Restricted: func(*v1alpha1.OperatorBox) bool { return true },
	}
	s.plans = revision.NewPlans(s.revisions, s.compiler)
	return s, nil
}

// Inspector reads the boxes.
func (s *Session) Inspector(ctx context.Context, now time.Time) (*Inspector, error) {
	i := &Inspector{Session: s, now: now, healths: map[string]boxHealth{}}
	var boxes v1alpha1.OperatorBoxList
	switch err := s.cluster.Client.List(ctx, &boxes); {
	case meta.IsNoMatchError(err):
		return nil, fmt.Errorf("%s has no OperatorBoxes: Orkestra is not installed there", s.cluster.Config.Host)
	case err != nil:
		i.boxesErr = fmt.Errorf("listing OperatorBoxes: %w", err)
	}
	i.boxes = boxes.Items
	slices.SortFunc(i.boxes, func(a, b v1alpha1.OperatorBox) int { return strings.Compare(a.Name, b.Name) })
	return i, nil
}

// Boxes are those of the cluster, by name. The error says why they could not be read.
func (i *Inspector) Boxes() ([]v1alpha1.OperatorBox, error) { return i.boxes, i.boxesErr }

// Client reads and reviews with the rights of the caller.
func (s *Session) Client() client.Client { return s.cluster.Client }

// Config is how the API server is reached.
func (s *Session) Config() *rest.Config { return s.cluster.Config }

// Revisions reads what boxes have said.
func (s *Session) Revisions() *revision.Store { return s.revisions }

// ManagerNamespace is the manager's.
func (s *Session) ManagerNamespace() string { return s.manager }

// Target is a resource that somebody has named.
type Target struct {
	// Kind of the resource, in the version that the API server prefers.
	Kind schema.GroupVersionKind
	// CRD is <plural>.<group>.
	CRD string
	// Namespace of the resource; empty for a kind that has none.
	Namespace string
	// Name of the resource.
	Name string
}

// Split takes KIND/NAME apart. The error is one of wrong use.
func Split(arg string) (kind, name string, err error) {
	kind, name, found := strings.Cut(arg, "/")
	if !found || kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("%q: wanted KIND/NAME, such as website/hello", arg)
	}
	return kind, name, nil
}

// Resolve finds the kind that is meant as kubectl does: by its plural, singular or short name, or its kind, with or without version
// and group.
func (i *Inspector) Resolve(kind, name string) (Target, error) {
	full, short := schema.ParseResourceArg(kind)
	var found schema.GroupVersionKind
	var err error = &meta.NoResourceMatchError{}
	if full != nil {
		found, err = i.mapper.KindFor(*full)
	}
	if err != nil {
		found, err = i.mapper.KindFor(short.WithVersion(""))
	}
	if meta.IsNoMatchError(err) {
		return Target{}, fmt.Errorf("the server doesn't have a resource type %q%s", kind, suggest.DidYouMean(strings.ToLower(short.Resource), served(i.boxes)))
	}
	if err != nil {
		return Target{}, fmt.Errorf("asking for the kind %q: %w", kind, err)
	}
	mapping, err := i.mapper.RESTMapping(found.GroupKind(), found.Version)
	if err != nil {
		return Target{}, fmt.Errorf("asking for the kind %q: %w", kind, err)
	}
	t := Target{Kind: found, CRD: mapping.Resource.GroupResource().String(), Name: name}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		t.Namespace = i.namespace
	}
	return t, nil
}

// served are the names of the kinds that boxes serve.
func served(boxes []v1alpha1.OperatorBox) []string {
	var names []string
	for n := range boxes {
		crd := boxes[n].Status.CRD
		plural, _, _ := strings.Cut(crds.NameOf(&boxes[n]), ".")
		names = append(names, plural, strings.ToLower(crd.Kind))
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}
