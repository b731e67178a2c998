package events

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/controllers/center"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

func noon() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func event(name, kind, about, uid, sort, reason string, ago time.Duration, count int32) *corev1.Event {
	return &corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: "default", Name: about, UID: types.UID(uid)},
		Type:           sort, Reason: reason, Message: "message of\n" + name, LastTimestamp: metav1.NewTime(noon().Add(-ago)), Count: count,
	}
}

// all are an event about the resource "flowers", one about a child, one about an object beside, and one about the box.
func all() []*corev1.Event {
	return []*corev1.Event{
		event("a", "Shop", "flowers", "flowers", "Warning", "ReconcileError", 10*time.Second, 3), event("b", "Deployment", "flowers", "web", "Normal", "ScalingReplicaSet", time.Minute, 0),
		event("c", "Pod", "beside", "beside", "Normal", "Pulled", 0, 0), event("d", "OperatorBox", "shops", "box", "Normal", "Compiled", time.Hour, 0),
	}
}

func server(t *testing.T, events ...*corev1.Event) *shared.APIServer {
	t.Helper()
	s := &shared.APIServer{Objects: shared.Objects(t, "../status/testdata/cluster.yaml")}
	for _, e := range events {
		text, err := json.Marshal(e)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		obj := &unstructured.Unstructured{}
		NewWithT(t).Expect(obj.UnmarshalJSON(text)).To(Succeed())
		s.Objects = append(s.Objects, obj)
	}
	return s
}

func run(t *testing.T, s *shared.APIServer, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, NewCommand(noon), "", append([]string{"events", "--kubeconfig", s.Start(t)}, args...)...)
}

func TestEvents(t *testing.T) {
	g := NewWithT(t)
	stdout, stderr, code := run(t, server(t, all()...), "shop/flowers")
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(Equal(`LAST SEEN   TYPE      REASON              OBJECT               MESSAGE
60s         Normal    ScalingReplicaSet   Deployment/flowers   message of b
10s (x3)    Warning   ReconcileError      Shop/flowers         message of a
`))
	stdout, _, code = run(t, server(t, all()...), "shop/flowers", "--types", "warning")
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(And(ContainSubstring("message of a"), Not(ContainSubstring("message of b"))))
	for _, box := range []string{"shops", "obox/shops"} {
		stdout, stderr, code = run(t, server(t, all()...), box)
		g.Expect(code).To(BeZero())
		g.Expect(stderr).To(BeEmpty())
		g.Expect(stdout).To(And(ContainSubstring("message of d"), Not(ContainSubstring("message of a"))))
	}
	stdout, stderr, code = run(t, server(t), "shops")
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(BeEmpty())
	g.Expect(stderr).To(Equal("No events found.\n"))
	stdout, _, _ = run(t, server(t, all()...), "shop/flowers", "-o", "json")
	var said struct {
		Items []map[string]any `json:"items"`
	}
	g.Expect(json.Unmarshal([]byte(stdout), &said)).To(Succeed())
	g.Expect(said.Items).To(HaveExactElements(HaveKeyWithValue("object", "Deployment/flowers"), And(HaveKeyWithValue("count", BeEquivalentTo(3)), HaveKeyWithValue("reason", "ReconcileError"))))
	stdout, _, _ = run(t, server(t), "shops", "-o", "yaml")
	g.Expect(stdout).To(Equal("items: []\n"))
}

func TestEventsSayWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing":             {nil, exit.Usage, "wanted one argument BOX or KIND/NAME, such as website/hello, got none"},
		"no name":             {[]string{"shop/"}, exit.Usage, "wanted BOX, or KIND/NAME"},
		"an unknown type":     {[]string{"shops", "--types", "Error"}, exit.Usage, `--types "Error": wanted Normal or Warning`},
		"an unknown format":   {[]string{"shops", "-o", "wide"}, exit.Usage, `--output "wide": wanted json or yaml`},
		"an absent box":       {[]string{"shop"}, exit.No, `OperatorBox "shop" not found, did you mean "shops"?`},
		"an absent resource":  {[]string{"shop/weeds"}, exit.No, `"weeds" not found`},
		"no right":            {[]string{"shop/flowers"}, exit.No, `listing events in namespace "default": no right`},
		"no right, a watch":   {[]string{"shop/flowers", "-w"}, exit.No, "listing objects of kind Event: no right"},
		"no right, by a box":  {[]string{"shops"}, exit.No, "no right"},
		"an unknown resource": {[]string{"shpo/flowers"}, exit.No, `did you mean "shop"?`},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), server(t)
			s.Refuse = func(path string) int {
				if strings.HasSuffix(path, "/events") {
					return http.StatusForbidden
				}
				return 0
			}
			stdout, stderr, code := run(t, s, tc.args...)
			g.Expect(code).To(Equal(tc.code), stderr)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}

// Those that are there come first, then those that come; children that are made meanwhile belong to the resource, and nobody else's do.
func TestEventsAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "new", UID: "new", Labels: map[string]string{v1alpha1.LabelOwnerUID: "flowers"}}}
		stranger := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "strange", UID: "strange"}}
		c := shared.Watched(cluster.Scheme(), child, stranger, all()[0], all()[1], all()[2])
		var out strings.Builder
		about := &subject{namespace: "default", resource: "flowers", About: center.About{UIDs: map[types.UID]bool{"flowers": true, "web": true}}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- (&flags{now: noon}).follow(ctx, c, about, &out) }()
		synctest.Wait()
		first := out.String()
		g.Expect(strings.Split(first, "\n")).To(HaveExactElements(HavePrefix("LAST SEEN"), ContainSubstring("message of b"), ContainSubstring("message of a"), BeEmpty()))
		for _, e := range []*corev1.Event{
			event("e", "ConfigMap", "new", "new", "Normal", "Made", 0, 1), event("f", "ConfigMap", "strange", "strange", "Normal", "Made", 0, 1),
			event("g", "ConfigMap", "new", "former", "Normal", "Made", 0, 1), event("h", "Shop", "flowers", "flowers", "Normal", "Done", 0, 1),
		} {
			g.Expect(c.Create(t.Context(), e)).To(Succeed())
		}
		synctest.Wait()
		later := strings.TrimPrefix(out.String(), first)
		g.Expect(strings.Split(later, "\n")).To(HaveExactElements(ContainSubstring("message of e"), ContainSubstring("message of h"), BeEmpty()))
		cancel()
		g.Expect(<-ended).To(Succeed(), "to be told to stop is no mistake")
	})
}

// A printer that fails ends it.
func TestAReaderThatIsGoneEndsAFollowing(t *testing.T) {
	c := shared.Watched(cluster.Scheme(), all()[0])
	about := &subject{namespace: "default", About: center.About{UIDs: map[types.UID]bool{"flowers": true}}}
	NewWithT(t).Expect((&flags{now: noon}).follow(t.Context(), c, about, broken{})).To(MatchError("broken pipe"))
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
