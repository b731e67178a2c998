package app

import (
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// All commands tell ages by the API server's clock: here it is ten years ahead of this machine's, and the objects are from 2026.
func TestAgesGoByTheServersClock(t *testing.T) {
	server := &shared.APIServer{
		Objects: append(shared.Objects(t, "../status/testdata/cluster.yaml"), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": "a", "namespace": "default"}, "type": "Normal", "reason": "Reconciled", "message": "by box shops",
			"lastTimestamp":  "2026-01-02T03:04:05Z",
			"involvedObject": map[string]any{"apiVersion": "demo.example.com/v1", "kind": "Shop", "namespace": "default", "name": "flowers", "uid": "flowers"},
		}}, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": int64(1), "data": map[string]any{"crd": map[string]any{"name": "shops.demo.example.com"}},
			"metadata": map[string]any{
				"namespace": "orkestra-system", "name": "shops-1", "creationTimestamp": "2026-01-02T03:00:05Z", "labels": map[string]any{v1alpha1.LabelRevisionOf: "shops"},
			},
		}}),
		Date: time.Now().AddDate(10, 0, 0).UTC().Format(http.TimeFormat),
	}
	kubeconfig := server.Start(t)
	for _, args := range []string{
		"get boxes", "get shops", "status shop/flowers", "tree shop/flowers", "events shop/flowers", "revisions shops",
	} {
		t.Run(args, func(t *testing.T) {
			stdout, stderr, _ := shared.Run(t, NewCommand(Options{}), "", append(strings.Fields(args), "--kubeconfig", kubeconfig, "-n", "default")...)
			NewWithT(t).Expect(stdout).To(MatchRegexp(`(?m)^(?:.*(?:flowers|shops).*\b1\dy\b|1\dy.*flowers)`), stderr)
		})
	}
}
