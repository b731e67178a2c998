package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Operator names how a condition compares.
//
// +kubebuilder:validation:Enum=equals;notEquals;gt;gte;lt;lte;between;notBetween;in;notIn;contains;notContains;prefix;suffix;regex;exists;notExists;typeOf;olderThan;youngerThan
type Operator string

// The operators of a condition.
const (
	OperatorEquals      Operator = "equals"
	OperatorNotEquals   Operator = "notEquals"
	OperatorGt          Operator = "gt"
	OperatorGte         Operator = "gte"
	OperatorLt          Operator = "lt"
	OperatorLte         Operator = "lte"
	OperatorBetween     Operator = "between"
	OperatorNotBetween  Operator = "notBetween"
	OperatorIn          Operator = "in"
	OperatorNotIn       Operator = "notIn"
	OperatorContains    Operator = "contains"
	OperatorNotContains Operator = "notContains"
	OperatorPrefix      Operator = "prefix"
	OperatorSuffix      Operator = "suffix"
	OperatorRegex       Operator = "regex"
	OperatorExists      Operator = "exists"
	OperatorNotExists   Operator = "notExists"
	OperatorTypeOf      Operator = "typeOf"
	OperatorOlderThan   Operator = "olderThan"
	OperatorYoungerThan Operator = "youngerThan"
)

// ValueType is the type that both sides of a comparison are converted to.
//
// +kubebuilder:validation:Enum=string;int;float;bool;quantity;duration;time
type ValueType string

// The types of a comparison.
const (
	ValueTypeString   ValueType = "string"
	ValueTypeInt      ValueType = "int"
	ValueTypeFloat    ValueType = "float"
	ValueTypeBool     ValueType = "bool"
	ValueTypeQuantity ValueType = "quantity"
	ValueTypeDuration ValueType = "duration"
	ValueTypeTime     ValueType = "time"
)

// Test is one comparison: field, operator and value, or field and one short form, or a CEL expression.
// A short form is the operator's name as a key: `greaterThan: 3` is `operator: gt, value: 3`.
//
// +kubebuilder:validation:XValidation:rule="has(self.field) != has(self.cel)",message="give exactly one of field and cel"
type Test struct {
	// Field is a path into the template context (spec.tls, children.deployment.status.readyReplicas,
	// metadata.annotations['a.b/c']) or a template.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Field string `json:"field,omitempty"`

	// Operator says how the field's value is compared with value.
	// +optional
	Operator Operator `json:"operator,omitempty"`

	// Value is what the field's value is compared with; any JSON value; strings may be templates.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`

	// ValueType is the type both sides are converted to. Default: the field's own type.
	// +optional
	ValueType ValueType `json:"valueType,omitempty"`

	// Negate turns the result round.
	// +optional
	Negate bool `json:"negate,omitempty"`

	// CEL is an expression that yields a bool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	CEL string `json:"cel,omitempty"`

	ShortForms `json:",inline"`
}

// ShortForms are the operators written as keys. At most one may be given.
type ShortForms struct {
	// Equals: the field equals this value, after conversion to valueType.
	// +optional
	Equals *apiextensionsv1.JSON `json:"equals,omitempty"`
	// NotEquals: the field differs from this value, or is absent.
	// +optional
	NotEquals *apiextensionsv1.JSON `json:"notEquals,omitempty"`
	// GreaterThan: the field is above this number, quantity, duration or time.
	// +optional
	GreaterThan *apiextensionsv1.JSON `json:"greaterThan,omitempty"`
	// GreaterThanOrEqual: the field is this number, quantity, duration or time, or above.
	// +optional
	GreaterThanOrEqual *apiextensionsv1.JSON `json:"greaterThanOrEqual,omitempty"`
	// LessThan: the field is below this number, quantity, duration or time.
	// +optional
	LessThan *apiextensionsv1.JSON `json:"lessThan,omitempty"`
	// LessThanOrEqual: the field is this number, quantity, duration or time, or below.
	// +optional
	LessThanOrEqual *apiextensionsv1.JSON `json:"lessThanOrEqual,omitempty"`
	// Between: the field lies between the two values "min,max", both included.
	// +optional
	Between *apiextensionsv1.JSON `json:"between,omitempty"`
	// NotBetween: the field lies outside the two values "min,max".
	// +optional
	NotBetween *apiextensionsv1.JSON `json:"notBetween,omitempty"`
	// In: the field is one of these values; a list, or text with commas.
	// +optional
	In *apiextensionsv1.JSON `json:"in,omitempty"`
	// NotIn: the field is none of these values, or is absent; a list, or text with commas.
	// +optional
	NotIn *apiextensionsv1.JSON `json:"notIn,omitempty"`
	// Contains: the field is text that holds this text, or a list that has this element.
	// +optional
	Contains *apiextensionsv1.JSON `json:"contains,omitempty"`
	// NotContains: the field does not hold this text or element, or is absent.
	// +optional
	NotContains *apiextensionsv1.JSON `json:"notContains,omitempty"`
	// Prefix: the field is text that begins with this text.
	// +optional
	Prefix *apiextensionsv1.JSON `json:"prefix,omitempty"`
	// Suffix: the field is text that ends with this text.
	// +optional
	Suffix *apiextensionsv1.JSON `json:"suffix,omitempty"`
	// Regex: the field is text that this RE2 expression matches.
	// +optional
	Regex *apiextensionsv1.JSON `json:"regex,omitempty"`
	// Exists: the field is there, and is not null, "", {} or []. Its value is true.
	// +optional
	Exists *apiextensionsv1.JSON `json:"exists,omitempty"`
	// NotExists: the field is absent, null, "", {} or []. Its value is true.
	// +optional
	NotExists *apiextensionsv1.JSON `json:"notExists,omitempty"`
	// TypeOf: the field is of this JSON type: string, number, boolean, object, array or null.
	// +optional
	TypeOf *apiextensionsv1.JSON `json:"typeOf,omitempty"`
	// OlderThan: the field is an RFC 3339 time that lies longer ago than this duration.
	// +optional
	OlderThan *apiextensionsv1.JSON `json:"olderThan,omitempty"`
	// YoungerThan: the field is an RFC 3339 time that lies less long ago than this duration.
	// +optional
	YoungerThan *apiextensionsv1.JSON `json:"youngerThan,omitempty"`
}

// Condition is one entry of when, anyOf or readyWhen.
type Condition struct {
	Test `json:",inline"`
}

// Gate decides whether what it stands beside acts now. Both lists given: both must hold.
type Gate struct {
	// When lists conditions that must all hold.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	When []Condition `json:"when,omitempty"`

	// AnyOf lists conditions of which at least one must hold.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	AnyOf []Condition `json:"anyOf,omitempty"`
}
