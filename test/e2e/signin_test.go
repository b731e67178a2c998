package e2e_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/controllers/serve"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/signin"
)

// login is an OpenID Connect provider at which everybody is the same person, without being asked. What it refuses is for the tests of the sign-in
// itself to say.
type login struct {
	oidctest.Server

	url    string
	key    *rsa.PrivateKey
	claims map[string]any

	mu    sync.Mutex
	nonce string // of the last sign-in; guarded by mu
}

func newLogin(claims map[string]any) *login {
	GinkgoHelper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	Expect(err).NotTo(HaveOccurred())
	l := &login{key: key, claims: claims}
	l.PublicKeys = []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "one", Algorithm: oidc.RS256}}
	server := httptest.NewServer(l)
	DeferCleanup(server.Close)
	l.url = server.URL
	l.SetIssuer(server.URL)
	return l
}

func (l *login) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch asked := r.URL.Query(); r.URL.Path {
	case "/auth":
		l.nonce = asked.Get("nonce")
		http.Redirect(w, r, asked.Get("redirect_uri")+"?"+url.Values{"code": {"code"}, "state": {asked.Get("state")}}.Encode(), http.StatusSeeOther)
	case "/token":
		now := time.Now().Unix()
		claims := map[string]any{"iss": l.url, "aud": "page", "exp": now + 60, "iat": now, "nonce": l.nonce}
		maps.Copy(claims, l.claims)
		text, _ := json.Marshal(claims) //nolint:errchkjson // claims of tests are JSON
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": "none", "token_type": "Bearer", "id_token": oidctest.SignIDToken(l.key, "one", oidc.RS256, string(text))}) //nolint:errchkjson // the client may have gone
	default:
		l.Server.ServeHTTP(w, r)
	}
}

var _ = Describe("The sign-in of the Control Center", func() {
	It("shows people what a binding of the groups lets them read that the provider tells, until they sign out", func(ctx context.Context) {
		w := newWorld(ctx)
		provider, dir := newLogin(map[string]any{"sub": w.id, "groups": []string{w.id}}), GinkgoT().TempDir()
		key, secret := filepath.Join(dir, "key"), filepath.Join(dir, "secret")
		random := make([]byte, 32)
		_, _ = rand.Read(random)
		Expect(os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString(random)), 0o600)).To(Succeed())
		Expect(os.WriteFile(secret, []byte("secret"), 0o600)).To(Succeed())
		address := servePage(serve.Options{SignIn: &signin.Options{
			Issuer: provider.url, ClientID: "page", ClientSecretFile: secret, SessionKeyFile: key, SessionLife: time.Hour,
			Claims: signin.Claims{Username: "sub", UsernamePrefix: "oidc:", Groups: "groups", GroupsPrefix: "oidc:"},
		}})
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.id + "-sre"}, Rules: []rbacv1.PolicyRule{to("orkestra.orkspace.io", "operatorboxes", "list")}}
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "oidc:" + w.id}}}
		for _, obj := range []client.Object{role, binding} {
			Expect(kube.Create(ctx, obj)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, obj)).To(Succeed()) })
		}
		p := centerAs(address, "")
		jar, err := cookiejar.New(nil)
		Expect(err).NotTo(HaveOccurred())
		p.Jar = jar
		p.answers(ctx, http.StatusUnauthorized)
		var problem api.Problem
		Expect(p.ask(ctx, Default, "fleet", &problem)).To(Equal(http.StatusUnauthorized))
		Expect(problem.SignIn).To(Equal("/auth/login"))
		send := func(method, path string) *http.Response {
			GinkgoHelper()
			request, err := http.NewRequestWithContext(ctx, method, p.base+path, nil)
			Expect(err).NotTo(HaveOccurred())
			request.Header.Set("Origin", p.base)
			r, err := p.Do(request)
			Expect(err).NotTo(HaveOccurred())
			Expect(r.Body.Close()).To(Succeed())
			return r
		}

		By("following the redirects to the provider, and back")
		back := send(http.MethodGet, "/auth/login?to=/boxes/"+w.id)
		Expect(back.StatusCode).To(Equal(http.StatusOK))
		Expect(back.Request.URL.String()).To(Equal(p.base + "/boxes/" + w.id))
		var fleet api.Fleet
		Eventually(func(g Gomega) {
			g.Expect(p.ask(ctx, g, "fleet", &fleet)).To(Equal(http.StatusOK))
			g.Expect(fleet.Boxes).To(ContainElement(HaveField("Name", w.id)))
		}).WithContext(ctx).Should(Succeed())
		Expect(fleet.Person).To(Equal(api.Person{Name: "oidc:" + w.id, Groups: []string{"oidc:" + w.id, "system:authenticated"}}))
		Expect(p.ask(ctx, Default, "boxes/"+w.id+"/resources", &problem)).To(Equal(http.StatusForbidden))

		By("signing out")
		Expect(send(http.MethodPost, "/auth/logout").StatusCode).To(Equal(http.StatusNoContent))
		Expect(p.ask(ctx, Default, "fleet", &problem)).To(Equal(http.StatusUnauthorized))
	})
})
