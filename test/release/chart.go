package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
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

// install renders config/default with the image of this release.
func (o options) install(digest string) ([]byte, error) {
	files := filesys.MakeFsInMemory()
	if err := o.copyConfig(files); err != nil {
		return nil, err
	}
	image := o.repository + "/orkestra"
	kustomization, err := json.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{"../default"},
		"images": []map[string]string{{"name": defaultImage, "newName": image, "newTag": o.version, "digest": digest}},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the overlay: %w", err)
	}
	if err := files.WriteFile("/config/release/kustomization.yaml", kustomization); err != nil {
		return nil, fmt.Errorf("writing the overlay: %w", err)
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/config/release")
	if err != nil {
		return nil, fmt.Errorf("rendering config/default: %w", err)
	}
	text, err := objects.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("rendering config/default: %w", err)
	}
	if wanted := image + ":" + o.version + "@" + digest; !strings.Contains(string(text), "image: "+wanted+"\n") {
		return nil, fmt.Errorf("config/default does not run %s: wanted the image %s in config/manager", wanted, defaultImage)
	}
	return text, nil
}

// copyConfig puts the kustomize files where an overlay can be beside them, without writing into the checkout.
func (o options) copyConfig(into filesys.FileSystem) error {
	from := os.DirFS(o.root)
	err := fs.WalkDir(from, "config", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" || strings.HasPrefix(name, "config/samples/") {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return into.WriteFile("/"+name, content)
	})
	if err != nil {
		return fmt.Errorf("reading config: %w", err)
	}
	return nil
}

// defaultImage is the one that config/manager runs.
const defaultImage = "ghcr.io/orkspace/orkestra"
