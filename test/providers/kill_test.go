package providers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/onsi/gomega"
)

// killer kills the manager at each step once: the first time that a process is at the n-th call of a sort.
type killer struct {
	atAnswer bool // after the server has acted, and not before it sees the call
	die      func() error

	mu     sync.Mutex
	dead   map[string]bool // steps at which a process has died
	now    map[string]int  // calls of the process that runs, by sort
	failed error
}

func (k *killer) before(call string) bool { return !k.atAnswer && k.at(call) }
func (k *killer) after(call string) bool  { return k.atAnswer && k.at(call) }

func (k *killer) at(call string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now[call]++
	step := fmt.Sprintf("%s, call %d", call, k.now[call])
	if k.dead[step] {
		return false
	}
	k.dead[step], k.now = true, map[string]int{}
	if err := k.die(); err != nil {
		k.failed = err
	}
	return true
}

// steps are those at which a process has died, of the calls that contain a text.
func (k *killer) steps(text string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for step := range k.dead {
		if strings.Contains(step, text) {
			n++
		}
	}
	return n
}

// everything declares one of each sort, at servers on loopback.
func everything(f *front, m *mongoFront) string {
	return `
resync: 24h
providers:
  aws:
  - id: bucket
    s3bucket: {name: "{{ .metadata.name }}-bucket", region: eu-west-1, versioning: true, tags: {size: "{{ .spec.replicas }}"}, forceDestroy: true}
    credentials: {secretRef: {name: aws}}
    endpoint: ` + f.URL + `
  - id: queue
    sqsqueue: {name: "{{ .metadata.name }}-queue", region: eu-west-1, visibilityTimeoutSeconds: "{{ .spec.replicas }}"}
    credentials: {secretRef: {name: aws}}
    endpoint: ` + f.URL + `
  mongodb:
  - id: database
    database: {name: "{{ .metadata.name }}"}
    credentials: {secretRef: {name: mongo}}
    endpoint: "` + m.endpoint() + `"
  - id: user
    user: {database: "{{ .metadata.name }}", name: app, passwordSecretRef: {name: app, key: password}}
    credentials: {secretRef: {name: mongo}}
    endpoint: "` + m.endpoint() + `"
onReconcile:
  configmaps: [{data: {bucket: "{{ .providers.bucket.arn }}", queue: "{{ .providers.queue.url }}", database: "{{ .providers.database.name }}", user: "{{ .providers.user.name }}"}}]
`
}

func (w *place) secrets(t *testing.T) {
	t.Helper()
	w.secret(t, "aws", map[string]string{"AWS_ACCESS_KEY_ID": rootKey, "AWS_SECRET_ACCESS_KEY": rootSecret})
	w.secret(t, "mongo", map[string]string{"username": adminName, "password": adminPassword})
	w.secret(t, "app", map[string]string{"password": "first-password"})
}

// The process of the manager is killed between each call and its answer, on both sides of the server. What is there afterwards is there once.
func TestWhatIsMadeIsMadeOnceWheneverTheManagerIsKilled(t *testing.T) {
	for name, atAnswer := range map[string]bool{"before the server acts": false, "before the answer": true} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			w := newPlane(t).place(t)
			server := database(t)
			f, m := newFront(t), newMongoFront(t, server)
			one := admin(t, server)
			process := w.manager(t)
			w.secrets(t)
			w.box(t, everything(f, m))
			k := &killer{atAnswer: atAnswer, die: process.die, dead: map[string]bool{}, now: map[string]int{}}
			f.through(k)
			m.through(k)

			w.website(t, "web", `{replicas: 30}`)
			uid := string(w.settled(t, "web").GetUID())
			exactlyOne := func(size string) {
				t.Helper()
				g.Expect(f.store.buckets(t)).To(gomega.Equal([]string{"web-bucket"}))
				g.Expect(f.store.tags(t, "web-bucket")).To(gomega.And(gomega.HaveKeyWithValue("orkestra.orkspace.io/uid", uid), gomega.HaveKeyWithValue("size", size)))
				queues := f.cloud.Queues()
				g.Expect(queues).To(gomega.HaveLen(1))
				g.Expect(queues["eu-west-1/web-queue"].Tags).To(gomega.HaveKeyWithValue("orkestra.orkspace.io/uid", uid))
				g.Expect(queues["eu-west-1/web-queue"].Attributes).To(gomega.HaveKeyWithValue("VisibilityTimeout", size))
				g.Expect(collections(t, one, "web")).To(gomega.Equal([]string{"orkestra.ownership"}))
				g.Expect(users(t, one, "web")).To(gomega.Equal(1))
			}
			exactlyOne("30")
			made := k.steps("")

			w.website(t, "web", `{replicas: 40}`)
			w.settled(t, "web")
			exactlyOne("40")

			w.delete(t, "web")
			w.vanished(t, "web")
			g.Expect(f.store.buckets(t)).To(gomega.BeEmpty())
			g.Expect(f.cloud.Queues()).To(gomega.BeEmpty())
			g.Expect(collections(t, one, "web")).To(gomega.BeEmpty())
			g.Expect(users(t, one, "web")).To(gomega.BeZero())

			g.Expect(k.failed).NotTo(gomega.HaveOccurred())
			for _, call := range []string{"s3 PUT, call", "s3 PUT versioning", "s3 DELETE", "sqs AmazonSQS.CreateQueue", "sqs AmazonSQS.SetQueueAttributes", "sqs AmazonSQS.DeleteQueue", "mongodb createUser", "mongodb dropUser", "mongodb dropDatabase"} {
				g.Expect(k.steps(call)).To(gomega.BeNumerically(">", 0), "%s is among %v", call, slices.Sorted(maps.Keys(k.dead)))
			}
			t.Logf("%d processes died, %d of them before the first was settled", k.steps(""), made)
		})
	}
}

// last ends the manager, for good, when the first call of a sort was made and is not answered yet.
type last struct {
	call string
	end  func()
	once sync.Once
	over chan struct{}
}

func (l *last) before(string) bool { return false }

func (l *last) after(call string) (lost bool) {
	if call != l.call {
		return false
	}
	l.once.Do(func() {
		l.end()
		close(l.over)
		lost = true
	})
	return lost
}

// What was made when the process ended, and was not heard of, is deleted with the resource: it was noted before.
func TestWhatIsMadeIsNotForgottenWhenTheManagerIsKilled(t *testing.T) {
	g := gomega.NewWithT(t)
	w := newPlane(t).place(t)
	server := database(t)
	f, m := newFront(t), newMongoFront(t, server)
	one := admin(t, server)
	process := w.manager(t)
	w.secrets(t)
	w.box(t, everything(f, m))
	for i, call := range []string{"s3 PUT", "sqs AmazonSQS.CreateQueue", "mongodb insert", "mongodb createUser"} {
		name := fmt.Sprintf("web%d", i)
		l := &last{call: call, end: func() { process.end(syscall.SIGKILL) }, over: make(chan struct{})}
		f.through(l)
		m.through(l)
		w.website(t, name, `{replicas: 30}`)
		select {
		case <-l.over:
		case <-t.Context().Done():
			t.Fatalf("there is no call %s", call)
		}
		g.Expect(f.store.buckets(t)).To(gomega.Equal([]string{name + "-bucket"}), call)
		w.delete(t, name)
		g.Expect(process.start()).To(gomega.Succeed())
		w.vanished(t, name)
		g.Expect(f.store.buckets(t)).To(gomega.BeEmpty(), call)
		g.Expect(f.cloud.Queues()).To(gomega.BeEmpty(), call)
		g.Expect(users(t, one, name)).To(gomega.BeZero(), call)
		g.Expect(collections(t, one, name)).To(gomega.BeEmpty(), call)
	}
}
