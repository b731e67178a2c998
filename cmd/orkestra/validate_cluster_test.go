package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// apiServer answers as an API server does that has the CRD of the websites and the kind Region, which is cluster-scoped. It gives a kubeconfig.
func apiServer(t *testing.T, status int) string {
	t.Helper()
	g := NewWithT(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.Unmarshal([]byte(read(g, websites)), crd)).To(Succeed())
	group := func(name, version string) metav1.APIGroup {
		v := metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + version, Version: version}
		return metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
	}
	resources := func(groupVersion string, r metav1.APIResource) metav1.APIResourceList {
		return metav1.APIResourceList{GroupVersion: groupVersion, APIResources: []metav1.APIResource{r}}
	}
	const groupCRD, groupRegions = apiextensionsv1.GroupName, "infra.example.com"
	answers := map[string]any{
		"/api":  metav1.APIVersions{},
		"/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{group(groupCRD, "v1"), group(groupRegions, "v1")}},
		"/apis/" + groupCRD + "/v1": resources(groupCRD+"/v1",
			metav1.APIResource{Name: "customresourcedefinitions", SingularName: "customresourcedefinition", Kind: kindCRD}),
		"/apis/" + groupRegions + "/v1": resources(groupRegions+"/v1",
			metav1.APIResource{Name: "regions", SingularName: "region", Kind: "Region"}),
		"/apis/" + groupCRD + "/v1/customresourcedefinitions/" + crd.Name: crd,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		switch {
		case strings.Contains(r.URL.Path, "/customresourcedefinitions/") && status != http.StatusOK:
			answer = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: int32(status), Message: "no right"}
			w.WriteHeader(status)
		case !ok:
			answer = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(answer) // a client that is gone needs no answer
	}))
	t.Cleanup(server.Close)
	return kubeconfig(t, server.URL)
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test"}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	NewWithT(t).Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	return file
}

func TestValidateAsksTheCluster(t *testing.T) {
	g := NewWithT(t)
	config := apiServer(t, http.StatusOK)

	stdout, stderr, code := orkestra(t, "", "validate", "-f", fixtures+"unknown-path.yaml", "--cluster", "--kubeconfig", config, "--context", "test")
	g.Expect(code).To(Equal(exitNo))
	g.Expect(stderr).To(Equal("1 box: 0 valid, 1 invalid\n"))
	g.Expect(stdout).To(ContainSubstring(`did you mean "image"?`))

	t.Setenv(clientcmd.RecommendedConfigPathEnvVar, config)
	stdout, stderr, code = orkestra(t, "", "validate", "-f", fixtures+"not-supported.yaml", "--cluster", "--context", "test")
	g.Expect(code).To(Equal(exitNo), stdout)
	g.Expect(stderr).To(ContainSubstring(
		`OperatorBox "a": note: schema of as.example.com unknown: paths are not checked; the cluster has no such CRD, give --crd` + "\n"))
}

func TestValidateTakesKindsFromTheCluster(t *testing.T) {
	g := NewWithT(t)
	box := read(g, fixtures+"granting.yaml")
	box = strings.ReplaceAll(box, "rbac.authorization.k8s.io/v1, kind: Role, rules: []", "infra.example.com/v1, kind: Region")
	stdout, _, code := orkestra(t, box, "validate", "-f", "-", "--crd", websites)
	g.Expect(code).To(BeZero(), stdout)
	stdout, _, code = orkestra(t, box, "validate", "-f", "-", "--cluster", "--context", "test", "--kubeconfig", apiServer(t, http.StatusOK))
	g.Expect(code).To(Equal(exitNo))
	g.Expect(stdout).To(ContainSubstring("Region is cluster-scoped and the resources are not"))
}

func TestValidateTakesKindsFromFiles(t *testing.T) {
	g := NewWithT(t)
	box := strings.ReplaceAll(read(g, fixtures+"granting.yaml"), "rbac.authorization.k8s.io/v1, kind: Role, rules: []", "demo.example.com/v1, kind: Zone")
	zones := strings.NewReplacer("websites", "zones", "Website", "Zone", "website", "zone", "Namespaced", "Cluster").Replace(read(g, websites))
	stdout, _, code := orkestra(t, box+"---\n"+zones, "validate", "-f", "-", "--crd", websites)
	g.Expect(code).To(Equal(exitNo))
	g.Expect(stdout).To(ContainSubstring("Zone is cluster-scoped and the resources are not"))
}

func TestValidateFailsWithoutTheCluster(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, tc := range map[string]struct{ kubeconfig, context, want string }{
		"no kubeconfig":        {filepath.Join(t.TempDir(), "none"), "", "finding the API server: "},
		"an unknown context":   {kubeconfig(t, gone.URL), "other", `context "other" does not exist`},
		"nobody answers":       {kubeconfig(t, gone.URL), "test", "asking " + gone.URL + " for its kinds: "},
		"the CRD may not read": {apiServer(t, http.StatusForbidden), "test", `reading CustomResourceDefinition "websites.demo.example.com": `},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", "validate", "-f", fixtures+"valid.yaml", "--cluster", "--kubeconfig", tc.kubeconfig, "--context", tc.context)
			g.Expect(code).To(Equal(exitNo))
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
	g.Expect(code).To(Equal(exitNo))
	g.Expect(stdout).To(ContainSubstring(`spec.host: no such field in the CRD's schema, did you mean "hosts"?`))
}
