package cluster

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/orkspace/orkestra/api/v1alpha1"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

var configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func configMap(namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(configMaps)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetLabels(map[string]string{"in": namespace})
	return obj
}

func connect(t *testing.T, server *shared.APIServer) *Cluster {
	t.Helper()
	c, err := Flags{Kubeconfig: server.Start(t), Context: "test"}.Connect()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

func TestObjectsAreRead(t *testing.T) {
	g := NewWithT(t)
	c := connect(t, &shared.APIServer{Objects: []*unstructured.Unstructured{configMap("a", "one"), configMap("b", "two")}})
	found, err := c.Get(t.Context(), configMaps, "a", "one")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.GetName()).To(Equal("one"))
	for namespace, want := range map[string]int{"": 2, "a": 1, "c": 0} {
		all, err := c.List(t.Context(), configMaps, namespace, labels.Everything())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(all).To(HaveLen(want), namespace)
	}
	all, err := c.List(t.Context(), configMaps, "", labels.SelectorFromSet(labels.Set{"in": "b"}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(ConsistOf(HaveField("GetName()", "two")))
}

// What does not exist is no error; what may not be read is one, and says what it was.
func TestWhatIsAbsentAndWhatIsRefused(t *testing.T) {
	g := NewWithT(t)
	c := connect(t, &shared.APIServer{Refuse: func(path string) int {
		if strings.Contains(path, "secret") {
			return http.StatusForbidden
		}
		return 0
	}})
	found, err := c.Get(t.Context(), configMaps, "a", "none")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(BeNil())
	crd, err := c.CRD(t.Context(), "none.example.com")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(crd).To(BeNil())

	secrets := corev1.SchemeGroupVersion.WithKind("Secret")
	_, err = c.Get(t.Context(), secrets, "a", "one")
	g.Expect(err).To(MatchError(`reading Secret "a/one": no right`))
	_, err = c.List(t.Context(), secrets, "a", labels.Everything())
	g.Expect(err).To(MatchError(`listing objects of kind Secret: no right`))
	_, err = c.CRD(t.Context(), "secrets.example.com")
	g.Expect(err).To(MatchError(`reading CustomResourceDefinition "secrets.example.com": no right`))
}

func TestHowTheServerIsFound(t *testing.T) {
	g := NewWithT(t)
	file := shared.Kubeconfig(t, "https://127.0.0.1:1")
	config, err := Flags{Kubeconfig: file}.Config()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Host).To(Equal("https://127.0.0.1:1"))
	g.Expect(config.UserAgent).To(Equal("orkestra/dev"))
	g.Expect(config.QPS).To(BeEquivalentTo(-1), "the API server says who waits")
	g.Expect(config.Timeout).To(BeZero(), "a watch has no end")

	_, config, err = Flags{Kubeconfig: file}.Client()
	g.Expect(err).NotTo(HaveOccurred(), "nobody is asked yet")
	g.Expect(config.Timeout).To(BeNumerically(">", time.Second))

	_, err = Flags{Kubeconfig: filepath.Join(t.TempDir(), "none")}.Config()
	g.Expect(err).To(MatchError(HavePrefix("finding the API server: ")))
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	_, err = Flags{}.Config()
	g.Expect(err).To(MatchError(And(ContainSubstring("/none"), ContainSubstring("where no cluster is named"))))
	_, err = Flags{Kubeconfig: file, Context: "other"}.Config()
	g.Expect(err).To(MatchError(ContainSubstring(`context "other" does not exist`)))
	_, err = Flags{Kubeconfig: file}.Connect()
	g.Expect(err).To(MatchError(HavePrefix("asking https://127.0.0.1:1 for its kinds: ")))
}

func TestNamespaces(t *testing.T) {
	g := NewWithT(t)
	file := shared.Kubeconfig(t, "https://127.0.0.1:1")
	namespace, err := Flags{Kubeconfig: file}.Namespace()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(namespace).To(Equal("default"))
	config, err := clientcmd.LoadFromFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	config.Contexts["test"].Namespace = "team-a"
	g.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	namespace, err = Flags{Kubeconfig: file}.Namespace()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(namespace).To(Equal("team-a"))

	t.Setenv("POD_NAMESPACE", "")
	g.Expect(ManagerNamespace("")).To(Equal("orkestra-system"))
	t.Setenv("POD_NAMESPACE", "mine")
	g.Expect(ManagerNamespace("")).To(Equal("mine"))
	g.Expect(ManagerNamespace("given")).To(Equal("given"))
}

func TestTheSchemeKnowsWhatCommandsRead(t *testing.T) {
	for _, kind := range []schema.GroupVersionKind{
		configMaps, v1alpha1.GroupVersion.WithKind("OperatorBox"), {Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	} {
		NewWithT(t).Expect(Scheme().Recognizes(kind)).To(BeTrue(), kind.Kind)
	}
}
