module github.com/orkspace/orkestra/test/release

go 1.26.0

require (
	github.com/CycloneDX/cyclonedx-go v0.12.0 // indirect
	github.com/blang/semver/v4 v4.0.0 // indirect
	github.com/google/go-containerregistry v0.21.6 // indirect
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	golang.org/x/mod v0.43.0 // indirect
	sigs.k8s.io/kustomize/api v0.21.1 // indirect
	sigs.k8s.io/kustomize/kyaml v0.21.1 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
