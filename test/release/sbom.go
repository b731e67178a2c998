package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bill lists what is in a binary, as Go wrote it down there: the modules that are linked, and the version of Go. inImage is the image that holds it
// beside its base; nil: it is in an archive.
func bill(binary []byte, name, version string, at time.Time, inImage *container) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("reading what %s was built from: %w", name, err)
	}
	subject := cdx.Component{BOMRef: "subject", Type: cdx.ComponentTypeApplication, Name: name, Version: version, PackageURL: purl(info.Main.Path, version)}
	components := []cdx.Component{{
		BOMRef: "go", Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	}}
	if inImage != nil {
		subject.Type, subject.PackageURL = cdx.ComponentTypeContainer, inImage.purl(name, version)
		components = append(components, cdx.Component{BOMRef: "base", Type: cdx.ComponentTypeContainer, Name: inImage.base, Version: inImage.baseDigest})
	}
	for _, module := range info.Deps {
		component, err := moduleComponent(module)
		if err != nil {
			return nil, err
		}
		components = append(components, component)
	}
	document := cdx.NewBOM()
	document.Metadata = &cdx.Metadata{Timestamp: at.Format(time.RFC3339), Component: &subject}
	document.Components = &components
	refs := make([]string, 0, len(components))
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	document.Dependencies = &[]cdx.Dependency{{Ref: subject.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(document); err != nil {
		return nil, fmt.Errorf("writing the SBOM of %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// container is the image of an SBOM.
type container struct{ digest, repository, base, baseDigest string }

func (c container) purl(name, version string) string {
	return "pkg:oci/" + name + "@" + url.QueryEscape(c.digest) + "?repository_url=" + url.QueryEscape(c.repository+"/"+name) + "&tag=" + url.QueryEscape(version)
}

func moduleComponent(module *debug.Module) (cdx.Component, error) {
	if module.Replace != nil {
		module = module.Replace
	}
	ref := purl(module.Path, module.Version)
	out := cdx.Component{BOMRef: ref, Type: cdx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: ref}
	if encoded, found := strings.CutPrefix(module.Sum, "h1:"); found {
		sum, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return cdx.Component{}, fmt.Errorf("reading the checksum of %s: %w", module.Path, err)
		}
		out.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return out, nil
}

func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
