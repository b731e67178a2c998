package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

const (
	repo    = "../.."
	version = "v1.2.3"
	commit  = "0123456789abcdef0123456789abcdef01234567"
)

var host = platform{"linux", runtime.GOARCH}

// tree makes a copy of what a release is built from, with small programs in place of the product, which takes minutes to compile.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, folder := range []string{"config", "charts"} {
		try(t, os.CopyFS(filepath.Join(root, folder), os.DirFS(filepath.Join(repo, folder))))
	}
	for _, name := range []string{"Dockerfile", "LICENSE"} {
		write(t, filepath.Join(root, name), string(read(t, filepath.Join(repo, name))))
	}
	program := "package main\n\nimport \"github.com/orkspace/orkestra/cmd/orkestra/version\"\n\nfunc main() { println(version.Get()) }\n"
	for name, text := range map[string]string{
		"go.mod":                          "module github.com/orkspace/orkestra\n\ngo 1.26.0\n",
		"cmd/orkestra/main.go":            program,
		"cmd/orkestra-providers/main.go":  program,
		"cmd/orkestra/version/version.go": "package version\n\nvar number, commit string\n\nfunc Get() string { return number + \" \" + commit }\n",
		"docs/changelog.md":               "# Changelog\n\n## v1.2.3\n\nAll is new.\n\n## v1.2.2\n\nNothing was.\n",
	} {
		write(t, filepath.Join(root, name), text)
	}
	return root
}

func released(t *testing.T, root, base string) options {
	t.Helper()
	o := options{
		root: root, out: filepath.Join(t.TempDir(), "dist"), version: version, repository: "registry.example.com/team", downloads: "https://example.com/downloads", base: base, helm: filepath.Join(repo, "bin/helm"), kubectl: filepath.Join(repo, "bin/orkestra-cluster") + " kubectl",
		images: []platform{host}, archives: []platform{host, {"windows", "amd64"}}, source: source{commit: commit, time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)},
	}
	try(t, o.run(t.Context()))
	return o
}

func newBase(t *testing.T) string {
	t.Helper()
	certificates, out := filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "base")
	write(t, certificates, "-----BEGIN CERTIFICATE-----\n")
	try(t, writeBase(out, certificates, []platform{host}))
	return out
}

// TestReleases are the same wherever and whenever a commit is built, and what is pulled of them is what the Dockerfile says.
func TestReleases(t *testing.T) {
	base := newBase(t)
	o := released(t, tree(t), base)
	again := released(t, tree(t), base)
	sums := string(read(t, filepath.Join(o.out, "checksums.txt")))
	if other := string(read(t, filepath.Join(again.out, "checksums.txt"))); other != sums {
		t.Errorf("two builds of one commit differ:\n%s\n%s", sums, other)
	}
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/team"
	var said bytes.Buffer
	try(t, pushAll(t.Context(), filepath.Join(o.out, "oci"), repository, &said))

	t.Run("checksums", func(t *testing.T) {
		check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
		check.Dir = o.out
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		for _, wanted := range []string{
			"changelog.md", "install.yaml", "oci/index.json", "orkestra-chart-1.2.3.tgz", "provenance.intoto.json", "orkestra_1.2.3_windows_amd64.zip", "orkestra_1.2.3_windows_amd64.zip.cdx.json",
			"orkestra_1.2.3_linux_" + host.arch + ".tar.gz", "orkestra_1.2.3_image_linux_" + host.arch + ".cdx.json", "orkestra-providers_1.2.3_image_linux_" + host.arch + ".cdx.json",
		} {
			if !strings.Contains(sums, "  "+wanted+"\n") {
				t.Errorf("checksums.txt has no line for %s:\n%s", wanted, sums)
			}
		}
	})
	t.Run("images", func(t *testing.T) {
		for _, command := range []string{"orkestra", "orkestra-providers"} {
			pulledImage(t, repository, command)
		}
	})
	t.Run("archives", func(t *testing.T) {
		packed := read(t, filepath.Join(o.out, "orkestra_1.2.3_linux_"+host.arch+".tar.gz"))
		files, err := untarGzip(packed)
		try(t, err)
		if len(files) != 2 || files[0].name != "LICENSE" || files[1].name != "orkestra" || files[1].mode != 0o755 {
			t.Errorf("the archive has %d files", len(files))
		}
		says(t, files[1].content)
		zipped, err := zip.OpenReader(filepath.Join(o.out, "orkestra_1.2.3_windows_amd64.zip"))
		try(t, err)
		t.Cleanup(func() { try(t, zipped.Close()) })
		if len(zipped.File) != 2 || zipped.File[1].Name != "orkestra.exe" {
			t.Errorf("the archive for Windows has %d files", len(zipped.File))
		}
	})
	t.Run("krew's manifest", func(t *testing.T) { describedForKrew(t, o) })
	t.Run("krew", func(t *testing.T) { installedByKrew(t, o) })
	t.Run("chart", func(t *testing.T) { pulledChart(t, o, repository) })
	t.Run("manifests", func(t *testing.T) {
		text := string(read(t, filepath.Join(o.out, "install.yaml")))
		_, line, _ := strings.Cut(text, "image: registry.example.com/team/orkestra:v1.2.3@")
		digest, _, _ := strings.Cut(line, "\n")
		if !strings.Contains(said.String(), "/team/orkestra:v1.2.3@"+digest+"\n") || digest == "" {
			t.Errorf("install.yaml runs %q, and pushed was:\n%s", digest, said.String())
		}
		for _, kind := range []string{"Namespace", "CustomResourceDefinition", "Deployment", "ClusterRole", "ValidatingAdmissionPolicy"} {
			if !strings.Contains(text, "\nkind: "+kind+"\n") {
				t.Errorf("install.yaml has no %s", kind)
			}
		}
	})
	t.Run("provenance", func(t *testing.T) { provenanceNames(t, o, sums, said.String()) })
}

// describedForKrew says whether the manifest for krew has what krew demands, and leads to the archives.
func describedForKrew(t *testing.T, o options) {
	t.Helper()
	var plugin struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, Homepage, ShortDescription, Description, Caveats string
			Platforms                                                 []pluginPlatform
		}
	}
	text := read(t, filepath.Join(o.out, "orkestra.yaml"))
	try(t, yaml.UnmarshalStrict(text, &plugin))
	if p := plugin.Spec; plugin.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || plugin.Kind != "Plugin" || plugin.Metadata.Name != "orkestra" || p.Version != version ||
		p.Homepage == "" || p.ShortDescription == "" || len(p.ShortDescription) > 50 || p.Description == "" || len(p.Platforms) != 2 {
		t.Fatalf("krew would not take\n%s", text)
	}
	for n, wanted := range []struct{ os, file, bin string }{{"linux", "orkestra_1.2.3_linux_" + host.arch + ".tar.gz", "orkestra"}, {"windows", "orkestra_1.2.3_windows_amd64.zip", "orkestra.exe"}} {
		sum := sha256.Sum256(read(t, filepath.Join(o.out, wanted.file)))
		if got := plugin.Spec.Platforms[n]; got.URI != "https://example.com/downloads/v1.2.3/"+wanted.file || got.SHA256 != hex.EncodeToString(sum[:]) || got.Bin != wanted.bin || got.Selector.MatchLabels["os"] != wanted.os {
			t.Errorf("the manifest has %+v, wanted %+v, whose sum is %x", got, wanted, sum)
		}
	}
}

// installedByKrew has krew itself install the archive of this machine, by the manifest of the release, and runs what kubectl would find then.
func installedByKrew(t *testing.T, o options) {
	t.Helper()
	krew, root := filepath.Join(t.TempDir(), "krew"), t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", krew, "sigs.k8s.io/krew/cmd/krew")
	build.Dir = "krew"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building krew: %v\n%s", err, out)
	}
	install := exec.CommandContext(t.Context(), krew, "install", "--manifest="+filepath.Join(o.out, "orkestra.yaml"), "--archive="+filepath.Join(o.out, "orkestra_1.2.3_linux_"+host.arch+".tar.gz"))
	install.Env = append(os.Environ(), "KREW_ROOT="+root)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("installing by krew: %v\n%s", err, out)
	}
	says(t, read(t, filepath.Join(root, "bin", "kubectl-orkestra")))
}

// pulledImage is what a user of the registry gets.
func pulledImage(t *testing.T, repository, command string) {
	t.Helper()
	reference, err := name.ParseReference(repository + "/" + command + ":" + version)
	try(t, err)
	index, err := remote.Index(reference)
	try(t, err)
	manifest, err := index.IndexManifest()
	try(t, err)
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Platform.String() != host.String() {
		t.Errorf("%s is for %v, wanted %s", command, manifest.Manifests, host)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	try(t, err)
	file, err := image.ConfigFile()
	try(t, err)
	c := file.Config
	if c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/orkestra"}) || !slices.Equal(c.Cmd, []string{"manager"}) || file.OS != host.os || file.Architecture != host.arch {
		t.Errorf("%s: user %q, entrypoint %q, arguments %q, platform %s/%s", command, c.User, c.Entrypoint, c.Cmd, file.OS, file.Architecture)
	}
	for key, wanted := range map[string]string{"title": command, "version": version, "revision": commit, "licenses": "Apache-2.0", "source": "https://github.com/orkspace/orkestra"} {
		if key = "org.opencontainers.image." + key; c.Labels[key] != wanted || manifest.Annotations[key] != wanted {
			t.Errorf("%s: %s is %q as label, %q as annotation, wanted %q", command, key, c.Labels[key], manifest.Annotations[key], wanted)
		}
	}
	if !slices.Contains(c.Env, "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt") {
		t.Errorf("%s: the variables of the base are gone: %q", command, c.Env)
	}
	holds(t, image)

	referrers, err := remote.Referrers(reference.Context().Digest(manifest.Manifests[0].Digest.String()))
	try(t, err)
	about, err := referrers.IndexManifest()
	try(t, err)
	if len(about.Manifests) != 1 {
		t.Fatalf("%s: referrers are %+v, wanted an SBOM", command, about.Manifests)
	}
	sbom, err := remote.Image(reference.Context().Digest(about.Manifests[0].Digest.String()))
	try(t, err)
	described, err := sbom.Manifest()
	try(t, err)
	if described.ArtifactType != sbomType || described.Layers[0].MediaType != sbomType {
		t.Errorf("%s: the referrer is a %q with a %q, wanted an SBOM", command, described.ArtifactType, described.Layers[0].MediaType)
	}
	layers, err := sbom.Layers()
	try(t, err)
	content, err := layers[0].Compressed()
	try(t, err)
	var document cdx.BOM
	try(t, cdx.NewBOMDecoder(content, cdx.BOMFileFormatJSON).Decode(&document))
	if document.Metadata.Component.Name != command || !strings.Contains(document.Metadata.Component.PackageURL, "sha256%3A"+manifest.Manifests[0].Digest.Hex) {
		t.Errorf("the SBOM is about %+v, wanted %s with digest %s", document.Metadata.Component, command, manifest.Manifests[0].Digest)
	}
}

// holds looks for what the base and the binary put into an image, and runs the binary.
func holds(t *testing.T, image v1.Image) {
	t.Helper()
	found := map[string][]byte{}
	content := mutate.Extract(image)
	t.Cleanup(func() { try(t, content.Close()) })
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		try(t, err)
		found[header.Name], err = io.ReadAll(r)
		try(t, err)
	}
	for _, wanted := range []string{"etc/passwd", "etc/ssl/certs/ca-certificates.crt", "usr/share/zoneinfo/Europe/Berlin", "orkestra"} {
		if len(found[wanted]) == 0 {
			t.Errorf("the image has no %s", wanted)
		}
	}
	says(t, found["orkestra"])
}

// says runs a binary: it has to know version and commit.
func says(t *testing.T, program []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	try(t, os.WriteFile(path, program, 0o755))
	out, err := exec.CommandContext(t.Context(), path).CombinedOutput()
	if wanted := version + " " + commit + "\n"; err != nil || string(out) != wanted {
		t.Errorf("the binary says %q (%v), wanted %q", out, err, wanted)
	}
}

// pulledChart is the file that was built, and Helm renders it with the image of its release.
func pulledChart(t *testing.T, o options, repository string) {
	t.Helper()
	helm, err := filepath.Abs(o.helm)
	try(t, err)
	folder := t.TempDir()
	_, err = output(exec.CommandContext(t.Context(), helm, "pull", "oci://"+repository+"/charts/orkestra", "--version", "1.2.3", "--plain-http", "--destination", folder))
	try(t, err)
	pulled := filepath.Join(folder, "orkestra-1.2.3.tgz")
	if !bytes.Equal(read(t, pulled), read(t, filepath.Join(o.out, "orkestra-chart-1.2.3.tgz"))) {
		t.Error("the chart in the registry is another than the file")
	}
	rendered, err := output(exec.CommandContext(t.Context(), helm, "template", "x", pulled))
	try(t, err)
	if !strings.Contains(string(rendered), "image: ghcr.io/orkspace/orkestra:v1.2.3\n") && !strings.Contains(string(rendered), `image: "ghcr.io/orkspace/orkestra:v1.2.3"`) {
		t.Error("the chart does not run the image of its release")
	}
}

func provenanceNames(t *testing.T, o options, sums, pushed string) {
	t.Helper()
	var s statement
	try(t, json.Unmarshal(read(t, filepath.Join(o.out, "provenance.intoto.json")), &s))
	digests := map[string]string{}
	for _, about := range s.Subject {
		digests[about.Name] = about.Digest["sha256"]
	}
	for line := range strings.Lines(sums) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if file != "provenance.intoto.json" && digests[file] != sum {
			t.Errorf("the provenance of %s is about %q, wanted %q", file, digests[file], sum)
		}
	}
	for _, image := range []string{"orkestra", "orkestra-providers", "charts/orkestra"} {
		if digest := digests["registry.example.com/team/"+image]; digest == "" || !strings.Contains(pushed, "sha256:"+digest+"\n") {
			t.Errorf("the provenance of %s is about %q, and pushed was:\n%s", image, digest, pushed)
		}
	}
	from := s.Predicate.BuildDefinition.ResolvedDependencies
	if len(from) != 2 || from[0].Digest["gitCommit"] != commit || len(from[1].Digest["sha256"]) != 64 {
		t.Errorf("built from %+v", from)
	}
}

// TestBases are taken by digest from a registry, and by nothing that may be another image tomorrow.
func TestBases(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	folder := newBase(t)
	index, err := layout.ImageIndexFromPath(folder)
	try(t, err)
	digest, err := index.Digest()
	try(t, err)
	to, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/base:nonroot")
	try(t, err)
	try(t, remote.WriteIndex(to, index))
	fetched, err := openBase(to.Name() + "@" + digest.String())
	try(t, err)
	if _, err := fetched.of(host); err != nil || fetched.digest != digest.String() {
		t.Errorf("fetched %s (%v), wanted %s", fetched.digest, err, digest)
	}
	refused(t, "has no image for linux/s390x", func() error { _, err := fetched.of(platform{"linux", "s390x"}); return err })
	refused(t, "wanted an image by digest", func() error { _, err := openBase(to.Name()); return err })
	refused(t, "wanted an image by digest", func() error { _, err := openBase(""); return err })
	refused(t, "is there already", func() error { return writeBase(folder, "", nil) })
}

// TestRefusals say what is wrong before anything is built or deleted.
func TestRefusals(t *testing.T) {
	root := tree(t)
	for _, bad := range []string{"", "1.2.3", "v1.2", "v1.2.3+x", "latest", "v01.2.3"} {
		refused(t, "wanted one such as v1.2.3", func() error { return options{root: root, version: bad}.run(t.Context()) })
	}
	refused(t, `has no heading "## v9.0.0"`, func() error { return options{root: root, version: "v9.0.0"}.run(t.Context()) })
	mine := t.TempDir()
	write(t, filepath.Join(mine, "thesis.txt"), "x")
	refused(t, "it is not a release", func() error { return emptied(mine) })
	read(t, filepath.Join(mine, "thesis.txt"))

	for _, list := range []string{"", "linux", "linux/386", "plan9/amd64", "linux/amd64,linux/amd64"} {
		refused(t, "platform", func() error { _, err := parsePlatforms(list); return err })
	}
	for _, args := range [][]string{nil, {"deliver"}} {
		refused(t, "usage: release COMMAND", func() error { return run(t.Context(), args) })
	}

	checkout := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "x"}} {
		_, err := git(t.Context(), checkout, args...)
		try(t, err)
	}
	_, err := readSource(t.Context(), checkout)
	try(t, err)
	write(t, filepath.Join(checkout, "more.go"), "package more\n")
	refused(t, "wanted a clean checkout", func() error { _, err := readSource(t.Context(), checkout); return err })
}

// TestRecipe refuses a Dockerfile whose image would be another than that of a release.
func TestRecipe(t *testing.T) {
	text := string(read(t, filepath.Join(repo, "Dockerfile")))
	args := map[string]string{"VERSION": version, "COMMIT": commit, "COMMAND": "orkestra"}
	for _, test := range []struct{ old, new, wanted string }{
		{"USER 65532:65532\n", "USER 65532:65532\nEXPOSE 8080\n", "the Dockerfile, EXPOSE: releases are built without"},
		{"USER 65532:65532\n", "", "has to have COPY, ENTRYPOINT and USER"},
		{`ENTRYPOINT ["/orkestra"]`, "ENTRYPOINT /orkestra", "wanted a list as JSON"},
		{"ARG COMMAND=orkestra\nLABEL", "ARG COMMAND=orkestra\nARG MORE\nLABEL", "MORE is not known here"},
		{`"$VERSION"`, `"$NUMBER"`, "$NUMBER is not known here"},
		{"COPY --from=build /orkestra /orkestra\n", "COPY LICENSE /\n", "wanted one file from the stage that builds"},
	} {
		changed := strings.Replace(text, test.old, test.new, 1)
		if changed == text {
			t.Fatalf("the Dockerfile has no %q", test.old)
		}
		refused(t, test.wanted, func() error { _, err := readRecipe(changed, args); return err })
	}
}

// TestBills list the modules of a binary: here, those of this test.
func TestBills(t *testing.T) {
	self, err := os.Executable()
	try(t, err)
	text, err := bill(read(t, self), "test", version, time.Unix(0, 0).UTC(), nil)
	try(t, err)
	var document cdx.BOM
	try(t, cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&document))
	at := slices.IndexFunc(*document.Components, func(c cdx.Component) bool { return c.Name == "github.com/google/go-containerregistry" })
	if at < 0 {
		t.Fatalf("a module that is linked is not listed:\n%s", text)
	}
	if c := (*document.Components)[at]; c.PackageURL != "pkg:golang/github.com/google/go-containerregistry@"+c.Version || c.Hashes == nil || len((*c.Hashes)[0].Value) != 64 {
		t.Errorf("the module is listed as %+v", c)
	}
	refused(t, "reading what x was built from", func() error { _, err := bill([]byte("no binary"), "x", version, time.Time{}, nil); return err })
}

func refused(t *testing.T, wanted string, call func() error) {
	t.Helper()
	if err := call(); err == nil || !strings.Contains(err.Error(), wanted) {
		t.Errorf("got %v, wanted an error with %q", err, wanted)
	}
}

func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	try(t, err)
	return content
}

func write(t *testing.T, path, text string) {
	t.Helper()
	try(t, os.MkdirAll(filepath.Dir(path), 0o755))
	try(t, os.WriteFile(path, []byte(text), 0o644))
}
