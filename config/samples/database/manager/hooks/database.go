// Package hooks has the Go code of the box database: what a template can't say well.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/engine/hook"

	v1 "example.com/database/api/v1"
)

// Database gives the hooks of the box database. They depend on the resource alone, so that they are pure: nothing is called while it stays as it
// is.
func Database() hook.Hooks[*v1.Database] {
	return hook.Hooks[*v1.Database]{Pure: true, OnReconcile: configure}
}

// args are those of the box.
type args struct {
	// ReservedMiB is the memory that is left to the operating system.
	ReservedMiB int64 `json:"reservedMiB"`
}

// configure declares the configuration of the server, and the SQL that makes its users.
func configure(_ context.Context, c *hook.Call[*v1.Database]) error {
	var a args
	if err := c.Args.Decode(&a); err != nil {
		return err
	}
	m, err := share(&c.Resource.Spec, a.ReservedMiB)
	if err != nil {
		return err
	}
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: c.Resource.Name + "-config"},
		Data:       map[string]string{"postgresql.conf": m.conf(), "users.sql": users(c.Resource.Spec.Users)},
	}
	return errors.Join(
		c.Apply(config, hook.WithID("config")),
		c.SetStatus("sharedBuffers", fmt.Sprintf("%dMB", m.shared)),
		c.SetStatus("workMemory", fmt.Sprintf("%dkB", m.work)),
		c.SetStatus("users", len(c.Resource.Spec.Users)),
	)
}

// memory is how a server shares what it has.
type memory struct {
	connections, shared, cache int64 // the last two in MiB
	work                       int64 // of one operation, in KiB
}

// share gives a quarter to the buffers, and what the connections can take at the same time to their operations.
func share(spec *v1.DatabaseSpec, reserved int64) (memory, error) {
	total := spec.Memory.Value()>>20 - reserved
	if total < 128 {
		return memory{}, fmt.Errorf("spec.memory: %s leaves %d MiB to the server, which needs 128; give it more", &spec.Memory, total)
	}
	m := memory{connections: max(spec.MaxConnections, 10), shared: total / 4, cache: total * 3 / 4}
	m.work = max((total-m.shared)*1024/(m.connections*3), 64)
	return m, nil
}

func (m memory) conf() string {
	return fmt.Sprintf("listen_addresses = '*'\nmax_connections = %d\nshared_buffers = %dMB\neffective_cache_size = %dMB\nwork_mem = %dkB\n",
		m.connections, m.shared, m.cache, m.work)
}

// users gives the SQL for users and what they own. Names are quoted, so that none can say more than a name.
func users(all []v1.User) string {
	var b strings.Builder
	for _, u := range all {
		fmt.Fprintf(&b, "CREATE ROLE %s LOGIN;\n", quoted(u.Name))
		for _, s := range u.Schemas {
			fmt.Fprintf(&b, "CREATE SCHEMA %s AUTHORIZATION %s;\n", quoted(s), quoted(u.Name))
		}
	}
	return b.String()
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
