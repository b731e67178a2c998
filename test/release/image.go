package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// baseImage is what images are built on.
type baseImage struct {
	// name is how people call it: the repository, without the digest.
	name   string
	digest string
	index  v1.ImageIndex
}

// openBase takes an image by digest, or a folder with an OCI layout. A tag is refused: it is another image tomorrow.
func openBase(reference string, options ...remote.Option) (*baseImage, error) {
	if _, err := os.Stat(filepath.Join(reference, "index.json")); reference != "" && err == nil {
		index, err := layout.ImageIndexFromPath(reference)
		if err != nil {
			return nil, fmt.Errorf("reading the base image in %q: %w", reference, err)
		}
		if index, err = inner(index); err != nil {
			return nil, fmt.Errorf("reading the base image in %q: %w", reference, err)
		}
		digest, err := index.Digest()
		if err != nil {
			return nil, fmt.Errorf("reading the base image in %q: %w", reference, err)
		}
		return &baseImage{name: filepath.Base(reference), digest: digest.String(), index: index}, nil
	}
	digest, err := name.NewDigest(reference)
	if err != nil {
		return nil, fmt.Errorf("base %q: wanted an image by digest, such as gcr.io/distroless/static-debian12:nonroot@sha256:…, or a folder with an OCI layout: %w", reference, err)
	}
	index, err := remote.Index(digest, options...)
	if err != nil {
		return nil, fmt.Errorf("fetching the base image %s: %w", digest, err)
	}
	return &baseImage{name: digest.Context().Name(), digest: digest.DigestStr(), index: index}, nil
}

// inner gives the image of a layout that has one index, as `crane pull --format=oci` writes it, and else the layout's own index.
func inner(index v1.ImageIndex) (v1.ImageIndex, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) == 1 && manifest.Manifests[0].MediaType.IsIndex() {
		return index.ImageIndex(manifest.Manifests[0].Digest)
	}
	return index, nil
}

// of gives the base's image for a platform.
func (b *baseImage) of(p platform) (v1.Image, error) {
	manifest, err := b.index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading the base image %s: %w", b.name, err)
	}
	for _, m := range manifest.Manifests {
		if m.Platform != nil && m.Platform.OS == p.os && m.Platform.Architecture == p.arch {
			image, err := b.index.Image(m.Digest)
			if err != nil {
				return nil, fmt.Errorf("reading the base image %s for %s: %w", b.name, p, err)
			}
			return image, nil
		}
	}
	return nil, fmt.Errorf("the base image %s has no image for %s", b.name, p)
}

// newImage puts the binary onto the base, and sets what the recipe says.
func (r recipe) newImage(base v1.Image, binary []byte, at time.Time) (v1.Image, error) {
	packed, err := tarOf([]file{{name: r.binary[1:], content: binary, mode: 0o755}}, at)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("making the layer: %w", err)
	}
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "release build", Comment: r.binary}})
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the base: %w", err)
	}
	config = config.DeepCopy()
	config.Created = v1.Time{Time: at}
	config.Config.User, config.Config.Entrypoint, config.Config.Cmd = r.user, r.entrypoint, r.cmd
	if config.Config.Labels == nil {
		config.Config.Labels = map[string]string{}
	}
	maps.Copy(config.Config.Labels, r.labels)
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("setting the configuration: %w", err)
	}
	return mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON), nil
}

// writeBase makes a base image as distroless is: certificates, time zones and users, and no program.
func writeBase(out, certificates string, platforms []platform) error {
	if _, err := os.Lstat(out); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%q is there already; remove it, or name another folder", out)
	}
	trusted, err := os.ReadFile(certificates)
	if err != nil {
		return fmt.Errorf("reading the certificates: %w", err)
	}
	zones, err := timeZones()
	if err != nil {
		return err
	}
	files := append([]file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: trusted},
		{name: "home/nonroot/", mode: 0o700, owner: 65532},
		{name: "tmp/", mode: 0o1777},
	}, zones...)
	packed, err := tarOf(files, time.Unix(0, 0).UTC())
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return fmt.Errorf("making the layer: %w", err)
	}
	index, err := indexOf(platforms, nil, func(p platform) (v1.Image, error) { return emptyImage(p, layer) })
	if err != nil {
		return err
	}
	if _, err := layout.Write(out, index); err != nil {
		return fmt.Errorf("writing %q: %w", out, err)
	}
	return nil
}
