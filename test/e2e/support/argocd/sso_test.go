package argocd

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// provider is an Argo CD and an OIDC provider in one, as far as a login goes.
func provider(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/auth/login", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "return", Value: url.QueryEscape(r.FormValue("return_url")), Path: "/"})
		http.Redirect(w, r, "/dex/auth?state=1", http.StatusSeeOther)
	})
	mux.HandleFunc("/dex/auth", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("password") == "right" {
			http.Redirect(w, r, "/auth/callback?code=2", http.StatusSeeOther)
			return
		}
		_, _ = w.Write([]byte(`<html><form action="/search"><input name="q"></form>
			<form method="post" action="/dex/auth?state=1&amp;back="><input name="login"><input name="password" type="password"></form>`))
	})
	mux.HandleFunc("/auth/callback", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "argocd.token", Value: "3", Path: "/"})
		back, _ := r.Cookie("return")
		to, _ := url.QueryUnescape(back.Value)
		http.Redirect(w, r, to, http.StatusSeeOther)
	})
	mux.HandleFunc("/api/version", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	mux.HandleFunc("/api/v1/session/userinfo", func(w http.ResponseWriter, r *http.Request) {
		_, err := r.Cookie("argocd.token")
		_ = json.NewEncoder(w).Encode(map[string]any{"loggedIn": err == nil, "groups": []string{"g"}})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "open dist/app/index.html: file does not exist", http.StatusInternalServerError)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestLoginSSO(t *testing.T) {
	s := provider(t)
	c := New(kube.NewDialer(nil), s.URL)
	if err := c.LoginSSO(t.Context(), "ada", "wrong"); err == nil || !strings.Contains(err.Error(), "asks again") {
		t.Errorf("a wrong password: want an error that says so, got %v", err)
	}
	if u, err := c.UserInfo(t.Context()); err != nil || u.LoggedIn {
		t.Errorf("a wrong password must open no session: %v, %v", u, err)
	}
	if err := c.LoginSSO(t.Context(), "ada", "right"); err != nil {
		t.Fatal(err)
	}
	if u, err := c.UserInfo(t.Context()); err != nil || !u.LoggedIn || len(u.Groups) != 1 {
		t.Errorf("want a session with a group, got %v, %v", u, err)
	}
}
