package watch

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Client reads objects whole, and the metadata of objects.
type Client struct {
	dynamic.Interface

	// Metadata lists and watches the metadata of objects.
	Metadata metadata.Interface
}

// NewClient gives a client of an API server. The error is one of the configuration.
func NewClient(config *rest.Config) (Client, error) {
	whole, err := dynamic.NewForConfig(config)
	if err != nil {
		return Client{}, fmt.Errorf("making a dynamic client: %w", err)
	}
	metas, err := metadata.NewForConfig(config)
	if err != nil {
		return Client{}, fmt.Errorf("making a client of metadata: %w", err)
	}
	return Client{Interface: whole, Metadata: metas}, nil
}
