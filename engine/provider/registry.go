package provider

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// HTTPClient sends HTTP requests, as *http.Client does.
type HTTPClient interface {
	// Do sends a request and gives its answer, whose body the caller closes.
	Do(req *http.Request) (*http.Response, error)
}

// Registry has the providers that are compiled in, by name. It is filled before the manager starts, and only read from then on.
type Registry struct{ providers map[string]Provider }

// NewRegistry gives an empty registry.
func NewRegistry() *Registry { return &Registry{providers: map[string]Provider{}} }

// Add registers a provider under the name by which boxes declare its resources. A name that is taken, or that is no identifier
// ([a-z][A-Za-z0-9]*), is an error: it is a mistake of the program.
func (r *Registry) Add(name string, p Provider) error {
	if !identifier(name) {
		return fmt.Errorf("provider %q: the name must begin with a small letter and hold letters and digits alone", name)
	}
	if _, taken := r.providers[name]; taken {
		return fmt.Errorf("provider %q is registered twice", name)
	}
	r.providers[name] = p
	return nil
}

// Get gives a provider; nil where there is none of that name. A nil registry has none.
func (r *Registry) Get(name string) Provider {
	if r == nil {
		return nil
	}
	return r.providers[name]
}

// Names are those of all providers, sorted.
func (r *Registry) Names() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.providers))
}

func identifier(name string) bool {
	for i, c := range name {
		small, digitOrLarge := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !small && (i == 0 || !digitOrLarge) {
			return false
		}
	}
	return name != ""
}
