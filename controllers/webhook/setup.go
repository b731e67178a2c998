package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/provider"
)

// Path is where boxes are judged.
const Path = "/compile"

// Options say what boxes may do. They are those of the manager that runs the boxes.
type Options struct {
	// AllowGrantingKinds lets boxes make kinds that grant rights. Default: false.
	AllowGrantingKinds bool
	// Providers are those that the manager has. Default: that is not known, and what is declared of them is not checked.
	Providers *provider.Registry
	// ExternalOnly names the only hosts, or host:port, that external calls may reach. Default: all may.
	ExternalOnly []string
	// EgressRules add to that for certain boxes and accounts. Default: none.
	EgressRules external.EgressRules
}

// Setup has the webhook server of a manager judge boxes. The process is ready when that server answers and the cache of boxes is full.
func Setup(mgr ctrl.Manager, o Options) error {
	egress, err := external.NewEgress(nil, o.ExternalOnly, o.EgressRules)
	if err != nil {
		return err
	}
	judge := &Judge{
		Boxes: mgr.GetClient(), Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), AllowGrantingKinds: o.AllowGrantingKinds, Providers: o.Providers,
		Restricted: func(box *v1alpha1.OperatorBox) bool { return egress.Of(box.Name, identity.Of(box).Key()).Restricted() },
	}
	server := mgr.GetWebhookServer()
	server.Register(Path, NewHandler(judge))
	if err := mgr.AddReadyzCheck("webhook", server.StartedChecker()); err != nil {
		return fmt.Errorf("adding /readyz: %w", err)
	}
	full := &filled{done: make(chan struct{})}
	if err := mgr.AddReadyzCheck("boxes", full.check); err != nil {
		return fmt.Errorf("adding /readyz: %w", err)
	}
	fill := func(ctx context.Context) error {
		if _, err := mgr.GetCache().GetInformer(ctx, &v1alpha1.OperatorBox{}); err != nil {
			return fmt.Errorf("watching boxes: %w", err)
		}
		close(full.done)
		return nil
	}
	if err := mgr.Add(manager.RunnableFunc(fill)); err != nil {
		return fmt.Errorf("adding the cache of boxes: %w", err)
	}
	return nil
}

// filled knows whether the cache of boxes is full.
type filled struct{ done chan struct{} }

func (f *filled) check(*http.Request) error {
	select {
	case <-f.done:
		return nil
	default:
		return errors.New("the cache of boxes is filling")
	}
}
