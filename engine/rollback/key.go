package rollback

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// KeySecret is the name of the Secret that holds the key of snapshots, in the manager's namespace.
const KeySecret = "orkestra-snapshot-key" //nolint:gosec // its name is no secret

const (
	keyField = "key" // of the data of the Secret
	keySize  = 32    // bytes, as many as SHA-256 has
)

// The Secret is read by its name and made once; the chart and config/rbac/snapshots_role.yaml give the rights, in the manager's namespace.

// Key signs snapshots. It is a secret: it must not be logged.
type Key []byte

// sign gives the HMAC of a content, as text.
func (k Key) sign(content []byte) string {
	mac := hmac.New(sha256.New, k)
	mac.Write(content)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signed says whether a signature is that of a content.
func (k Key) signed(content []byte, signature string) bool {
	return hmac.Equal([]byte(k.sign(content)), []byte(signature))
}

// Keys has the key of this installation: it reads the Secret once in the life of a process, and makes it where there is none. It is safe
// for concurrent use.
type Keys struct {
	client    client.Writer
	live      client.Reader // from the API server: through a cache all Secrets would be watched
	namespace string

	mu  sync.Mutex
	key Key // nil: not read yet; guarded by mu
}

// NewKeys gives one that writes through c and reads from the API server.
func NewKeys(c client.Writer, live client.Reader, namespace string) *Keys {
	return &Keys{client: c, live: live, namespace: namespace}
}

// String names the Secret as kubectl would.
func (k *Keys) String() string { return fmt.Sprintf("Secret %s/%s", k.namespace, KeySecret) }

// Key gives the key without a request; an error where Load has not found it yet.
func (k *Keys) Key() (Key, error) {
	if k == nil {
		return nil, errors.New("no key to check it with")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key == nil {
		return nil, fmt.Errorf("the key in %s could not be read", k)
	}
	return k.key, nil
}

// Load gives the key. The first call of a process asks the API server, and makes the Secret where there is none. A Secret without a key is
// left as it is: somebody has changed it, and may have the key elsewhere.
func (k *Keys) Load(ctx context.Context) (Key, error) {
	if k == nil {
		return nil, errors.New("no key to sign with")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil {
		return k.key, nil
	}
	secret, err := k.find(ctx)
	if err != nil {
		return nil, err
	}
	if found := len(secret.Data[keyField]); found < keySize {
		return nil, fmt.Errorf("%s: data.%s has %d bytes, and a key has at least %d: restore the Secret, or delete it, then a new key is made and snapshots are taken anew",
			k, keyField, found, keySize)
	}
	k.key = secret.Data[keyField]
	return k.key, nil
}

// find reads the Secret, or makes it. Of two processes that make it at the same time, one is refused, and reads what the other has made.
func (k *Keys) find(ctx context.Context) (*corev1.Secret, error) {
	secret, name := &corev1.Secret{}, types.NamespacedName{Namespace: k.namespace, Name: KeySecret}
	err := k.live.Get(ctx, name, secret)
	if !apierrors.IsNotFound(err) {
		return secret, k.failed("reading", err)
	}
	fresh := make([]byte, keySize)
	if _, err := rand.Read(fresh); err != nil {
		return nil, k.failed("making the key of", err)
	}
	secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}},
		Immutable:  new(true),
		Data:       map[string][]byte{keyField: fresh},
	}
	err = k.client.Create(ctx, secret, client.FieldOwner(v1alpha1.FieldManager))
	if apierrors.IsAlreadyExists(err) {
		err = k.live.Get(ctx, name, secret)
	}
	return secret, k.failed("making", err)
}

// failed names the Secret in an error of the API server.
func (k *Keys) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s, which signs snapshots: %w", doing, k, err)
}
