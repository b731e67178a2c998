package external

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// Egress says what calls may reach: all of them, and besides those of certain boxes and accounts. So what one tenant needs is not
// everybody's. It is immutable.
type Egress struct {
	everybody *Guard
	boxes     map[string]*Guard
	accounts  map[string]*Guard // by namespace/name
	dial      dialer            // connects to Services; nil: directly
}

// dialer connects to an address.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// ServicesBy has Services connected to by a function, where this process is not in the network of the cluster. It is called before the first
// request.
func (e *Egress) ServicesBy(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	e.dial = dial
}

func (e *Egress) services() dialer {
	if e == nil {
		return nil
	}
	return e.dial
}

// EgressRules is the file of --egress-rules.
type EgressRules struct {
	// Allow names hosts, host:port and networks that may be reached although they are not public.
	Allow EgressLists `json:"external-allow,omitempty"`
	// Only names the only hosts, or host:port, that may be reached. Those of a box, of its account, and of everybody count together.
	Only EgressLists `json:"external-only,omitempty"`
}

// EgressLists are lists of hosts.
type EgressLists struct {
	// Boxes holds lists by the name of the box.
	Boxes map[string][]string `json:"boxes,omitempty"`
	// Accounts holds lists by the ServiceAccount that a box acts as, as namespace/name.
	Accounts map[string][]string `json:"accounts,omitempty"`
}

// ParseEgressRules reads a file of rules. Fields that are unknown, and keys that stand twice, are mistakes.
func ParseEgressRules(file []byte) (EgressRules, error) {
	var r EgressRules
	if err := yaml.UnmarshalStrict(file, &r); err != nil {
		return EgressRules{}, fmt.Errorf("wanted external-allow and external-only, each with boxes and accounts, which hold lists of hosts: %w", err)
	}
	for name, lists := range map[string]EgressLists{"external-allow": r.Allow, "external-only": r.Only} {
		for _, account := range slices.Sorted(maps.Keys(lists.Accounts)) {
			namespace, account, found := strings.Cut(account, "/")
			if !found || len(apivalidation.IsDNS1123Label(namespace)) > 0 || len(apivalidation.IsDNS1123Subdomain(account)) > 0 {
				return EgressRules{}, fmt.Errorf("%s.accounts: %q is no account: wanted namespace/name", name, clip(strings.Join([]string{namespace, account}, "/")))
			}
		}
		for _, box := range slices.Sorted(maps.Keys(lists.Boxes)) {
			if len(apivalidation.IsDNS1123Subdomain(box)) > 0 {
				return EgressRules{}, fmt.Errorf("%s.boxes: %q is not the name of a box", name, clip(box))
			}
		}
	}
	return r, nil
}

// NewEgress makes rules of the lists that hold for everybody, as NewGuard reads them, and of those for boxes and accounts.
func NewEgress(allow, only []string, of EgressRules) (*Egress, error) {
	everybody, err := NewGuard(allow, only)
	if err != nil {
		return nil, err
	}
	e := &Egress{everybody: everybody}
	if e.boxes, err = guards("boxes", of.Allow.Boxes, of.Only.Boxes); err != nil {
		return nil, err
	}
	if e.accounts, err = guards("accounts", of.Allow.Accounts, of.Only.Accounts); err != nil {
		return nil, err
	}
	return e, nil
}

func guards(whose string, allow, only map[string][]string) (map[string]*Guard, error) {
	out := map[string]*Guard{}
	for _, name := range slices.Sorted(maps.Keys(allow)) {
		out[name] = nil
	}
	for _, name := range slices.Sorted(maps.Keys(only)) {
		out[name] = nil
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		g, err := NewGuard(allow[name], only[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", whose, name, err)
		}
		out[name] = g
	}
	return out, nil
}

// Of gives what a box may reach that acts as an account, as namespace/name; empty: as the manager.
func (e *Egress) Of(box, account string) *Guard {
	if e == nil {
		return &Guard{}
	}
	out := e.everybody
	for _, more := range []*Guard{e.boxes[box], e.accounts[account]} {
		if more != nil {
			out = &Guard{allowed: out.allowed.with(more.allowed), only: out.only.with(more.only)}
		}
	}
	return out
}

// with gives the rules of both.
func (r rules) with(more rules) rules {
	out := rules{hosts: map[string]bool{}, networks: slices.Concat(r.networks, more.networks)}
	maps.Copy(out.hosts, r.hosts)
	maps.Copy(out.hosts, more.hosts)
	return out
}
