package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// buildType says what the fields of the provenance mean.
const buildType = "https://github.com/orkspace/orkestra/blob/main/docs/design/release.md#provenance"

// statement is an in-toto statement, v1, with SLSA's predicate of provenance, v1. Who signs it adds who ran the build, and when: both would differ
// between two builds of one commit.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string         `json:"buildType"`
		ExternalParameters   map[string]any `json:"externalParameters"`
		InternalParameters   map[string]any `json:"internalParameters"`
		ResolvedDependencies []subject      `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// provenance says of every file and image of the release what it was built from.
func (o options) provenance(base *baseImage, released map[string]string) error {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	sums, err := o.sums()
	if err != nil {
		return err
	}
	for name, sum := range sums {
		s.Subject = append(s.Subject, subject{Name: name, Digest: map[string]string{"sha256": sum}})
	}
	for name, digest := range released {
		s.Subject = append(s.Subject, subject{Name: o.repository + "/" + name, Digest: sha256Of(digest)})
	}
	slices.SortFunc(s.Subject, func(a, b subject) int { return strings.Compare(a.Name, b.Name) })
	definition := &s.Predicate.BuildDefinition
	definition.BuildType = buildType
	definition.ExternalParameters = map[string]any{"version": o.version, "repository": o.repository, "downloads": o.downloads, "images": texts(o.images), "archives": texts(o.archives)}
	definition.InternalParameters = map[string]any{"go": runtime.Version()}
	definition.ResolvedDependencies = []subject{
		{URI: "git+https://github.com/orkspace/orkestra", Digest: map[string]string{"gitCommit": o.source.commit}},
		{Name: base.name, Digest: sha256Of(base.digest)},
	}
	s.Predicate.RunDetails.Builder.ID = "https://github.com/orkspace/orkestra/blob/main/Makefile#dist"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the provenance: %w", err)
	}
	return o.write("provenance.intoto.json", append(text, '\n'))
}

func sha256Of(digest string) map[string]string {
	algorithm, hash, _ := strings.Cut(digest, ":")
	return map[string]string{algorithm: hash}
}

func texts(platforms []platform) []string {
	out := make([]string, 0, len(platforms))
	for _, p := range platforms {
		out = append(out, p.String())
	}
	return out
}
