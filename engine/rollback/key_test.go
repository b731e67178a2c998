package rollback

import (
	"bytes"
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secrets hold one Secret, as several processes see it.
type secrets struct {
	client.Client // nil: what is not below is not asked for

	stored *corev1.Secret // nil: there is none
	reads  int
	misses int // so many reads do not see it: another process makes it a moment later
}

func (s *secrets) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	s.reads++
	if s.stored == nil || s.reads <= s.misses {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	s.stored.DeepCopyInto(obj.(*corev1.Secret))
	return nil
}

func (s *secrets) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	if s.stored != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, obj.GetName())
	}
	s.stored = obj.DeepCopyObject().(*corev1.Secret)
	return nil
}

func TestAKeyIsMadeOnceAndReadOnce(t *testing.T) {
	g := NewWithT(t)
	s := &secrets{}
	first := NewKeys(s, s, "orkestra-system")
	_, err := first.Key()
	g.Expect(err).To(HaveOccurred(), "not read yet")
	key, err := first.Load(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(key).To(HaveLen(keySize))
	g.Expect(s.stored.Immutable).To(HaveValue(BeTrue()))
	g.Expect(s.reads).To(Equal(1))
	g.Expect(first.Load(context.Background())).To(Equal(key))
	g.Expect(first.Key()).To(Equal(key))
	g.Expect(s.reads).To(Equal(1))

	g.Expect(NewKeys(s, s, "orkestra-system").Load(context.Background())).To(Equal(key), "the next process")
	s.reads, s.misses = 0, 1
	g.Expect(NewKeys(s, s, "orkestra-system").Load(context.Background())).To(Equal(key), "one that made it at the same time")

	another, err := NewKeys(&secrets{}, &secrets{}, "orkestra-system").Load(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(another).NotTo(Equal(key), "of another installation")
}

func TestASecretWithoutAKeyIsLeftAsItIs(t *testing.T) {
	g := NewWithT(t)
	s := &secrets{stored: &corev1.Secret{Data: map[string][]byte{keyField: bytes.Repeat([]byte{1}, keySize-1)}}}
	keys := NewKeys(s, s, "orkestra-system")
	_, err := keys.Load(context.Background())
	g.Expect(err).To(MatchError(ContainSubstring("Secret orkestra-system/orkestra-snapshot-key: data.key has 31 bytes, and a key has at least 32")))
	g.Expect(s.stored.Data[keyField]).To(HaveLen(keySize - 1))
	s.stored = nil
	g.Expect(keys.Load(context.Background())).To(HaveLen(keySize), "tried again")
}
