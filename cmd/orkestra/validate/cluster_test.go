package validate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// apiServer has the CRD of the websites, the kind Region, which is cluster-scoped, and a ConfigMap. CRDs are answered with a status.
func apiServer(t *testing.T, status int) string {
	t.Helper()
	server := &shared.APIServer{Objects: shared.Objects(t, websites, fixtures+"cluster.yaml"), Refuse: func(path string) int {
		switch {
		case strings.HasSuffix(path, "/secret"):
			return http.StatusForbidden
		case strings.Contains(path, "/customresourcedefinitions/") && status != http.StatusOK:
			return status
		default:
			return 0
		}
	}}
	return server.Start(t)
}

func TestValidateAsksTheCluster(t *testing.T) {
	g := NewWithT(t)
	config := apiServer(t, http.StatusOK)

	stdout, stderr, code := orkestra(t, "", "validate", "-f", fixtures+"unknown-path.yaml", "--cluster", "--kubeconfig", config, "--context", "test")
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stderr).To(Equal("1 box: 0 valid, 1 invalid\n"))
	g.Expect(stdout).To(ContainSubstring(`did you mean "image"?`))

	t.Setenv(clientcmd.RecommendedConfigPathEnvVar, config)
	stdout, _, code = orkestra(t, "", "validate", "-f", fixtures+"valid.yaml", "--cluster", "--context", "test")
	g.Expect(code).To(BeZero(), stdout)
}

func TestValidateRefusesACRDThatTheClusterLacks(t *testing.T) {
	g := NewWithT(t)
	box := strings.Replace(read(g, fixtures+"valid.yaml"), "websites.demo.example.com", "websiets.demo.example.com", 1)
	args := []string{"validate", "-f", "-", "--cluster", "--context", "test", "--kubeconfig", apiServer(t, http.StatusOK)}
	stdout, _, code := orkestra(t, box, args...)
	g.Expect(code).To(Equal(exit.No), stdout)
	g.Expect(stdout).To(ContainSubstring(`spec.crd.name: Invalid value: "websiets.demo.example.com": ` +
		`neither the cluster nor a file of -f or --crd has this CRD, did you mean "websites.demo.example.com"?`))

	other := filepath.Join(t.TempDir(), "crd.yaml")
	crd := strings.NewReplacer("websites", "webshops", "Website", "Webshop", "website", "webshop").Replace(read(g, websites))
	g.Expect(os.WriteFile(other, []byte(crd), 0o600)).To(Succeed())
	stdout, _, code = orkestra(t, strings.Replace(box, "websiets", "webshop", 1), append(args, "--crd", other)...)
	g.Expect(code).To(Equal(exit.No), stdout)
	g.Expect(stdout).To(ContainSubstring(
		`spec.crd.name: Invalid value: "webshop.demo.example.com": neither the cluster nor a file of -f or --crd has this CRD, `+
			`did you mean "webshops.demo.example.com"?`), "names of files count, too")
}

func TestValidateRefusesACRDThatNoFileHolds(t *testing.T) {
	g := NewWithT(t)
	box := strings.Replace(read(g, fixtures+"valid.yaml"), "websites.demo.example.com", "websits.demo.example.com", 1)
	stdout, _, code := orkestra(t, box, "validate", "-f", "-", "--crd", websites)
	g.Expect(code).To(Equal(exit.No), stdout)
	g.Expect(stdout).To(ContainSubstring(
		`spec.crd.name: Invalid value: "websits.demo.example.com": no file of --crd holds this CRD, did you mean "websites.demo.example.com"?`))
	stdout, stderr, code := orkestra(t, box, "validate", "-f", "-")
	g.Expect(code).To(BeZero(), stdout)
	g.Expect(stderr).To(ContainSubstring("give --crd or --cluster"))
}

func TestValidateTakesKindsFromTheCluster(t *testing.T) {
	g := NewWithT(t)
	box := read(g, fixtures+"granting.yaml")
	box = strings.ReplaceAll(box, "rbac.authorization.k8s.io/v1, kind: Role, rules: []", "infra.example.com/v1, kind: Region")
	stdout, _, code := orkestra(t, box, "validate", "-f", "-", "--crd", websites)
	g.Expect(code).To(BeZero(), stdout)
	stdout, _, code = orkestra(t, box, "validate", "-f", "-", "--cluster", "--context", "test", "--kubeconfig", apiServer(t, http.StatusOK))
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stdout).To(ContainSubstring("Region is cluster-scoped and the resources are not"))
}

func TestValidateTakesKindsFromFiles(t *testing.T) {
	g := NewWithT(t)
	box := strings.ReplaceAll(read(g, fixtures+"granting.yaml"), "rbac.authorization.k8s.io/v1, kind: Role, rules: []", "demo.example.com/v1, kind: Zone")
	zones := strings.NewReplacer("websites", "zones", "Website", "Zone", "website", "zone", "Namespaced", "Cluster").Replace(read(g, websites))
	stdout, _, code := orkestra(t, box+"---\n"+zones, "validate", "-f", "-", "--crd", websites)
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stdout).To(ContainSubstring("Zone is cluster-scoped and the resources are not"))
}

// A CRD that another box of the cluster has is not free, unless that box goes, or a file says otherwise of it. Boxes over objects of others share a kind.
func TestValidateSeesTheBoxesOfTheCluster(t *testing.T) {
	const taken = `spec.crd.name: OperatorBox "other" of the cluster serves websites.demo.example.com already; only one box can: delete that one, or name another CRD` + "\n"
	box := func(name, crd, more string) string {
		return "apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: " + name + ", uid: " + name + ", creationTimestamp: \"2026-01-02T03:04:00Z\"" + more + "}\nspec: {crd: {" + crd + "}, onReconcile: {configmaps: [{data: {a: b}}]}}\n"
	}
	const site, pods = "name: websites.demo.example.com", "apiVersion: v1, kind: Pod}, selector: {matchLabels: {a: b}"
	waiting := func(text string) string {
		return text + `status: {conditions: [{type: Ready, status: "False", reason: CRDClaimed, message: m, lastTransitionTime: "2026-01-02T03:04:00Z"}]}` + "\n"
	}
	for name, tc := range map[string]struct {
		written   string
		inCluster []string
		refuse    bool
		want      string // empty: it is valid, and there is nothing to say
	}{
		"another box":                        {written: box("mine", site, ""), inCluster: []string{box("other", site, "")}, want: taken},
		"itself":                             {written: box("mine", site, ""), inCluster: []string{box("mine", site, "")}},
		"of another CRD":                     {written: box("mine", site, ""), inCluster: []string{box("other", "name: regions.infra.example.com", "")}},
		"no boxes at all":                    {written: box("mine", site, "")},
		"one that goes":                      {written: box("mine", site, ""), inCluster: []string{box("other", site, `, deletionTimestamp: "2026-01-02T03:04:00Z", finalizers: [a/b]`)}},
		"one that a file changes":            {written: box("mine", site, "") + "---\n" + box("other", "name: regions.infra.example.com", ""), inCluster: []string{box("other", site, "")}},
		"one that waits for it":              {written: box("zone", site, ""), inCluster: []string{waiting(box("other", site, "")), box("zone", site, "")}},
		"one that it waits for":              {written: box("a", site, ""), inCluster: []string{box("other", site, ""), waiting(box("a", site, ""))}, want: taken},
		"a younger one, and nobody has said": {written: box("a", site, ""), inCluster: []string{box("other", site, ""), box("a", site, "")}},
		"boxes may not be listed":            {written: box("mine", site, ""), inCluster: []string{box("other", site, "")}, refuse: true, want: "note: it is not known whether another box of the cluster serves websites.demo.example.com: listing OperatorBoxes: "},
		"objects of others":                  {written: box("mine", pods, ""), inCluster: []string{box("other", pods, "")}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := &shared.APIServer{Objects: shared.Objects(t, websites, fixtures+"cluster.yaml")}
			for i, text := range tc.inCluster {
				file := filepath.Join(t.TempDir(), fmt.Sprint(i))
				g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
				server.Objects = append(server.Objects, shared.Objects(t, file)...)
			}
			if tc.refuse {
				server.Refuse = func(path string) int {
					if strings.HasSuffix(path, "/operatorboxes") {
						return http.StatusForbidden
					}
					return 0
				}
			}
			stdout, stderr, code := orkestra(t, tc.written, "validate", "-f", "-", "--cluster", "--context", "test", "--kubeconfig", server.Start(t))
			if tc.want == taken {
				g.Expect(code).To(Equal(exit.No), stdout)
				g.Expect(stdout).To(ContainSubstring(tc.want))
				return
			}
			g.Expect(stdout).To(And(ContainSubstring(tc.want), Not(ContainSubstring("serves websites.demo.example.com already"))))
			if tc.want == "" && !strings.Contains(tc.written, "regions") { // a CRD that the cluster lacks is another mistake
				g.Expect(code).To(BeZero(), stdout+stderr)
				g.Expect(stdout).NotTo(ContainSubstring("note"))
			}
		})
	}
}

func TestValidateFailsWithoutTheCluster(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, tc := range map[string]struct{ kubeconfig, context, want string }{
		"no kubeconfig":        {filepath.Join(t.TempDir(), "none"), "", "finding the API server: "},
		"an unknown context":   {shared.Kubeconfig(t, gone.URL), "other", `context "other" does not exist`},
		"nobody answers":       {shared.Kubeconfig(t, gone.URL), "test", "asking " + gone.URL + " for its kinds: "},
		"the CRD may not read": {apiServer(t, http.StatusForbidden), "test", `reading CustomResourceDefinition "websites.demo.example.com": `},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", "validate", "-f", fixtures+"valid.yaml", "--cluster", "--kubeconfig", tc.kubeconfig, "--context", tc.context)
			g.Expect(code).To(Equal(exit.No))
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(And(HavePrefix("error: "), ContainSubstring(tc.want), Not(ContainSubstring("--help"))))
		})
	}
}

func TestValidatePrefersFilesToTheCluster(t *testing.T) {
	g := NewWithT(t)
	other := filepath.Join(t.TempDir(), "crd.yaml")
	g.Expect(os.WriteFile(other, []byte(strings.Replace(read(g, websites), "host: {type: string}", "hosts: {type: string}", 1)), 0o600)).To(Succeed())
	stdout, _, code := orkestra(t, "", "validate", "-f", fixtures+"valid.yaml", "--crd", other, "--cluster", "--context", "test", "--kubeconfig", apiServer(t, http.StatusOK))
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stdout).To(ContainSubstring(`spec.host: no such field in the CRD's schema, did you mean "hosts"?`))
}
