package kinds

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// mainContainer is the name of the container that the short fields describe, unless they give it another one.
const mainContainer = "main"

// nameOfMain is what the container is called that the short fields describe; it may be a template.
func nameOfMain(short map[string]any) string {
	if name, ok := short[nameContainerName].(string); ok && name != "" {
		return name
	}
	return mainContainer
}

// Names that short fields, containers and pods have in common.
const (
	nameContainerName  = "containerName"
	nameContainerPort  = "containerPort"
	nameContainers     = "containers"
	nameEnv            = "env"
	nameImage          = "image"
	nameInitContainers = "initContainers"
	nameProbes         = "probes"
	nameResources      = "resources"
	nameServiceAccount = "serviceAccountName"
	nameSidecars       = "sidecars"
	nameVolumes        = "volumes"
)

// containerFields are the short fields that a container has under the same name.
var containerFields = []string{
	nameImage, "command", "args", namePorts, nameEnv, "envFrom", nameResources, "volumeMounts", "securityContext",
}

// podSpecFields are the short fields that a pod's spec has under the same name.
var podSpecFields = []string{
	nameVolumes, nameServiceAccount, "imagePullSecrets", "nodeSelector", "tolerations", nameInitContainers,
}

// probeFields are the probes of a container by their short names.
var probeFields = map[string]string{
	"liveness":  "livenessProbe",
	"readiness": "readinessProbe",
	"startup":   "startupProbe",
}

// containersIn is where an overlay sets the containers of the pod template that is at the given place in the spec.
func containersIn(template []string) []string {
	return append(slices.Clone(template), nameSpec, nameContainers)
}

// podTemplate makes a pod template of converted short fields. labels are those that the selector needs; they win over podLabels. at is
// the template's place in the spec.
func podTemplate(short, overlay, labels map[string]any, at ...string) (map[string]any, error) {
	spec := pick(short, podSpecFields...)
	if v, ok := short["podSecurityContext"]; ok {
		spec["securityContext"] = v
	}
	containers, err := podContainers(short, overlay, at)
	if err != nil {
		return nil, err
	}
	if len(containers) > 0 {
		spec[nameContainers] = containers
	}
	template := map[string]any{nameSpec: spec}
	metadata := map[string]any{}
	if podLabels, ok := short["podLabels"].(map[string]any); ok {
		labels = merged(podLabels, labels)
	}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	if v, ok := short["podAnnotations"]; ok {
		metadata["annotations"] = v
	}
	if len(metadata) > 0 {
		template["metadata"] = metadata
	}
	return template, nil
}

// podContainers gives the main container and the sidecars. Where no short field describes the main container, the overlay brings it.
func podContainers(short, overlay map[string]any, template []string) ([]any, error) {
	main := pick(short, containerFields...)
	if port, ok := short[namePort]; ok {
		main[namePorts] = []any{map[string]any{nameContainerPort: port}}
	}
	if probes, ok := short[nameProbes].(map[string]any); ok {
		for name, v := range probes {
			main[probeFields[name]] = v
		}
	}
	if main[nameImage] == nil && shape.Descend(overlay, containersIn(template)...) == nil {
		return nil, shape.Missing(nameImage, "an image")
	}
	var containers []any
	if len(main) > 0 {
		main[nameName] = nameOfMain(short)
		containers = append(containers, main)
	}
	if sidecars, ok := short[nameSidecars].([]any); ok {
		containers = append(containers, sidecars...)
	}
	return containers, nil
}

// checkPod reports what the types can't say of the short fields that make a pod, whose template is at the given place in the spec.
func checkPod(c *shape.Checker, template ...string) {
	checkImage(c, template)
	c.Exclusive(namePorts, namePort)
	if labels, ok := c.Short["podLabels"].(map[string]any); ok {
		for _, label := range []string{v1alpha1.LabelAppInstance, v1alpha1.LabelAppName} {
			if labels[label] != nil {
				c.Found = append(c.Found, field.Forbidden(c.At.Child("podLabels").Key(label), "the selector uses this label"))
			}
		}
	}
	names := map[string]bool{nameOfMain(c.Short): describesMain(c)}
	for _, list := range []string{nameInitContainers, nameSidecars} {
		c.Names(list, names, "containers need names of their own", nameName)
	}
}

// checkRestarts reports a restartPolicy in the overlay that the API server refuses for pods of this kind. A word that is no policy at all
// is reported by the check of its type.
func checkRestarts(c *shape.Checker, template []string, valid ...string) {
	path := append(slices.Clone(template), nameSpec, "restartPolicy")
	text, ok := c.Overlaid(path...).(string)
	if ok && slices.Contains(shape.Of(reflect.TypeFor[corev1.RestartPolicy]()).Values, text) && !slices.Contains(valid, text) {
		c.Add(&shape.FieldError{Path: nameSpec + "." + strings.Join(path, "."), Got: "want " + shape.OneOf(valid), Value: text})
	}
}

// checkImage asks for an image, unless the overlay brings the containers.
func checkImage(c *shape.Checker, template []string) {
	if c.Has(nameImage) {
		return
	}
	overlaid := c.Overlaid(containersIn(template)...)
	if overlaid == nil {
		c.Missing(nameImage, "an image")
		return
	}
	list, ok := overlaid.([]any)
	if !ok || !describesMain(c) {
		return
	}
	main := nameOfMain(c.Short)
	for _, v := range list {
		name := shape.Descend(shape.Object(v), nameName)
		if c.IsTemplate(v) || c.IsTemplate(name) || name == main {
			return
		}
	}
	c.Missing(nameImage, fmt.Sprintf("an image: the short fields describe the container %q, the overlay describes others", main))
}

// describesMain says whether a short field belongs to the main container.
func describesMain(c *shape.Checker) bool {
	return c.HasAny(containerFields...) || c.HasAny(namePort, nameProbes)
}
