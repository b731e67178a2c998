package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// pluginPlatform is how krew installs the plugin on a platform: all of the archive, with a link from kubectl-orkestra to Bin.
type pluginPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

// krew writes the manifest by which krew installs the archives as a kubectl plugin: that of the repository, with the version and the archives. krew
// wants the file to be called as the plugin is.
func (o options) krew() error {
	sums, err := o.sums()
	if err != nil {
		return err
	}
	platforms := make([]pluginPlatform, len(o.archives))
	for i, p := range o.archives {
		name := o.archiveName(p)
		platforms[i] = pluginPlatform{URI: o.downloads + "/" + o.version + "/" + name, SHA256: sums[name], Bin: "orkestra" + p.suffix()}
		platforms[i].Selector.MatchLabels = map[string]string{"os": p.os, "arch": p.arch}
	}
	text, err := os.ReadFile(filepath.Join(o.root, "config/krew/orkestra.yaml"))
	if err != nil {
		return fmt.Errorf("reading the manifest for krew: %w", err)
	}
	var manifest map[string]any
	if err := yaml.Unmarshal(text, &manifest); err != nil {
		return fmt.Errorf("reading the manifest for krew: %w", err)
	}
	spec, ok := manifest["spec"].(map[string]any)
	if !ok {
		return fmt.Errorf("the manifest for krew has no spec")
	}
	spec["version"], spec["platforms"] = o.version, platforms
	if text, err = yaml.Marshal(manifest); err != nil {
		return fmt.Errorf("writing the manifest for krew: %w", err)
	}
	return o.write("orkestra.yaml", text)
}
