package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine"
)

const (
	// permissionInterval is how often a box asks again for a right that is missing.
	permissionInterval = 15 * time.Second
	// permissionLife is how long a granted right is believed without asking.
	permissionLife = 10 * time.Minute
)

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=selfsubjectaccessreviews,verbs=create

// Permissions knows what the manager may do. All boxes share it, so that rights over common kinds are asked for once. It is
// safe for concurrent use.
type Permissions struct {
	client  client.Client
	clock   clock.PassiveClock
	mu      sync.Mutex
	granted map[engine.Right]time.Time // when it was last confirmed; guarded by mu
	asking  singleflight.Group         // boxes that start together ask for the same rights
}

// NewPermissions gives a store that asks the API server.
func NewPermissions(c client.Client, clk clock.PassiveClock) *Permissions {
	return &Permissions{client: c, clock: clk, granted: map[engine.Right]time.Time{}}
}

// Missing lists the rights of the rules that the manager does not have, as `verb resource.group`, sorted.
func (p *Permissions) Missing(ctx context.Context, rules []rbacv1.PolicyRule) ([]string, error) {
	var missing []string
	for _, want := range rights(rules) {
		ok, err := p.has(ctx, want)
		if err != nil {
			return nil, err
		}
		if !ok {
			missing = append(missing, want.String())
		}
	}
	slices.Sort(missing)
	return missing, nil
}

func rights(rules []rbacv1.PolicyRule) []engine.Right {
	var out []engine.Right
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, name := range rule.Resources {
				resource, sub, _ := strings.Cut(name, "/")
				for _, verb := range rule.Verbs {
					out = append(out, engine.Right{Verb: verb, Group: group, Resource: resource, Subresource: sub})
				}
			}
		}
	}
	return out
}

func (p *Permissions) has(ctx context.Context, want engine.Right) (bool, error) {
	if p.known(want) {
		return true, nil
	}
	allowed, err, _ := p.asking.Do(want.String(), func() (any, error) {
		if p.known(want) {
			return true, nil // it was asked since
		}
		// Others wait for the answer too, whatever becomes of the reconcile that asks.
		return p.review(context.WithoutCancel(ctx), want)
	})
	return allowed == true, err
}

// known says whether a right was confirmed not long ago.
func (p *Permissions) known(want engine.Right) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	confirmed, known := p.granted[want]
	return known && p.clock.Since(confirmed) < permissionLife
}

// review asks the API server, and notes what it says.
func (p *Permissions) review(ctx context.Context, want engine.Right) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: want.Verb, Group: want.Group, Resource: want.Resource, Subresource: want.Subresource,
		},
	}}
	if err := p.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking for the right to %s: %w", want, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !review.Status.Allowed {
		delete(p.granted, want)
		return false, nil
	}
	p.granted[want] = p.clock.Now()
	return true, nil
}

// Lost notes that a right was found to be missing, and says whether it was believed to be there.
func (p *Permissions) Lost(lost engine.Right) bool {
	lost.Namespace = "" // rights are asked for in all namespaces
	p.mu.Lock()
	defer p.mu.Unlock()
	_, believed := p.granted[lost]
	delete(p.granted, lost)
	return believed
}

// missingRights says what the manager may not do, as `verb/verb resource.group`, and what helps.
func missingRights(missing []string) string {
	verbs := map[string][]string{}
	for _, m := range missing {
		verb, resource, _ := strings.Cut(m, " ")
		verbs[resource] = append(verbs[resource], verb)
	}
	texts := make([]string, 0, len(verbs))
	for _, resource := range slices.Sorted(maps.Keys(verbs)) {
		texts = append(texts, strings.Join(verbs[resource], "/")+" "+resource)
	}
	return fmt.Sprintf("the manager may not %s; grant it with a ClusterRole labeled orkestra.orkspace.io/aggregate-to-manager: \"true\"", strings.Join(texts, ", "))
}
