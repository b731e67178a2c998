{{- define "orkestra.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- /* At most 40 characters: the names of objects add to it. */}}
{{- define "orkestra.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "orkestra.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "orkestra.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "orkestra.selectorLabels" -}}
app.kubernetes.io/name: {{ include "orkestra.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end -}}

{{- define "orkestra.labels" -}}
{{ include "orkestra.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: orkestra
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- /* Other labels than the manager's, so that the selectors of the Service and the disruption budget do not match the Job's pod. */}}
{{- define "orkestra.drain.labels" -}}
{{ merge (dict "app.kubernetes.io/component" "drain") (include "orkestra.labels" . | fromYaml) | toYaml }}
{{- end -}}

{{- /* The same for the Pods of orkestra webhook. */}}
{{- define "orkestra.webhook.selectorLabels" -}}
{{ merge (dict "app.kubernetes.io/component" "webhook") (include "orkestra.selectorLabels" . | fromYaml) | toYaml }}
{{- end -}}

{{- define "orkestra.webhook.labels" -}}
{{ merge (dict "app.kubernetes.io/component" "webhook") (include "orkestra.labels" . | fromYaml) | toYaml }}
{{- end -}}

{{- /* The same for the Pod of helm test. */}}
{{- define "orkestra.test.selectorLabels" -}}
{{ merge (dict "app.kubernetes.io/component" "test") (include "orkestra.selectorLabels" . | fromYaml) | toYaml }}
{{- end -}}

{{- define "orkestra.test.labels" -}}
{{ merge (dict "app.kubernetes.io/component" "test") (include "orkestra.labels" . | fromYaml) | toYaml }}
{{- end -}}

{{- /* The annotations of a hook of helm test; the weight is the order. A Pod that failed stays, with its logs, until the next try. */}}
{{- define "orkestra.test.hook" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{- /* The annotations of a hook before an uninstall; the weight is the order. A Job that failed stays, with its logs, until the next try. */}}
{{- define "orkestra.drain.hook" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{- /* How Pods are spread: a list of the root and of the labels that their Deployment selects by. A constraint without a selector would count no Pod. */}}
{{- define "orkestra.spread" -}}
{{- $selector := dict "matchLabels" (index . 1 | fromYaml) -}}
{{- $constraints := list -}}
{{- range (index . 0).Values.topologySpreadConstraints -}}
{{- $constraints = append $constraints (ternary . (merge (dict "labelSelector" $selector) .) (hasKey . "labelSelector")) -}}
{{- end -}}
{{- if $constraints }}{{ toYaml $constraints }}{{ end -}}
{{- end -}}

{{- define "orkestra.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "orkestra.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "orkestra.image" -}}
{{- $repository := .Values.image.repository -}}
{{- if .Values.image.providers -}}
{{- $repository = printf "%s-providers" $repository -}}
{{- end -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "orkestra.subjects" -}}
- kind: ServiceAccount
  name: {{ include "orkestra.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{- /* A binding: a list of the root, the kinds of binding and role, and the role's suffix. */}}
{{- define "orkestra.binding" -}}
{{- $root := index . 0 -}}
{{- $kind := index . 1 -}}
{{- $name := printf "%s-%s" (include "orkestra.fullname" $root) (index . 2) -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $name }}
  {{- if eq $kind "Role" }}
  namespace: {{ $root.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "orkestra.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $name }}
subjects:
{{ include "orkestra.subjects" $root }}
{{- end -}}

{{- /* Nine tenths of a quantity of memory, in bytes: what Go's runtime keeps to, so that it collects garbage before the container is killed. */}}
{{- define "orkestra.goMemoryLimit" -}}
{{- $units := dict "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- $text := kindIs "string" . | ternary (toString .) (int64 . | toString) -}}
{{- $number := regexFind "^[0-9.]+" $text -}}
{{- $unit := trimPrefix $number $text -}}
{{- if not (hasKey $units $unit) }}
{{- fail (printf "resources.limits.memory: %q must be a number with the unit Ki, Mi, Gi, Ti, k, M, G or T, such as 512Mi" $text) }}
{{- end -}}
{{- mulf (float64 $number) (get $units $unit) 0.9 | int64 -}}
{{- end -}}

{{- /* What the NetworkPolicies of the manager and of the webhook confine. */}}
{{- define "orkestra.network.types" -}}
{{- ternary "[Ingress, Egress]" "[Ingress]" .Values.networkPolicy.egress.enabled -}}
{{- end -}}

{{- /* What the manager and the webhook reach; empty where that is not confined. */}}
{{- define "orkestra.network.egress" -}}
{{- with .Values.networkPolicy.egress -}}
{{- if .enabled -}}
{{- $dns := dict "ports" (list (dict "port" 53 "protocol" "UDP") (dict "port" 53 "protocol" "TCP")) -}}
{{- if .dns }}{{ $_ := set $dns "to" .dns }}{{ end -}}
{{- $ports := list -}}
{{- range .apiServerPorts }}{{ $ports = append $ports (dict "port" (int .) "protocol" "TCP") }}{{ end -}}
{{- $api := dict "ports" $ports -}}
{{- if .apiServer }}{{ $_ := set $api "to" .apiServer }}{{ end -}}
{{- toYaml (dict "egress" (concat (list $dns $api) .rules)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The namespaces whose accounts boxes may act as, with the names of the accounts; without names: all. */}}
{{- define "orkestra.boxNamespaces" -}}
{{- default (list (dict "name" .Release.Namespace)) .Values.trust.boxNamespaces | toJson -}}
{{- end -}}

{{- /* The file of --egress-rules; empty where there are none. */}}
{{- define "orkestra.egressRules" -}}
{{- $rules := dict -}}
{{- range $name, $lists := dict "external-allow" .Values.trust.egress.allow "external-only" .Values.trust.egress.only -}}
{{- $kept := dict -}}
{{- range $by, $of := $lists }}{{ if $of }}{{ $_ := set $kept $by $of }}{{ end }}{{ end -}}
{{- if $kept }}{{ $_ := set $rules $name $kept }}{{ end -}}
{{- end -}}
{{- if $rules }}{{ toYaml $rules }}{{ end -}}
{{- end -}}

{{- /* The name of the manager for the API server. */}}
{{- define "orkestra.user" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "orkestra.serviceAccountName" . }}
{{- end -}}

{{- /* A list of texts in CEL, which writes them as JSON does. */}}
{{- define "orkestra.policies.managers" -}}
{{- prepend .Values.trust.managers (include "orkestra.user" .) | toJson -}}
{{- end -}}

{{- define "orkestra.policies.controllers" -}}
{{- .Values.trust.controllers | toJson -}}
{{- end -}}

{{- /* Whether a policy is installed: a list of the root and the name of the policy. Empty: it is not. */}}
{{- define "orkestra.policies.has" -}}
{{- $values := (index . 0).Values.trust -}}
{{- if and $values.policies (not (has (index . 1) $values.withoutPolicies)) }}yes{{ end -}}
{{- end -}}

{{- /* The policies that are installed, as --require-policies takes them. */}}
{{- define "orkestra.policies.names" -}}
{{- $root := . -}}
{{- $names := list -}}
{{- range include "orkestra.policies.all" . | splitList "," -}}
{{- if include "orkestra.policies.has" (list $root .) }}{{ $names = append $names . }}{{ end -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}

{{- /* The manager's rules without what only a box without an account needs: it reads children, and deletes those whose account is gone, but makes
and changes none, and no CRD. Children are what it may do all of this with, and nothing more. */}}
{{- define "orkestra.rules.caches" -}}
{{- $children := list "create" "delete" "get" "list" "patch" "watch" -}}
{{- $rules := list -}}
{{- range include "orkestra.rules.manager" . | fromYamlArray -}}
{{- $rule := . -}}
{{- if has "apiextensions.k8s.io" .apiGroups -}}
{{- $rule = merge (dict "verbs" (list "get" "list" "watch")) . -}}
{{- else if eq (join "," (sortAlpha .verbs)) (join "," $children) -}}
{{- $rule = merge (dict "verbs" (list "delete" "get" "list" "watch")) . -}}
{{- end -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}
