package v1alpha1

// AdmissionSpec says which rules of a box the API server enforces itself, before a resource is stored. They become a
// ValidatingAdmissionPolicy and a MutatingAdmissionPolicy that belong to the box.
//
// +kubebuilder:validation:XValidation:rule="(has(self.validation) && self.validation) || (has(self.mutation) && self.mutation)",message="set validation, mutation or both"
type AdmissionSpec struct {
	// Validation has the API server judge by the rules of spec.validation that it can express: on creation, and on updates that change the
	// spec. The status says which these are. All rules are checked in the reconcile too.
	// +optional
	Validation bool `json:"validation,omitempty"`

	// Mutation has the API server set the defaults of spec.mutation that it can express. Overrides are never set there. It needs
	// Kubernetes 1.36.
	// +optional
	Mutation bool `json:"mutation,omitempty"`

	// FailurePolicy says what happens to a request when a policy can't be evaluated: Fail refuses it, Ignore lets it pass.
	// +kubebuilder:default=Fail
	// +optional
	FailurePolicy AdmissionFailurePolicy `json:"failurePolicy,omitempty"`

	// MatchConditions are CEL expressions that must all be true for a request to be judged, with the variables of admission policies:
	// object, oldObject, request, authorizer, namespaceObject. They hold for all policies of the box.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	MatchConditions []AdmissionMatchCondition `json:"matchConditions,omitempty"`

	// RequireClean waits until no living resource breaks a rule before the rules are enforced. Until then they are only audited. Default:
	// they are enforced as soon as all living resources have been counted.
	// +optional
	RequireClean bool `json:"requireClean,omitempty"`
}

// AdmissionMatchCondition is a CEL expression that must be true for a request to be judged.
type AdmissionMatchCondition struct {
	// Name tells the condition from others, in messages.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// Expression is a CEL expression that yields a bool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Expression string `json:"expression"`
}

// AdmissionFailurePolicy says what happens to a request when a policy can't be evaluated.
//
// +kubebuilder:validation:Enum=Fail;Ignore
type AdmissionFailurePolicy string

// The failure policies.
const (
	AdmissionFail   AdmissionFailurePolicy = "Fail"
	AdmissionIgnore AdmissionFailurePolicy = "Ignore"
)

// RuleAdmission says whether the API server has to enforce a rule.
//
// +kubebuilder:validation:Enum=Required
type RuleAdmission string

// AdmissionRequired makes it a mistake of the box if the API server can't enforce the rule.
const AdmissionRequired RuleAdmission = "Required"

// RulePlace says where a rule is checked.
//
// +kubebuilder:validation:Enum=Policy;Reconcile
type RulePlace string

// The places of a rule. A validation rule that the API server checks is checked in the reconcile too.
const (
	RuleInPolicy    RulePlace = "Policy"
	RuleInReconcile RulePlace = "Reconcile"
)

// AdmissionStatus says what the API server enforces of a box.
type AdmissionStatus struct {
	// Enforced says whether the API server refuses resources that break the rules of the policies.
	// +optional
	Enforced bool `json:"enforced"`
	// Policies are the admission policies of the box, as <kind>/<name>. Each has a binding of its name.
	// +listType=atomic
	// +optional
	Policies []string `json:"policies,omitempty"`
	// Rules says of each rule where it is checked.
	// +listType=atomic
	// +optional
	Rules []AdmissionRuleStatus `json:"rules,omitempty"`
	// Existing counts the living resources by the rules that refuse, as they were when the policy was last judged.
	// +optional
	Existing *AdmissionExisting `json:"existing,omitempty"`
}

// AdmissionRuleStatus says where a rule is checked.
type AdmissionRuleStatus struct {
	// Path is the rule's field path: spec.validation.rules[0].
	Path string `json:"path"`
	// Where is Policy, or Reconcile where the API server does not know the rule.
	Where RulePlace `json:"where"`
	// Reason says why the rule is not in a policy.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// AdmissionExisting counts living resources.
type AdmissionExisting struct {
	// Total is the number of living resources that the box selects.
	Total int32 `json:"total"`
	// Breaking counts those that break a rule which refuses. They stay as they are; their next change of the spec has to mend them.
	Breaking int32 `json:"breaking"`
}
