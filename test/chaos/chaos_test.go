// Package chaos_test runs managers behind a proxy that makes things go wrong, while users work with resources, and compares the cluster
// with what the specs say when all is quiet again. A seed decides what goes wrong and what users do: see docs/reliability.md.
package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/test/fixtures"
	"github.com/orkspace/orkestra/test/localcluster"
)

// patience is how long anything may take once all is quiet. It is long because machines are slow.
const patience = 90 * time.Second

// What runs by default, with few resources: three seeds that have found bugs. Between them they have all faults but stale lists, and boxes
// that depend on each other and roll back.
const (
	defaultSeeds     = "4,8,17"
	defaultResources = 20
)

var (
	seedsFlag     = flag.String("seeds", os.Getenv("CHAOS_SEEDS"), "seeds to run: 17, or 1-200, or both, separated by commas; default CHAOS_SEEDS, then "+defaultSeeds)
	resourcesFlag = flag.Int("resources", number("CHAOS_RESOURCES", defaultResources), "resources of each kind; default CHAOS_RESOURCES, then 20")

	cluster *localcluster.Cluster
	kube    client.Client // to the API server, past the proxy and every cache
	direct  = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	scheme  = fixtures.Scheme()
	logger  = logr.Discard()
)

func number(env string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil {
		return n
	}
	return otherwise
}

func TestChaos(t *testing.T) {
	seeds, err := parseSeeds(*seedsFlag)
	if err != nil {
		t.Fatal(err)
	}
	out := logTo(t, os.Getenv("CHAOS_LOG"))
	start(t)
	binary, dir := "", t.TempDir()
	all := &report{resources: *resourcesFlag}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			s := newRun(t, seed, *resourcesFlag)
			if s.managers.process && binary == "" {
				binary = build(t, dir)
			}
			s.managers.binary, s.managers.out = binary, out
			all.add(s)
			s.run()
		})
		if path := os.Getenv("CHAOS_REPORT"); path != "" {
			if err := os.WriteFile(path, []byte(all.markdown()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// parseSeeds reads a list of numbers and ranges.
func parseSeeds(text string) ([]uint64, error) {
	if text == "" {
		text = defaultSeeds
	}
	var out []uint64
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("seeds %q: %q is no number", text, first)
		}
		to, err := strconv.ParseUint(last, 10, 32)
		if err != nil || to < from {
			return nil, fmt.Errorf("seeds %q: %q is no number from %d on", text, last, from)
		}
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// logTo has managers log to a file, if one is named; nowhere otherwise, because libraries log every fault that this package injects.
func logTo(t *testing.T, path string) string {
	t.Helper()
	if path != "" {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() }) // nothing of value is lost
		logger = zap.New(zap.WriteTo(file), zap.UseDevMode(true))
	}
	log.SetLogger(logger)
	klog.SetLogger(logger)
	return path
}

// start starts the cluster that all seeds share.
func start(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	var err error
	if cluster, err = localcluster.Start(ctx, localcluster.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	if kube, err = client.New(cluster.Config(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Kubectl(ctx, "apply", "--server-side", "-f", filepath.Join("..", "..", "config", "crd", "bases")); err != nil {
		t.Fatal(err)
	}
	w := &world{}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, list := range []client.ObjectList{&v1alpha1.OperatorBoxList{}, &v1alpha1.CRDHealthList{}} {
		if err := w.insist(ctx, func(ctx context.Context) error { return kube.List(ctx, list) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.insist(ctx, creator(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: managerNamespace}})); err != nil {
		t.Fatal(err)
	}
}

// build builds the real binary into a folder.
func build(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "orkestra")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/orkestra").CombinedOutput()
	if err != nil {
		t.Fatalf("building the manager: %v: %s", err, out)
	}
	return binary
}
