package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

// chartVersion is the release's version as charts have it: without the v.
func (o options) chartVersion() string { return strings.TrimPrefix(o.version, "v") }

// chart packs the chart with Helm, which knows what belongs into it, and then once more: Helm's archive has the times of the files of this checkout.
func (o options) chart(ctx context.Context) ([]byte, error) {
	helm, err := filepath.Abs(o.helm)
	if err != nil {
		return nil, fmt.Errorf("finding Helm: %w", err)
	}
	folder := filepath.Join(o.work, "chart")
	command := exec.CommandContext(ctx, helm, "package", filepath.Join(o.root, "charts/orkestra"), "--version", o.chartVersion(), "--app-version", o.version, "--destination", folder)
	if _, err := output(command); err != nil {
		return nil, fmt.Errorf("packing the chart: %w", err)
	}
	packed, err := os.ReadFile(filepath.Join(folder, "orkestra-"+o.chartVersion()+".tgz"))
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	files, err := untarGzip(packed)
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for i := range files {
		files[i].mode = 0o644
	}
	return tarGzip(files, o.source.time)
}

// chartArtifact is the chart as Helm pushes and pulls it.
func (o options) chartArtifact(packed []byte) (v1.Image, error) {
	files, err := untarGzip(packed)
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	at := slices.IndexFunc(files, func(f file) bool { return f.name == "orkestra/Chart.yaml" })
	if at < 0 {
		return nil, fmt.Errorf("the chart has no Chart.yaml")
	}
	config, err := yaml.YAMLToJSON(files[at].content)
	if err != nil {
		return nil, fmt.Errorf("reading Chart.yaml: %w", err)
	}
	annotations := map[string]string{
		"org.opencontainers.image.title": "orkestra", "org.opencontainers.image.version": o.chartVersion(),
		"org.opencontainers.image.revision": o.source.commit, "org.opencontainers.image.created": created(o.source.time),
	}
	return newArtifact(config, "application/vnd.cncf.helm.config.v1+json", packed, "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "", nil, annotations)
}

// install renders config/default with the image of this release, by the kustomize of kubectl.
func (o options) install(ctx context.Context, digest string) ([]byte, error) {
	folder := filepath.Join(o.work, "config")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(o.root, "config"))); err != nil {
		return nil, fmt.Errorf("copying config, so that an overlay can be beside it: %w", err)
	}
	image := o.repository + "/orkestra"
	kustomization, err := json.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{"../default"},
		"images": []map[string]string{{"name": defaultImage, "newName": image, "newTag": o.version, "digest": digest}},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the overlay: %w", err)
	}
	overlay := filepath.Join(folder, "release")
	if err := os.Mkdir(overlay, 0o755); err != nil {
		return nil, fmt.Errorf("writing the overlay: %w", err)
	}
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), kustomization, 0o600); err != nil {
		return nil, fmt.Errorf("writing the overlay: %w", err)
	}
	kubectl := append(strings.Fields(o.kubectl), "kustomize", overlay)
	text, err := output(exec.CommandContext(ctx, kubectl[0], kubectl[1:]...))
	if err != nil {
		return nil, fmt.Errorf("rendering config/default: %w", err)
	}
	if wanted := image + ":" + o.version + "@" + digest; !strings.Contains(string(text), "image: "+wanted+"\n") {
		return nil, fmt.Errorf("config/default does not run %s: wanted the image %s in config/manager", wanted, defaultImage)
	}
	return text, nil
}

// defaultImage is the one that config/manager runs.
const defaultImage = "ghcr.io/orkspace/orkestra"
