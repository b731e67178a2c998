package shape

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/suggest"
)

// The API server checks more than the types of fields, and would say so only when the first child is made. So values that a box writes
// without a template are checked here. The values of enumerations are generated from Kubernetes' constants (zz_generated.enums.go). Limits
// of numbers and forms of names are not in its Go modules, so the tables below hold those that people run into. What a template yields
// is left to the API server.

// rule says why the API server refuses a value of a field; empty: it does not, or only it knows.
type rule func(v any) string

// The rules for numbers.
var (
	port        = portFrom(1)
	portOrNone  = portFrom(0)
	notNegative = within(0, math.MaxInt64, "want a number that is not negative")
	positive    = within(1, math.MaxInt64, "want a number from 1")
	fileMode    = within(0, 0o777, "want a number from 0 to 511, which is 0777")
)

// numberRules are for fields that are an integer, or an integer or a string, by the field's name: these names mean the same in every kind.
var numberRules = map[string]rule{
	"containerPort": port, "endPort": port, "port": port, "servicePort": port,
	"healthCheckNodePort": portOrNone, "hostPort": portOrNone, "nodePort": portOrNone, "number": portOrNone, "targetPort": portOrNone, //nolint:goconst // the name of a field, and not the name of a type

	"averageUtilization": positive, "cpu": positive, "maxReplicas": positive, "maxSkew": positive, "memory": positive, "minDomains": positive,

	"activeDeadlineSeconds": notNegative, "backoffLimit": notNegative, "backoffLimitPerIndex": notNegative, "completions": notNegative,
	"failedJobsHistoryLimit": notNegative, "failureThreshold": notNegative, "fsGroup": notNegative, "initialDelaySeconds": notNegative,
	"maxFailedIndexes": notNegative, "minReadySeconds": notNegative, "minReplicas": notNegative, "parallelism": notNegative,
	"partition": notNegative, "periodSeconds": notNegative, "progressDeadlineSeconds": notNegative, "replicas": notNegative,
	"revisionHistoryLimit": notNegative, "runAsGroup": notNegative, "runAsUser": notNegative, "stabilizationWindowSeconds": notNegative,
	"startingDeadlineSeconds": notNegative, "successThreshold": notNegative, "successfulJobsHistoryLimit": notNegative,
	"timeoutSeconds": notNegative, "ttlSecondsAfterFinished": notNegative,

	"maxSurge": amount, "maxUnavailable": amount, "minAvailable": amount,
	"defaultMode": fileMode,
	"weight":      within(1, 100, "want a number from 1 to 100"),
}

// fieldOf is a field of a Go type, by its name in JSON.
type fieldOf struct {
	in   reflect.Type
	name string
}

// fieldRules are for fields whose names mean something else in other types.
var fieldRules = map[fieldOf]rule{
	{reflect.TypeFor[batchv1.CronJobSpec](), "schedule"}:          ofText(badSchedule),
	{reflect.TypeFor[v1alpha1.CronJobFields](), "schedule"}:       ofText(badSchedule),
	{reflect.TypeFor[corev1.Container](), "name"}:                 ofText(first(validation.IsDNS1123Label)),
	{reflect.TypeFor[corev1.ContainerPort](), "name"}:             ofText(first(validation.IsValidPortName)),
	{reflect.TypeFor[corev1.DownwardAPIVolumeFile](), "mode"}:     fileMode,
	{reflect.TypeFor[corev1.EnvVar](), "name"}:                    ofText(first(validation.IsRelaxedEnvVarName)),
	{reflect.TypeFor[corev1.KeyToPath](), "mode"}:                 fileMode,
	{reflect.TypeFor[corev1.PodSpec](), "serviceAccountName"}:     ofText(first(validation.IsDNS1123Subdomain)),
	{reflect.TypeFor[v1alpha1.PodFields](), "serviceAccountName"}: ofText(first(validation.IsDNS1123Subdomain)),
	{reflect.TypeFor[v1alpha1.RunFields](), "serviceAccountName"}: ofText(first(validation.IsDNS1123Subdomain)),
	{reflect.TypeFor[corev1.ServicePort](), "name"}:               ofText(first(validation.IsDNS1123Label)),
	{reflect.TypeFor[corev1.Volume](), "name"}:                    ofText(first(validation.IsDNS1123Label)),
	{reflect.TypeFor[networkingv1.HTTPIngressPath](), "path"}:     ofText(urlPath),
	{reflect.TypeFor[v1alpha1.IngressFields](), "path"}:           ofText(urlPath),
	{reflect.TypeFor[networkingv1.IngressRule](), "host"}:         ofText(hostName),
	{reflect.TypeFor[v1alpha1.IngressFields](), "host"}:           ofText(hostName),
}

// ruleOf gives the rule of a field; nil where there is none.
func ruleOf(name string, m *Member) rule {
	if r := fieldRules[fieldOf{m.In, name}]; r != nil {
		return r
	}
	if m.Shape.Form == FormInteger || m.Shape.Form == FormIntOrString {
		return numberRules[name]
	}
	return nil
}

// constant reports a value that the API server refuses, where it is written without a template. written is the value as it stands in the
// box, v what conversion made of it.
func (w *walker) constant(name string, m *Member, written, v any) {
	if text, ok := written.(string); v == nil || w.templated == nil || ok && w.templated(text) != Literal {
		return
	}
	if r := ruleOf(name, m); r != nil {
		if why := r(v); why != "" {
			w.fail(&FieldError{Got: why, Value: Excerpt(v)})
		}
	}
}

// choice reports a text that is none of the values of its enumeration.
func (w *walker) choice(s *Shape, v any) {
	text, ok := v.(string)
	if !ok || text == "" || w.templated == nil || len(s.Values) == 0 || slices.Contains(s.Values, text) {
		return
	}
	w.fail(&FieldError{Got: "want " + OneOf(s.Values) + suggest.DidYouMean(text, s.Values), Value: Excerpt(text)})
}

func within(low, high int64, want string) rule {
	return func(v any) string {
		if n, ok := v.(int64); ok && (n < low || n > high) {
			return want
		}
		return ""
	}
}

// portFrom is a port, by number or by the name that it has elsewhere.
func portFrom(low int64) rule {
	const high = 65535
	number, name := within(low, high, fmt.Sprintf("want a number from %d to %d", low, high)), ofText(first(validation.IsValidPortName))
	return func(v any) string { return cmp.Or(number(v), name(v)) }
}

// amount is a number of pods, or a part of them.
func amount(v any) string {
	text, isText := v.(string)
	if isText && len(validation.IsValidPercent(text)) > 0 || notNegative(v) != "" {
		return "want a number that is not negative, or a percentage such as 25%"
	}
	return ""
}

// ofText is a rule for texts. An empty one passes: for most fields it means the same as an absent one.
func ofText(problem func(string) string) rule {
	return func(v any) string {
		if text, ok := v.(string); ok && text != "" {
			return problem(text)
		}
		return ""
	}
}

// first takes the first of the problems that Kubernetes finds.
func first(problems func(string) []string) func(string) string {
	return func(text string) string {
		if found := problems(text); len(found) > 0 {
			return found[0]
		}
		return ""
	}
}

func hostName(text string) string {
	if strings.HasPrefix(text, "*") {
		return first(validation.IsWildcardDNS1123Subdomain)(text)
	}
	return first(validation.IsDNS1123Subdomain)(text)
}

func urlPath(text string) string {
	if !strings.HasPrefix(text, "/") {
		return "want an absolute path, which begins with /"
	}
	return ""
}
