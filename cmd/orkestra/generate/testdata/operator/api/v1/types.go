// Package v1 has types as API packages have them, made of those of ConfigMaps.
package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type Database struct{ corev1.ConfigMap }

type DatabaseList struct{ corev1.ConfigMapList }

type Queue struct{ corev1.ConfigMap }

type Queues struct{ corev1.ConfigMapList }

func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(schema.GroupVersion{Group: "demo.example.com", Version: "v1"}, &Database{}, &DatabaseList{}, &Queue{}, &Queues{})
	return nil
}
