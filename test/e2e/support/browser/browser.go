// Package browser opens Argo CD's web interface as a person would: in Chromium, without a window. chromedp drives it,
// since it needs nothing but the browser itself: no driver program and no Node.js.
package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// answersWithin is how long a page may take to react to what is typed or clicked.
const answersWithin = time.Minute

// endsWithin is how long the browser may take to end by itself, before it is ended.
const endsWithin = 10 * time.Second

// programs are what Chromium is called in one distribution or another.
var programs = []string{"chromium", "chromium-browser", "google-chrome"}

// Options say how a browser sees the world.
type Options struct {
	// Hosts maps names that DNS does not know, and all below them, to addresses.
	Hosts map[string]string
	// Width and Height of the page in pixels. Default: 1600 by 1000.
	Width, Height int
}

// Browser is a running one, with one tab.
type Browser struct {
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

// Open starts a browser, which the test's end ends. Certificates are not verified: those of tests are signed by
// authorities that no browser knows.
func Open(t testing.TB, o Options) *Browser {
	t.Helper()
	program, err := find(exec.LookPath)
	if err != nil {
		t.Fatal(err)
	}
	if o.Width == 0 || o.Height == 0 {
		o.Width, o.Height = 1600, 1000
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		// Chromium refuses its sandbox to root, which is what runs the embedded cluster.
		chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true),
		// Pages kept for the way back keep their event streams too. After some visits nothing more gets through.
		chromedp.Flag("disable-features", "BackForwardCache"),
		chromedp.Flag("ignore-certificate-errors", true),
		chromedp.Flag("host-resolver-rules", rules(o.Hosts)),
		chromedp.WindowSize(o.Width, o.Height),
	)
	ctx, endProgram := chromedp.NewExecAllocator(context.Background(), flags...)
	ctx, endTab := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		closing, cancel := context.WithTimeout(ctx, endsWithin)
		defer cancel()
		// Chromium's processes may write to their folder after the first has ended: that it isn't gone is no failure.
		if err := chromedp.Cancel(closing); err != nil {
			t.Logf("the browser has not ended as it should: %v", err)
		}
		endTab()
		endProgram()
	})
	b := &Browser{ctx: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	// The first action starts the program. It must not be bound by a deadline, or the program ends with it.
	if err := chromedp.Run(ctx, network.Enable(), chromedp.EmulateViewport(int64(o.Width), int64(o.Height))); err != nil {
		t.Fatalf("cannot start %s: %v", program, err)
	}
	return b
}

// listen notes what goes wrong in a page.
func (b *Browser) listen(event any) {
	problem := ""
	switch e := event.(type) {
	case *network.EventResponseReceived:
		if e.Response.Status >= http.StatusBadRequest {
			problem = fmt.Sprintf("%s: %d", e.Response.URL, e.Response.Status)
		}
	case *runtime.EventExceptionThrown:
		problem = e.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type != runtime.APITypeError {
			return
		}
		for _, arg := range e.Args {
			problem += fmt.Sprintf("%s%s ", arg.Value, arg.Description)
		}
	}
	if problem == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, problem)
}

// Problems are what went wrong in the pages since this was last asked: requests that were refused, exceptions, and
// errors that pages wrote to the console. A person sees them as messages that come and go, or not at all.
func (b *Browser) Problems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.problems
	b.problems = nil
	return out
}

// find returns the program.
func find(lookPath func(string) (string, error)) (string, error) {
	for _, name := range programs {
		if path, err := lookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no browser is installed, looked for %s: apt-get install chromium", strings.Join(programs, ", "))
}

// rules is the value of Chromium's flag for names that mean other addresses.
func rules(hosts map[string]string) string {
	var out []string
	for name, address := range hosts {
		out = append(out, fmt.Sprintf("MAP %s %s", name, address), fmt.Sprintf("MAP *.%s %s", name, address))
	}
	return strings.Join(out, ", ")
}

// LogIn opens Argo CD at a URL and fills in its own login form.
func (b *Browser) LogIn(t testing.TB, url, username, password string) {
	t.Helper()
	b.do(t, "log in to "+url, answersWithin,
		chromedp.Navigate(url+"/login"),
		chromedp.WaitVisible(`input[name="username"]`, chromedp.ByQuery),
		chromedp.SendKeys(`input[name="username"]`, username, chromedp.ByQuery),
		chromedp.SendKeys(`input[name="password"]`, password+kb.Enter, chromedp.ByQuery),
		chromedp.WaitNotPresent(`.login`, chromedp.ByQuery),
	)
}

// LogInSSO opens Argo CD at a URL and follows its button for single sign-on to the provider's form, which must have the
// fields login and password (as Dex's has).
func (b *Browser) LogInSSO(t testing.TB, url, username, password string) {
	t.Helper()
	b.do(t, "sign on to "+url, answersWithin,
		chromedp.Navigate(url+"/login"),
		chromedp.Click(`.login__box_saml button`, chromedp.ByQuery, chromedp.NodeVisible),
		chromedp.WaitVisible(`input[name="login"]`, chromedp.ByQuery),
		chromedp.SendKeys(`input[name="login"]`, username, chromedp.ByQuery),
		chromedp.SendKeys(`input[name="password"]`, password+kb.Enter, chromedp.ByQuery),
		chromedp.WaitNotPresent(`input[name="login"]`, chromedp.ByQuery),
		chromedp.WaitVisible(`.sidebar`, chromedp.ByQuery),
	)
}

// Visit opens a page.
func (b *Browser) Visit(t testing.TB, url string) {
	t.Helper()
	b.do(t, "open "+url, answersWithin, chromedp.Navigate(url))
}

// AwaitText waits until each text stands on the page, where a person sees it. Words may be apart by any space.
func (b *Browser) AwaitText(t testing.TB, within time.Duration, texts ...string) {
	t.Helper()
	seen := ""
	for deadline := time.Now().Add(within); ; time.Sleep(300 * time.Millisecond) {
		text, err := b.text()
		if err == nil {
			seen = text
			if len(missing(seen, texts)) == 0 {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the page does not show %q within %s (%v); it shows:\n%s", missing(seen, texts), within, err, seen)
		}
	}
}

// Text of the page, as a person sees it.
func (b *Browser) text() (string, error) {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	text := ""
	return text, chromedp.Run(ctx, chromedp.Evaluate(`document.body.innerText`, &text))
}

func missing(seen string, texts []string) []string {
	var out []string
	seen = strings.Join(strings.Fields(seen), " ")
	for _, text := range texts {
		if !strings.Contains(seen, text) {
			out = append(out, text)
		}
	}
	return out
}

// Picture writes what the page looks like to a PNG file.
func (b *Browser) Picture(t testing.TB, file string) {
	t.Helper()
	if err := b.picture(file); err != nil {
		t.Fatalf("cannot take a picture of the page: %v", err)
	}
}

func (b *Browser) picture(file string) error {
	ctx, cancel := context.WithTimeout(b.ctx, answersWithin)
	defer cancel()
	var png []byte
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&png)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, png, 0o600)
}

// do runs actions. When they take too long, the test fails with what the page shows.
func (b *Browser) do(t testing.TB, what string, within time.Duration, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("not within %s", within)
		}
		text, _ := b.text()
		t.Fatalf("cannot %s: %v; the page shows:\n%s", what, err, text)
	}
}
