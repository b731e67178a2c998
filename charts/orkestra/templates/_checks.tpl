{{- /* The seconds of a duration such as 1m30s. */}}
{{- define "orkestra.seconds" -}}
{{- $units := dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ms|s|m|h)" . -1 -}}
{{- $number := regexFind "^[0-9.]+" . -}}
{{- $sum = addf $sum (mulf (float64 $number) (get $units (trimPrefix $number .))) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}

{{- /* Values that contradict each other: each sentence says which, and what to do. All of them are said at once. What one value alone may be is in
values.schema.json. */}}
{{- define "orkestra.checks" -}}
{{- $found := list -}}
{{- range $area := list "manager" "resources" "trust" "metrics" "web" "network" -}}
{{- $found = concat $found (include (printf "orkestra.checks.%s" $area) $ | fromJsonArray) -}}
{{- end -}}
{{- if $found }}{{ fail (printf "\n- %s" (join "\n- " $found)) }}{{ end -}}
{{- end -}}

{{- define "orkestra.checks.manager" -}}
{{- $found := list -}}
{{- $v := .Values -}}
{{- if and (gt (int $v.replicaCount) 1) (not $v.leaderElection.enabled) -}}
{{- $found = append $found "replicaCount above 1 needs leaderElection.enabled: without a lease all replicas would reconcile" -}}
{{- end -}}
{{- $grace := int $v.terminationGracePeriodSeconds -}}
{{- $stop := include "orkestra.seconds" $v.shutdownTimeout | float64 -}}
{{- if le (float64 $grace) (addf $stop 10.0) -}}
{{- $found = append $found (printf "terminationGracePeriodSeconds: %d s is not longer than shutdownTimeout, %s, by more than 10 s: the kubelet would kill the manager before its reconciles have ended; raise it, or lower shutdownTimeout" $grace $v.shutdownTimeout) -}}
{{- end -}}
{{- if and $v.kubeAPI.burst (not $v.kubeAPI.qps) -}}
{{- $found = append $found "kubeAPI.burst counts with kubeAPI.qps alone: set both, or neither" -}}
{{- end -}}
{{- if and $v.serviceAccount.annotations (not $v.serviceAccount.create) -}}
{{- $found = append $found "serviceAccount.annotations are those of an account that the chart makes: they need serviceAccount.create; annotate an account of your own yourself" -}}
{{- end -}}
{{- if and $v.argocd.kinds (not $v.argocd.healthRule) -}}
{{- $found = append $found "argocd.kinds get a health rule: they need argocd.healthRule" -}}
{{- end -}}
{{- $budget := $v.podDisruptionBudget -}}
{{- $webhooks := ternary (int $v.trust.webhook.replicaCount) 0 $v.trust.webhook.enabled -}}
{{- if and $budget.enabled (gt (max (int $v.replicaCount) $webhooks) 1) (regexMatch "^0+%?$" (toString $budget.maxUnavailable)) -}}
{{- $found = append $found (printf "podDisruptionBudget.maxUnavailable is %v with podDisruptionBudget.enabled: no Pod of the manager or of its webhook could be evicted, so draining their nodes would hang; set maxUnavailable to 1 or more, or podDisruptionBudget.enabled to false" $budget.maxUnavailable) -}}
{{- end -}}
{{- if not $v.tracing.ratio -}}
{{- range $name := list "endpoint" "env" -}}
{{- if get $v.tracing $name -}}
{{- $found = append $found (printf "tracing.%s is set and tracing.ratio is 0: no reconcile would be traced; set ratio above 0, up to 1, or take %s out" $name $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $owners := include "orkestra.checks.flags" . | fromJson -}}
{{- range $v.extraArgs -}}
{{- $flag := regexReplaceAll "=.*$" (trimPrefix "--" .) "" -}}
{{- with get $owners $flag -}}
{{- $found = append $found (printf "extraArgs: --%s is what the chart makes of %s: set that instead" $flag .) -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- /* A quantity such as 100m or 1Gi as a number; empty: it is written in another way, and the API server judges it. */}}
{{- define "orkestra.quantity" -}}
{{- $units := dict "" 1.0 "n" 1e-9 "u" 1e-6 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 -}}
{{- $text := kindIs "string" . | ternary (toString .) (float64 . | printf "%.9f") -}}
{{- $number := regexFind "^[0-9.]+" $text -}}
{{- $unit := trimPrefix $number $text -}}
{{- if and $number (hasKey $units $unit) -}}
{{- mulf (float64 $number) (get $units $unit) | printf "%.9f" -}}
{{- end -}}
{{- end -}}

{{- define "orkestra.checks.resources" -}}
{{- $found := list -}}
{{- range $path, $resources := dict "resources" .Values.resources "trust.webhook.resources" .Values.trust.webhook.resources -}}
{{- $limits := get ($resources | default dict) "limits" | default dict -}}
{{- range $name, $request := get ($resources | default dict) "requests" | default dict -}}
{{- $limit := get $limits $name -}}
{{- $wanted := include "orkestra.quantity" $request -}}
{{- $most := include "orkestra.quantity" $limit -}}
{{- if and $wanted $most (gt (float64 $wanted) (float64 $most)) -}}
{{- $found = append $found (printf "%s.requests.%s is %v and %s.limits.%s %v: the API server refuses Pods that ask for more than their limit; raise the limit, or lower the request" $path $name $request $path $name $limit) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- /* The flags on which other objects of the chart rely, or that values set, and these values. Flags that may come more than once are not among
them, unless the chart makes something of each. */}}
{{- define "orkestra.checks.flags" -}}
{{- dict
  "leader-elect" "leaderElection.enabled"
  "metrics-bind-address" "metrics.enabled and metrics.port"
  "metrics-cert-dir" "metrics.certSecret"
  "metrics-secure" "metrics.secure"
  "web-bind-address" "web.enabled and web.port"
  "web-cert-dir" "web.certSecret"
  "health-probe-bind-address" "healthProbe.port"
  "require-policies" "trust.policies and trust.withoutPolicies"
  "egress-rules" "trust.egress"
  "shutdown-timeout" "shutdownTimeout"
  "max-concurrent-reconciles" "maxConcurrentReconciles"
  "log-level" "logLevel"
  "log-format" "logFormat"
  "kube-api-qps" "kubeAPI.qps"
  "kube-api-burst" "kubeAPI.burst"
  "box-namespaces" "trust.boxNamespaces"
  "require-service-account" "trust.requireServiceAccount"
  "web-mcp" "web.mcp.enabled"
  "web-mcp-allow-actions" "web.mcp.allowActions"
  "tracing-ratio" "tracing.ratio"
  "pprof-bind-address" "pprof.bindAddress"
  | toJson -}}
{{- end -}}

{{- define "orkestra.checks.trust" -}}
{{- $found := list -}}
{{- $v := .Values -}}
{{- $webhook := $v.trust.webhook -}}
{{- if and $v.trust.restorers (not $v.rbac.create) -}}
{{- $found = append $found "trust.restorers needs rbac.create: bind a role with the verb restore on operatorboxes/marks of orkestra.orkspace.io yourself" -}}
{{- end -}}
{{- if and $v.trust.admission (not $v.rbac.create) -}}
{{- $found = append $found "trust.admission gives the manager a role: it needs rbac.create; bind the rules that docs/how-to/admission.md lists yourself" -}}
{{- end -}}
{{- if and $v.trust.requireServiceAccount $v.rbac.create (ne $v.rbac.scope "accounts") -}}
{{- $found = append $found (printf "trust.requireServiceAccount has no box act as the manager, and rbac.scope %s gives the manager rights for boxes that do: set rbac.scope to accounts, or trust.requireServiceAccount to false" $v.rbac.scope) -}}
{{- end -}}
{{- $seen := dict -}}
{{- range $v.trust.boxNamespaces -}}
{{- if eq (get $seen .name) "once" -}}
{{- $found = append $found (printf "trust.boxNamespaces has %s more than once, and each entry makes a Role of the same name there: keep one entry, with the accounts of all" .name) -}}
{{- end -}}
{{- $_ := set $seen .name (ternary "again" "once" (hasKey $seen .name)) -}}
{{- end -}}
{{- if not $v.trust.policies -}}
{{- range $name := list "withoutPolicies" "managers" "controllers" "restorers" -}}
{{- if get $v.trust $name -}}
{{- $found = append $found (printf "trust.%s is about the policies: it needs trust.policies" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (not $v.trust.allowSkipCleanup) (or (not $v.trust.policies) (has "marks" $v.trust.withoutPolicies)) -}}
{{- $found = append $found "trust.allowSkipCleanup is false, which the policy marks sees to: it needs trust.policies, and a trust.withoutPolicies without marks; otherwise everybody may still leave onDelete out" -}}
{{- end -}}
{{- if and (eq $webhook.failurePolicy "Fail") (not $webhook.enabled) -}}
{{- $found = append $found "trust.webhook.failurePolicy is Fail and trust.webhook.enabled false: nothing would refuse a box that does not compile; set enabled to true, or take failurePolicy out" -}}
{{- end -}}
{{- if $webhook.enabled -}}
{{- if and (not $v.rbac.create) (not $webhook.serviceAccountName) -}}
{{- $found = append $found "trust.webhook.enabled without rbac.create needs trust.webhook.serviceAccountName: an account with the rights that docs/operations/webhook.md lists" -}}
{{- end -}}
{{- if and (eq $webhook.failurePolicy "Fail") (eq (int $webhook.replicaCount) 0) -}}
{{- $found = append $found "trust.webhook.failurePolicy is Fail and trust.webhook.replicaCount 0: nobody could write a box; raise replicaCount, or use Ignore" -}}
{{- end -}}
{{- if and (eq $webhook.certificate "self-signed") $webhook.issuerRef.name -}}
{{- $found = append $found "trust.webhook.issuerRef.name says who signs with cert-manager: set trust.webhook.certificate to cert-manager, or take the name out" -}}
{{- end -}}
{{- if and (eq $webhook.certificate "cert-manager") (eq $webhook.issuerRef.kind "ClusterIssuer") (not $webhook.issuerRef.name) -}}
{{- $found = append $found "trust.webhook.issuerRef.kind is ClusterIssuer: name it in trust.webhook.issuerRef.name; the one that the chart makes is an Issuer" -}}
{{- end -}}
{{- if has 9443 (list (int $v.healthProbe.port) (ternary (int $v.metrics.port) 0 $v.metrics.enabled)) -}}
{{- $found = append $found "trust.webhook.enabled: the webhook listens at port 9443; choose another for metrics.port and healthProbe.port" -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- define "orkestra.checks.metrics" -}}
{{- $found := list -}}
{{- $v := .Values -}}
{{- if not $v.metrics.enabled -}}
{{- range $name := list "serviceMonitor" "prometheusRule" "dashboards" -}}
{{- if (get $v.metrics $name).enabled -}}
{{- $found = append $found (printf "metrics.%s.enabled needs metrics.enabled" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $v.metrics.enabled $v.metrics.serviceMonitor.enabled $v.metrics.secure (not $v.metrics.certSecret) -}}
{{- $found = append $found "metrics.serviceMonitor.enabled needs metrics.certSecret, so that Prometheus can verify who it sends its token to" -}}
{{- end -}}
{{- if and (not $v.metrics.secure) (not (regexMatch "^(0|(127(\\.[0-9]+){3}|localhost|\\[::1\\]):[0-9]+)?$" $v.pprof.bindAddress)) -}}
{{- $found = append $found (printf "pprof.bindAddress is %s and metrics.secure false: everybody who reaches the Pod could read dumps of its memory; set metrics.secure to true, or a bindAddress of the Pod alone, such as 127.0.0.1:6060" $v.pprof.bindAddress) -}}
{{- end -}}
{{- if and $v.metrics.certSecret (not (and $v.metrics.enabled $v.metrics.secure)) -}}
{{- $found = append $found "metrics.certSecret is for metrics by https: it needs metrics.enabled and metrics.secure" -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- define "orkestra.checks.web" -}}
{{- $found := list -}}
{{- $web := .Values.web -}}
{{- if not $web.enabled -}}
{{- if $web.anonymous.user -}}
{{- $found = append $found "web.anonymous.user says as whom everybody counts on the page: it needs web.enabled" -}}
{{- end -}}
{{- if $web.proxy.caSecret -}}
{{- $found = append $found "web.proxy.caSecret says which proxies may say who asks for the page: it needs web.enabled" -}}
{{- end -}}
{{- if $web.oidc.issuer -}}
{{- $found = append $found "web.oidc.issuer says how people sign in to the page: it needs web.enabled" -}}
{{- end -}}
{{- if $web.mcp.enabled -}}
{{- $found = append $found "web.mcp.enabled lets language models ask where the page is served: it needs web.enabled" -}}
{{- end -}}
{{- if or $web.certSecret $web.hosts -}}
{{- $found = append $found "web.certSecret and web.hosts say how the page is served: they need web.enabled" -}}
{{- end -}}
{{- end -}}
{{- if and $web.proxy.names (not $web.proxy.caSecret) -}}
{{- $found = append $found "web.proxy.names are those of certificates: name in web.proxy.caSecret who signs them" -}}
{{- end -}}
{{- if $web.oidc.issuer -}}
{{- if not $web.oidc.clientID -}}
{{- $found = append $found "web.oidc.issuer needs web.oidc.clientID: by what the provider knows the page" -}}
{{- end -}}
{{- if not $web.oidc.secret -}}
{{- $found = append $found "web.oidc.issuer needs web.oidc.secret: a Secret with session-key, which seals sessions" -}}
{{- end -}}
{{- if not $web.hosts -}}
{{- $found = append $found "web.oidc.issuer needs web.hosts: the provider sends people back to https://HOST/auth/callback" -}}
{{- end -}}
{{- else if or $web.oidc.clientID $web.oidc.secret $web.oidc.caSecret $web.oidc.publicClient -}}
{{- $found = append $found "web.oidc says how people sign in: name the provider in web.oidc.issuer" -}}
{{- end -}}
{{- $life := include "orkestra.seconds" $web.oidc.sessionLife | float64 -}}
{{- if or (lt $life 60.0) (gt $life 86400.0) -}}
{{- $found = append $found (printf "web.oidc.sessionLife is %s: it may be from 1m to 24h" $web.oidc.sessionLife) -}}
{{- end -}}
{{- if and $web.oidc.groupsPrefix (not $web.oidc.groupsClaim) -}}
{{- $found = append $found "web.oidc.groupsPrefix is put before groups: name in web.oidc.groupsClaim where they are" -}}
{{- end -}}
{{- if and $web.mcp.allowActions (not $web.mcp.enabled) -}}
{{- $found = append $found "web.mcp.allowActions says what language models may do: it needs web.mcp.enabled" -}}
{{- end -}}
{{- if and $web.anonymous.groups (not $web.anonymous.user) -}}
{{- $found = append $found "web.anonymous.groups are those of web.anonymous.user: name the user" -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- define "orkestra.checks.network" -}}
{{- $found := list -}}
{{- $v := .Values -}}
{{- $taken := dict -}}
{{- range $name, $port := dict "metrics.port" (ternary $v.metrics.port 0 $v.metrics.enabled) "web.port" (ternary $v.web.port 0 $v.web.enabled) "healthProbe.port" $v.healthProbe.port "pprof.bindAddress" (regexFind "[0-9]*$" $v.pprof.bindAddress | int) -}}
{{- $key := int $port | toString -}}
{{- if and (ne $key "0") (hasKey $taken $key) -}}
{{- $found = append $found (printf "%s and %s are both %s: one process can't listen twice at a port; choose another for one of them" (get $taken $key) $name $key) -}}
{{- end -}}
{{- $_ := set $taken $key $name -}}
{{- end -}}
{{- $policy := $v.networkPolicy -}}
{{- range $name := list "metricsFrom" "webFrom" -}}
{{- if and (get $policy $name) (not $policy.enabled) -}}
{{- $found = append $found (printf "networkPolicy.%s lists who gets in: it needs networkPolicy.enabled; without it everybody does" $name) -}}
{{- end -}}
{{- end -}}
{{- if and $policy.egress.enabled (not $policy.enabled) -}}
{{- $found = append $found "networkPolicy.egress.enabled is part of the NetworkPolicy: it needs networkPolicy.enabled" -}}
{{- end -}}
{{- range $name := list "apiServer" "dns" "rules" -}}
{{- if and (get $policy.egress $name) (not $policy.egress.enabled) -}}
{{- $found = append $found (printf "networkPolicy.egress.%s lists what the manager reaches: it needs networkPolicy.egress.enabled; without it the manager reaches everything" $name) -}}
{{- end -}}
{{- end -}}
{{- if and $policy.metricsFrom (not $v.metrics.enabled) -}}
{{- $found = append $found "networkPolicy.metricsFrom lists who reads metrics: it needs metrics.enabled" -}}
{{- end -}}
{{- if and $policy.webFrom (not $v.web.enabled) -}}
{{- $found = append $found "networkPolicy.webFrom lists who reaches the page: it needs web.enabled" -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}
