package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/cache"
	"github.com/argoproj/argo-cd/v3/util/cache/appstate"
	"github.com/redis/go-redis/v9"
)

// printTree prints the tree of an Application as JSON: what the application controller has stored for Argo CD's page.
func printTree(out io.Writer, address, application string) error {
	client := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = client.Close() }() // only read from
	stored := appstate.NewCache(cache.NewCache(cache.NewRedisCache(client, time.Hour, cache.RedisCompressionGZip)), time.Hour)
	var tree v1alpha1.ApplicationTree
	if err := stored.GetAppResourcesTree(application, &tree); err != nil {
		return fmt.Errorf("reading the tree of the Application %q: %w", application, err)
	}
	return json.NewEncoder(out).Encode(tree)
}
