package identity

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

// A pool for each account would cost connections, and their goroutines, by the number of accounts.
func TestAThousandBoxesUnderFiftyAccountsShareOnePool(t *testing.T) {
	const boxes, accounts, rounds, atOnce = 1000, 50, 3, 8
	g := NewWithT(t)
	var opened atomic.Int64
	var seen sync.Map // user and box, by request
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Impersonate-User")+" "+r.Header.Get("Impersonate-Extra-Orkestra.orkspace.io%2fbox"), true)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	pool := &http.Transport{MaxIdleConnsPerHost: atOnce}
	defer pool.CloseIdleConnections()

	clients := make([]*http.Client, boxes)
	for box := range boxes {
		name := strconv.Itoa(box % accounts)
		account := Account{Namespace: "team-" + name, Name: "shop", UID: types.UID(name)}
		clients[box] = &http.Client{Transport: NewTransport(account, "box-"+strconv.Itoa(box), pool)}
	}
	for range rounds {
		next := make(chan *http.Client)
		var sending sync.WaitGroup
		for range atOnce {
			sending.Go(func() {
				for sender := range next {
					if err := get(t, sender, server.URL); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for _, sender := range clients {
			next <- sender
		}
		close(next)
		sending.Wait()
	}
	identities := 0
	seen.Range(func(_, _ any) bool { identities++; return true })
	g.Expect(identities).To(Equal(boxes), "each box is told from the others")
	g.Expect(opened.Load()).To(BeNumerically("<=", 2*atOnce), "connections go with the requests at once, not with accounts or boxes")
}

func get(t *testing.T, sender *http.Client, url string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := sender.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if closed := response.Body.Close(); err == nil {
		err = closed
	}
	return err
}
