package argocd

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Repository is what Argo CD tells of a repository: no credentials, but whether those of a template are used.
type Repository struct {
	Name, Repo, Type, Project, Proxy     string
	EnableOCI, Insecure, InheritedCreds  bool
	GitHubAppID, GitHubAppInstallationID int64
}

// Repositories are the registered repositories by name.
func (c *Client) Repositories(ctx context.Context) (map[string]Repository, error) {
	var list struct{ Items []Repository }
	if err := c.call(ctx, http.MethodGet, "/api/v1/repositories", nil, &list); err != nil {
		return nil, err
	}
	out := map[string]Repository{}
	for _, r := range list.Items {
		out[r.Name] = r
	}
	return out, nil
}

// Register adds a Git repository whose certificate isn't verified. Argo CD reads it first.
func (c *Client) Register(ctx context.Context, url string) error {
	return c.call(ctx, http.MethodPost, "/api/v1/repositories", map[string]any{"repo": url, "type": "git", "insecure": true}, nil)
}

// CredentialTemplates are how URLs begin that Argo CD has credentials for.
func (c *Client) CredentialTemplates(ctx context.Context) ([]string, error) {
	var list struct{ Items []struct{ URL string } }
	if err := c.call(ctx, http.MethodGet, "/api/v1/repocreds", nil, &list); err != nil {
		return nil, err
	}
	var out []string
	for _, t := range list.Items {
		out = append(out, t.URL)
	}
	return out, nil
}

// answeredWithin is how long a refresh may take before Argo CD counts as having lost the request.
const answeredWithin = 15 * time.Second

// Refresh has Argo CD look at an Application's source at once, and tells what it has seen. Argo CD's controller loses a
// request that comes while it stores what the one before brought, and the same request again changes nothing that it
// would notice. So one without an answer is followed by one for a hard refresh.
func (c *Client) Refresh(ctx context.Context, name string) (Application, error) {
	a, err := c.refresh(ctx, name, "normal")
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return c.refresh(ctx, name, "hard")
	}
	return a, err
}

// HardRefresh has Argo CD compare an Application anew, with nothing that it remembers of the repository.
func (c *Client) HardRefresh(ctx context.Context, name string) (Application, error) {
	return c.refresh(ctx, name, "hard")
}

func (c *Client) refresh(ctx context.Context, name, how string) (Application, error) {
	ctx, cancel := context.WithTimeout(ctx, answeredWithin)
	defer cancel()
	var a Application
	return a, c.call(ctx, http.MethodGet, "/api/v1/applications/"+url.PathEscape(name)+"?refresh="+how, nil, &a)
}
