package kinds

import (
	"encoding/base64"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/value"
)

// configKinds are what pods use: configuration, and accounts.
func configKinds() []Kind {
	return []Kind{
		{
			Key: keyConfigMaps, Singular: "configmap", Rank: rankConfig,
			GVK:    corev1.SchemeGroupVersion.WithKind("ConfigMap"),
			fields: reflect.TypeFor[v1alpha1.ConfigMapFields](),
			build:  alone(buildConfigMap),
		},
		{
			Key: keySecrets, Singular: "secret", Rank: rankConfig,
			GVK:    corev1.SchemeGroupVersion.WithKind("Secret"),
			fields: reflect.TypeFor[v1alpha1.SecretFields](),
			build:  alone(buildSecret),
		},
		{
			Key: keyServiceAccounts, Singular: "serviceaccount", Rank: rankServiceAccount,
			GVK:    corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
			fields: reflect.TypeFor[v1alpha1.ServiceAccountFields](),
			build:  alone(buildServiceAccount),
		},
	}
}

func buildConfigMap(short map[string]any) (map[string]any, error) {
	return pick(short, nameData, "binaryData", nameImmutable), nil
}

// buildSecret writes data in base64, as it is stored. With stringData, a key that the declaration drops would stay: the API server copies
// it to data, where no field manager owns it.
func buildSecret(short map[string]any) (map[string]any, error) {
	object := pick(short, nameType, nameImmutable)
	if texts, ok := short[nameData].(map[string]any); ok {
		data := make(map[string]any, len(texts))
		for key, v := range texts {
			text, ok := v.(string)
			if !ok {
				return nil, &shape.FieldError{Path: shape.JoinPath(nameData, "["+key+"]"), Want: value.TypeString, Got: value.TypeName(v)}
			}
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
		object[nameData] = data
	}
	return object, nil
}

func buildServiceAccount(short map[string]any) (map[string]any, error) {
	object := pick(short, "imagePullSecrets")
	if v, ok := short["automountToken"]; ok {
		object["automountServiceAccountToken"] = v
	}
	return object, nil
}
