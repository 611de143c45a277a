//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

const (
	// tokenKey is the key of the connection Secret with the token of the pipeline, and otherTokenKey that of a second one.
	tokenKey, otherTokenKey = "token.ci.deploy", "token.ci.other"
	// accountsWithin is how long Helm and Argo CD may need until a change of accounts is in use.
	accountsWithin = 3 * time.Minute
)

// pipelines is a customer whose pipelines use Argo CD with tokens.
type pipelines struct {
	live *claim.Live
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
		Assess("TokenRotates", p.rotates).
		Assess("RenamedTokenIsRevoked", p.renamed).
		Assess("AdminsPasswordRotates", p.rotated).
		Assess("RemovedAccountIsGone", p.removed).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, p.live)
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

// as is somebody with a token.
func (p *pipelines) as(ctx context.Context, t *testing.T, token string) *argocd.Client {
	t.Helper()
	api := argocd.New(dialer, connectionDetails(ctx, t, p.live)["url"])
	api.As(token)
	return api
}

// published is the token in the connection Secret.
func (p *pipelines) published(ctx context.Context, t *testing.T, key string) string {
	t.Helper()
	return connectionDetails(ctx, t, p.live)[key]
}

// opens reports whether Argo CD accepts a token, and as whose.
func (p *pipelines) opens(ctx context.Context, t *testing.T, token string) (argocd.User, error) {
	t.Helper()
	info, err := p.as(ctx, t, token).UserInfo(ctx)
	if err == nil && !info.LoggedIn {
		err = fmt.Errorf("not logged in: %+v", info)
	}
	return info, err
}

// says waits until the claim says that it has its accounts, and that the message has a text.
func (p *pipelines) says(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	p.live.Await(ctx, t, accountsWithin, "AccountsReady with "+text, func(s *claim.State) bool {
		return s.True(claim.AccountsReady) && strings.Contains(s.Condition(claim.AccountsReady).Message, text) && s.IsReady()
	})
}

func (p *pipelines) delivered(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if info, err := p.admin.UserInfo(ctx); err != nil || !info.LoggedIn {
		t.Fatalf("the admin's session: %+v, %v", info, err)
	}
	start := time.Now()
	p.write(ctx, t, account(map[string]any{"name": "deploy"}))
	token := ""
	eventually.True(ctx, t, accountsWithin, "the token is delivered", func(ctx context.Context) (bool, string) {
		token = p.published(ctx, t, tokenKey)
		return token != "", "no token"
	})
	measured.add("pipelines: account to delivered token", time.Since(start))
	// Helm has waited for Argo CD's new API server.
	info, err := p.opens(ctx, t, token)
	if err != nil || info.Username != "ci" || info.Issuer != "argocd" {
		t.Errorf("the delivered token is one of %+v, %v", info, err)
	}
	p.says(ctx, t, tokenKey+" until")
	measured.add("pipelines: account to AccountsReady", time.Since(start))
	// Argo CD has another signing key now.
	if info, err := p.admin.UserInfo(ctx); err == nil && info.LoggedIn {
		t.Errorf("the session from before goes on: %+v", info)
	}
	p.admin = loggedIn(ctx, t, p.live)
	return ctx
}

func (p *pipelines) bounded(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	token := p.published(ctx, t, tokenKey)
	api := p.as(ctx, t, token)
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
	if err := p.as(ctx, t, token+"x").Try(ctx, http.MethodGet, "/api/v1/applications", nil); err == nil {
		t.Error("a token with another signature is accepted")
	}
	return ctx
}

// rotates edits how long the token is valid, twice in a row, and looks all the time whether the published one works.
func (p *pipelines) rotates(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	first := p.published(ctx, t, tokenKey)
	seen := map[string]bool{first: true}
	start := time.Now()
	deploy := func(expiresIn string) map[string]any { return map[string]any{"name": "deploy", "expiresIn": expiresIn} }
	p.write(ctx, t, account(deploy("48h")))
	time.Sleep(2 * time.Second)
	p.write(ctx, t, account(deploy("24h")))
	until := ""
	eventually.True(ctx, t, accountsWithin, "a token of a day is published", func(ctx context.Context) (bool, string) {
		token := p.published(ctx, t, tokenKey)
		seen[token] = true
		if _, err := p.opens(ctx, t, token); err != nil {
			t.Errorf("the published token is refused: %v", err)
		}
		state, err := p.live.State(ctx)
		if err != nil {
			return false, err.Error()
		}
		until = state.Condition(claim.AccountsReady).Message
		return state.True(claim.AccountsReady) && strings.Contains(until, start.Add(24*time.Hour).UTC().Format("2006-01-02T")) && token != first, until
	})
	measured.add("pipelines: rotation of a token", time.Since(start))
	for token := range seen {
		if _, err := p.opens(ctx, t, token); err != nil {
			t.Errorf("one of the %d tokens so far is refused before it expires: %v", len(seen), err)
		}
	}
	if info, err := p.admin.UserInfo(ctx); err != nil || !info.LoggedIn {
		t.Errorf("a session ends with another token: %+v, %v", info, err)
	}
	return ctx
}

func (p *pipelines) renamed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before := p.published(ctx, t, tokenKey)
	start := time.Now()
	p.write(ctx, t, account(map[string]any{"name": "other"}))
	eventually.True(ctx, t, accountsWithin, "the Secret has the other token alone", func(ctx context.Context) (bool, string) {
		other, old := p.published(ctx, t, otherTokenKey), p.published(ctx, t, tokenKey)
		return other != "" && old == "", fmt.Sprintf("other: %t, old: %t", other != "", old != "")
	})
	if _, err := p.opens(ctx, t, p.published(ctx, t, otherTokenKey)); err != nil {
		t.Errorf("the other token: %v", err)
	}
	measured.add("pipelines: renamed token to accepted one", time.Since(start))
	if err := p.as(ctx, t, before).Try(ctx, http.MethodGet, "/api/v1/applications", nil); err == nil {
		t.Error("the token of before is accepted")
	}
	p.says(ctx, t, otherTokenKey+" until")
	return ctx
}

// rotated tries each password once: after five that are wrong, Argo CD refuses all of a user for five minutes.
func (p *pipelines) rotated(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, value := range []string{"2026-01-01", "2026-01-02"} {
		before := p.password
		start := time.Now()
		p.live.Patch(ctx, t, value, "metadata", "annotations", "virtualargocd.io/rotate-admin-password")
		// Somebody who knows the one before logs in meanwhile.
		late := p.as(ctx, t, "")
		if err := late.Login(ctx, "admin", before); err != nil {
			t.Fatal(err)
		}
		eventually.True(ctx, t, accountsWithin, "another password is published", func(ctx context.Context) (bool, string) {
			p.password = connectionDetails(ctx, t, p.live)["password"]
			return p.password != before, "the one before is"
		})
		measured.add("pipelines: rotation of the admin's password", time.Since(start))
		if err := p.as(ctx, t, "").Login(ctx, "admin", p.password); err != nil {
			t.Errorf("the published password: %v", err)
		}
		if err := p.as(ctx, t, "").Login(ctx, "admin", before); err == nil {
			t.Error("the password of before opens Argo CD")
		}
		for name, session := range map[string]*argocd.Client{"before": p.admin, "during": late} {
			if info, err := session.UserInfo(ctx); err == nil && info.LoggedIn {
				t.Errorf("a session from %s the rotation goes on: %+v", name, info)
			}
		}
		p.says(ctx, t, "the password of admin was rotated at")
		p.admin = loggedIn(ctx, t, p.live)
	}
	return ctx
}

func (p *pipelines) removed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before := p.published(ctx, t, otherTokenKey)
	p.live.Patch(ctx, t, nil, "spec", "argocd", "accounts")
	eventually.True(ctx, t, accountsWithin, "the account and its token are gone", func(ctx context.Context) (bool, string) {
		now := p.published(ctx, t, otherTokenKey)
		err := p.as(ctx, t, before).Try(ctx, http.MethodGet, "/api/v1/applications", nil)
		return now == "" && err != nil, fmt.Sprintf("published: %t, %v", now != "", err)
	})
	p.live.AwaitReady(ctx, t, accountsWithin)
	if info, err := answering(ctx, t, p.admin).UserInfo(ctx); err != nil || !info.LoggedIn {
		t.Errorf("a session ends with the account: %+v, %v", info, err)
	}
	return ctx
}
