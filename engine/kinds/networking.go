package kinds

import (
	"reflect"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// Short fields of Ingresses and NetworkPolicies.
const (
	nameHost        = "host"
	nameNumber      = "number"
	namePath        = "path"
	namePathType    = "pathType"
	namePodSelector = "podSelector"
	nameRules       = "rules"
	nameServiceName = "serviceName"
	nameServicePort = "servicePort"
)

func networkingKinds() []Kind {
	return []Kind{
		{
			Key: keyIngresses, Singular: "ingress", Rank: rankIngress,
			GVK:         networkingv1.SchemeGroupVersion.WithKind("Ingress"),
			fields:      reflect.TypeFor[v1alpha1.IngressFields](),
			spec:        reflect.TypeFor[networkingv1.IngressSpec](),
			fromService: source{fields: nameServiceName + " and " + nameServicePort, needs: ingressNeedsService},
			check:       checkIngress,
			build:       buildIngress,
		},
		{
			Key: keyNetworkPolicies, Singular: "networkpolicy", Rank: rankRest,
			GVK:          networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
			fields:       reflect.TypeFor[v1alpha1.NetworkPolicyFields](),
			spec:         reflect.TypeFor[networkingv1.NetworkPolicySpec](),
			fromWorkload: source{fields: namePodSelector, needs: needsSelector(namePodSelector)},
			check:        func(c *shape.Checker) { c.Reference(nameWorkload, namePodSelector) },
			build:        buildNetworkPolicy,
		},
	}
}

// buildNetworkPolicy takes the short fields for the spec, since they have the same names, but for workload.
func buildNetworkPolicy(d Declared, short map[string]any) (map[string]any, error) {
	if err := d.defaultSelector(short, namePodSelector); err != nil {
		return nil, err
	}
	delete(short, nameWorkload)
	return map[string]any{nameSpec: short}, nil
}

// ingressNeedsService says whether the backend of an Ingress must be taken from the box's Service, in whole or in part.
func ingressNeedsService(short, _ map[string]any) bool {
	says := func(name string) bool { return short[name] != nil && short[name] != "" }
	if says(nameRules) && !shape.Empty(short[nameRules]) {
		return false
	}
	return !says(nameServiceName) || !says(nameServicePort)
}

func checkIngress(c *shape.Checker) {
	c.Exclusive(nameRules, nameHost, namePath, namePathType, nameService, nameServiceName, nameServicePort)
	c.Reference(nameService, nameServiceName)
}

func buildIngress(d Declared, short map[string]any) (map[string]any, error) {
	spec := pick(short, nameRules, "tls")
	if v, ok := short["className"]; ok {
		spec["ingressClassName"] = v
	}
	if v, written := d.Short[nameRules]; written && (v == nil || shape.Empty(v)) { // by a template: what is written empty was left out before
		// The default rule would open a host that nobody asked for.
		if shape.Descend(d.Spec, "defaultBackend") != nil {
			return map[string]any{nameSpec: spec}, nil
		}
		return nil, &shape.FieldError{Path: nameRules, Want: "a rule", Got: "none",
			Hint: "; an Ingress can't be without: where there may be none, make the Ingress only when there are some, by `when`, or write spec.defaultBackend"}
	}
	if spec[nameRules] == nil {
		backend, err := ingressBackend(d, short)
		if err != nil {
			return nil, err
		}
		path := map[string]any{namePath: "/", namePathType: string(networkingv1.PathTypePrefix), "backend": backend}
		rule := merged(pick(short, nameHost), map[string]any{
			"http": map[string]any{"paths": []any{merged(path, pick(short, namePath, namePathType))}},
		})
		spec[nameRules] = []any{rule}
	}
	return map[string]any{nameSpec: spec}, nil
}

// ingressBackend takes what the short fields leave out from the box's only Service.
func ingressBackend(d Declared, short map[string]any) (map[string]any, error) {
	service := Service{}
	if d.Service != nil {
		service = *d.Service
	}
	name, ok := short[nameServiceName].(string)
	if !ok {
		name = service.Name
	}
	if name == "" {
		return nil, shape.Missing(nameServiceName, "a Service: the box has not exactly one")
	}
	port := map[string]any{}
	switch v := short[nameServicePort].(type) {
	case int64:
		port[nameNumber] = v
	case string:
		port[nameName] = v
	default:
		if name != service.Name || service.Port == 0 {
			return nil, shape.Missing(nameServicePort, "a port: the box has not exactly one Service that has ports")
		}
		port[nameNumber] = int64(service.Port)
	}
	return map[string]any{nameService: map[string]any{nameName: name, namePort: port}}, nil
}
