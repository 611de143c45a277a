//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

const (
	// tokenSecret is the Secret that the token of the pipeline is delivered in, and takenSecret one that somebody has made.
	tokenSecret = "token-of-ci"
	takenSecret = "somebodys-own"
	// accountsWithin is how long Helm and Argo CD may need until a change of accounts is in use.
	accountsWithin = 3 * time.Minute
)

// pipelines is a customer whose pipelines use Argo CD with tokens.
type pipelines struct {
	live    *claim.Live
	secrets ownSecrets
	// admin is a session of the admin, from before there was an account.
	admin *argocd.Client
	// password is the admin's.
	password string
}

func TestLocalAccounts(t *testing.T) {
	t.Parallel()
	p := &pipelines{}
	testenv.Test(t, features.New("pipelines").
		Setup(p.create).
		Assess("TokenOpensArgoCD", p.delivered).
		Assess("RoleBoundsTheToken", p.bounded).
		Assess("SecretsOfOthersStay", p.taken).
		Assess("RenamedTokenIsRevoked", p.renamed).
		Assess("AdminsPasswordRotates", p.rotated).
		Assess("RemovedAccountIsGone", p.removed).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, p.live)
			if t.Failed() && keep {
				return ctx
			}
			if _, err := host.Typed.CoreV1().Secrets(claims).Get(ctx, tokenSecret, metav1.GetOptions{}); !kerrors.IsNotFound(err) {
				t.Errorf("Secret %s outlives its claim: %v", tokenSecret, err)
			}
			p.secrets.deleteAll(ctx, t)
			return ctx
		}).Feature())
}

func (p *pipelines) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	p.live = claim.Create(ctx, t, host, newClaim("pipelines"))
	p.live.AwaitReady(ctx, t, readyWithin)
	p.admin = loggedIn(ctx, t, p.live)
	p.password = connectionDetails(ctx, t, p.live)["password"]
	return ctx
}

// account is an entry of spec.argocd.accounts.
func account(tokens ...any) map[string]any {
	return map[string]any{"name": "ci", "role": "readonly", "tokens": tokens}
}

func (p *pipelines) write(ctx context.Context, t *testing.T, accounts ...any) {
	t.Helper()
	p.live.Patch(ctx, t, accounts, "spec", "argocd", "accounts")
}

// delivery is what a Secret with a token has.
func delivery(ctx context.Context, name string) (map[string]string, error) {
	secret, err := host.Typed.CoreV1().Secrets(claims).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for key, value := range secret.Data {
		out[key] = string(value)
	}
	return out, nil
}

// as is somebody with a token.
func (p *pipelines) as(ctx context.Context, t *testing.T, token string) *argocd.Client {
	t.Helper()
	api := argocd.New(dialer, connectionDetails(ctx, t, p.live)["url"])
	api.As(token)
	return api
}

func (p *pipelines) delivered(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if info, err := p.admin.UserInfo(ctx); err != nil || !info.LoggedIn {
		t.Fatalf("the admin's session: %+v, %v", info, err)
	}
	start := time.Now()
	p.write(ctx, t, account(map[string]any{"name": "deploy", "secretName": tokenSecret}))
	var secret map[string]string
	eventually.True(ctx, t, accountsWithin, "the token is delivered", func(ctx context.Context) (bool, string) {
		var err error
		secret, err = delivery(ctx, tokenSecret)
		return err == nil && secret["token"] != "", fmt.Sprint(err)
	})
	measured.add("pipelines: account to delivered token", time.Since(start))
	// Argo CD accepts it as soon as it is there, but for the moment in which its API server is replaced.
	api := p.as(ctx, t, secret["token"])
	var info argocd.User
	eventually.True(ctx, t, 30*time.Second, "the token is accepted", func(ctx context.Context) (bool, string) {
		var err error
		info, err = api.UserInfo(ctx)
		return err == nil && info.LoggedIn, fmt.Sprintf("%+v, %v", info, err)
	})
	measured.add("pipelines: account to accepted token", time.Since(start))
	if info.Username != "ci" || info.Issuer != "argocd" {
		t.Errorf("the token is one of %+v", info)
	}
	url := connectionDetails(ctx, t, p.live)["url"]
	if secret["account"] != "ci" || secret["url"] != url || "https://"+secret["server"] != url {
		t.Errorf("the Secret has account %q, server %q, url %q, want url %q", secret["account"], secret["server"], secret["url"], url)
	}
	p.live.Await(ctx, t, accountsWithin, "says that the token is delivered", func(s *claim.State) bool {
		return s.True(claim.AccountsReady) && strings.Contains(s.Condition(claim.AccountsReady).Message, tokenSecret) && s.IsReady()
	})
	// Argo CD has another signing key now.
	if info, err := p.admin.UserInfo(ctx); err == nil && info.LoggedIn {
		t.Errorf("the session from before goes on: %+v", info)
	}
	p.admin = loggedIn(ctx, t, p.live)
	return ctx
}

func (p *pipelines) bounded(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	secret, err := delivery(ctx, tokenSecret)
	if err != nil {
		t.Fatal(err)
	}
	api := p.as(ctx, t, secret["token"])
	if err := api.Try(ctx, http.MethodGet, "/api/v1/applications", nil); err != nil {
		t.Errorf("the token lists no Applications: %v", err)
	}
	for action, want := range map[string]bool{"get": true, "create": false, "delete": false, "sync": false} {
		if may, err := api.May(ctx, action, "applications", "default/shop"); err != nil || may != want {
			t.Errorf("ci may %s Applications: %t, %v, want %t", action, may, err, want)
		}
	}
	if err := api.Create(ctx, "by-ci", wholeOf("https://git.example.org/repo.git"), argocd.InCluster); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("ci creates an Application: want permission denied, got %v", err)
	}
	if err := p.as(ctx, t, secret["token"]+"x").Try(ctx, http.MethodGet, "/api/v1/applications", nil); err == nil {
		t.Error("a token with another signature is accepted")
	}
	return ctx
}

// taken names a Secret that somebody has made.
func (p *pipelines) taken(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	own := map[string]string{"token": "mine"}
	p.secrets.put(ctx, t, metav1.ObjectMeta{Name: takenSecret}, own)
	deploy := map[string]any{"name": "deploy", "secretName": tokenSecret}
	p.write(ctx, t, account(deploy, map[string]any{"name": "second", "secretName": takenSecret}))
	p.live.Await(ctx, t, accountsWithin, "names the Secret that is somebody's", func(s *claim.State) bool {
		return namesIt(s, claim.AccountsReady, "Secret "+takenSecret+" exists in namespace "+claims) && s.Condition(claim.AccountsReady).Reason == "SecretTaken" && s.IsReady()
	})
	if is, err := delivery(ctx, takenSecret); err != nil || !maps.Equal(is, own) {
		t.Errorf("the Secret has changed: %v, %v", is, err)
	}
	// It goes, and the token is delivered.
	p.secrets.delete(ctx, t, takenSecret)
	start := time.Now()
	eventually.True(ctx, t, accountsWithin, "the second token is delivered", func(ctx context.Context) (bool, string) {
		is, err := delivery(ctx, takenSecret)
		return err == nil && is["token"] != "", fmt.Sprint(err)
	})
	measured.add("pipelines: Secret of somebody deleted to delivered token", time.Since(start))
	// Its type keeps Crossplane from overwriting one that is created at the same moment.
	secret, err := host.Typed.CoreV1().Secrets(claims).Get(ctx, takenSecret, metav1.GetOptions{})
	if err != nil || secret.Type != "virtualargocd.io/argocd-token" {
		t.Fatalf("the Secret is of type %s, %v", secret.Type, err)
	}
	secret.Type = corev1.SecretTypeOpaque
	if _, err := host.Typed.CoreV1().Secrets(claims).Update(ctx, secret, metav1.UpdateOptions{}); !kerrors.IsInvalid(err) {
		t.Errorf("a Secret's type can be changed: %v", err)
	}
	p.write(ctx, t, account(deploy))
	eventually.True(ctx, t, accountsWithin, "the second token's Secret is gone", func(ctx context.Context) (bool, string) {
		_, err := delivery(ctx, takenSecret)
		return kerrors.IsNotFound(err), fmt.Sprint(err)
	})
	return ctx
}

func (p *pipelines) renamed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before, err := delivery(ctx, tokenSecret)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	p.write(ctx, t, account(map[string]any{"name": "deploy-2", "secretName": tokenSecret}))
	eventually.True(ctx, t, accountsWithin, "the Secret has another token, which is accepted", func(ctx context.Context) (bool, string) {
		is, err := delivery(ctx, tokenSecret)
		if err != nil || is["token"] == before["token"] {
			return false, fmt.Sprintf("another: false, %v", err)
		}
		info, err := p.as(ctx, t, is["token"]).UserInfo(ctx)
		return err == nil && info.LoggedIn, fmt.Sprintf("%+v, %v", info, err)
	})
	measured.add("pipelines: renamed token to accepted one", time.Since(start))
	if err := p.as(ctx, t, before["token"]).Try(ctx, http.MethodGet, "/api/v1/applications", nil); err == nil {
		t.Error("the token of before is accepted")
	}
	if info, err := p.admin.UserInfo(ctx); err != nil || !info.LoggedIn {
		t.Errorf("a session ends with another token: %+v, %v", info, err)
	}
	return ctx
}

// rotated looks at the published password all the time: how long is it one that opens nothing?
func (p *pipelines) rotated(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, value := range []string{"2026-01-01", "2026-01-02"} {
		before := p.password
		start, useless := time.Now(), time.Duration(0)
		p.live.Patch(ctx, t, value, "metadata", "annotations", "virtualargocd.io/rotate-admin-password")
		eventually.True(ctx, t, accountsWithin, "another password is published, and opens Argo CD", func(ctx context.Context) (bool, string) {
			p.password = connectionDetails(ctx, t, p.live)["password"]
			err := p.as(ctx, t, "").Login(ctx, "admin", p.password)
			if err != nil {
				useless = time.Since(start)
			}
			return err == nil && p.password != before, fmt.Sprintf("another: %t, %v", p.password != before, err)
		})
		measured.add("pipelines: rotation of the admin's password", time.Since(start))
		t.Logf("the published password was refused last after %s of %s", useless.Round(time.Second), time.Since(start).Round(time.Second))
		if err := p.as(ctx, t, "").Login(ctx, "admin", before); err == nil {
			t.Error("the password of before opens Argo CD")
		}
		if info, err := p.admin.UserInfo(ctx); err == nil && info.LoggedIn {
			t.Errorf("a session from before the rotation goes on: %+v", info)
		}
		p.live.Await(ctx, t, accountsWithin, "says that the password was rotated", func(s *claim.State) bool {
			return s.True(claim.AccountsReady) && strings.Contains(s.Condition(claim.AccountsReady).Message, "The password of admin was rotated at") && s.IsReady()
		})
		p.admin = loggedIn(ctx, t, p.live)
	}
	return ctx
}

func (p *pipelines) removed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before, err := delivery(ctx, tokenSecret)
	if err != nil {
		t.Fatal(err)
	}
	p.live.Patch(ctx, t, nil, "spec", "argocd", "accounts")
	eventually.True(ctx, t, accountsWithin, "the account and its Secret are gone", func(ctx context.Context) (bool, string) {
		_, gone := delivery(ctx, tokenSecret)
		err := p.as(ctx, t, before["token"]).Try(ctx, http.MethodGet, "/api/v1/applications", nil)
		return kerrors.IsNotFound(gone) && err != nil, fmt.Sprintf("%v, %v", gone, err)
	})
	p.live.AwaitReady(ctx, t, accountsWithin)
	if info, err := answering(ctx, t, p.admin).UserInfo(ctx); err != nil || !info.LoggedIn {
		t.Errorf("a session ends with the account: %+v, %v", info, err)
	}
	// One is there when the claim goes.
	p.write(ctx, t, account(map[string]any{"name": "deploy", "secretName": tokenSecret}))
	eventually.True(ctx, t, accountsWithin, "a token is delivered again", func(ctx context.Context) (bool, string) {
		_, err := delivery(ctx, tokenSecret)
		return err == nil, fmt.Sprint(err)
	})
	return ctx
}
