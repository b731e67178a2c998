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
	corev1 "k8s.io/api/core/v1"
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
	settings := corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "settings", Labels: map[string]string{"a": "b"}}, Data: map[string]string{"color": "blue"},
	}
	const groupCRD, groupRegions = apiextensionsv1.GroupName, "infra.example.com"
	answers := map[string]any{
		"/api":  metav1.APIVersions{Versions: []string{"v1"}},
		"/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{group(groupCRD, "v1"), group(groupRegions, "v1")}},
		"/apis/" + groupCRD + "/v1": resources(groupCRD+"/v1",
			metav1.APIResource{Name: "customresourcedefinitions", SingularName: "customresourcedefinition", Kind: kindCRD}),
		"/apis/" + groupRegions + "/v1": resources(groupRegions+"/v1",
			metav1.APIResource{Name: "regions", SingularName: "region", Kind: "Region"}),
		"/apis/" + groupCRD + "/v1/customresourcedefinitions/" + crd.Name: crd,
		"/apis/" + groupCRD + "/v1/customresourcedefinitions": metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "PartialObjectMetadataList"},
			Items:    []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: crd.Name}}},
		},
		"/api/v1": metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "configmaps", SingularName: "configmap", Kind: "ConfigMap", Namespaced: true}}},
		"/api/v1/namespaces/team-a/configmaps/settings": settings,
		"/api/v1/namespaces/team-a/configmaps":          corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, Items: []corev1.ConfigMap{settings}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		switch {
		case strings.HasSuffix(r.URL.Path, "/secret"):
			answer = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "no right"}
			w.WriteHeader(http.StatusForbidden)
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
	stdout, _, code = orkestra(t, "", "validate", "-f", fixtures+"valid.yaml", "--cluster", "--context", "test")
	g.Expect(code).To(BeZero(), stdout)
}

func TestValidateRefusesACRDThatTheClusterLacks(t *testing.T) {
	g := NewWithT(t)
	box := strings.Replace(read(g, fixtures+"valid.yaml"), "websites.demo.example.com", "websiets.demo.example.com", 1)
	args := []string{"validate", "-f", "-", "--cluster", "--context", "test", "--kubeconfig", apiServer(t, http.StatusOK)}
	stdout, _, code := orkestra(t, box, args...)
	g.Expect(code).To(Equal(exitNo), stdout)
	g.Expect(stdout).To(ContainSubstring(`spec.crd.name: Invalid value: "websiets.demo.example.com": ` +
		`neither the cluster nor a file of -f or --crd has this CRD, did you mean "websites.demo.example.com"?`))

	other := filepath.Join(t.TempDir(), "crd.yaml")
	crd := strings.NewReplacer("websites", "webshops", "Website", "Webshop", "website", "webshop").Replace(read(g, websites))
	g.Expect(os.WriteFile(other, []byte(crd), 0o600)).To(Succeed())
	stdout, _, code = orkestra(t, strings.Replace(box, "websiets", "webshop", 1), append(args, "--crd", other)...)
	g.Expect(code).To(Equal(exitNo), stdout)
	g.Expect(stdout).To(ContainSubstring(
		`spec.crd.name: Invalid value: "webshop.demo.example.com": neither the cluster nor a file of -f or --crd has this CRD, `+
			`did you mean "webshops.demo.example.com"?`), "names of files count, too")
}

func TestValidateRefusesACRDThatNoFileHolds(t *testing.T) {
	g := NewWithT(t)
	box := strings.Replace(read(g, fixtures+"valid.yaml"), "websites.demo.example.com", "websits.demo.example.com", 1)
	stdout, _, code := orkestra(t, box, "validate", "-f", "-", "--crd", websites)
	g.Expect(code).To(Equal(exitNo), stdout)
	g.Expect(stdout).To(ContainSubstring(
		`spec.crd.name: Invalid value: "websits.demo.example.com": no file of --crd holds this CRD, did you mean "websites.demo.example.com"?`))
	stdout, stderr, code := orkestra(t, box, "validate", "-f", "-")
	g.Expect(code).To(BeZero(), stdout)
	g.Expect(stderr).To(ContainSubstring("give --crd or --cluster"))
}

func TestRenderReadsOtherObjectsFromTheCluster(t *testing.T) {
	g := NewWithT(t)
	box := `{apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox, metadata: {name: a}, spec: {crd: {name: websites.demo.example.com},
		cross: [{name: one, apiVersion: v1, kind: ConfigMap, selector: {name: settings}}, {name: all, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: b}}}],
		onReconcile: {configmaps: [{data: {one: "{{ .cross.one.data.color }}", all: "{{ len .cross.all }}"}}]}}}`
	resource := filepath.Join(t.TempDir(), "website.yaml")
	g.Expect(os.WriteFile(resource, []byte(`{apiVersion: demo.example.com/v1, kind: Website, metadata: {name: shop, namespace: team-a}, spec: {image: a}}`), 0o600)).To(Succeed())
	args := []string{"render", "-f", "-", "-r", resource, "--cluster", "--context", "test", "--kubeconfig"}
	stdout, stderr, code := orkestra(t, box, append(args, apiServer(t, http.StatusOK))...)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(And(ContainSubstring("one: blue"), ContainSubstring(`all: "1"`)))

	given := filepath.Join(t.TempDir(), "settings.yaml")
	g.Expect(os.WriteFile(given, []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: team-a, labels: {a: b}}, data: {color: red}}`), 0o600)).To(Succeed())
	stdout, stderr, code = orkestra(t, box, append(args, apiServer(t, http.StatusOK), "--with", given)...)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(And(ContainSubstring("one: red"), ContainSubstring(`all: "1"`)))

	_, stderr, code = orkestra(t, strings.Replace(box, "name: settings", "name: secret", 1), append(args, apiServer(t, http.StatusOK))...)
	g.Expect(code).To(Equal(exitNo))
	g.Expect(stderr).To(ContainSubstring(`error: reading ConfigMap "team-a/secret": `))
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

// The help says what is read, with whose rights, and what is checked with it.
func TestHelpSaysWhatTheClusterIsAskedFor(t *testing.T) {
	for command, reads := range map[string]string{
		"validate": "CustomResourceDefinitions that no file holds (rights: get, and list to suggest a name)",
		"render":   "what the box reads and --with does not give: objects of cross, Secrets of calls, Namespaces (rights: get, list)",
	} {
		t.Run(command, func(t *testing.T) {
			g := NewWithT(t)
			help, _, code := orkestra(t, "", command, "--help")
			g.Expect(code).To(BeZero())
			words := strings.Join(strings.Fields(help), " ")
			g.Expect(words).To(And(ContainSubstring(reads), ContainSubstring("with the rights of the kubeconfig's user, not the manager's"),
				ContainSubstring("that the CRD is there and serves the box's version"), ContainSubstring("Nothing is written")))
			_, flag, _ := strings.Cut(help, "--cluster  ")
			flag, _, _ = strings.Cut(flag, "\n")
			g.Expect(flag).To(ContainSubstring("ask the API server"), "the flag's own line")
		})
	}
}
