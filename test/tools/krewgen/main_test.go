package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// given writes binaries and a license, and gives what asks for their archives.
func given(t *testing.T) (o options, binaries []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"linux": "a binary", "windows": "another one", "LICENSE": "a license"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o = options{version: "v1.2.3", url: "https://example.com/v1.2.3/", manifest: "../../../config/krew/orkestra.yaml", license: filepath.Join(dir, "LICENSE"), out: t.TempDir()}
	return o, []string{"linux/arm64=" + filepath.Join(dir, "linux"), "windows/amd64=" + filepath.Join(dir, "windows")}
}

// plugin is what krew reads of a manifest.
type plugin struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, Homepage, ShortDescription, Description, Caveats string
		Platforms                                                 []platform
	}
}

func TestTheManifestLeadsToTheArchives(t *testing.T) {
	o, binaries := given(t)
	if err := run(o, binaries); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(o.out, "orkestra.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var p plugin
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatal(err)
	}
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata.Name != "orkestra" || p.Spec.Version != "v1.2.3" ||
		p.Spec.Homepage == "" || p.Spec.ShortDescription == "" || len(p.Spec.ShortDescription) > 50 || p.Spec.Description == "" || len(p.Spec.Platforms) != 2 {
		t.Fatalf("krew would not take\n%s", text)
	}
	for n, want := range []struct{ file, bin, content string }{
		{"kubectl-orkestra_v1.2.3_linux_arm64.tar.gz", "kubectl-orkestra", "a binary"}, {"kubectl-orkestra_v1.2.3_windows_amd64.tar.gz", "kubectl-orkestra.exe", "another one"},
	} {
		got := p.Spec.Platforms[n]
		archive, err := os.ReadFile(filepath.Join(o.out, want.file))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(archive)
		if got.URI != "https://example.com/v1.2.3/"+want.file || got.SHA256 != hex.EncodeToString(sum[:]) || got.Bin != want.bin {
			t.Errorf("the manifest has %+v, wanted %s and %s, whose sum is %x", got, want.file, want.bin, sum)
		}
		if files := unpacked(t, archive); files[want.bin] != "-rwxr-xr-x "+want.content || files["LICENSE"] != "-rw-r--r-- a license" {
			t.Errorf("%s holds %q", want.file, files)
		}
	}
}

// unpacked gives the mode and the content of each file.
func unpacked(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	zipped, err := gzip.NewReader(strings.NewReader(string(archive)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for files := tar.NewReader(zipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		out[header.Name] = header.FileInfo().Mode().String() + " " + string(content)
	}
}

func TestTheSameBinariesGiveTheSameArchives(t *testing.T) {
	o, binaries := given(t)
	sums := map[string]bool{}
	_, file, _ := strings.Cut(binaries[0], "=")
	for day := range 2 {
		o.out = t.TempDir()
		built := time.Date(2026, 1, 1+day, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(file, built, built); err != nil {
			t.Fatal(err)
		}
		if err := run(o, binaries); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(o.out, "orkestra.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		sums[string(text)] = true
	}
	if len(sums) != 1 {
		t.Errorf("two runs gave %d manifests", len(sums))
	}
}

func TestWhatIsNotPacked(t *testing.T) {
	o, binaries := given(t)
	change := func(change func(*options)) options {
		out := o
		change(&out)
		return out
	}
	for name, tc := range map[string]struct {
		options
		binaries []string
		want     string
	}{
		"no version":              {change(func(o *options) { o.version = "1.2.3" }), binaries, `-version "1.2.3": wanted one such as v1.2.3`},
		"a version of a checkout": {change(func(o *options) { o.version = "abc1234-dirty" }), binaries, "-version"},
		"an open address":         {change(func(o *options) { o.url = "http://example.com" }), binaries, `-url "http://example.com"`},
		"nothing":                 {o, nil, "wanted binaries"},
		"no platform":             {o, []string{"linux=/bin/sh"}, "wanted OS/ARCH=FILE"},
		"no file":                 {o, []string{"linux/amd64=/none"}, "no such file"},
		"no manifest":             {change(func(o *options) { o.manifest = o.license }), binaries, "filling in"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(tc.options, tc.binaries); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("gave %v, wanted %q", err, tc.want)
			}
		})
	}
}
