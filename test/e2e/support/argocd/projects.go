package argocd

import (
	"context"
	"net/http"
	"net/url"
)

// CreateProject makes an AppProject of a name and a spec.
func (c *Client) CreateProject(ctx context.Context, name string, spec map[string]any) error {
	return c.call(ctx, http.MethodPost, "/api/v1/projects", map[string]any{"project": map[string]any{"metadata": map[string]any{"name": name}, "spec": spec}}, nil)
}

// ProjectToken makes a token of a role of a project.
func (c *Client) ProjectToken(ctx context.Context, project, role string) (string, error) {
	var made struct{ Token string }
	path := "/api/v1/projects/" + url.PathEscape(project) + "/roles/" + url.PathEscape(role) + "/token"
	err := c.call(ctx, http.MethodPost, path, map[string]any{"expiresIn": 3600}, &made)
	return made.Token, err
}

// Token is that of the session.
func (c *Client) Token() string { return c.token }

// As uses a token in place of a session; an empty one is nobody's.
func (c *Client) As(token string) { c.token = token }

// Try makes a request, and forgets what is answered but for an error.
func (c *Client) Try(ctx context.Context, method, path string, in any) error {
	return c.call(ctx, method, path, in, nil)
}
