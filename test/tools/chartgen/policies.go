package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// policyLabel names a policy in config/, and in the values of the chart.
const policyLabel = "orkestra.orkspace.io/policy"

// Texts of config/ that are values in the chart.
const (
	configNamespace = "orkestra-system"
	policyKind      = "ValidatingAdmissionPolicy"
	bindingKind     = "ValidatingAdmissionPolicyBinding"
)

// settings are the variables of policies that the chart's values decide, by name, with what the chart says in place of config/.
var settings = map[string]string{
	"managers":         `{{ include "orkestra.policies.managers" . | toJson }}`,
	"controllers":      `{{ include "orkestra.policies.controllers" . | toJson }}`,
	"allowSkipCleanup": `{{ .Values.trust.allowSkipCleanup | toString | toJson }}`,
}

// policiesTemplate returns the chart's template of all policies in a folder. Each has the name and the labels of the release, and is
// left out where the values say so.
func policiesTemplate(folder string) (string, error) {
	files, err := yamlFiles(folder)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	var keys []string
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		key, text, err := policyForChart(content)
		if err != nil {
			return "", fmt.Errorf("reading %q: %w", file, err)
		}
		keys = append(keys, key)
		out.WriteString(text)
	}
	all := fmt.Sprintf("{{- define \"orkestra.policies.all\" }}%s{{ end }}\n", strings.Join(keys, ","))
	return fmt.Sprintf(header, "config/policies") + all + out.String(), nil
}

// policyForChart returns the policy and the binding of one file as the chart has them, and the name of the policy.
func policyForChart(content []byte) (key, text string, err error) {
	documents := bytes.Split(content, []byte("\n---\n"))
	if len(documents) != 2 {
		return "", "", fmt.Errorf("there are %d objects: wanted a %s and its binding", len(documents), policyKind)
	}
	var out strings.Builder
	for i, kind := range []string{policyKind, bindingKind} {
		var object map[string]any
		if err := yaml.Unmarshal(documents[i], &object); err != nil {
			return "", "", err
		}
		if object["kind"] != kind {
			return "", "", fmt.Errorf("object %d is a %v: wanted a %s", i, object["kind"], kind)
		}
		if key, text, err = objectForChart(object); err != nil {
			return "", "", err
		}
		if i == 0 {
			fmt.Fprintf(&out, "{{- if include \"orkestra.policies.has\" (list . %q) }}\n", key)
		}
		out.WriteString("---\n" + text)
	}
	out.WriteString("{{- end }}\n")
	return key, out.String(), nil
}

// objectForChart returns one object, and the name of its policy.
func objectForChart(object map[string]any) (key, text string, err error) {
	metadata, _ := object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	key, _ = labels[policyLabel].(string)
	if key == "" {
		return "", "", errors.New("the label " + policyLabel + " is missing")
	}
	values := map[string]string{}
	value := func(template string) string {
		place := fmt.Sprintf("VALUE-%d-OF-THE-CHART", len(values))
		values[place] = template
		return place
	}
	name := value(`{{ include "orkestra.fullname" . }}-` + key)
	if metadata["name"] != rolePrefix+key {
		return "", "", fmt.Errorf("the name %v must be %s", metadata["name"], rolePrefix+key)
	}
	metadata["name"] = name
	metadata["labels"] = value("")
	spec, _ := object["spec"].(map[string]any)
	if object["kind"] == bindingKind {
		spec["policyName"] = name
	}
	variables, _ := spec["variables"].([]any)
	for _, v := range variables {
		variable, _ := v.(map[string]any)
		if template, ok := settings[fmt.Sprint(variable["name"])]; ok {
			variable["expression"] = value(template)
		}
	}
	content, err := yaml.Marshal(object)
	if err != nil {
		return "", "", err
	}
	text = escape(string(content))
	text = strings.ReplaceAll(text, configNamespace, "{{ .Release.Namespace }}")
	for place, template := range values {
		if template == "" {
			template = "\n    " + policyLabel + ": " + key + "\n    {{- include \"orkestra.labels\" . | nindent 4 }}"
			text = strings.ReplaceAll(text, " "+place, template)
		}
		text = strings.ReplaceAll(text, place, template)
	}
	return key, text, nil
}
