package e2e_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"math/bits"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/hook/protocol"
)

// hookFolder is where the code of the sample's webhook is.
var hookFolder = filepath.Join("..", "..", "config", "samples", "webhook")

// The sample with a webhook lives with each of its servers, and with a double of them in Go where a machine has neither Python nor Node.
var _ = Describe("The sample webhook", longest, func() {
	DescribeTable("lives with its server", func(ctx context.Context, start func(folder string) (address string)) {
		folder, secret := certificateFor("subnets.subnets.svc")
		address := start(folder)
		replaceManager(func(s *settings) {
			s.orkestra.ExternalAllow, s.orkestra.WebhookServices = nil, []string{"subnets"}
			s.orkestra.DialService = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, address) // pods are simulated here
			}
		})
		s := sample{
			folder: "webhook", bare: true, prepare: serveSubnets(secret),
			edit: `{"spec":{"zones":[{"name":"web","hosts":20},{"name":"batch","hosts":60}]}}`,
			edited: map[string]map[string]any{
				"ConfigMap/office-plan":      {"data": map[string]any{"batch": "10.20.0.0/26", "web": "10.20.0.64/27"}},
				"NetworkPolicy/office-batch": {"spec.ingress.0.from.0.ipBlock.cidr": "10.20.0.0/26"},
				"NetworkPolicy/office-web":   {"spec.ingress.0.from.0.ipBlock.cidr": "10.20.0.64/27"},
				"NetworkPolicy/office-db":    nil,
			},
			bad: `{"spec":{"network":"10.0.0.0/8"}}`, says: "a network has from 4 to 65536 addresses",
		}
		l := s.begin(ctx)
		l.settled(ctx)
		l.asExpected(ctx)
		Expect(condition(get(ctx, Default, l.resource), "Fits")).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", "AllPlaced")))
		l.patch(ctx, l.resource, s.edit)
		l.settled(ctx)
		l.follows(ctx)
		l.drifts(ctx)
		l.remakes(ctx, "NetworkPolicy/office-web")
		l.survives(ctx)
		l.patch(ctx, l.resource, `{"spec":{"zones":[{"name":"web","hosts":20},{"name":"batch","hosts":600}]}}`)
		Eventually(func(g Gomega) {
			g.Expect(condition(get(ctx, g, l.resource), "Fits")).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Message", "no room for batch")))
		}).WithContext(ctx).Should(Succeed())
		uid, children := string(get(ctx, Default, l.resource).GetUID()), l.children(ctx, Default)
		kinds := getBox(ctx, Default, l.box.GetName()).Status.ManagedKinds
		l.remove(ctx, l.resource)
		l.left(ctx, uid, kinds, children)
		l.remove(ctx, l.box)
	},
		Entry("in Python", func(folder string) string {
			if _, err := exec.LookPath("python3"); err != nil {
				Skip("there is no python3 on this machine: the double in Go is run instead")
			}
			return serverProcess(folder, "python3", filepath.Join(hookFolder, "python", "subnets.py"))
		}),
		Entry("in TypeScript", func(folder string) string {
			if out, err := exec.Command("node", "-p", "process.features.typescript ?? false").Output(); err != nil || strings.TrimSpace(string(out)) == "false" {
				Skip("there is no node on this machine that runs TypeScript (23.6 or newer): the double in Go is run instead")
			}
			return serverProcess(folder, "node", filepath.Join(hookFolder, "typescript", "subnets.ts"))
		}),
		Entry("by its double in Go", subnetsDouble),
	)

	It("has tests of its own, which pass", func() {
		_, err := exec.LookPath("python3")
		if err != nil {
			Skip("there is no python3 on this machine")
		}
		cmd := exec.Command("python3", "-B", "-m", "unittest", "discover", "-s", filepath.Join(hookFolder, "python"), "-p", "*_test.py")
		out, err := cmd.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", out)
		Expect(string(out)).To(MatchRegexp(`Ran [1-9]`))
	})
})

// serverProcess starts a server of the sample, and gives its address. It ends with the spec.
func serverProcess(folder, name string, args ...string) string {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "CERTIFICATES="+folder, "HOST=127.0.0.1", "PORT=0", "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stderr = GinkgoWriter
	stdout, err := cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	Expect(err).NotTo(HaveOccurred())
	port, said := strings.CutPrefix(strings.TrimSpace(line), "listening at ")
	Expect(said).To(BeTrue(), line)
	return net.JoinHostPort("127.0.0.1", port)
}

// serveSubnets makes what server.yaml and its author make.
func serveSubnets(secret map[string][]byte) func(ctx context.Context, l *life) {
	return func(ctx context.Context, l *life) {
		GinkgoHelper()
		served := l.read("server.yaml")
		for _, o := range served[:2] { // its pods would be simulated
			Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("e2e"), client.ForceOwnership)).To(Succeed())
		}
		certificate := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "subnets", Name: "subnets-tls"}, Data: secret}
		Expect(kube.Create(ctx, certificate)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(kube.Delete(ctx, certificate))).To(Succeed())
			l.remove(ctx, served[1])
			l.remove(ctx, served[0])
		})
	}
}

// subnetsDouble answers as the servers of the sample do.
func subnetsDouble(folder string) string {
	GinkgoHelper()
	certificate, err := tls.LoadX509KeyPair(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
	Expect(err).NotTo(HaveOccurred())
	s := newHookServer(func(s *httptest.Server) {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		s.StartTLS()
	})
	s.says(func(q *protocol.Request) *protocol.Response {
		text, err := json.Marshal(q.Resource)
		var plan struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
			Spec     struct {
				Network netip.Prefix `json:"network"`
				Zones   []zone       `json:"zones"`
			} `json:"spec"`
		}
		if err == nil {
			err = json.Unmarshal(text, &plan)
		}
		if err != nil {
			panic(err)
		}
		return shared(plan.Metadata.Name, plan.Spec.Network, plan.Spec.Zones)
	})
	return s.Listener.Addr().String()
}

type zone struct {
	Name  string `json:"name"`
	Hosts int    `json:"hosts"`
}

// shared gives the answer for a plan: the smallest subnet for each zone, the largest first.
func shared(name string, network netip.Prefix, zones []zone) *protocol.Response {
	slices.SortFunc(zones, func(a, b zone) int {
		if a.Hosts != b.Hosts {
			return b.Hosts - a.Hosts
		}
		return strings.Compare(a.Name, b.Name)
	})
	free, given, missing, used := []netip.Prefix{network}, map[string]any{}, []string{}, 0
	for _, z := range zones {
		size := 32 - bits.Len(uint(max(z.Hosts+1, 3)))
		best := -1
		for i, block := range free {
			if block.Bits() <= size && (best < 0 || block.Bits() > free[best].Bits() || block.Bits() == free[best].Bits() && block.Addr().Less(free[best].Addr())) {
				best = i
			}
		}
		if best < 0 {
			missing = append(missing, z.Name)
			continue
		}
		block := free[best]
		free = slices.Delete(free, best, best+1)
		for bit := size; bit > block.Bits(); bit-- {
			upper := block.Addr().As4()
			upper[(bit-1)/8] |= 1 << (7 - (bit-1)%8)
			free = append(free, netip.PrefixFrom(netip.AddrFrom4(upper), bit))
		}
		given[z.Name] = netip.PrefixFrom(block.Addr(), size).String()
		used += 1 << (32 - size)
	}
	slices.Sort(missing)
	a := &protocol.Response{
		Children: []protocol.Child{{ID: "plan", Object: childMap(name+"-plan", given)}},
		Status:   map[string]any{"zones": len(given), "free": 1<<(32-network.Bits()) - used},
	}
	for zone, cidr := range given {
		a.Children = append(a.Children, protocol.Child{ID: zone, Object: map[string]any{
			"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": map[string]any{"name": name + "-" + zone},
			"spec": map[string]any{
				"podSelector": map[string]any{"matchLabels": map[string]any{"zone": zone}}, "policyTypes": []any{"Ingress"},
				"ingress": []any{map[string]any{"from": []any{map[string]any{"ipBlock": map[string]any{"cidr": cidr}}}}},
			},
		}})
	}
	fits := protocol.Condition{Type: "Fits", Status: "True", Reason: "AllPlaced", Message: "every zone has a subnet"}
	if len(missing) > 0 {
		fits = protocol.Condition{Type: "Fits", Status: "False", Reason: "TooSmall", Message: "no room for " + strings.Join(missing, ", ")}
	}
	a.Conditions = []protocol.Condition{fits}
	return a
}

// certificateFor writes a certificate into a folder, as the servers of the sample read it, and gives it as its Secret holds it.
func certificateFor(name string) (folder string, secret map[string][]byte) {
	GinkgoHelper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	servesAs(name)(s)
	defer s.Close()
	certificate, key := pair(s.TLS.Certificates[0])
	folder = GinkgoT().TempDir()
	Expect(os.WriteFile(filepath.Join(folder, "tls.crt"), certificate, 0o600)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600)).To(Succeed())
	return folder, map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": certificate}
}
