package main

import (
	"context"
	"fmt"
	"strings"
)

const (
	namespace = "config/default/namespace.yaml"
	// unknownKind is in what kubectl says of an object whose CRD is not there, and so neither is the object.
	unknownKind = "no matches for kind"
)

// installed is what the demo puts into a cluster before the manager runs.
var installed = []string{"-f", crds, "-f", namespace}

// alone says whether the demo has the cluster's kinds for itself. It would otherwise run a second manager beside somebody else's, and in the end
// delete what is not its own.
func (d *demo) alone(ctx context.Context) error {
	if !d.cluster.Existing() {
		return nil
	}
	say("Looking for what is there already.")
	var found []string
	for _, file := range []string{crds, namespace, samples + "/crd.yaml", samples + "/clusterrole.yaml", samples + "/box.yaml", samples + "/website.yaml"} {
		names, err := d.kubectl(ctx, "get", "--ignore-not-found", "-o", "name", "-f", file)
		if err != nil && !strings.Contains(err.Error(), unknownKind) {
			return err
		}
		found = append(found, strings.Fields(names)...)
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("the cluster has %s already, and the demo deletes in the end what it applies: use a cluster without Orkestra and its sample, "+
		"or try the sample with the Orkestra that is there: kubectl apply -k %s, then kubectl apply -f %s/website.yaml", strings.Join(found, ", "), samples, samples)
}

// removeSample takes the sample back from a cluster that stays, while the manager still runs, which cleans up.
func (d *demo) removeSample(ctx context.Context) error {
	if !d.cluster.Existing() {
		return nil
	}
	say("Removing the sample.")
	ctx = context.WithoutCancel(ctx) // also after Ctrl-C
	for _, files := range [][]string{{"-f", samples + "/website.yaml"}, {"-k", samples}} {
		if _, err := d.kubectl(ctx, append([]string{"delete", "--ignore-not-found"}, files...)...); err != nil && !strings.Contains(err.Error(), unknownKind) {
			return fmt.Errorf("removing the sample: %w", err)
		}
	}
	return nil
}

// uninstall takes the CRDs and the namespace back from a cluster that stays.
func (d *demo) uninstall(ctx context.Context) error {
	if !d.cluster.Existing() {
		return nil
	}
	say("Removing Orkestra.")
	if _, err := d.kubectl(context.WithoutCancel(ctx), append([]string{"delete", "--ignore-not-found"}, installed...)...); err != nil {
		return fmt.Errorf("removing Orkestra: %w", err)
	}
	return nil
}
