package cel_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// What an expression reads is known to the last constant name, and what it needs only where it can't be true without.
func TestCEL_readsAndNeeds(t *testing.T) {
	for text, want := range map[string]struct{ reads, needs string }{
		`true`:                   {``, ``},
		`self.spec.replicas > 0`: {`self.spec.replicas`, `spec.replicas`},
		`self.spec.replicas == self.spec.replicas`:                             {`self.spec.replicas`, `spec.replicas spec.replicas`}, //nolint:dupword // each operand is named
		`self.spec.labels['a'] == 'b'`:                                         {`self.spec.labels.a`, `spec.labels.a`},
		`self.spec.labels[self.spec.image] == 'b'`:                             {`self.spec.labels self.spec.image`, `spec.labels`},
		`has(self.spec.tls) && self.spec.tls.secret == 'x'`:                    {`self.spec.tls self.spec.tls.secret`, `spec.tls spec.tls.secret`},
		`self.spec.users.all(k, self.spec.users[k].role == 'a')`:               {`self.spec.users`, ``},
		`self.spec.env.exists(e, e.name == self.spec.image)`:                   {`self.spec.env self.spec.image`, ``},
		`[1].exists(self, self == 1)`:                                          {``, ``},
		`children.deployment.status.ready > 0`:                                 {`children.deployment.status.ready`, `children.deployment.status.ready`},
		`children == children`:                                                 {`children`, `children children`}, //nolint:dupword // each operand is named
		`box.name == 'a' || self.kind == 'b'`:                                  {`box.name self.kind`, ``},
		`{'a': self.spec.image}.a == 'x'`:                                      {`self.spec.image`, ``},
		`[self.spec.image, self.kind].size() == 2`:                             {`self.spec.image self.kind`, ``},
		`self.spec.image == 'a' && self.spec.replicas > 1 && has(self.status)`: {`self.spec.image self.spec.replicas self.status`, `spec.image spec.replicas status`},
		`self.spec.image == 'a' || self.spec.replicas > 1`:                     {`self.spec.image self.spec.replicas`, ``},
		`!has(self.spec.tls)`:                                                  {`self.spec.tls`, ``},
		`self.spec.image in ['a']`:                                             {`self.spec.image`, ``},
		`size(self.spec.hosts) > 0`:                                            {`self.spec.hosts`, ``},
		`self.spec.hosts.map(h, h + self.metadata.namespace).size() > 0`:       {`self.spec.hosts self.metadata.namespace`, ``},
		`self.spec.anything.a.b[0].c == 1`:                                     {`self.spec.anything.a.b[0].c`, `spec.anything.a.b[0].c`},
		`self.spec.replicas > 1 ? self.spec.image == 'a' : self.kind == 'b'`:   {`self.spec.replicas self.spec.image self.kind`, ``},
		`children.deployment.status.?ready.orValue(0) == 1`:                    {`children.deployment.status.ready`, ``},
		`self.status.phase != 'x'`:                                             {`self.status.phase`, `status.phase`},
		`self.metadata.labels.all(k, v, v != '' && k != self.metadata.name)`:   {`self.metadata.labels self.metadata.name`, ``},
		`self.spec.env.filter(e, has(e.value)).all(e, e.value == box.name)`:    {`self.spec.env box.name`, ``},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			p, err := testScope().CompileCEL(text)
			g.Expect(err).NotTo(HaveOccurred())
			var reads, needs []string
			for _, r := range p.Reads() {
				reads = append(reads, r.Text)
			}
			for _, n := range p.Needs() {
				needs = append(needs, n.String())
			}
			g.Expect(strings.Join(reads, " ")).To(Equal(want.reads))
			g.Expect(strings.Join(needs, " ")).To(Equal(want.needs))
		})
	}
}
