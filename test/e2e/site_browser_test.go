//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/browser"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/sso"
)

// pageWithin is how long a page may take to show what it is about.
const pageWithin = time.Minute

// pages of the web interface, and what a person sees on them.
var pages = []struct {
	path  string
	shows []string
}{
	{"/applications/argocd/bootstrap?view=tree", []string{"APP HEALTH Healthy", "SYNC STATUS Synced to HEAD", "Sync OK", "application shop"}},
	{"/applications/argocd/shop?view=tree", []string{"APP HEALTH Healthy", "SYNC STATUS Synced to HEAD", "deploy web", "pod web-"}},
	{"/applications/argocd/shop?view=pods", []string{"GROUP BY"}},
	{"/applications/argocd/shop?view=list", []string{"apps/Deployment"}},
	{"/applications/argocd/shop?view=tree&node=apps%2FDeployment%2Fshop%2Fweb%2F0&tab=summary", []string{"LIVE MANIFEST", "kind: Deployment"}},
	{"/applications?view=list", []string{"bootstrap", "shop"}},
	{"/applications?view=summary", []string{"APPLICATIONS", "Health"}},
	{"/applications?new=%7B%7D", []string{"Application Name", "Repository URL"}},
	{"/settings", []string{"Repositories", "Clusters", "Projects", "Accounts"}},
	{"/settings/repos", []string{"apps", "Successful"}},
	{"/settings/certs", []string{"github.com", "ssh-ed25519"}},
	{"/settings/gpgkeys", []string{"No GnuPG public keys"}},
	{"/settings/clusters", []string{"in-cluster", "Successful"}},
	{"/settings/projects", []string{"default"}},
	{"/settings/projects/default", []string{"SOURCE REPOSITORIES", "DESTINATIONS"}},
	{"/settings/accounts", []string{"admin", "login"}},
	{"/settings/appearance", []string{"Theme"}},
	{"/user-info", []string{"Username: admin"}},
	{"/help", []string{"New to Argo CD?"}},
}

// healthy is what the list of Applications says.
var healthy = []string{
	"bootstrap Project: default Labels: Status: Healthy Synced Repository:",
	"shop Project: default Labels: Status: Healthy Synced Repository:",
}

// browse looks at Argo CD as its people do. E2E_PICTURE=docs/argocd.png makes the README's picture anew.
func (s *site) browse(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	url := "https://" + s.host
	options := browser.Options{Hosts: map[string]string{ingress.Domain: ingress.Address}, Width: 1280, Height: 680}
	b := browser.Open(t, options)
	start := time.Now()
	b.LogIn(t, url, "admin", s.password)
	b.AwaitText(t, pageWithin, healthy...)
	measured.add("site: browser opened to the Applications seen", time.Since(start))
	if file := os.Getenv("E2E_PICTURE"); file != "" {
		b.Picture(t, filepath.Join("..", "..", file))
	}
	start = time.Now()
	for _, page := range pages {
		b.Visit(t, url+page.path, pageWithin, page.shows...)
	}
	measured.add("site: all pages of the web interface", time.Since(start))

	ada := browser.Open(t, options)
	start = time.Now()
	ada.LogInSSO(t, url, s.provider.Ada.Name, s.provider.Ada.Password)
	ada.AwaitText(t, pageWithin, healthy...)
	measured.add("site: browser opened to signed on", time.Since(start))
	ada.Visit(t, url+"/user-info", pageWithin, s.provider.Ada.Email(), sso.Admins)
	return ctx
}
