// Package v1alpha1 holds what users write and read: the OperatorBox and CRDHealth kinds, every default and
// every check that a schema can hold, and the names of the labels, annotations, finalizers, field managers,
// conditions and reasons that Orkestra uses. It knows nothing of the engine.
//
// +kubebuilder:object:generate=true
// +groupName=orkestra.orkspace.io
package v1alpha1
