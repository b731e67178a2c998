package manifests_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestChartRefuses(t *testing.T) {
	cases := map[string]struct {
		values []string
		want   string
	}{
		"an unknown value":            {[]string{"replicas=2"}, "'replicas' not allowed"},
		"an unknown value below":      {[]string{"metrics.prot=1"}, "'prot' not allowed"},
		"a string for a number":       {[]string{`replicaCount="two"`}, "got string, want integer"},
		"a fraction":                  {[]string{"replicaCount=1.5"}, "/replicaCount"},
		"a number for a string":       {[]string{"image.tag=1.10"}, "got number, want string"},
		"a string for a bool":         {[]string{`crds.install="yes"`}, "got string, want boolean"},
		"a list for a map":            {[]string{"nodeSelector=[]"}, "got array, want object"},
		"a level that is none":        {[]string{`logLevel="warn"`}, "/logLevel"},
		"a scope that is none":        {[]string{`rbac.scope="all"`}, "/rbac/scope"},
		"a duration without a unit":   {[]string{`shutdownTimeout="30"`}, "/shutdownTimeout"},
		"a port that is none":         {[]string{"metrics.port=70000"}, "/metrics/port"},
		"providers by name":           {[]string{`image.providers="aws"`}, "got string, want boolean"},
		"a digest that is none":       {[]string{`image.digest="latest"`}, "/image/digest"},
		"an argument, not a flag":     {[]string{`extraArgs=["drain"]`}, "/extraArgs/0"},
		"no account":                  {[]string{"serviceAccount.create=false"}, "serviceAccount.name is needed"},
		"an unknown resource field":   {[]string{"resources.request={}"}, "'request' not allowed"},
		"an unknown kind of peer":     {[]string{`networkPolicy.metricsFrom=[{"pods": {}}]`}, "'pods' not allowed"},
		"an unknown toleration":       {[]string{`tolerations=[{"kee": "a"}]`}, "'kee' not allowed"},
		"an unknown kind of budget":   {[]string{`podDisruptionBudget.maxUnavailable="half"`}, "/podDisruptionBudget/maxUnavailable"},
		"a name that cannot be one":   {[]string{`fullnameOverride="A_B"`}, "/fullnameOverride"},
		"a kind without its group":    {[]string{`argocd.kinds=["Website"]`}, "/argocd/kinds/0"},
		"a certificate of nobody":     {[]string{`trust.webhook.certificate="none"`}, "/trust/webhook/certificate"},
		"a policy that is none":       {[]string{`trust.withoutPolicies=["box"]`}, "/trust/withoutPolicies/0"},
		"more than all traces":        {[]string{"tracing.ratio=1.5"}, "/tracing/ratio"},
		"a collector without http":    {[]string{`tracing.endpoint="collector:4317"`}, "/tracing/endpoint"},
		"another variable":            {[]string{`tracing.env=[{"name": "GOMEMLIMIT", "value": "1"}]`}, "/tracing/env/0/name"},
		"a name with a port":          {[]string{`web.hosts=["a.example.com:443"]`}, "/web/hosts/0"},
		"a header that is none":       {[]string{`web.proxy.userHeader="X User"`}, "/web/proxy/userHeader"},
		"a sign-in in plain text":     {[]string{`web.oidc.issuer="http://a"`}, "/web/oidc/issuer"},
		"a sign-in for a while":       {[]string{`web.oidc.sessionLife="long"`}, "/web/oidc/sessionLife"},
		"no port of the API server":   {[]string{"networkPolicy.egress.apiServerPorts=[]"}, "/networkPolicy/egress/apiServerPorts"},
		"more than all that is lent":  {[]string{"priorityAndFairness.lendablePercent=101"}, "/priorityAndFairness/lendablePercent"},
		"an unknown term":             {[]string{`affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution=[{"topologyKey": "a", "labels": {}}]`}, "'labels' not allowed"},
		"an affinity that is unknown": {[]string{"affinity.cloudAffinity={}"}, "'cloudAffinity' not allowed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := helmTemplate(t, c.values...)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

// TestChartSaysAllContradictions: who has several need not find them one after the other. Values that go together are refused by none of the checks.
func TestChartSaysAllContradictions(t *testing.T) {
	g := NewWithT(t)
	_, err := helmTemplate(t, "replicaCount=2", "leaderElection.enabled=false", "metrics.enabled=false", "metrics.dashboards.enabled=true", "web.enabled=false", "web.mcp.enabled=true")
	g.Expect(err).To(MatchError(And(
		ContainSubstring("\n- replicaCount above 1 needs leaderElection.enabled: without a lease all replicas would reconcile\n- metrics.dashboards.enabled needs metrics.enabled\n"),
		ContainSubstring("\n- web.mcp.enabled lets language models ask"),
	)))
	helm(t, `shutdownTimeout="34.9s"`)
	helm(t, `shutdownTimeout="1m30s"`, "terminationGracePeriodSeconds=101", `web.oidc.sessionLife="24h"`)
	helm(t, "metrics.enabled=false", "metrics.port=8081")
}

// open are the values that hold free objects: the keys are a person's, or Kubernetes' own schema is too large to repeat.
var open = []string{
	"/global", "/nodeSelector", "/podAnnotations", "/podLabels", "/serviceAccount/annotations", "/metrics/serviceMonitor/labels", "/metrics/prometheusRule/labels",
	"/metrics/dashboards/labels", "/metrics/dashboards/annotations",
	"/trust/egress/allow/boxes", "/trust/egress/allow/accounts", "/trust/egress/only/boxes", "/trust/egress/only/accounts",
	"/resources/requests", "/resources/limits", "/trust/webhook/resources/requests", "/trust/webhook/resources/limits",
}

func TestChartSchemaIsClosed(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(chart + "/values.schema.json")
	g.Expect(err).NotTo(HaveOccurred())
	var schema map[string]any
	g.Expect(json.Unmarshal(content, &schema)).To(Succeed())
	g.Expect(schema["$schema"]).To(Equal("http://json-schema.org/draft-07/schema#"))
	definitions := schema["definitions"].(map[string]any)
	walkSchema(g, definitions, schema, "")
	// Each value is explained in values.yaml, and each one there is in the schema.
	want := valuePaths(readYAML(t, chart+"/values.yaml"), schema, "")
	g.Expect(schemaPaths(schema, "")).To(ConsistOf(append(want, "/global")))
}

func walkSchema(g *WithT, definitions, schema map[string]any, path string) {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/definitions/")
		g.Expect(definitions).To(HaveKey(name), path)
		schema = definitions[name].(map[string]any)
	}
	if schema["type"] == "object" && !slices.Contains(open, path) && !strings.HasSuffix(path, "/matchLabels") {
		g.Expect(schema["additionalProperties"]).To(BeFalse(), "%s is open", path)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		walkSchema(g, definitions, items, path+"/items")
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		walkSchema(g, definitions, property.(map[string]any), path+"/"+name)
	}
}

// schemaPaths are the leaves of a schema; what is inside a list, or inside an object that values.yaml leaves empty, is a leaf.
func schemaPaths(schema map[string]any, path string) []string {
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) == 0 {
		return []string{path}
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		paths = append(paths, schemaPaths(properties[name].(map[string]any), path+"/"+name)...)
	}
	return paths
}

// valuePaths are the leaves of values.yaml: where the schema has no further properties, a map is one.
func valuePaths(values any, schema map[string]any, path string) []string {
	object, isObject := values.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	if !isObject || len(properties) == 0 {
		return []string{path}
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		property, _ := properties[name].(map[string]any)
		paths = append(paths, valuePaths(object[name], property, path+"/"+name)...)
	}
	return paths
}
