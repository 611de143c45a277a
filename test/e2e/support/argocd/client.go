// Package argocd is a small client of Argo CD's HTTP API: what a person does in its web interface, the tests do here.
package argocd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"time"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// Client talks to one Argo CD as one user.
type Client struct {
	base  string
	http  *http.Client
	token string
}

// New makes a client for the Argo CD at a URL, which is reached through the cluster when its host is a Service's name.
// Its certificate is not verified: Argo CD makes one of its own unless the platform gives it another.
func New(dialer *kube.Dialer, base string) *Client {
	return newClient(dialer, base, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // See above.
}

// NewTrusting makes a client that talks to a server only whose certificate an authority has signed, given in PEM.
func NewTrusting(dialer *kube.Dialer, base string, ca []byte) (*Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the authority is no certificate in PEM")
	}
	return newClient(dialer, base, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}), nil
}

func newClient(dialer *kube.Dialer, base string, config *tls.Config) *Client {
	jar, _ := cookiejar.New(nil) // It can't fail.
	return &Client{base: base, http: &http.Client{
		Timeout:   60 * time.Second,
		Jar:       jar,
		Transport: retrying(&http.Transport{DialContext: dialer.DialContext, TLSClientConfig: config, ForceAttemptHTTP2: true}),
	}}
}

// Login opens a session.
func (c *Client) Login(ctx context.Context, username, password string) error {
	var session struct {
		Token string `json:"token"`
	}
	err := c.call(ctx, http.MethodPost, "/api/v1/session", map[string]string{"username": username, "password": password}, &session)
	if err != nil {
		return err
	}
	if session.Token == "" {
		return fmt.Errorf("the session has no token")
	}
	c.token = session.Token
	return nil
}

// Version is what Argo CD says its own version is.
func (c *Client) Version(ctx context.Context) (string, error) {
	var v struct {
		Version string `json:"Version"`
	}
	err := c.call(ctx, http.MethodGet, "/api/version", nil, &v)
	return v.Version, err
}

// Settings are Argo CD's public settings, decoded from JSON.
func (c *Client) Settings(ctx context.Context) (map[string]any, error) {
	out := map[string]any{}
	return out, c.call(ctx, http.MethodGet, "/api/v1/settings", nil, &out)
}

// Application is the part of an Application's status that tests look at.
type Application struct {
	Status struct {
		Sync       struct{ Status, Revision string }
		Health     struct{ Status string }
		Conditions []struct{ Type, Message string }
	}
}

// String is the status on one line.
func (a Application) String() string {
	return fmt.Sprintf("%s, %s, conditions %v", a.Status.Sync.Status, a.Status.Health.Status, a.Status.Conditions)
}

// Get reads an Application.
func (c *Client) Get(ctx context.Context, name string) (Application, error) {
	var a Application
	return a, c.call(ctx, http.MethodGet, "/api/v1/applications/"+url.PathEscape(name), nil, &a)
}

// Resources is how many resources an Application has by Argo CD's cache.
func (c *Client) Resources(ctx context.Context, name string) (int, error) {
	var tree struct{ Nodes []any }
	err := c.call(ctx, http.MethodGet, "/api/v1/applications/"+url.PathEscape(name)+"/resource-tree", nil, &tree)
	return len(tree.Nodes), err
}

func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	body := &bytes.Buffer{}
	if in != nil {
		if err := json.NewEncoder(body).Encode(in); err != nil {
			return fmt.Errorf("cannot encode request: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return fmt.Errorf("cannot make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("cannot %s %s: %w", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("cannot read answer to %s %s: %w", method, path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, data)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("cannot decode answer to %s %s: %w", method, path, err)
	}
	return nil
}
