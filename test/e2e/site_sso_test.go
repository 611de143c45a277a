//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/sso"
)

// clientSecretName is the Secret with what Argo CD proves itself with to the provider.
const clientSecretName = "oidc-client"

func (s *site) oidc() map[string]any {
	return map[string]any{
		"name": "Example", "issuer": s.provider.Issuer, "clientID": sso.ClientID, "rootCA": string(s.provider.CA),
		"clientSecretRef": map[string]any{"name": clientSecretName},
		"adminGroups":     []any{sso.Admins}, "readOnlyGroups": []any{sso.Observers},
	}
}

func (s *site) writeClientSecret(ctx context.Context, t *testing.T) {
	t.Helper()
	s.secrets.write(ctx, t, clientSecretName, map[string]string{"clientSecret": s.provider.ClientSecret})
}

// visitor is somebody at the URL who has not logged in.
func (s *site) visitor(t *testing.T) *argocd.Client {
	t.Helper()
	api, err := argocd.NewTrusting(dialer, "https://"+s.host, s.authorities)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// keptByArgoCD is what sessions and the admin's password live on.
func (s *site) keptByArgoCD(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()
	secret, err := open(ctx, t, s.live).Typed.CoreV1().Secrets("argocd").Get(ctx, "argocd-secret", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, key := range []string{"server.secretkey", "admin.password"} {
		if out[key] = string(secret.Data[key]); out[key] == "" {
			t.Errorf("Secret argocd-secret has no %s", key)
		}
	}
	return out
}

// signOnWithin is how long the provider, Argo CD and the ingress controller may need until somebody who may sign on has.
const signOnWithin = 2 * time.Minute

// signedOn returns the session of somebody who signs on.
func (s *site) signedOn(ctx context.Context, t *testing.T, who sso.User) *argocd.Client {
	t.Helper()
	var api *argocd.Client
	eventually.True(ctx, t, signOnWithin, who.Name+" signs on", func(ctx context.Context) (bool, string) {
		api = s.visitor(t)
		err := api.LoginSSO(ctx, who.Name, who.Password)
		return err == nil, fmt.Sprint(err)
	})
	return api
}

func (s *site) groups(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, person := range []struct {
		sso.User
		creates, gets bool
	}{
		{s.provider.Ada, true, true},
		{s.provider.Olga, false, true},
		{s.provider.Nemo, false, false},
	} {
		start := time.Now()
		api := s.signedOn(ctx, t, person.User)
		measured.add("site: "+person.Name+" signs on", time.Since(start))
		info, err := api.UserInfo(ctx)
		if err != nil || info.Username != person.Email() || info.Issuer != s.provider.Issuer || !slices.Equal(info.Groups, person.Groups) {
			t.Errorf("the session of %s is for %+v, %v", person.Name, info, err)
		}
		for action, want := range map[string]bool{"create": person.creates, "get": person.gets} {
			if may, err := api.May(ctx, action, "applications", "default/shop"); err != nil || may != want {
				t.Errorf("%s may %s Applications: %t, %v, want %t", person.Name, action, may, err, want)
			}
		}
		// What Argo CD says one may is one thing, what it does another.
		if _, err := api.Get(ctx, "bootstrap"); (err == nil) != person.gets {
			t.Errorf("%s looks at an Application: %v", person.Name, err)
		}
		if !person.creates {
			if err := api.Create(ctx, "by-"+person.Name, wholeOf("https://git.example.org/repo.git"), argocd.InCluster); err == nil || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("%s creates an Application: want permission denied, got %v", person.Name, err)
			}
		}
	}
	eventually.True(ctx, t, signOnWithin, "the provider asks again for a wrong password", func(ctx context.Context) (bool, string) {
		err := s.visitor(t).LoginSSO(ctx, s.provider.Ada.Name, "not "+s.provider.Ada.Password)
		if err == nil {
			t.Fatal("somebody signs on with a wrong password")
		}
		return strings.Contains(err.Error(), "asks again"), err.Error()
	})
	return ctx
}

// rotated takes the old client secret's power away first, so that who signs on then does with the new one.
func (s *site) rotated(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	s.provider.RotateClientSecret(ctx, t)
	if err := s.visitor(t).LoginSSO(ctx, s.provider.Ada.Name, s.provider.Ada.Password); err == nil {
		t.Error("the provider takes the old client secret: this test shows nothing")
	}
	calm.RLock()
	defer calm.RUnlock()
	start := time.Now()
	s.writeClientSecret(ctx, t)
	eventually.True(ctx, t, 3*time.Minute, "somebody signs on with the new client secret", func(ctx context.Context) (bool, string) {
		err := s.visitor(t).LoginSSO(ctx, s.provider.Ada.Name, s.provider.Ada.Password)
		return err == nil, fmt.Sprint(err)
	})
	took := time.Since(start)
	measured.add("site: rotated client secret to signed on with it", took)
	if took > inUseWithin {
		t.Errorf("the new client secret is in use %s after it was written, more than %s", took.Round(time.Second), inUseWithin)
	}
	return ctx
}

func (s *site) clientSecretMissing(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.secrets.delete(ctx, t, clientSecretName)
	start := time.Now()
	s.live.Await(ctx, t, 2*time.Minute, "names the client secret's Secret that is missing, and is Ready", func(state *claim.State) bool {
		named := namesIt(state, claim.SSOReady, "Secret "+clientSecretName+" ") && state.Condition(claim.SSOReady).Reason == "SecretMissing"
		return named && state.IsReady()
	})
	measured.add("site: client secret's Secret deleted to named in the claim", time.Since(start))
	// What was in the Secret stays in use.
	s.signedOn(ctx, t, s.provider.Olga)
	s.writeClientSecret(ctx, t)
	s.live.Await(ctx, t, 2*time.Minute, "has its client secret again", func(state *claim.State) bool { return state.True(claim.SSOReady) })
	return ctx
}

func (s *site) adminOff(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	s.live.Patch(ctx, t, true, "spec", "sso", "disableAdmin")
	start := time.Now()
	eventually.True(ctx, t, 2*time.Minute, "Argo CD refuses the admin", func(ctx context.Context) (bool, string) {
		err := s.visitor(t).Login(ctx, "admin", s.password)
		return err != nil && strings.Contains(err.Error(), "disabled"), fmt.Sprint(err)
	})
	measured.add("site: disableAdmin to refused", time.Since(start))
	if info, err := s.admin.UserInfo(ctx); err == nil && info.LoggedIn {
		t.Errorf("the admin's session goes on: %+v", info)
	}
	s.live.Await(ctx, t, 3*time.Minute, "is Ready with its admin switched off", func(state *claim.State) bool {
		return state.True(claim.Ready) && state.True(claim.SSOReady)
	})
	awaitDetails(ctx, t, s.live, "has no password that opens nothing", func(details map[string]string) (bool, string) {
		return details["username"] == "" && details["password"] == "" && details["url"] != "",
			fmt.Sprintf("username %q, a password of %d characters", details["username"], len(details["password"]))
	})
	s.signedOn(ctx, t, s.provider.Ada)
	return ctx
}

func (s *site) signOnRemoved(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	s.live.Patch(ctx, t, nil, "spec", "sso")
	start := time.Now()
	eventually.True(ctx, t, 2*time.Minute, "the admin logs in with the password from before", func(ctx context.Context) (bool, string) {
		err := s.visitor(t).Login(ctx, "admin", s.password)
		return err == nil, fmt.Sprint(err)
	})
	measured.add("site: sign-on removed to admin logged in", time.Since(start))
	awaitDetails(ctx, t, s.live, "has that password again", func(details map[string]string) (bool, string) {
		return details["username"] == "admin" && details["password"] == s.password,
			fmt.Sprintf("username %q, a password of %d characters", details["username"], len(details["password"]))
	})
	if info, err := s.admin.UserInfo(ctx); err != nil || !info.LoggedIn {
		t.Errorf("a session from before sign-on was removed is none any more: %+v, %v", info, err)
	}
	for key, v := range s.keptByArgoCD(ctx, t) {
		if v != s.kept[key] {
			t.Errorf("%s of Secret argocd-secret is another one", key)
		}
	}
	settings, err := s.admin.Settings(ctx)
	if err != nil || settings["oidcConfig"] != nil {
		t.Errorf("Argo CD still offers to sign on: %v, %v", settings["oidcConfig"], err)
	}
	if err := s.visitor(t).LoginSSO(ctx, s.provider.Ada.Name, s.provider.Ada.Password); err == nil {
		t.Error("people still sign on")
	}
	return ctx
}
