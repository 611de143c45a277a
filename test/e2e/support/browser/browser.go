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
var answersWithin = time.Minute

// reloadAfter is how long a person looks at a page that doesn't show what it should before they open it again.
var reloadAfter = 20 * time.Second

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

// problemsSeen are what went wrong in the pages since this was last asked: requests that were refused, exceptions, and
// errors that pages wrote to the console. A person sees them as messages that come and go, or not at all.
func (b *Browser) problemsSeen() []string {
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
	b.try(t, "log in to "+url,
		chromedp.Navigate(url+"/login"),
		chromedp.WaitVisible(`input[name="username"]`, chromedp.ByQuery),
		chromedp.SendKeys(`input[name="username"]`, username, chromedp.ByQuery),
		chromedp.SendKeys(`input[name="password"]`, password+kb.Enter, chromedp.ByQuery),
		becomes(`!document.querySelector('.login')`),
	)
}

// LogInSSO opens Argo CD at a URL and follows its button for single sign-on to the provider's form, which must have the
// fields login and password (as Dex's has).
func (b *Browser) LogInSSO(t testing.TB, url, username, password string) {
	t.Helper()
	b.try(t, "sign on to "+url,
		chromedp.Navigate(url+"/login"),
		chromedp.Click(`.login__box_saml button`, chromedp.ByQuery, chromedp.NodeVisible),
		chromedp.WaitVisible(`input[name="login"]`, chromedp.ByQuery),
		chromedp.SendKeys(`input[name="login"]`, username, chromedp.ByQuery),
		chromedp.SendKeys(`input[name="password"]`, password+kb.Enter, chromedp.ByQuery),
		becomes(`!document.querySelector('input[name="login"]') && document.querySelector('.sidebar')`),
	)
}

// becomes waits until an expression is true on the page, whichever page that is by then: chromedp's own waits fail when
// the page they look at goes.
func becomes(expression string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for is := false; ; {
			if err := chromedp.Evaluate("!!("+expression+")", &is).Do(ctx); err == nil && is {
				return nil
			}
			if err := chromedp.Sleep(300 * time.Millisecond).Do(ctx); err != nil {
				return err
			}
		}
	})
}

// Visit opens a page and waits until each text stands on it, where a person sees it. Words may be apart by any space. A
// page that doesn't show them is opened again, as a person does it, until the time is over; the test's log then says what
// it showed. Something that goes wrong on a page that shows them is a failure at once.
func (b *Browser) Visit(t testing.TB, url string, within time.Duration, texts ...string) {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(time.Second) {
		problems, err := b.open(url, texts)
		for _, problem := range problems {
			t.Logf("page %s: %s", url, problem)
		}
		switch {
		case err == nil && len(problems) > 0:
			t.Errorf("something goes wrong on page %s", url)
			return
		case err == nil:
			return
		case time.Now().After(deadline):
			t.Fatalf("page %s: %v", url, err)
		}
		t.Logf("page %s is opened again: %v", url, err)
	}
}

// open opens a page once. It returns what went wrong on it, and as the error what it doesn't show.
func (b *Browser) open(url string, texts []string) (problems []string, err error) {
	if err = b.run("open it", chromedp.Navigate(url)); err == nil {
		err = b.await(reloadAfter, texts)
	}
	return b.problemsSeen(), err
}

// AwaitText waits until each text stands on the page, where a person sees it. Words may be apart by any space.
func (b *Browser) AwaitText(t testing.TB, within time.Duration, texts ...string) {
	t.Helper()
	if err := b.await(within, texts); err != nil {
		t.Fatal(err)
	}
}

func (b *Browser) await(within time.Duration, texts []string) error {
	seen := ""
	for deadline := time.Now().Add(within); ; time.Sleep(300 * time.Millisecond) {
		text, err := b.text()
		if err == nil {
			seen = text
			if len(missing(seen, texts)) == 0 {
				return nil
			}
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("the page does not show %q within %s; it shows:\n%s", missing(seen, texts), within, seen), err)
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

// try runs actions, and once more from the start when they fail, as a person does: a page may go while something is
// typed. When they fail twice, the test fails with what the page shows.
func (b *Browser) try(t testing.TB, what string, actions ...chromedp.Action) {
	t.Helper()
	err := b.run(what, actions...)
	if err != nil {
		t.Logf("%v; trying again, after: %v", err, b.problemsSeen())
		err = b.run(what, actions...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b *Browser) run(what string, actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(b.ctx, answersWithin)
	defer cancel()
	err := chromedp.Run(ctx, actions...)
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("not within %s", answersWithin)
	}
	text, _ := b.text()
	return fmt.Errorf("cannot %s: %w; the page shows:\n%s", what, err, text)
}
