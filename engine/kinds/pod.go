package kinds

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// mainContainer is the name of the container that the short fields describe.
const mainContainer = "main"

// Names that short fields, containers and pods have in common.
const (
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

// podTemplate makes a pod template of converted short fields. The labels are those of the pod besides podLabels, and win. at is
// the template's place in the spec.
func podTemplate(d Declared, short, labels map[string]any, at ...string) (map[string]any, error) {
	spec := pick(short, podSpecFields...)
	if v, ok := short["podSecurityContext"]; ok {
		spec["securityContext"] = v
	}
	containers, err := podContainers(d, short, at)
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

// podContainers gives the main container, unless all of it is left to the overlay, and the sidecars.
func podContainers(d Declared, short map[string]any, template []string) ([]any, error) {
	main := pick(short, containerFields...)
	if port, ok := short[namePort]; ok {
		main[namePorts] = []any{map[string]any{nameContainerPort: port}}
	}
	if probes, ok := short[nameProbes].(map[string]any); ok {
		for name, v := range probes {
			main[probeFields[name]] = v
		}
	}
	if main[nameImage] == nil && descend(d.Spec, containersIn(template)...) == nil {
		return nil, &FieldError{Path: nameImage, Want: "an image", Got: gotNothing}
	}
	var containers []any
	if len(main) > 0 {
		main[nameName] = mainContainer
		containers = append(containers, main)
	}
	if sidecars, ok := short[nameSidecars].([]any); ok {
		containers = append(containers, sidecars...)
	}
	return containers, nil
}

// checkPod reports what the types can't say of the short fields that make a pod, whose template is at the given place in the spec.
func (c *checker) checkPod(template ...string) {
	c.checkImage(template)
	c.exclusive(namePorts, namePort)
	if labels, ok := c.short["podLabels"].(map[string]any); ok {
		for _, label := range []string{v1alpha1.LabelAppInstance, v1alpha1.LabelAppName} {
			if labels[label] != nil {
				c.errs = append(c.errs, field.Forbidden(c.at.Child("podLabels").Key(label), "the selector uses this label"))
			}
		}
	}
	names := map[string]bool{mainContainer: c.describesMain()}
	c.checkContainerNames(nameInitContainers, names)
	c.checkContainerNames(nameSidecars, names)
}

// checkRestarts reports a policy that the API server refuses for pods of this kind. What is none at all is said by its type.
func (c *checker) checkRestarts(template []string, valid ...string) {
	path := append(slices.Clone(template), nameSpec, "restartPolicy")
	text, ok := c.overlaid(path...).(string)
	if ok && slices.Contains(enums["k8s.io/api/core/v1.RestartPolicy"], text) && !slices.Contains(valid, text) {
		c.add(&FieldError{Path: nameSpec + "." + strings.Join(path, "."), Got: "want " + oneOf(valid), Value: text})
	}
}

// checkImage asks for an image, unless the overlay brings the containers.
func (c *checker) checkImage(template []string) {
	if c.has(nameImage) {
		return
	}
	overlaid := c.overlaid(containersIn(template)...)
	if overlaid == nil {
		c.require(nameImage, "an image")
		return
	}
	list, ok := overlaid.([]any)
	if !ok || !c.describesMain() {
		return
	}
	for _, v := range list {
		name := descend(asObject(v), nameName)
		if c.isTemplate(v) || c.isTemplate(name) || name == mainContainer {
			return
		}
	}
	c.require(nameImage, fmt.Sprintf("an image: the short fields describe the container %q, the overlay describes others", mainContainer))
}

// describesMain says whether a short field belongs to the main container.
func (c *checker) describesMain() bool {
	return c.hasAny(containerFields...) || c.hasAny(namePort, nameProbes)
}

// checkContainerNames asks for the names of further containers: they have no default, and must differ.
func (c *checker) checkContainerNames(of string, names map[string]bool) {
	list, ok := c.short[of].([]any)
	if !ok {
		return
	}
	for i, v := range list {
		container, ok := v.(map[string]any)
		if !ok {
			continue
		}
		at := c.at.Child(of).Index(i).Child(nameName)
		name, ok := container[nameName].(string)
		switch {
		case container[nameName] == nil || name == "" && ok:
			c.errs = append(c.errs, field.Required(at, "containers need names of their own"))
		case !ok || c.templated(name):
		case names[name]:
			c.errs = append(c.errs, field.Duplicate(at, name))
		default:
			names[name] = true
		}
	}
}

func asObject(v any) map[string]any {
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	return object
}
