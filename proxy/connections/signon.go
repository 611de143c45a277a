package connections

import (
	"context"
	"errors"
	"net/http"

	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// maxServers is how many pods of Argo CD's API server are asked.
const maxServers = 4

// signOn observes whether Argo CD's API server sends those who want to sign on to the identity provider, which each of its pods does once it
// has read the provider's discovery document. A pod keeps that document until it restarts or the settings change (Argo CD 3.6,
// util/oidc/provider.go), so nothing tells that the provider goes away later. Dex is Argo CD's own, and asked each time; what its connectors
// connect to is nowhere seen before somebody signs on.
func (p *poll) signOn(ctx context.Context) {
	pods, _ := p.client.ReadyPods(ctx, p.namespace, serverName)
	for k := range p.asked {
		path, dex, ok := k.SignOn()
		if !ok {
			continue
		}
		for _, pod := range pods[:min(len(pods), maxServers)] {
			if !p.signOnAt(ctx, k, pod, path, dex) {
				break
			}
		}
	}
}

// signOnAt asks a pod. It reports whether others are to be asked, too: one that fails is enough.
func (p *poll) signOnAt(ctx context.Context, k proxy.ConnectionKey, pod, path string, dex bool) bool {
	fail := func(message string) bool {
		p.set(k, false, message)
		return false
	}
	if dex {
		switch status, text, ok := p.serverPage(ctx, pod, path+"/api/dex/.well-known/openid-configuration"); {
		case !ok:
			return false
		case status != http.StatusOK:
			return fail("Dex: " + text)
		}
	}
	switch status, text, ok := p.serverPage(ctx, pod, path+"/auth/login"); {
	case !ok && status == http.StatusGatewayTimeout:
		// It waits for the provider, or for something else.
		if status, _, ok := p.serverPage(ctx, pod, path+"/healthz"); ok && status == http.StatusOK {
			return fail("the identity provider doesn't answer Argo CD")
		}
	case !ok:
	case status == http.StatusSeeOther:
		p.set(k, true, "")
		return true
	case status >= http.StatusBadRequest:
		return fail(text)
	}
	return true
}

// serverPage returns the status and the text of a page of Argo CD's API server, over HTTP or HTTPS. It reports false if there is none, with
// status 504 if it took too long.
func (p *poll) serverPage(ctx context.Context, pod, path string) (status int, text string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, p.store.PageTimeout)
	defer cancel()
	status, text, ok = p.page(ctx, "http", pod, path)
	// Without server.insecure, it redirects everybody to HTTPS.
	if ok && status >= 300 && status < 400 && status != http.StatusSeeOther {
		status, text, ok = p.page(ctx, "https", pod, path)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		status = http.StatusGatewayTimeout
	}
	return status, text, ok
}
