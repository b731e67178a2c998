package manifests_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

const (
	policyKind  = "ValidatingAdmissionPolicy"
	bindingKind = "ValidatingAdmissionPolicyBinding"
	// managerUser is the manager for the API server, as both ways to install make it.
	managerUser = "system:serviceaccount:orkestra-system:orkestra"
)

// policyNames are those that the manager relies on.
var policyNames = []string{"box-account", "box-annotations", "box-crd", "box-shape", "grants", "health-crd", "leases", "marks", "revisions", "statuses", "templates"}

// policies gives the rendered policies by name.
func policies(t *testing.T, rendered objects) map[string]admissionregistrationv1.ValidatingAdmissionPolicySpec {
	t.Helper()
	found := map[string]admissionregistrationv1.ValidatingAdmissionPolicySpec{}
	for _, object := range rendered.ofKind(policyKind) {
		found[object.GetName()] = typed[admissionregistrationv1.ValidatingAdmissionPolicy](t, object).Spec
	}
	return found
}

// setting gives a variable of a policy.
func setting(spec admissionregistrationv1.ValidatingAdmissionPolicySpec, name string) string {
	for _, v := range spec.Variables {
		if v.Name == name {
			return v.Expression
		}
	}
	return ""
}

// What both ways to install put in force is the same, but for how lists are written.
func TestPoliciesAreThoseOfKustomize(t *testing.T) {
	g := NewWithT(t)
	fromChart, fromKustomize := helm(t), kustomize(t, "default")
	got, want := policies(t, fromChart), policies(t, fromKustomize)
	g.Expect(got).To(HaveLen(len(policyNames)))
	for name, spec := range want {
		for i, v := range spec.Variables {
			spec.Variables[i].Expression = strings.ReplaceAll(v.Expression, "['"+managerUser+"']", `["`+managerUser+`"]`)
		}
		g.Expect(got[name]).To(Equal(spec), name)
	}
	g.Expect(fromChart.ofKind(bindingKind).names()).To(Equal(fromKustomize.ofKind(bindingKind).names()))
	for _, rendered := range []objects{fromChart, fromKustomize} {
		for _, object := range rendered.ofKind(bindingKind) {
			binding := typed[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, object)
			g.Expect(binding.Spec).To(Equal(admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: binding.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			}))
		}
	}
}

// A policy that can't be evaluated refuses, but for the one that guards nothing, and each message begins with the name of its policy.
func TestPoliciesFailClosed(t *testing.T) {
	g := NewWithT(t)
	all := policies(t, helm(t))
	for name, spec := range policies(t, kustomize(t, "default")) {
		all["kustomize: "+name] = spec
	}
	for name, spec := range all {
		name = strings.TrimPrefix(name, "kustomize: ")
		wanted := admissionregistrationv1.Fail
		if name == "orkestra-box-shape" {
			wanted = admissionregistrationv1.Ignore
		}
		g.Expect(spec.FailurePolicy).To(HaveValue(Equal(wanted)), name)
		for _, v := range spec.Validations {
			key := strings.TrimPrefix(name, "orkestra-") + ": "
			g.Expect(v.Message+strings.TrimPrefix(v.MessageExpression, `"`)).To(HavePrefix(key), name)
			g.Expect(v.Reason).NotTo(BeNil(), name)
		}
	}
}

func TestValuesOfPolicies(t *testing.T) {
	g := NewWithT(t)
	rendered := helm(t, `serviceAccount.name="me"`, `trust.managers=["kube:admin"]`, `trust.controllers=["copier"]`, "trust.allowSkipCleanup=false",
		`trust.restorers=["system:serviceaccount:velero:velero"]`, "rbac.userRoles=false", `trust.withoutPolicies=["leases","grants"]`)
	all := policies(t, rendered)
	g.Expect(all).To(HaveLen(len(policyNames) - 2))
	g.Expect(all).NotTo(Or(HaveKey("orkestra-leases"), HaveKey("orkestra-grants")))
	g.Expect(rendered.ofKind(bindingKind)).To(HaveLen(len(policyNames) - 2))
	marks := all["orkestra-marks"]
	g.Expect(setting(marks, "managers")).To(MatchJSON(`["system:serviceaccount:orkestra-system:me","kube:admin"]`))
	g.Expect(setting(marks, "controllers")).To(MatchJSON(`["copier"]`))
	g.Expect(setting(marks, "allowSkipCleanup")).To(Equal("false"))
	for _, object := range rendered.ofKind("ClusterRoleBinding") {
		if object.GetName() == "orkestra-restorer" {
			g.Expect(typed[rbacv1.ClusterRoleBinding](t, object).Subjects).To(Equal([]rbacv1.Subject{
				{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:serviceaccount:velero:velero"},
			}))
			return
		}
	}
	t.Error("nobody is bound to orkestra-restorer")
}

func TestPoliciesOfAnotherRelease(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "helm", "template", "other", chart, "--namespace", "elsewhere")
	g.Expect(err).NotTo(HaveOccurred())
	all := policies(t, decode(t, out))
	g.Expect(all).To(HaveLen(len(policyNames)))
	g.Expect(setting(all["other-orkestra-leases"], "managers")).To(MatchJSON(`["system:serviceaccount:elsewhere:other-orkestra"]`))
	g.Expect(all["other-orkestra-leases"].MatchConstraints.NamespaceSelector.MatchLabels).To(HaveKeyWithValue("kubernetes.io/metadata.name", "elsewhere"))
}

// The schema, and what is in config/, name the same policies.
func TestTheSchemaKnowsThePolicies(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	g.Expect(err).NotTo(HaveOccurred())
	var schema struct {
		Properties struct {
			Trust struct {
				Properties struct {
					WithoutPolicies struct {
						Items struct {
							Enum []string `json:"enum"`
						} `json:"items"`
					} `json:"withoutPolicies"`
				} `json:"properties"`
			} `json:"trust"`
		} `json:"properties"`
	}
	g.Expect(json.Unmarshal(content, &schema)).To(Succeed())
	g.Expect(schema.Properties.Trust.Properties.WithoutPolicies.Items.Enum).To(Equal(policyNames))
	files, err := filepath.Glob(filepath.Join(root, "config", "policies", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".yaml"); name != "kustomization" {
			names = append(names, strings.ReplaceAll(name, "_", "-"))
		}
	}
	slices.Sort(names)
	g.Expect(names).To(Equal(policyNames))
}
