package manifests_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

var standardLabels = []string{
	"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by",
	"app.kubernetes.io/part-of", "app.kubernetes.io/component", "helm.sh/chart",
}

func TestChartObjects(t *testing.T) {
	base := []string{
		"ClusterRole/orkestra-aggregate", "ClusterRole/orkestra-manager",
		"ClusterRoleBinding/orkestra-aggregate", "ClusterRoleBinding/orkestra-manager",
		"ClusterRole/orkestra-rights", "ClusterRoleBinding/orkestra-rights",
		"ClusterRole/orkestra-impersonation", "ClusterRoleBinding/orkestra-impersonation", "Role/orkestra-accounts", "RoleBinding/orkestra-accounts",
		"Role/orkestra-snapshots", "RoleBinding/orkestra-snapshots",
		"Deployment/orkestra", "FlowSchema/orkestra-leader-election", "Role/orkestra-leader-election", "RoleBinding/orkestra-leader-election", "ServiceAccount/orkestra",
	}
	crds := []string{
		"CustomResourceDefinition/crdhealths.orkestra.orkspace.io", "CustomResourceDefinition/operatorboxes.orkestra.orkspace.io",
	}
	metrics := []string{
		"ClusterRole/orkestra-metrics-auth", "ClusterRole/orkestra-metrics-reader", "ClusterRoleBinding/orkestra-metrics-auth",
		"Service/orkestra-metrics",
	}
	page := []string{"ClusterRole/orkestra-web-auth", "ClusterRoleBinding/orkestra-web-auth", "Service/orkestra-web"}
	people := []string{"ClusterRole/orkestra-editor", "ClusterRole/orkestra-manager-identity", "ClusterRole/orkestra-restorer", "ClusterRole/orkestra-viewer"}
	for _, policy := range policyNames {
		base = append(base, policyKind+"/orkestra-"+policy, bindingKind+"/orkestra-"+policy)
	}
	cases := map[string]struct {
		values []string
		want   []string
	}{
		"default": {want: slices.Concat(base, crds, metrics, people, page)},
		"everything": {values: everything, want: slices.Concat(base, crds, metrics, people, page, []string{
			"ClusterRole/orkestra-trial", "ClusterRoleBinding/orkestra-trial", "ConfigMap/orkestra-argocd-health", "ConfigMap/orkestra-dashboards", "NetworkPolicy/orkestra", "PodDisruptionBudget/orkestra",
			"PrometheusRule/orkestra", "ServiceMonitor/orkestra",
		})},
		"as little as possible": {
			values: []string{
				"crds.install=false", "metrics.enabled=false", "web.enabled=false", "rbac.create=false", "serviceAccount.create=false",
				`serviceAccount.name="mine"`, "leaderElection.flowSchema=false", "trust.policies=false",
			},
			want: []string{"Deployment/orkestra"},
		},
		"rights that are not watched": {
			values: []string{"rbac.watchRights=false"},
			want:   slices.DeleteFunc(slices.Concat(base, crds, metrics, people, page), func(name string) bool { return strings.HasSuffix(name, "/orkestra-rights") }),
		},
		"no roles for people":          {values: []string{"rbac.userRoles=false"}, want: slices.Concat(base, crds, metrics, page)},
		"metrics without an account":   {values: []string{"metrics.secure=false"}, want: slices.Concat(base, crds, people, page, metrics[3:])},
		"profiles without metrics":     {values: []string{"metrics.enabled=false", `pprof.bindAddress=":6060"`}, want: slices.Concat(base, crds, people, page, metrics[:3])},
		"a level of priority":          {values: []string{"priorityAndFairness.enabled=true"}, want: slices.Concat(base, crds, metrics, people, page, []string{"FlowSchema/orkestra", "PriorityLevelConfiguration/orkestra"})},
		"no page":                      {values: []string{"web.enabled=false"}, want: slices.Concat(base, crds, metrics, people)},
		"replicas without a budget":    {values: []string{"replicaCount=3", "podDisruptionBudget.enabled=false"}, want: slices.Concat(base, crds, metrics, people, page)},
		"a budget needs more than one": {values: []string{"podDisruptionBudget.enabled=true"}, want: slices.Concat(base, crds, metrics, people, page)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			rendered := helm(t, c.values...)
			g.Expect(rendered.names()).To(ConsistOf(c.want))
			for _, object := range rendered {
				for _, label := range standardLabels {
					g.Expect(object.GetLabels()).To(HaveKey(label), "%s/%s", object.GetKind(), object.GetName())
				}
				if isNamespaced(object) {
					g.Expect(object.GetNamespace()).To(Equal(namespace), "%s/%s", object.GetKind(), object.GetName())
				}
			}
		})
	}
}

func isNamespaced(object *unstructured.Unstructured) bool {
	everywhere := []string{"CustomResourceDefinition", "FlowSchema", "PriorityLevelConfiguration", policyKind, bindingKind}
	return !strings.HasPrefix(object.GetKind(), "Cluster") && !slices.Contains(everywhere, object.GetKind())
}

func TestChartSelectors(t *testing.T) {
	g := NewWithT(t)
	// A label of a person must not break the selectors.
	rendered := helm(t, append(everything, `podLabels={"app.kubernetes.io/name": "mine", "team": "a"}`)...)
	deployment := only[appsv1.Deployment](t, rendered, "Deployment")
	pod := deployment.Spec.Template.Labels
	g.Expect(pod).To(HaveKeyWithValue("team", "a"))
	selectors := map[string]metav1.LabelSelector{
		"Deployment":          *deployment.Spec.Selector,
		"Service":             {MatchLabels: service(t, rendered, "orkestra-metrics").Spec.Selector},
		"Service of the page": {MatchLabels: service(t, rendered, "orkestra-web").Spec.Selector},
		"PodDisruptionBudget": *only[policyv1.PodDisruptionBudget](t, rendered, "PodDisruptionBudget").Spec.Selector,
		"NetworkPolicy":       only[networkingv1.NetworkPolicy](t, rendered, "NetworkPolicy").Spec.PodSelector,
	}
	for kind, selector := range selectors {
		g.Expect(matches(t, selector, pod)).To(BeTrue(), "%s: %v", kind, selector)
		g.Expect(selector.MatchLabels).To(HaveKeyWithValue("app.kubernetes.io/instance", "orkestra"), "%s selects other releases", kind)
	}
	monitor := rendered.ofKind("ServiceMonitor")[0].Object
	selector, _, err := unstructured.NestedStringMap(monitor, "spec", "selector", "matchLabels")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(matches(t, metav1.LabelSelector{MatchLabels: selector}, rendered.ofKind("Service")[0].GetLabels())).To(BeTrue())
}

func matches(t *testing.T, selector metav1.LabelSelector, set map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		t.Fatal(err)
	}
	return !s.Empty() && s.Matches(labels.Set(set))
}

// flag returns the value of a flag of the manager in the rendered Deployment, and whether it is there.
func flag(t *testing.T, rendered objects, name string) (string, bool) {
	t.Helper()
	for _, arg := range only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template.Spec.Containers[0].Args {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value, true
		}
	}
	return "", false
}

func TestChartValuesReachTheManager(t *testing.T) {
	cases := map[string]struct {
		value, flag, want string
	}{
		"leader election":       {`leaderElection.enabled=false`, "leader-elect", "false"},
		"log level":             {`logLevel="debug"`, "log-level", "debug"},
		"log format":            {`logFormat="text"`, "log-format", "text"},
		"reconciles":            {`maxConcurrentReconciles=7`, "max-concurrent-reconciles", "7"},
		"many reconciles":       {`maxConcurrentReconciles=2000000`, "max-concurrent-reconciles", "2000000"},
		"requests":              {`kubeAPI.qps=5`, "kube-api-qps", "5"},
		"burst":                 {`kubeAPI={"qps": 5, "burst": 6}`, "kube-api-burst", "6"},
		"shutdown":              {`shutdownTimeout="20s"`, "shutdown-timeout", "20s"},
		"port of metrics":       {`metrics.port=9000`, "metrics-bind-address", ":9000"},
		"no metrics":            {`metrics.enabled=false`, "metrics-bind-address", "0"},
		"metrics certificate":   {`metrics.certSecret="x"`, "metrics-cert-dir", "/etc/orkestra/metrics"},
		"metrics over http":     {`metrics.secure=false`, "metrics-secure", "false"},
		"port of the probes":    {`healthProbe.port=9001`, "health-probe-bind-address", ":9001"},
		"pprof":                 {`pprof.bindAddress="127.0.0.1:6060"`, "pprof-bind-address", "127.0.0.1:6060"},
		"port of the page":      {`web={"enabled": true, "port": 9000}`, "web-bind-address", ":9000"},
		"page's certificate":    {`web={"enabled": true, "certSecret": "x"}`, "web-cert-dir", "/etc/orkestra/web"},
		"name of the page":      {`web={"enabled": true, "hosts": ["a.example.com"]}`, "web-hosts", "a.example.com"},
		"proxies":               {`web={"enabled": true, "proxy": {"caSecret": "x"}}`, "web-proxy-ca-file", "/etc/orkestra/web-proxy/ca.crt"},
		"names of proxies":      {`web={"enabled": true, "proxy": {"caSecret": "x", "names": ["a b"]}}`, "web-proxy-names", "a b"},
		"header of the user":    {`web={"enabled": true, "proxy": {"caSecret": "x", "userHeader": "X-U"}}`, "web-proxy-user-header", "X-U"},
		"header of groups":      {`web={"enabled": true, "proxy": {"caSecret": "x", "groupHeader": "X-G"}}`, "web-proxy-group-header", "X-G"},
		"issuer of the sign-in": {`web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s"}}`, "web-oidc-issuer-url", "https://a"},
		"client of the sign-in": {`web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s"}}`, "web-oidc-client-id", "c"},
		"key of sessions":       {`web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s"}}`, "web-session-key-file", "/etc/orkestra/web-oidc/session-key"},
		"life of sessions":      {`web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s", "sessionLife": "1h30m"}}`, "web-session-life", "1h30m"},
		"secret of the client":  {`web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s"}}`, "web-oidc-client-secret-file", "/etc/orkestra/web-oidc/client-secret"},
		"CA of the sign-in":     {`web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s", "caSecret": "x"}}`, "web-oidc-ca-file", "/etc/orkestra/web-oidc-ca/ca.crt"},
		"scopes":                {`web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s", "scopes": ["groups", "email"]}}`, "web-oidc-scopes", "groups,email"},
		"claim of the name":     {`web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s", "usernameClaim": "email"}}`, "web-oidc-username-claim", "email"},
		"prefix of the name":    {`web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s", "usernamePrefix": "-"}}`, "web-oidc-username-prefix", "-"},
		"claim of groups":       {`web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s", "groupsClaim": "g"}}`, "web-oidc-groups-claim", "g"},
		"prefix of groups":      {`web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s", "groupsClaim": "g", "groupsPrefix": "x:"}}`, "web-oidc-groups-prefix", "x:"},
		"everybody":             {`web={"enabled": true, "anonymous": {"user": "visitor"}}`, "web-anonymous-user", "visitor"},
		"groups of everybody":   {`web={"enabled": true, "anonymous": {"user": "visitor", "groups": ["a"]}}`, "web-anonymous-groups", "a"},
		"language models":       {`web={"enabled": true, "mcp": {"enabled": true}}`, "web-mcp", "true"},
		"models that act":       {`web={"enabled": true, "mcp": {"enabled": true, "allowActions": true}}`, "web-mcp-allow-actions", "true"},
		"tracing":               {`tracing.ratio=0.25`, "tracing-ratio", "0.25"},
		"all is traced":         {`tracing.ratio=1`, "tracing-ratio", "1"},
		"allowed hosts":         {`external.allow=["10.0.0.0/8"]`, "external-allow", "10.0.0.0/8"},
		"only hosts":            {`external.only=["example.com"]`, "external-only", "example.com"},
		"webhooks":              {`webhookServices=["team-a/subnets"]`, "webhook-services", "team-a/subnets"},
		"hosts of an account":   {`trust.egress.allow.accounts={"a/b": ["10.0.0.0/8"]}`, "egress-rules", "/etc/orkestra/egress/rules.yaml"},
		"another flag":          {`extraArgs=["--context=other"]`, "context", "other"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, ok := flag(t, helm(t, c.value), c.flag)
			g.Expect(ok).To(BeTrue())
			g.Expect(got).To(Equal(c.want))
		})
	}
	t.Run("policies", func(t *testing.T) {
		g := NewWithT(t)
		for _, rendered := range []objects{helm(t), kustomize(t, "default")} {
			got, _ := flag(t, rendered, "require-policies")
			g.Expect(strings.Split(got, ",")).To(Equal(policyNames))
		}
		got, _ := flag(t, helm(t, `trust.withoutPolicies=["marks"]`), "require-policies")
		g.Expect(got).To(Equal("box-account,box-annotations,box-crd,box-shape,grants,health-crd,leases,revisions,statuses,templates"))
		_, ok := flag(t, helm(t, "trust.policies=false"), "require-policies")
		g.Expect(ok).To(BeFalse())
	})
	for _, name := range []string{"egress-rules", "pprof-bind-address", "tracing-ratio", "kube-api-qps", "kube-api-burst", "web-cert-dir", "web-anonymous-user", "web-hosts", "web-proxy-ca-file", "web-proxy-user-header", "web-oidc-issuer-url", "web-oidc-scopes", "web-session-key-file", "web-session-life", "web-mcp", "web-mcp-allow-actions"} {
		t.Run("no "+name, func(t *testing.T) {
			_, ok := flag(t, helm(t), name)
			NewWithT(t).Expect(ok).To(BeFalse())
		})
	}
}

func TestChartFlagsExist(t *testing.T) {
	g := NewWithT(t)
	help, err := run(t, "orkestra", "manager", "--help")
	g.Expect(err).NotTo(HaveOccurred())
	rendered := helm(t, `web={"enabled": true, "certSecret": "x", "hosts": ["a"], "proxy": {"caSecret": "x", "names": ["a"]}, "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s", "caSecret": "x", "usernamePrefix": "-", "groupsClaim": "g", "groupsPrefix": "x:"}, "mcp": {"enabled": true, "allowActions": true}, "anonymous": {"user": "a", "groups": ["b"]}}`, `pprof.bindAddress=":1"`, `tracing.ratio=0.1`, `external.allow=["10.0.0.0/8"]`, `external.only=["example.com"]`, `trust.egress.only.boxes={"shop": ["example.com"]}`)
	for _, arg := range only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template.Spec.Containers[0].Args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		g.Expect(string(help)).To(MatchRegexp(`(?m)^\s+`+name+`\b`), "orkestra manager has no such flag")
		g.Expect(value).NotTo(BeEmpty(), arg)
	}
}

// Prometheus sends its token to what it scrapes, so it must know that this is the manager.
func TestMonitorVerifiesTheCertificate(t *testing.T) {
	for name, rendered := range map[string]objects{"chart": helm(t, everything...), "kustomize": kustomize(t, "prometheus")} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			endpoints, _, err := unstructured.NestedSlice(rendered.ofKind("ServiceMonitor")[0].Object, "spec", "endpoints")
			g.Expect(err).NotTo(HaveOccurred())
			pod := only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template.Spec
			g.Expect(pod.Volumes).To(HaveLen(1))
			g.Expect(endpoints).To(HaveEach(HaveKeyWithValue("tlsConfig", Equal(map[string]any{
				"serverName": "orkestra-metrics.orkestra-system.svc",
				"ca":         map[string]any{"secret": map[string]any{"name": pod.Volumes[0].Secret.SecretName, "key": "ca.crt"}},
			}))))
			g.Expect(pod.Containers[0].VolumeMounts[0].Name).To(Equal(pod.Volumes[0].Name))
			dir, _ := flag(t, rendered, "metrics-cert-dir")
			g.Expect(dir).To(Equal(pod.Containers[0].VolumeMounts[0].MountPath))
		})
	}
}

func TestChartImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	cases := map[string]struct {
		values []string
		want   string
	}{
		"default":           {want: "ghcr.io/orkspace/orkestra:" + appVersion(t)},
		"tag":               {values: []string{`image.tag="v9"`}, want: "ghcr.io/orkspace/orkestra:v9"},
		"digest over tag":   {values: []string{`image.tag="v9"`, `image.digest="` + digest + `"`}, want: "ghcr.io/orkspace/orkestra@" + digest},
		"another place":     {values: []string{`image.repository="example.com/o"`, `image.tag="v9"`}, want: "example.com/o:v9"},
		"a number as a tag": {values: []string{`image.tag="1.10"`}, want: "ghcr.io/orkspace/orkestra:1.10"},
		"with providers":    {values: []string{"image.providers=true"}, want: "ghcr.io/orkspace/orkestra-providers:" + appVersion(t)},
		"its digest":        {values: []string{"image.providers=true", `image.digest="` + digest + `"`}, want: "ghcr.io/orkspace/orkestra-providers@" + digest},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			deployment := only[appsv1.Deployment](t, helm(t, c.values...), "Deployment")
			NewWithT(t).Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(Equal(c.want))
		})
	}
}

// Go's runtime does not read the container's limit: the chart hands it nine tenths of that, and the rest is for what Go does not count.
func TestMemoryLimit(t *testing.T) {
	for limit, want := range map[string]string{
		`"1Gi"`: "966367641", `"1.5Gi"`: "1449551462", `"512Mi"`: "483183820", `"1G"`: "900000000", "1000000000": "900000000", `"2000000k"`: "1800000000",
	} {
		deployment := only[appsv1.Deployment](t, helm(t, "resources.limits.memory="+limit), "Deployment")
		NewWithT(t).Expect(deployment.Spec.Template.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "GOMEMLIMIT", Value: want}), limit)
	}
	none := only[appsv1.Deployment](t, helm(t, "resources.limits=null"), "Deployment")
	NewWithT(t).Expect(none.Spec.Template.Spec.Containers[0].Env).NotTo(ContainElement(HaveField("Name", "GOMEMLIMIT")))
}

// TestTraces: where they go is said where there are some; the suites see it refused where there are none. A credential may come from a Secret.
func TestTraces(t *testing.T) {
	g := NewWithT(t)
	environment := func(values ...string) (of []corev1.EnvVar) {
		for _, v := range only[appsv1.Deployment](t, helm(t, values...), "Deployment").Spec.Template.Spec.Containers[0].Env {
			if strings.HasPrefix(v.Name, "OTEL_") {
				of = append(of, v)
			}
		}
		return of
	}
	to := []string{
		`tracing.endpoint="http://collector:4318"`,
		`tracing.env=[{"name": "OTEL_EXPORTER_OTLP_HEADERS", "valueFrom": {"secretKeyRef": {"name": "collector", "key": "headers"}}}]`,
	}
	g.Expect(environment()).To(BeEmpty())
	g.Expect(environment(append(to, "tracing.ratio=1")...)).To(Equal([]corev1.EnvVar{
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Value: "http://collector:4318"},
		{Name: "OTEL_EXPORTER_OTLP_HEADERS", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "collector"}, Key: "headers"}}},
	}))
}

func appVersion(t *testing.T) string {
	t.Helper()
	return readYAML(t, chart+"/Chart.yaml")["appVersion"].(string)
}

func readYAML(t *testing.T, path string) map[string]any {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var found map[string]any
	if err := yaml.Unmarshal(content, &found); err != nil {
		t.Fatalf("reading %q: %v", path, err)
	}
	return found
}

func TestChartLints(t *testing.T) {
	if _, err := run(t, "helm", "lint", "--strict", chart); err != nil {
		t.Error(err)
	}
}

func TestChartNames(t *testing.T) {
	cases := map[string]struct {
		values []string
		want   string
	}{
		"override":      {[]string{`fullnameOverride="mine"`}, "mine"},
		"another word":  {[]string{`nameOverride="boxes"`}, "orkestra-boxes"},
		"cut at 40":     {[]string{`fullnameOverride="` + strings.Repeat("a", 60) + `"`}, strings.Repeat("a", 40)},
		"no dash at 40": {[]string{`fullnameOverride="` + strings.Repeat("a", 39) + `-b"`}, strings.Repeat("a", 39)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			rendered := helm(t, append(everything, c.values...)...)
			for _, object := range rendered {
				if object.GetKind() == "CustomResourceDefinition" {
					continue
				}
				g.Expect(object.GetName()).To(Or(Equal(c.want), HavePrefix(c.want+"-")))
				g.Expect(len(object.GetName())).To(BeNumerically("<=", 63))
			}
			expectBound(t, rendered)
		})
	}
}
