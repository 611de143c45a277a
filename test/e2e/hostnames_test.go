//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/sso"
)

// hostsNamespace is where the OIDC provider of TestHosts is.
const hostsNamespace = "e2e-hosts"

// hosts is a customer whose Argo CD has two hostnames, and then a path.
type hosts struct {
	live          *claim.Live
	first, second string
	authorities   []byte
	provider      *sso.Provider
	secrets       ownSecrets
}

// TestHosts has an Argo CD with two hostnames, and people who sign on at both, by an OpenID Connect provider and by Dex.
func TestHosts(t *testing.T) {
	if ingress.Address == "" {
		t.Skip("HOSTNAMES AND DEX ARE NOT TRIED: THAT TAKES THE INGRESS CONTROLLER OF THE EMBEDDED CLUSTER, AND THE TESTS RUN ON ANOTHER ONE")
	}
	t.Parallel()
	h := &hosts{first: "first." + ingress.Domain, second: "second." + ingress.Domain}
	t.Cleanup(func() {
		ctx := context.Background()
		cleanUp(ctx, t, h.live)
		if t.Failed() && keep {
			return
		}
		h.secrets.deleteAll(ctx, t)
		deleteNamespace(ctx, t, hostsNamespace)
	})
	testenv.Test(t, features.New("hosts").
		Setup(h.servers).
		Assess("BothHostnamesAreServed", h.both).
		Assess("PathIsThatOfBoth", h.path).
		Assess("DexSignsPeopleOn", h.dex).
		Feature())
}

func (h *hosts) servers(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(hostsNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	lab, err := os.ReadFile(ingress.CA)
	if err != nil {
		t.Fatal(err)
	}
	h.provider = sso.Run(ctx, t, host, hostsNamespace, "https://"+h.first, "https://"+h.second, "https://"+h.first+"/argocd")
	h.authorities = slices.Concat(lab, h.provider.CA)
	// With a name that begins with the claim's, it would count as something that is left of the claim.
	h.secrets.write(ctx, t, "oidc-of-hosts", map[string]string{"clientSecret": h.provider.ClientSecret})
	h.live = claim.Create(ctx, t, host, newClaim("two-names").
		Set(h.first, "spec", "ingress", "host").
		Set([]any{h.second}, "spec", "ingress", "additionalHosts").
		Set(map[string]any{
			"name": "Example", "issuer": h.provider.Issuer, "clientID": sso.ClientID, "rootCA": string(h.provider.CA),
			"clientSecretRef": map[string]any{"name": "oidc-of-hosts"}, "adminGroups": []any{sso.Admins},
		}, "spec", "sso", "oidc"))
	return ctx
}

// visitor is somebody at a URL who has not logged in.
func (h *hosts) visitor(t *testing.T, url string) *argocd.Client {
	t.Helper()
	api, err := argocd.NewTrusting(dialer, url, h.authorities)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// served waits until the claim and its Argo CD are at the URLs, the first of which is the claim's, and somebody can log in at each.
func (h *hosts) served(ctx context.Context, t *testing.T, urls ...string) {
	t.Helper()
	h.live.Await(ctx, t, readyWithin, "is served at "+strings.Join(urls, ", "), func(state *claim.State) bool {
		return state.Phase == "Ready" && state.True(claim.Ready) && state.ArgoCD.URL == urls[0] && state.True(claim.SSOReady) &&
			strings.HasPrefix(state.Condition(claim.IngressReady).Message, strings.Join(urls, ", ")+" are served at ")
	})
	awaitDetails(ctx, t, h.live, "has the first URL", func(details map[string]string) (bool, string) { return details["url"] == urls[0], details["url"] })
	password := connectionDetails(ctx, t, h.live)["password"]
	for _, url := range urls {
		eventually.True(ctx, t, 3*time.Minute, "somebody logs in at "+url, func(ctx context.Context) (bool, string) {
			api := h.visitor(t, url)
			if err := api.Login(ctx, "admin", password); err != nil {
				return false, err.Error()
			}
			settings, err := api.Settings(ctx)
			return err == nil && settings["url"] == urls[0], fmt.Sprint(err, settings["url"])
		})
	}
}

// signedOn waits until somebody signs on at a URL.
func (h *hosts) signedOn(ctx context.Context, t *testing.T, url string) {
	t.Helper()
	start := time.Now()
	eventually.True(ctx, t, signOnWithin, "somebody signs on at "+url, func(ctx context.Context) (bool, string) {
		api := h.visitor(t, url)
		err := api.LoginSSO(ctx, h.provider.Ada.Name, h.provider.Ada.Password)
		if err != nil {
			return false, err.Error()
		}
		info, err := api.UserInfo(ctx)
		return err == nil && info.Username == h.provider.Ada.Email() && slices.Equal(info.Groups, h.provider.Ada.Groups), fmt.Sprintf("%v, %+v", err, info)
	})
	measured.add("hosts: somebody signs on at "+url, time.Since(start))
}

func (h *hosts) both(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	first, second := "https://"+h.first, "https://"+h.second
	h.served(ctx, t, first, second)
	h.signedOn(ctx, t, first)
	h.signedOn(ctx, t, second)
	return ctx
}

func (h *hosts) path(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	first, second := "https://"+h.first+"/argocd", "https://"+h.second+"/argocd"
	h.live.Patch(ctx, t, map[string]any{"configs": map[string]any{"params": map[string]any{"server.rootpath": "/argocd"}}}, "spec", "argocd", "values")
	h.served(ctx, t, first, second)
	h.signedOn(ctx, t, first)
	if err := h.visitor(t, second).LoginSSO(ctx, h.provider.Ada.Name, h.provider.Ada.Password); err == nil {
		t.Error("Argo CD signs people on at each hostname below a path: SSOReady says that it doesn't")
	} else {
		t.Logf("signing on at %s: %v", second, err)
	}
	return ctx
}

// dex has people sign on with Dex, which sends them on to the provider.
func (h *hosts) dex(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	first := "https://" + h.first + "/argocd"
	repository, tag, _ := strings.Cut(strings.TrimPrefix(artifacts.DexImage(), "docker.io/"), ":")
	h.live.Patch(ctx, t, map[string]any{
		"argocd": map[string]any{"values": map[string]any{"dex": map[string]any{
			"enabled": true, "image": map[string]any{"repository": "docker.io/" + repository, "tag": tag},
		}}},
		"sso": map[string]any{"oidc": nil, "dex": map[string]any{
			"adminGroups": []any{sso.Admins},
			"connectors": []any{map[string]any{"type": "oidc", "id": "example", "name": "Example", "config": map[string]any{
				"issuer": h.provider.Issuer, "clientID": sso.ClientID, "clientSecret": "$oidc-of-hosts:clientSecret", "insecureSkipVerify": true,
				"insecureEnableGroups": true, "scopes": []any{"profile", "email", "groups"},
			}}},
		}},
	}, "spec")
	state := h.live.Await(ctx, t, 5*time.Minute, "has Dex, and says where it sends people back to", func(state *claim.State) bool {
		return state.True(claim.Ready) && strings.Contains(state.Condition(claim.SSOReady).Message, first+"/api/dex/callback")
	})
	t.Logf("SSOReady: %s", state.Condition(claim.SSOReady).Message)
	h.signedOn(ctx, t, first)
	return ctx
}
