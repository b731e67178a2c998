package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// indexOf makes an index with an image for each platform.
func indexOf(platforms []platform, annotations map[string]string, image func(platform) (v1.Image, error)) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		made, err := image(p)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", p, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: made, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}}})
	}
	if len(annotations) == 0 {
		return index, nil
	}
	annotated, ok := mutate.Annotations(index, annotations).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("annotating the index gave no index")
	}
	return annotated, nil
}

// emptyImage has one layer, and the user and the variables that distroless sets.
func emptyImage(p platform, layer v1.Layer) (v1.Image, error) {
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layer)
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = p.os, p.arch
	config.Config.User, config.Config.WorkingDir = "65532", "/home/nonroot"
	config.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("setting the configuration: %w", err)
	}
	return mutate.ConfigMediaType(image, types.OCIConfigJSON), nil
}

// timeZones are those that Go comes with.
func timeZones() ([]file, error) {
	root, err := output(exec.Command("go", "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return nil, fmt.Errorf("reading Go's time zones: %w", err)
	}
	defer func() { _ = archive.Close() }() // it was only read
	var out []file
	for _, entry := range archive.File {
		if strings.HasSuffix(entry.Name, "/") {
			continue
		}
		content, err := entry.Open()
		if err != nil {
			return nil, fmt.Errorf("reading the time zone %s: %w", entry.Name, err)
		}
		zone, err := io.ReadAll(content)
		if err != nil {
			return nil, fmt.Errorf("reading the time zone %s: %w", entry.Name, err)
		}
		out = append(out, file{name: path.Join("usr/share/zoneinfo", entry.Name), mode: 0o644, content: zone})
	}
	return out, nil
}

// artifact is something other than an image that a registry keeps: a chart, or a document about an image.
type artifact struct {
	config, manifest []byte
	layer            v1.Layer
}

// newArtifact makes one with a single file. kind is the type of what a document is about its subject; a chart has neither.
func newArtifact(config []byte, configType types.MediaType, content []byte, contentType types.MediaType, kind string, subject *v1.Descriptor, annotations map[string]string) (v1.Image, error) {
	layer := static.NewLayer(content, contentType)
	described, err := partial.Descriptor(layer)
	if err != nil {
		return nil, fmt.Errorf("describing the file of an artifact: %w", err)
	}
	describedConfig, err := partial.Descriptor(static.NewLayer(config, configType))
	if err != nil {
		return nil, fmt.Errorf("describing the configuration of an artifact: %w", err)
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: *describedConfig, Layers: []v1.Descriptor{*described},
		Annotations: annotations, Subject: subject, ArtifactType: kind,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the manifest of an artifact: %w", err)
	}
	image, err := partial.CompressedToImage(artifact{config: config, manifest: manifest, layer: layer})
	if err != nil {
		return nil, fmt.Errorf("making an artifact: %w", err)
	}
	return image, nil
}

func (a artifact) RawConfigFile() ([]byte, error) { return a.config, nil }

func (a artifact) RawManifest() ([]byte, error) { return a.manifest, nil }

func (artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

func (a artifact) LayerByDigest(wanted v1.Hash) (partial.CompressedLayer, error) {
	if digest, err := a.layer.Digest(); err != nil || digest != wanted {
		return nil, fmt.Errorf("an artifact has no file %s", wanted)
	}
	return a.layer, nil
}

// created is a time as annotations have it.
func created(at time.Time) string { return at.Format(time.RFC3339) }
