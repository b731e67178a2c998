package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The sample with Go code runs as its page says: as a manager that is built from its module, in a process of its own.
var _ = Describe("The sample database", longest, func() {
	It("lives under the manager that its module gives", func(ctx context.Context) {
		replaceManagerByThatOf("database")
		s := sample{
			folder: "database", bare: true, prepare: giveVolumes("data-ledger-0"),
			edit: `{"spec":{"memory":"2Gi","users":[{"name":"app"}]}}`,
			edited: map[string]map[string]any{"ConfigMap/ledger-config": {"data": map[string]any{
				"postgresql.conf": "listen_addresses = '*'\nmax_connections = 100\nshared_buffers = 496MB\neffective_cache_size = 1488MB\nwork_mem = 5079kB\n",
				"users.sql":       "CREATE ROLE \"app\" LOGIN;\n",
			}}},
			once: []string{"Secret/ledger-credentials"},
			bad:  `{"spec":{"memory":"64Mi"}}`, says: "a server needs at least 256Mi of memory",
		}
		l := s.begin(ctx)
		l.settled(ctx)
		l.asExpected(ctx)
		l.patch(ctx, l.resource, s.edit)
		l.settled(ctx)
		l.follows(ctx)
		l.drifts(ctx)
		l.remakes(ctx, "ConfigMap/ledger-config")
		l.survives(ctx)
		uid, children := string(get(ctx, Default, l.resource).GetUID()), l.children(ctx, Default)
		kinds := getBox(ctx, Default, l.box.GetName()).Status.ManagedKinds
		l.remove(ctx, l.resource)
		l.left(ctx, uid, kinds, children)
		l.remove(ctx, l.box)
	})
})
