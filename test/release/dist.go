package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
)

// options say what is built, and from what.
type options struct {
	root, out, version, repository, base, helm, kubectl, since string
	// downloads is where the files of releases are, each in a folder with the name of its version.
	downloads string

	images, archives []platform
	source           source
	// work is a folder for what is not released.
	work string
}

// versions are those of releases. Charts and krew take no others.
var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// marker is in every folder that this program wrote, so that it deletes no other.
const marker = "checksums.txt"

func (o options) run(ctx context.Context) error {
	if !versions.MatchString(o.version) {
		return fmt.Errorf("version %q: wanted one such as v1.2.3, or v1.2.3-rc.1", o.version)
	}
	notes, err := o.notes(ctx)
	if err != nil {
		return err
	}
	base, err := openBase(o.base)
	if err != nil {
		return err
	}
	if err := emptied(o.out); err != nil {
		return err
	}
	if o.work, err = os.MkdirTemp("", "release-"); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(o.work) }() // nothing is lost if it stays
	if err := o.write("changelog.md", []byte(notes)); err != nil {
		return err
	}
	for _, p := range o.archives {
		if err := o.archive(ctx, p); err != nil {
			return err
		}
	}
	if err := o.krew(); err != nil {
		return err
	}
	store, err := layout.Write(filepath.Join(o.out, "oci"), empty.Index)
	if err != nil {
		return fmt.Errorf("making the OCI layout: %w", err)
	}
	released := map[string]string{}
	for _, command := range []string{"orkestra", "orkestra-providers"} {
		if released[command], err = o.image(ctx, store, command, base); err != nil {
			return fmt.Errorf("image %s: %w", command, err)
		}
	}
	if err := o.manifests(ctx, store, released); err != nil {
		return err
	}
	if err := o.provenance(base, released); err != nil {
		return err
	}
	return o.checksums()
}

// emptied makes an empty folder. One with files that this program did not write is refused.
func emptied(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %q: %w", folder, err)
	}
	if _, err := os.Stat(filepath.Join(folder, marker)); len(entries) > 0 && err != nil {
		return fmt.Errorf("%q has files, and no %s: it is not a release, or one that was not finished; remove it, or name another folder", folder, marker)
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("clearing %q: %w", folder, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making %q: %w", folder, err)
	}
	return nil
}

func (o options) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(o.out, name), content, 0o644); err != nil {
		return fmt.Errorf("writing %q: %w", name, err)
	}
	return nil
}

func (o options) archiveName(p platform) string {
	format := "orkestra_%s_%s_%s.tar.gz"
	if p.os == windows {
		format = "orkestra_%s_%s_%s.zip"
	}
	return fmt.Sprintf(format, o.chartVersion(), p.os, p.arch)
}

// archive packs the command line for a platform, with its SBOM beside it.
func (o options) archive(ctx context.Context, p platform) error {
	binary, err := o.compile(ctx, "orkestra", p)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("reading what was built: %w", err)
	}
	license, err := os.ReadFile(filepath.Join(o.root, "LICENSE"))
	if err != nil {
		return fmt.Errorf("reading the license: %w", err)
	}
	pack := tarGzip
	if p.os == windows {
		pack = zipOf
	}
	packed, err := pack([]file{{name: "LICENSE", content: license, mode: 0o644}, {name: filepath.Base(binary), content: program, mode: 0o755}}, o.source.time)
	if err != nil {
		return err
	}
	name := o.archiveName(p)
	if err := o.write(name, packed); err != nil {
		return err
	}
	listed, err := bill(program, "orkestra", o.version, o.source.time, nil)
	if err != nil {
		return err
	}
	return o.write(name+".cdx.json", listed)
}

// image builds an image of a command for all platforms, and gives its digest. Each has its SBOM, as a file and as a referrer in the registry.
func (o options) image(ctx context.Context, store layout.Path, command string, base *baseImage) (string, error) {
	dockerfile, err := os.ReadFile(filepath.Join(o.root, "Dockerfile"))
	if err != nil {
		return "", fmt.Errorf("reading the recipe: %w", err)
	}
	r, err := readRecipe(string(dockerfile), map[string]string{"VERSION": o.version, "COMMIT": o.source.commit, "COMMAND": command})
	if err != nil {
		return "", err
	}
	annotations := map[string]string{
		"org.opencontainers.image.base.name": base.name, "org.opencontainers.image.base.digest": base.digest,
		"org.opencontainers.image.created": created(o.source.time),
	}
	maps.Copy(annotations, r.labels)
	var referrers []v1.Image
	index, err := indexOf(o.images, annotations, func(p platform) (v1.Image, error) {
		under, err := base.of(p)
		if err != nil {
			return nil, err
		}
		binary, err := o.compile(ctx, command, p)
		if err != nil {
			return nil, err
		}
		program, err := os.ReadFile(binary)
		if err != nil {
			return nil, fmt.Errorf("reading what was built: %w", err)
		}
		image, err := r.newImage(under, program, o.source.time)
		if err != nil {
			return nil, err
		}
		listed, err := o.imageBill(program, command, p, image, base)
		if err != nil {
			return nil, err
		}
		referrers = append(referrers, listed)
		return image, nil
	})
	if err != nil {
		return "", err
	}
	if err := store.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: command + ":" + o.version})); err != nil {
		return "", fmt.Errorf("writing the image: %w", err)
	}
	for _, referrer := range referrers {
		if err := store.AppendImage(referrer, layout.WithAnnotations(map[string]string{refName: command})); err != nil {
			return "", fmt.Errorf("writing an SBOM: %w", err)
		}
	}
	digest, err := index.Digest()
	return digest.String(), err
}

// refName is the annotation that says, in an OCI layout, how something is called. What has a name without a tag is pushed by digest.
const refName = "org.opencontainers.image.ref.name"

const sbomType = "application/vnd.cyclonedx+json"

func (o options) imageBill(program []byte, command string, p platform, image v1.Image, base *baseImage) (v1.Image, error) {
	about, err := partial.Descriptor(image)
	if err != nil {
		return nil, fmt.Errorf("describing the image: %w", err)
	}
	listed, err := bill(program, command, o.version, o.source.time,
		&container{digest: about.Digest.String(), repository: o.repository, base: base.name, baseDigest: base.digest})
	if err != nil {
		return nil, err
	}
	if err := o.write(fmt.Sprintf("%s_%s_image_%s_%s.cdx.json", command, o.chartVersion(), p.os, p.arch), listed); err != nil {
		return nil, err
	}
	subject := v1.Descriptor{MediaType: about.MediaType, Digest: about.Digest, Size: about.Size}
	return newArtifact([]byte("{}"), "application/vnd.oci.empty.v1+json", listed, sbomType, sbomType, &subject, nil)
}

// manifests writes by what people install: the chart, as a file and for a registry, and install.yaml.
func (o options) manifests(ctx context.Context, store layout.Path, released map[string]string) error {
	packed, err := o.chart(ctx)
	if err != nil {
		return err
	}
	if err := o.write("orkestra-chart-"+o.chartVersion()+".tgz", packed); err != nil {
		return err
	}
	chart, err := o.chartArtifact(packed)
	if err != nil {
		return err
	}
	if err := store.AppendImage(chart, layout.WithAnnotations(map[string]string{refName: chartName + ":" + o.chartVersion()})); err != nil {
		return fmt.Errorf("writing the chart: %w", err)
	}
	digest, err := chart.Digest()
	if err != nil {
		return fmt.Errorf("reading the chart's digest: %w", err)
	}
	released[chartName] = digest.String()
	objects, err := o.install(ctx, released["orkestra"])
	if err != nil {
		return err
	}
	return o.write("install.yaml", objects)
}

// chartName is where the chart is, below the repository.
const chartName = "charts/orkestra"

// sums gives the checksum of every file of the release, by its path. Of the OCI layout the index is enough: it names all else by digest.
func (o options) sums() (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(o.out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == "blobs" {
				return filepath.SkipDir
			}
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(o.out, path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		out[filepath.ToSlash(name)] = hex.EncodeToString(sum[:])
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading what was built: %w", err)
	}
	return out, nil
}

// checksums writes the file that sha256sum -c reads.
func (o options) checksums() error {
	sums, err := o.sums()
	if err != nil {
		return err
	}
	lines := make([]string, 0, len(sums))
	for name, sum := range sums {
		lines = append(lines, sum+"  "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	return o.write(marker, []byte(strings.Join(lines, "")))
}
