package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// pushAll sends what is in an OCI layout to a registry, with the credentials that docker login keeps. What is there already is not sent again.
func pushAll(ctx context.Context, from, repository string, said io.Writer) error {
	index, err := layout.ImageIndexFromPath(from)
	if err != nil {
		return fmt.Errorf("reading the OCI layout %q: %w", from, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("reading the OCI layout %q: %w", from, err)
	}
	for _, m := range manifest.Manifests {
		if err := pushOne(ctx, index, m, repository, said); err != nil {
			return err
		}
	}
	return nil
}

func pushOne(ctx context.Context, index v1.ImageIndex, m v1.Descriptor, repository string, said io.Writer) error {
	called := m.Annotations[refName]
	if called == "" {
		return fmt.Errorf("%s has no annotation %s: release build did not write it", m.Digest, refName)
	}
	reference := repository + "/" + called
	if !strings.Contains(called, ":") {
		reference += "@" + m.Digest.String()
	}
	to, err := name.ParseReference(reference, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("repository %q: %w", repository, err)
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if m.MediaType.IsIndex() {
		var images v1.ImageIndex
		if images, err = index.ImageIndex(m.Digest); err == nil {
			err = remote.WriteIndex(to, images, options...)
		}
	} else {
		var image v1.Image
		if image, err = index.Image(m.Digest); err == nil {
			err = remote.Write(to, image, options...)
		}
	}
	if err != nil {
		return fmt.Errorf("pushing %s: %w", to, err)
	}
	if _, err = fmt.Fprintf(said, "%s@%s\n", strings.TrimSuffix(to.Name(), "@"+m.Digest.String()), m.Digest); err != nil {
		return fmt.Errorf("saying what was pushed: %w", err)
	}
	return nil
}
