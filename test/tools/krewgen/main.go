// Command krewgen packs the kubectl plugin of each platform into an archive, and writes the manifest by which krew installs it. The same binaries
// give the same archives.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	o := options{}
	flag.StringVar(&o.version, "version", "", "the version, such as v1.2.3")
	flag.StringVar(&o.url, "url", "", "the `address` below which the archives will be")
	flag.StringVar(&o.manifest, "manifest", "config/krew/orkestra.yaml", "the `file` with the manifest, without version and platforms")
	flag.StringVar(&o.license, "license", "LICENSE", "the `file` with the license, which each archive has")
	flag.StringVar(&o.out, "out", "dist", "the `folder` to write to")
	flag.Parse()
	if err := run(o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "krewgen:", err)
		os.Exit(1)
	}
}

type options struct{ version, url, manifest, license, out string }

// platform is how the plugin is installed on one.
type platform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
	Files  []move `json:"files"`
}

// move says where a file of the archive goes.
type move struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// versions are those that krew takes.
var versions = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// run packs the binaries, each given as OS/ARCH=FILE.
func run(o options, binaries []string) error {
	if !versions.MatchString(o.version) {
		return fmt.Errorf("-version %q: wanted one such as v1.2.3, or v1.2.3-rc.1", o.version)
	}
	if !strings.HasPrefix(o.url, "https://") {
		return fmt.Errorf("-url %q: wanted an address that begins with https://", o.url)
	}
	if len(binaries) == 0 {
		return errors.New("wanted binaries, as OS/ARCH=FILE")
	}
	license, err := os.ReadFile(o.license)
	if err != nil {
		return fmt.Errorf("reading the license: %w", err)
	}
	platforms := make([]platform, 0, len(binaries))
	for _, given := range binaries {
		p, err := o.pack(given, license)
		if err != nil {
			return fmt.Errorf("packing %q: %w", given, err)
		}
		platforms = append(platforms, *p)
	}
	text, err := os.ReadFile(o.manifest)
	if err != nil {
		return fmt.Errorf("reading the manifest: %w", err)
	}
	out, err := filled(text, o.version, platforms)
	if err != nil {
		return fmt.Errorf("filling in %q: %w", o.manifest, err)
	}
	return os.WriteFile(filepath.Join(o.out, "orkestra.yaml"), out, 0o644)
}

// pack writes the archive of one platform.
func (o options) pack(given string, license []byte) (*platform, error) {
	of, file, found := strings.Cut(given, "=")
	system, machine, both := strings.Cut(of, "/")
	if !found || !both || system == "" || machine == "" || file == "" {
		return nil, errors.New("wanted OS/ARCH=FILE")
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := &platform{Bin: "kubectl-orkestra"}
	if system == "windows" {
		p.Bin += ".exe"
	}
	p.Selector.MatchLabels = map[string]string{"os": system, "arch": machine}
	p.Files = []move{{p.Bin, "."}, {"LICENSE", "."}}
	archive, err := packed(entry{p.Bin, binary, 0o755}, entry{"LICENSE", license, 0o644})
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("kubectl-orkestra_%s_%s_%s.tar.gz", o.version, system, machine)
	sum := sha256.Sum256(archive)
	p.URI, p.SHA256 = strings.TrimSuffix(o.url, "/")+"/"+name, hex.EncodeToString(sum[:])
	return p, os.WriteFile(filepath.Join(o.out, name), archive, 0o644)
}

// entry is a file of an archive.
type entry struct {
	name    string
	content []byte
	mode    int64
}

// packed is an archive without times and owners, so that it is the same each time.
func packed(entries ...entry) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, e := range entries {
		if err := archive.WriteHeader(&tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := archive.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// filled is the manifest with version and platforms.
func filled(text []byte, version string, platforms []platform) ([]byte, error) {
	var manifest map[string]any
	if err := yaml.Unmarshal(text, &manifest); err != nil {
		return nil, err
	}
	spec, ok := manifest["spec"].(map[string]any)
	if !ok {
		return nil, errors.New("it has no spec")
	}
	spec["version"], spec["platforms"] = version, platforms
	return yaml.Marshal(manifest)
}
