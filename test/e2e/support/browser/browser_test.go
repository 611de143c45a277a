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
	"sync/atomic"
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

// TestSignOn: the way leads over the provider's page and back. A form that gets lost on the first try is filled in again.
func TestSignOn(t *testing.T) {
	if _, err := find(exec.LookPath); err != nil {
		t.Skipf("THE BROWSER IS NOT TRIED: %v", err)
	}
	var forms atomic.Int32
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := map[string]string{
			"/login":    `<div class="login__box_saml"><a href="/provider"><button>LOG IN VIA SSO</button></a></div>`,
			"/provider": `<form action="/callback"><input name="login"><input name="password" type="password"><button>Login</button></form>`,
			"/callback": `<div class="sidebar">Applications of ` + r.FormValue("login") + `</div>`,
		}[r.URL.Path]
		if r.URL.Path == "/callback" && forms.Add(1) == 1 {
			page = `<form action="/callback"><input name="login"></form>`
		}
		_, _ = fmt.Fprintf(w, "<html><body>%s</body></html>", page)
	}))
	defer s.Close()
	defer func(was time.Duration) { answersWithin = was }(answersWithin)
	answersWithin = 15 * time.Second
	b := Open(t, Options{})
	b.LogInSSO(t, s.URL, "ada", "secret")
	b.AwaitText(t, 10*time.Second, "Applications of ada")
	if forms.Load() != 2 {
		t.Errorf("want the form filled in twice, got %d", forms.Load())
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
		shows := "done"
		if want == "" {
			shows = "all is well"
		}
		problems, err := b.open(s.URL+path, []string{shows})
		if err != nil {
			t.Errorf("page %s: %v", path, err)
		}
		got := strings.Join(problems, "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) || strings.Contains(got, "for people") {
			t.Errorf("page %s: want %q, got %q", path, want, got)
		}
	}
}

// A page is opened again until it shows what it should.
func TestVisit(t *testing.T) {
	if _, err := find(exec.LookPath); err != nil {
		t.Skipf("THE BROWSER IS NOT TRIED: %v", err)
	}
	var visits atomic.Int32
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := "all is well"
		if r.URL.Path == "/page" && visits.Add(1) < 3 {
			text = "please wait"
		}
		_, _ = fmt.Fprintf(w, "<html><body>%s</body></html>", text)
	}))
	defer s.Close()
	defer func(was time.Duration) { reloadAfter = was }(reloadAfter)
	reloadAfter = time.Second
	Open(t, Options{}).Visit(t, s.URL+"/page", time.Minute, "all is well")
	if visits.Load() != 3 {
		t.Errorf("want the page opened 3 times, got %d", visits.Load())
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
