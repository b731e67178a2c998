package bench_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// churnRate is how many resources are created, edited and deleted in a second.
	churnRate = 50
	// age is how long after its creation a resource is edited, and how long after that it is deleted.
	age = 2 * time.Second
)

// measureChurn has resources come, change and go all the time, in turns of the binaries.
func measureChurn(b *testing.B, t *sheet) {
	b.Helper()
	p := newPlane(b)
	p.applyKinds(b, "Applied", "Handwritten", "Chained")
	_, err := p.cluster.KubectlApply(b.Context(), fmt.Sprintf(sideBox, usualResync, "b"))
	must(b, err)
	p.takeTurns(b, t, inChurn, p.contenders(b, t), []step{{"churn", true, (*turn).churn}}, (*turn).cleared)
}

// births has the times at which resources were made.
type births struct {
	mu  sync.Mutex
	all map[string]time.Time // guarded by mu
}

func (l *births) add(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[name] = time.Now()
}

// take gives the time since a resource was made, once.
func (l *births) take(name string) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	began, found := l.all[name]
	delete(l.all, name)
	return time.Since(began), found
}

// churn makes, edits and deletes resources at a steady pace, and looks at how long the new ones take.
func (u *turn) churn() error {
	if _, err := u.one(noiseOf(u.kind, u.name+"-warm")); err != nil {
		return err
	}
	before, err := u.process.rss()
	if err != nil {
		return err
	}
	follower, err := u.follow(u.b.Context(), noiseKind(u.kind))
	if err != nil {
		return err
	}
	defer func() { follower.stop() }()
	names, born, ended := namesOf(u.kind, u.name+"-churn", int(churnRate*u.t.churned.Seconds())), &births{all: map[string]time.Time{}}, make(chan error, 1)
	go func() {
		_, err := u.goRound(names, churnRate, born.add, nil)
		ended <- err
	}()
	var took times
	unready := 0
	err = follower.until("all that churn has made Ready or gone", func(event watch.Event, now *unstructured.Unstructured) bool {
		if !isReady(now) && event.Type != watch.Deleted {
			return false
		}
		if d, found := born.take(now.GetName()); found {
			took = append(took, d)
			if !isReady(now) {
				unready++ // it counts with the age at which it was deleted
			}
		}
		return len(took) == len(names)
	}, u.t.churned+patience)
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	after, err := u.process.rss()
	if err != nil {
		return err
	}
	u.addTimes("churn", took)
	u.add("churn.unready", float64(unready))
	u.add("churn.rss", after-before)
	return nil
}

// goRound makes one resource after the other, some in a second, and edits and deletes each later. It ends when the last one is deleted, earlier when over
// is closed (nil: never), or with the first request that fails, and gives how many it has made.
func (u *turn) goRound(names []string, rate int, born func(name string), over <-chan struct{}) (made int, err error) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var living sync.WaitGroup
	defer living.Wait()
	failed := make(chan error, len(names))
making:
	for _, name := range names {
		select {
		case err := <-failed:
			return made, err
		case <-over:
			break making
		case <-tick.C:
		}
		born(name)
		made++
		living.Go(func() {
			if err := u.live(name); err != nil {
				failed <- err
			}
		})
	}
	living.Wait()
	close(failed)
	return made, <-failed
}

// live is the life of one resource. On a busy machine its creation takes long, and what comes after it waits for that.
func (u *turn) live(name string) error {
	if err := u.kube.Create(u.b.Context(), noiseOf(u.kind, name)); err != nil {
		return err
	}
	time.Sleep(age)
	edit := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"host":"edited"}}`))
	if err := u.kube.Patch(u.b.Context(), noiseOf(u.kind, name), edit); err != nil {
		return err
	}
	time.Sleep(age)
	return u.kube.Delete(u.b.Context(), noiseOf(u.kind, name))
}
