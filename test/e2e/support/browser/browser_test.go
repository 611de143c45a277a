package browser

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// login is a page with a form such as Argo CD's, whose button shows another page.
const login = `<html><body><div class="login"><form onsubmit="show(); return false">
<input name="username"><input name="password" type="password"><button type="submit">Sign In</button></form></div>
<script>function show() {
  const [user, password] = [...document.querySelectorAll('input')].map(i => i.value);
  document.body.innerHTML = password === 'secret' ? 'Welcome, ' + user + '<div style="display: none">hidden</div>' : 'no';
}</script></body></html>`

func TestBrowser(t *testing.T) {
	if _, err := find(exec.LookPath); err != nil {
		t.Skipf("THE BROWSER IS NOT TRIED: %v", err)
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(login)) }))
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	b := Open(t, Options{Hosts: map[string]string{"shops.example.org": "127.0.0.1"}, Width: 400, Height: 300})
	b.LogIn(t, "https://one.shops.example.org:"+u.Port(), "ada", "secret")
	b.AwaitText(t, 10*time.Second, "Welcome, ada")
	if text, err := b.text(); err != nil || strings.Contains(text, "hidden") {
		t.Errorf("only what a person sees counts, got %q, %v", text, err)
	}
	file := filepath.Join(t.TempDir(), "pictures", "page.png")
	b.Picture(t, file)
	png, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("want a PNG file, got %d bytes, %v", len(png), err)
	}
}

func TestProblems(t *testing.T) {
	if _, err := find(exec.LookPath); err != nil {
		t.Skipf("THE BROWSER IS NOT TRIED: %v", err)
	}
	pages := map[string]string{
		"/good":      "all is well",
		"/refused":   "<script>fetch('/api/secrets').then(() => document.body.append('done'))</script>",
		"/exception": "<script>setTimeout(() => { document.body.append('done'); nothing.at.all })</script>",
		"/console":   "<script>console.log('for people'); console.error('on fire'); document.write('done')</script>",
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok && r.URL.Path != "/favicon.ico" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = fmt.Fprintf(w, "<html><body>%s</body></html>", page)
	}))
	defer s.Close()
	b := Open(t, Options{})
	for path, want := range map[string]string{"/good": "", "/refused": "/api/secrets: 403", "/exception": "nothing is not defined", "/console": "on fire"} {
		b.Visit(t, s.URL+path)
		if want != "" {
			b.AwaitText(t, 10*time.Second, "done")
		}
		got := strings.Join(b.Problems(), "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) || strings.Contains(got, "for people") {
			t.Errorf("problems of %s: want %q, got %q", path, want, got)
		}
	}
}

func TestBrowserIsMissing(t *testing.T) {
	_, err := find(func(string) (string, error) { return "", errors.New("no") })
	if err == nil || !strings.Contains(err.Error(), "apt-get install chromium") {
		t.Errorf("want an error that says what to install, got %v", err)
	}
}

func TestMissing(t *testing.T) {
	if got := missing("Synced\n\u00a0and Healthy", []string{"Synced and Healthy", "Healthy", "Degraded"}); strings.Join(got, " ") != "Degraded" {
		t.Errorf("missing(...): want Degraded, got %q", got)
	}
}
