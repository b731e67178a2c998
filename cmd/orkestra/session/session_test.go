package session

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// clusterFile is that of the tests of `orkestra status`.
const clusterFile = "../status/testdata/cluster.yaml"

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// inspector asks a cluster that a test may change.
func inspector(t *testing.T, change ...func(*shared.APIServer)) *Inspector {
	t.Helper()
	server := &shared.APIServer{Objects: shared.Objects(t, clusterFile)}
	for _, c := range change {
		c(server)
	}
	f := &Flags{}
	f.server.Kubeconfig = server.Start(t)
	i, err := f.New(t.Context(), now)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return i
}

func find(s *shared.APIServer, kind string) *unstructured.Unstructured {
	for _, obj := range s.Objects {
		if obj.GetKind() == kind {
			return obj
		}
	}
	return nil
}

func TestSplit(t *testing.T) {
	for arg, ok := range map[string]bool{
		"website/hello": true, "websites.demo.example.com/hello": true, "websites.v1.demo.example.com/hello": true,
		"": false, "website": false, "/hello": false, "website/": false, "a/b/c": false,
	} {
		t.Run(arg, func(t *testing.T) {
			kind, name, err := Split(arg)
			g := NewWithT(t)
			if !ok {
				g.Expect(err).To(MatchError(ContainSubstring("wanted KIND/NAME")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(kind + "/" + name).To(Equal(arg))
		})
	}
}

// A kind is meant by all the names that kubectl takes.
func TestKindsAreResolvedAsKubectlDoes(t *testing.T) {
	i := inspector(t)
	for kind, want := range map[string]struct{ kind, crd, namespace string }{
		"shops":                     {"Shop", "shops.demo.example.com", "default"},
		"shop":                      {"Shop", "shops.demo.example.com", "default"},
		"Shop":                      {"Shop", "shops.demo.example.com", "default"},
		"shp":                       {"Shop", "shops.demo.example.com", "default"},
		"shops.demo.example.com":    {"Shop", "shops.demo.example.com", "default"},
		"shops.v1.demo.example.com": {"Shop", "shops.demo.example.com", "default"},
		"deploy":                    {"Deployment", "deployments.apps", "default"},
		"deployments.v1.apps":       {"Deployment", "deployments.apps", "default"},
		"cm":                        {"ConfigMap", "configmaps", "default"},
		"obox":                      {"OperatorBox", "operatorboxes.orkestra.orkspace.io", ""},
	} {
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			target, err := i.Resolve(kind, "a")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(target).To(And(HaveField("Kind.Kind", want.kind), HaveField("CRD", want.crd), HaveField("Namespace", want.namespace), HaveField("Name", "a")))
		})
	}
	for kind, want := range map[string]string{
		"shopp":                     `the server doesn't have a resource type "shopp", did you mean "shop"?`,
		"wombats":                   `the server doesn't have a resource type "wombats"`,
		"shops.v2.demo.example.com": `the server doesn't have a resource type "shops.v2.demo.example.com"`,
	} {
		t.Run(kind, func(t *testing.T) {
			_, err := i.Resolve(kind, "a")
			NewWithT(t).Expect(err).To(MatchError(HavePrefix(want)))
		})
	}
}

// A box may be there before its CRD.
func TestAKindWhoseCRDIsNotThere(t *testing.T) {
	add := func(s *shared.APIServer) {
		box := find(s, "OperatorBox").DeepCopy()
		box.SetName("wombat")
		box.Object["spec"] = map[string]any{"crd": map[string]any{"name": "wombats.example.com"}}
		box.Object["status"] = map[string]any{}
		s.Objects = append(s.Objects, box)
	}
	for kind, want := range map[string]string{
		"wombats": `the server doesn't have a resource type "wombats": an OperatorBox has that kind, but its CRD is not in the cluster`,
		"wombat":  `the server doesn't have a resource type "wombat", did you mean "wombats"?`,
	} {
		t.Run(kind, func(t *testing.T) {
			_, err := inspector(t, add).Resolve(kind, "a")
			NewWithT(t).Expect(err).To(MatchError(want))
		})
	}
}

// The Lease says whether a manager is at work.
func TestManagers(t *testing.T) {
	lease := func(fields ...any) func(*shared.APIServer) {
		return func(s *shared.APIServer) {
			spec := map[string]any{}
			for n := 0; n < len(fields); n += 2 {
				spec[fields[n].(string)] = fields[n+1]
			}
			find(s, "Lease").Object["spec"] = spec
		}
	}
	const holder, renewed, life = "holderIdentity", "renewTime", "leaseDurationSeconds"
	both := func(all ...func(*shared.APIServer)) func(*shared.APIServer) {
		return func(s *shared.APIServer) {
			for _, change := range all {
				change(s)
			}
		}
	}
	written := func(by, at, fields string) func(*shared.APIServer) {
		return func(s *shared.APIServer) {
			find(s, "Lease").Object["metadata"].(map[string]any)["managedFields"] = []any{
				map[string]any{"manager": by, "operation": "Update", "apiVersion": "coordination.k8s.io/v1", "time": at, "fieldsType": "FieldsV1", "fieldsV1": jsonOf(t, fields)},
			}
		}
	}
	left := lease(holder, "", renewed, "2026-01-02T03:02:05.000000Z", life, int64(15)) // let go two minutes ago
	for name, tc := range map[string]struct {
		change        func(*shared.APIServer)
		state, wanted string
	}{
		"one that renews":                 {lease(holder, "m", renewed, "2026-01-02T03:04:03.000000Z", life, int64(15)), ManagerRunning, ""},
		"one that is about to renew":      {lease(holder, "m", renewed, "2026-01-02T03:03:50.000000Z", life, int64(15)), ManagerRunning, ""},
		"one whose Lease says no life":    {lease(holder, "m", renewed, "2026-01-02T03:03:50.000000Z"), ManagerRunning, ""},
		"one whose Lease has run out":     {lease(holder, "m", renewed, "2026-01-02T03:03:49.000000Z", life, int64(15)), ManagerAway, `m has not renewed Lease "orkestra-system/orkestra-leader" for 16s`},
		"one whose Lease lives longer":    {lease(holder, "m", renewed, "2026-01-02T03:03:49.000000Z", life, int64(60)), ManagerRunning, ""},
		"one whose clock is ahead":        {lease(holder, "m", renewed, "2026-01-02T03:04:09.000000Z", life, int64(15)), ManagerRunning, ""},
		"one of the far future":           {lease(holder, "m", renewed, "2036-01-02T03:04:09.000000Z", life, int64(15)), ManagerUnknown, `Lease "orkestra-system/orkestra-leader" was renewed 10y in the future, by the clock of the API server`},
		"one whose node's clock is slow":  {both(lease(holder, "m", renewed, "2026-01-02T02:04:03.000000Z", life, int64(15)), written("m", "2026-01-02T03:04:03Z", `{"f:spec":{"f:renewTime":{}}}`)), ManagerRunning, ""},
		"one whose node's clock is fast":  {both(lease(holder, "m", renewed, "2026-01-02T04:04:03.000000Z", life, int64(15)), written("m", "2026-01-02T03:04:03Z", `{"f:spec":{"f:renewTime":{}}}`)), ManagerRunning, ""},
		"one that has died with it":       {both(lease(holder, "m", renewed, "2026-01-02T04:04:03.000000Z", life, int64(15)), written("m", "2026-01-02T03:02:05Z", `{"f:spec":{"f:renewTime":{}}}`)), ManagerAway, "has not renewed Lease \"orkestra-system/orkestra-leader\" for 2m"},
		"one whose Lease others annotate": {both(lease(holder, "m", renewed, "2026-01-02T03:02:05.000000Z", life, int64(15)), written("somebody", "2026-01-02T03:04:03Z", `{"f:metadata":{"f:annotations":{}}}`)), ManagerAway, "for 2m"},
		"one that has let go":             {lease(holder, "", renewed, "2026-01-02T03:04:03.000000Z"), ManagerAway, `No manager is at work, or it runs with --leader-elect=false and has had nothing to write: Lease "orkestra-system/orkestra-leader" has had no holder for 2s. What`},
		"one that never renewed":          {both(lease(holder, "m"), func(s *shared.APIServer) { find(s, "Lease").SetCreationTimestamp(metav1.NewTime(now)) }), ManagerAway, "was never renewed"},
		"one that has ended its writes":   {both(left, healthOf(map[string]any{"lastReconcile": "2026-01-02T03:02:16Z"})), ManagerAway, "has had no holder for 2m"},
		"one that elects no leader": {both(left, healthOf(map[string]any{"lastReconcile": "2026-01-02T03:04:00Z"})), ManagerUnknown,
			`Lease "orkestra-system/orkestra-leader" has had no holder for 2m, and yet a manager was at work 5s ago: CRDHealth "shops" shows a reconcile of then. One that runs with --leader-elect=false, or in another namespace`},
		"one that a health tells of": {both(left, healthOf(map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "A", "message": "", "lastTransitionTime": "2026-01-02T03:04:00Z"}}})),
			ManagerUnknown, `a manager was at work 5s ago: the condition Ready of CRDHealth "shops" is of then`},
		"one that a box tells of": {both(left, func(s *shared.APIServer) {
			find(s, "OperatorBox").Object["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "Ready", "status": "True", "reason": "A", "message": "", "lastTransitionTime": "2026-01-02T03:04:00Z"}}
		}), ManagerUnknown, `a manager was at work 5s ago: the condition Ready of OperatorBox "shops" is of then`},
		"one beside the Lease of another that has died": {both(lease(holder, "m", renewed, "2026-01-02T03:00:00.000000Z"), healthOf(map[string]any{"lastReconcile": "2026-01-02T03:04:00Z"})), ManagerUnknown,
			`m has not renewed Lease "orkestra-system/orkestra-leader" for 4m5s, and yet a manager was at work 5s ago`},
		"none, ever":                    {func(s *shared.APIServer) { find(s, "Lease").SetName("other") }, ManagerUnknown, `Whether a manager is at work is not known: there is no Lease "orkestra-system/orkestra-leader"`},
		"one whose Lease is not for me": {func(s *shared.APIServer) { s.Refuse = refuse("/leases/") }, ManagerUnknown, "Whether a manager is at work is not known: no right"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := inspector(t, tc.change).Manager(t.Context())
			g.Expect(m.State).To(Equal(tc.state), m.Message)
			if tc.wanted == "" {
				g.Expect(m.Message).To(BeEmpty())
			}
			g.Expect(m.Message).To(ContainSubstring(tc.wanted))
		})
	}
}

func jsonOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	NewWithT(t).Expect(json.Unmarshal([]byte(text), &out)).To(Succeed())
	return out
}

// A machine whose clock is wrong sees the manager that is at work, and ages as they are: both are told by the API server's clock.
func TestAClockThatIsWrong(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"an hour behind": time.Hour, "an hour ahead": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			local := time.Now()
			server := &shared.APIServer{Objects: shared.Objects(t, clusterFile), Date: local.Add(ahead).UTC().Format(http.TimeFormat)}
			find(server, "Lease").Object["spec"] = map[string]any{
				"holderIdentity": "m", "renewTime": local.Add(ahead).UTC().Format(metav1.RFC3339Micro), "leaseDurationSeconds": int64(1200),
			}
			f := &Flags{}
			f.server.Kubeconfig = server.Start(t)
			i, err := f.New(t.Context(), local)
			g.Expect(err).NotTo(HaveOccurred())
			m := i.Manager(t.Context())
			g.Expect(m.State).To(Equal(ManagerRunning), m.Message)
			for _, now := range []time.Time{i.Now(), i.ServerTime(func() time.Time { return local })(), i.session.Clock().Now()} {
				g.Expect(now).To(BeTemporally("~", local.Add(ahead), 20*time.Minute))
			}
		})
	}
}

func refuse(part string) func(string) int {
	return func(path string) int {
		if strings.Contains(path, part) {
			return http.StatusForbidden
		}
		return 0
	}
}

// What somebody may not list everywhere is looked for where the resource has children.
func TestChildrenInTheNamespacesOfAResource(t *testing.T) {
	for name, annotations := range map[string]string{"its own": "", "another, too": "team-b"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var asked []string
			i := inspector(t, func(s *shared.APIServer) {
				if annotations != "" {
					find(s, "Shop").SetAnnotations(map[string]string{v1alpha1.AnnotationNamespaces: annotations, v1alpha1.AnnotationManagedSince: "2026-01-01T00:00:00Z"})
				}
				s.Refuse = func(path string) int {
					if strings.HasSuffix(path, "/secrets") {
						asked = append(asked, path)
					}
					if path == "/api/v1/secrets" {
						return http.StatusForbidden
					}
					return 0
				}
			})
			target, err := i.Resolve("shop", "flowers")
			g.Expect(err).NotTo(HaveOccurred())
			r, err := i.Resource(t.Context(), target)
			g.Expect(err).NotTo(HaveOccurred())
			want := []string{"/api/v1/secrets", "/api/v1/namespaces/default/secrets"}
			if annotations != "" {
				want = append(want, "/api/v1/namespaces/team-b/secrets")
			}
			g.Expect(asked).To(Equal(want))
			g.Expect(r.Declarations).To(ContainElement(And(HaveField("Declaration", "token"), HaveField("Name", "flowers-token"))), "what may be read is there")
			g.Expect(r.Notes).To(BeEmpty())
		})
	}
}

// One who may read the namespace of the resource sees the children there, whatever else is closed.
func TestChildrenInANamespaceThatMayNotBeRead(t *testing.T) {
	g := NewWithT(t)
	i := inspector(t, func(s *shared.APIServer) {
		find(s, "Shop").SetAnnotations(map[string]string{v1alpha1.AnnotationNamespaces: "team-b", v1alpha1.AnnotationManagedSince: "2026-01-01T00:00:00Z"})
		s.Refuse = func(path string) int {
			if path == "/api/v1/secrets" || path == "/api/v1/namespaces/team-b/secrets" {
				return http.StatusForbidden
			}
			return 0
		}
	})
	target, err := i.Resolve("shop", "flowers")
	g.Expect(err).NotTo(HaveOccurred())
	r, err := i.Resource(t.Context(), target)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Declarations).To(ContainElement(And(HaveField("Declaration", "token"), HaveField("Name", "flowers-token"), HaveField("State", overview.StateReady))))
	g.Expect(r.Declarations).To(ContainElement(And(HaveField("Declaration", "tls"), HaveField("State", overview.StateOff))))
	g.Expect(r.Notes).To(ConsistOf(`Children of kind Secret in namespace "team-b" are not known: no right`))
}

// A box may read the resources of another, by name and by labels.
func TestWhatABoxReadsOfOthers(t *testing.T) {
	for name, source := range map[string]map[string]any{
		"of a box":  {"name": "other", "box": "shops", "selector": map[string]any{"name": "flowers"}},
		"by labels": {"name": "other", "apiVersion": "v1", "kind": "ConfigMap", "selector": map[string]any{"matchLabels": map[string]any{v1alpha1.LabelBox: "shops"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			i := inspector(t, func(s *shared.APIServer) {
				s.Objects = append(s.Objects, shared.Objects(t, "../tree/testdata/mall.yaml")...)
				for _, obj := range s.Objects {
					if obj.GetKind() == "OperatorBox" && obj.GetName() == "malls" {
						obj.Object["spec"] = map[string]any{"crd": map[string]any{"name": "malls.demo.example.com"}, "cross": []any{source}, "onReconcile": map[string]any{
							"configmaps": []any{map[string]any{"id": "seen", "when": []any{map[string]any{"field": "cross.other", "exists": true}}}}}}
					}
				}
			})
			target, err := i.Resolve("mall", "north")
			g.Expect(err).NotTo(HaveOccurred())
			r, err := i.Resource(t.Context(), target)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Declarations).To(ConsistOf(And(HaveField("Declaration", "seen"), HaveField("State", BeEquivalentTo("Missing")), HaveField("Gate.State", "open"))), "%v", r.Notes)
		})
	}
}

func TestTheCRDOfABox(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*shared.APIServer)
		want   string
	}{
		"may not be read": {func(s *shared.APIServer) { s.Refuse = refuse("/customresourcedefinitions/shops") }, "What the box declares is not known: no right"},
		"serves nothing": {func(s *shared.APIServer) {
			versions, _, _ := unstructured.NestedSlice(find(s, "CustomResourceDefinition").Object, "spec", "versions")
			versions[0].(map[string]any)["served"] = false
			_ = unstructured.SetNestedSlice(find(s, "CustomResourceDefinition").Object, versions, "spec", "versions")
			unstructured.RemoveNestedField(find(s, "OperatorBox").Object, "status", "crd")
		}, `does not serve its storage version`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			i := inspector(t, tc.change)
			target, err := i.Resolve("shop", "flowers")
			g.Expect(err).NotTo(HaveOccurred())
			r, err := i.Resource(t.Context(), target)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Ready).To(BeFalse())
			g.Expect(r.Declarations).To(BeEmpty())
			g.Expect(r.Notes).To(ContainElement(ContainSubstring(tc.want)))
			boxes, err := i.Boxes()
			g.Expect(err).NotTo(HaveOccurred())
			_, err = i.Resources(t.Context(), &boxes[0], "")
			g.Expect(err).To(HaveOccurred())
		})
	}
}

// What may not be read says nothing about the resource: whether it is ready stands in its own status.
func TestAReadyResourceOfABoxThatMayNotBeRead(t *testing.T) {
	for name, refused := range map[string]string{"its CRD": "/customresourcedefinitions/shops", "its box": "/operatorboxes"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			i := inspector(t, func(s *shared.APIServer) {
				s.Refuse = refuse(refused)
				g.Expect(unstructured.SetNestedSlice(find(s, "Shop").Object, []any{map[string]any{"type": "Ready", "status": "True", "reason": "ReconcileSucceeded",
					"observedGeneration": int64(2), "lastTransitionTime": "2026-01-01T00:00:00Z"}}, "status", "conditions")).To(Succeed())
			})
			target, err := i.Resolve("shop", "flowers")
			g.Expect(err).NotTo(HaveOccurred())
			r, err := i.Resource(t.Context(), target)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Headline()).To(Equal("Shop default/flowers is ready"))
			g.Expect(r.Box).To(Equal("shops"))
			g.Expect(r.Notes).To(ContainElement(And(HavePrefix("What the box declares is not known: "), HaveSuffix("no right"))))
		})
	}
}

// Nothing is made or corrected for a resource that is paused, whatever else is said.
func TestAPausedResource(t *testing.T) {
	for value, paused := range map[string]bool{v1alpha1.True: true, "yes": false} {
		t.Run(value, func(t *testing.T) {
			g := NewWithT(t)
			i := inspector(t, func(s *shared.APIServer) {
				shop := find(s, "Shop")
				shop.SetAnnotations(map[string]string{v1alpha1.AnnotationManagedBy: "shops", v1alpha1.AnnotationPaused: value})
			})
			target, err := i.Resolve("shop", "flowers")
			g.Expect(err).NotTo(HaveOccurred())
			r, err := i.Resource(t.Context(), target)
			g.Expect(err).NotTo(HaveOccurred())
			const note = "It is paused by the annotation orkestra.orkspace.io/paused: nothing is made or corrected"
			if paused {
				g.Expect(r.Notes).To(ContainElement(note))
			} else {
				g.Expect(r.Notes).NotTo(ContainElement(note))
			}
		})
	}
}

// A user who may not list boxes may still ask for a resource that names its box.
func TestABoxThatIsKnownByItsName(t *testing.T) {
	g := NewWithT(t)
	i := inspector(t, func(s *shared.APIServer) {
		s.Refuse = func(path string) int {
			if strings.HasSuffix(path, "/operatorboxes") {
				return http.StatusForbidden
			}
			return 0
		}
	})
	_, err := i.Boxes()
	g.Expect(err).To(MatchError("listing OperatorBoxes: no right"))
	target, err := i.Resolve("shop", "flowers")
	g.Expect(err).NotTo(HaveOccurred())
	r, err := i.Resource(t.Context(), target)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Box).To(Equal("shops"))
	g.Expect(r.Declarations).NotTo(BeEmpty())
}
