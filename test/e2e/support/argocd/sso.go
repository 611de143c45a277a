package argocd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// LoginSSO opens a session by single sign-on, as a browser would: it starts at Argo CD, follows to the provider, fills
// in the provider's form, which must have the fields login and password (as Dex's has), and follows back.
func (c *Client) LoginSSO(ctx context.Context, username, password string) error {
	// Argo CD without its web interface has no page at its URL.
	back := url.QueryEscape(c.base + "/api/version")
	page, err := c.visit(ctx, http.MethodGet, c.base+"/auth/login?return_url="+back, nil)
	if err != nil {
		return err
	}
	action, err := page.form("login", "password")
	if err != nil {
		return err
	}
	page, err = c.visit(ctx, http.MethodPost, action, url.Values{"login": {username}, "password": {password}})
	if err != nil {
		return err
	}
	if _, err := page.form("login", "password"); err == nil {
		return errors.New("the provider asks again: it does not know this user or password")
	}
	info, err := c.UserInfo(ctx)
	if err == nil && !info.LoggedIn {
		err = fmt.Errorf("the login ends at %s without a session", page.url)
	}
	return err
}

// User is who a session is for.
type User struct {
	LoggedIn bool     `json:"loggedIn"`
	Username string   `json:"username"`
	Issuer   string   `json:"iss"`
	Groups   []string `json:"groups"`
}

// UserInfo tells who the session is for.
func (c *Client) UserInfo(ctx context.Context) (User, error) {
	var u User
	return u, c.call(ctx, http.MethodGet, "/api/v1/session/userinfo", nil, &u)
}

// May asks whether the session's role allows something, such as create on applications in */*.
func (c *Client) May(ctx context.Context, action, resource, object string) (bool, error) {
	var answer struct {
		Value string `json:"value"`
	}
	err := c.call(ctx, http.MethodGet, fmt.Sprintf("/api/v1/account/can-i/%s/%s/%s", resource, action, object), nil, &answer)
	return answer.Value == "yes", err
}

// page is where a visit ends.
type page struct {
	url  *url.URL
	body string
}

// visit opens a page, and follows where it leads.
func (c *Client) visit(ctx context.Context, method, address string, form url.Values) (page, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return page{}, fmt.Errorf("cannot make request: %w", err)
	}
	req.Header.Set("Accept", "text/html")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return page{}, fmt.Errorf("cannot open %s: %w", address, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return page{}, fmt.Errorf("cannot read %s: %w", resp.Request.URL, err)
	}
	// A wrong password is no failure of the visit: the form says so.
	if resp.StatusCode >= http.StatusBadRequest && resp.StatusCode != http.StatusUnauthorized {
		return page{}, fmt.Errorf("%s: %s: %s", resp.Request.URL, resp.Status, body)
	}
	return page{resp.Request.URL, string(body)}, nil
}

// form is where the page's form with these fields is sent to.
func (p page) form(fields ...string) (string, error) {
	root, err := html.Parse(strings.NewReader(p.body))
	if err != nil {
		return "", fmt.Errorf("%s is no HTML page: %w", p.url, err)
	}
	for n := range root.Descendants() {
		if n.Data != "form" || !hasFields(n, fields) {
			continue
		}
		to, err := p.url.Parse(attribute(n, "action"))
		if err != nil {
			return "", fmt.Errorf("the form of %s leads nowhere: %w", p.url, err)
		}
		return to.String(), nil
	}
	return "", fmt.Errorf("%s has no form with the fields %s:\n%s", p.url, strings.Join(fields, ", "), p.body)
}

func hasFields(form *html.Node, names []string) bool {
	found := 0
	for n := range form.Descendants() {
		for _, name := range names {
			if n.Data == "input" && attribute(n, "name") == name {
				found++
			}
		}
	}
	return found == len(names)
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
