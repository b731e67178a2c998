// Package session connects commands that say how resources stand, or act on them, to a cluster, with the rights of the caller. They need no manager.
package session

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
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/controllers/act"
	"github.com/orkspace/orkestra/controllers/compiler"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/controllers/validation"
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

const flagNamespace = "namespace"

// Bind gives the flags to a command.
func (f *Flags) Bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&f.Namespace, flagNamespace, "n", "", "the resource's namespace; default: that of the kubeconfig's context")
	fs.StringVar(&f.manager, "manager-namespace", "", "the manager's namespace; default: POD_NAMESPACE, else orkestra-system")
	fs.StringVar(&f.server.Kubeconfig, "kubeconfig", "", "where the API server is; default: KUBECONFIG, else the default kubeconfig, else in-cluster")
	fs.StringVar(&f.server.Context, "context", "", "context of the kubeconfig")
	for flag, complete := range map[string]cobra.CompletionFunc{flagNamespace: f.completeNamespaces(), "manager-namespace": f.completeNamespaces(), "context": f.completeContexts} {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // only a wrong name of a flag could fail here, which every test would show
		}
	}
}

// Session is a connection to an API server with the rights of the caller. It serves many inspectors, also at the same time.
type Session struct {
	inspecting *inspect.Session
	cluster    *cluster.Cluster
	mapper     meta.RESTMapper // as kubectl has it, with short names
	revisions  *revision.Store
	namespace  string // of resources
}

// Inspector answers questions of one moment, and knows what people call things. It is for one goroutine.
type Inspector struct {
	*inspect.Inspector

	session *Session
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
	cached, manager := memory.NewMemCacheClient(server), cluster.ManagerNamespace(f.manager)
	s := &Session{
		cluster: connected, namespace: namespace, revisions: revision.NewStore(nil, c, manager),
		mapper: restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil),
	}
	// The manager's flags are not known here. Nothing is written, so the compiler may allow everything.
	compiling := &compiler.Compiler{
		Client: c, Mapper: c.RESTMapper(), CRDs: crds.NewStore(c, c), Revisions: s.revisions, AllowGrantingKinds: true,
		Restricted: func(*v1alpha1.OperatorBox) bool { return true },
	}
	s.inspecting = inspect.NewSession(inspect.Ports{
		Objects: connected, Own: c, Mapper: c.RESTMapper(), Compiler: compiling, ManagerNamespace: manager,
		Plans: inspect.Compiling{Compiler: compiling, Kept: revision.NewPlans(s.revisions, compiling)},
	})
	return s, nil
}

// Inspector reads the boxes. now is what this machine's clock shows; the inspector goes by the time that the API server then has.
func (s *Session) Inspector(ctx context.Context, now time.Time) (*Inspector, error) {
	i, err := s.inspecting.Inspector(ctx, s.cluster.Clock.At(now))
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("%s has no OperatorBoxes: Orkestra is not installed there", s.cluster.Config.Host)
	}
	if err != nil {
		return nil, err
	}
	return &Inspector{Inspector: i, session: s}, nil
}

// Client reads and reviews with the rights of the caller.
func (i *Inspector) Client() client.Client { return i.session.Client() }

// Watching gives a client whose watches do not end, with the rights of the caller.
func (s *Session) Watching() (client.WithWatch, error) { return s.cluster.Watching() }

// Watching gives a client whose watches do not end, with the rights of the caller.
func (i *Inspector) Watching() (client.WithWatch, error) { return i.session.Watching() }

// Hand does what the caller asks for.
func (i *Inspector) Hand() *act.Hand { return i.session.Hand(i.Client(), i.session.Clock()) }

// Revisions reads what boxes have said.
func (i *Inspector) Revisions() *revision.Store { return i.session.revisions }

// Clock tells the API server's time.
func (s *Session) Clock() clock.PassiveClock { return s.cluster.Clock }

// ServerTime tells the time that the API server has when this machine's clock shows another.
func (i *Inspector) ServerTime(now func() time.Time) func() time.Time {
	return func() time.Time { return i.session.cluster.Clock.At(now()) }
}

// Client reads and reviews with the rights of the caller.
func (s *Session) Client() client.Client { return s.cluster.Client }

// Config is how the API server is reached.
func (s *Session) Config() *rest.Config { return s.cluster.Config }

// Checking is what boxes are checked with that somebody has written. The manager's flags are not known here: whatever one of them may allow is.
func (s *Session) Checking() validation.Options {
	return validation.Options{
		Cluster: s.cluster, Kinds: s.cluster.Client.RESTMapper(), AllKinds: true, NoCRD: "neither the cluster nor the text has this CRD", AllowGranting: true,
		Restricted: func(*v1alpha1.OperatorBox) bool { return true },
	}
}

// Inspecting makes inspectors.
func (s *Session) Inspecting() *inspect.Session { return s.inspecting }

// Revisions reads what boxes have said.
func (s *Session) Revisions() *revision.Store { return s.revisions }

// Split takes KIND/NAME apart. The error is one of wrong use.
func Split(arg string) (kind, name string, err error) {
	kind, name, found := strings.Cut(arg, "/")
	if !found || kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("%q: wanted KIND/NAME, such as website/hello", arg)
	}
	return kind, name, nil
}

// wordsForBoxes are what the docs call boxes, where the cluster has no kind of that name.
var wordsForBoxes = []string{"box", "boxes"}

// Resolve finds the kind that is meant as kubectl does: by its plural, singular or short name, or its kind, with or without version
// and group. Where no kind is called box, a box is meant by it.
func (i *Inspector) Resolve(kind, name string) (inspect.Target, error) {
	boxes, _ := i.Boxes() // without them there is less to suggest
	full, short := schema.ParseResourceArg(kind)
	var found schema.GroupVersionKind
	var err error = &meta.NoResourceMatchError{}
	if full != nil {
		found, err = i.session.mapper.KindFor(*full)
	}
	if err != nil {
		found, err = i.session.mapper.KindFor(short.WithVersion(""))
	}
	if meta.IsNoMatchError(err) && slices.Contains(wordsForBoxes, kind) {
		return i.Find(Argument{Name: name})
	}
	if meta.IsNoMatchError(err) {
		of, hint := served(boxes), ": an OperatorBox has that kind, but its CRD is not in the cluster"
		if !slices.Contains(of, strings.ToLower(kind)) {
			hint = suggest.DidYouMean(strings.ToLower(short.Resource), of)
		}
		return inspect.Target{}, fmt.Errorf("the server doesn't have a resource type %q%s", kind, hint)
	}
	if err != nil {
		return inspect.Target{}, fmt.Errorf("asking for the kind %q: %w", kind, err)
	}
	mapping, err := i.session.mapper.RESTMapping(found.GroupKind(), found.Version)
	if err != nil {
		return inspect.Target{}, fmt.Errorf("asking for the kind %q: %w", kind, err)
	}
	t := inspect.Target{Kind: found, CRD: mapping.Resource.GroupResource().String(), Name: name}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		t.Namespace = i.session.namespace
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
