package connections

import (
	"context"
	"errors"
	"net/http"
)

// signOn observes whether Argo CD's API server sends those who want to sign on to the identity provider, which it does only once it has read
// the provider's discovery document.
func (p *poll) signOn(ctx context.Context) {
	pods := p.pods(ctx, serverName)
	if len(pods) == 0 {
		return
	}
	for k := range p.asked {
		path, dex, ok := k.SignOn()
		if !ok {
			continue
		}
		if dex {
			status, text, ok := p.serverPage(ctx, pods[0], path+"/api/dex/.well-known/openid-configuration")
			if !ok {
				return
			}
			if status != http.StatusOK {
				p.set(k, false, "Dex: "+text)
				continue
			}
		}
		switch status, text, ok := p.serverPage(ctx, pods[0], path+"/auth/login"); {
		case !ok && status == http.StatusGatewayTimeout:
			// It waits for the provider, or for something else.
			if status, _, ok := p.serverPage(ctx, pods[0], path+"/healthz"); ok && status == http.StatusOK {
				p.set(k, false, "the identity provider doesn't answer Argo CD")
			}
		case !ok:
		case status == http.StatusSeeOther:
			p.set(k, true, "")
		case status >= http.StatusBadRequest:
			p.set(k, false, text)
		}
	}
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
