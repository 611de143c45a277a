package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
)

const service = "vcluster.vargo-team-a.svc"

// TestMain runs more tests at the same time than there are CPUs: most of them wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "64"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// selfSigned returns the certificate and the key of every virtual API server, and of its clients. Making one takes
// longer than most tests.
var selfSigned = sync.OnceValues(func() (certificate, key []byte) {
	certificate, key, err := cert.GenerateSelfSignedCertKey(service, nil, nil)
	if err != nil {
		panic(err)
	}
	return certificate, key
})

// quick are limits that a test can wait for.
var quick = Limits{
	Read: 500 * time.Millisecond, Write: 700 * time.Millisecond, Watch: time.Second, Rest: 3 * time.Second,
	Answer: 20_000, LargeAnswer: 80_000, Failure: 1_000, Values: 1_000, LargeValues: 2_000, Depth: 500,
	RecordCount: 3, Records: 250_000, Text: 3_000,
}

// roomy are those limits with time for a machine that is busy.
func roomy() Limits {
	l := quick
	l.Read, l.Write = 20*time.Second, 20*time.Second
	return l
}

// virtualAPI is a virtual API server that answers as its tenant likes, with a client that
// asks it through the proxy.
type virtualAPI struct {
	answer http.HandlerFunc
	asked  atomic.Int32
	client *kubernetes.Clientset
	proxy  *Proxy
	front  string
	token  string
	// closeAll ends the connections to the virtual API server, and hangUp those to the proxy.
	closeAll, hangUp func()
	gone             atomic.Bool
	lost             atomic.Bool
	// nameless: its name can't be looked up.
	nameless atomic.Bool
}

func serve(t *testing.T, answer http.HandlerFunc) *virtualAPI { return serveWithin(t, roomy(), answer) }

func serveWithin(t *testing.T, limits Limits, answer http.HandlerFunc) *virtualAPI {
	t.Helper()
	certificate, key := selfSigned()
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	v := &virtualAPI{answer: answer}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.asked.Add(1)
		v.answer(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)

	p := New(limits, logging.NewNopLogger())
	p.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != service+":443" {
			return nil, fmt.Errorf("connects to %s", address)
		}
		if v.gone.Load() {
			return nil, syscall.ECONNREFUSED
		}
		if v.nameless.Load() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "i/o timeout", Name: service, IsTimeout: true}}
		}
		if v.lost.Load() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
		}
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	front := httptest.NewServer(p)
	// A watch ends with its connection, and the server with the last watch.
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		v.forgetAll()
	})
	v.proxy, v.front, v.closeAll, v.hangUp = p, front.URL, server.CloseClientConnections, front.CloseClientConnections
	// The same pair is the client's, as far as this server asks.
	v.token, err = Credentials{Server: "https://" + service, CA: certificate, Certificate: certificate, Key: key}.Token()
	if err != nil {
		t.Fatal(err)
	}
	v.client, err = kubernetes.NewForConfig(&rest.Config{Host: front.URL, BearerToken: v.token})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func reply(w http.ResponseWriter, o any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(o)
}

func config(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: data}
}

func (v *virtualAPI) getConfig() (*corev1.ConfigMap, error) {
	return v.client.CoreV1().ConfigMaps("default").Get(context.Background(), "a", metav1.GetOptions{})
}

func (v *virtualAPI) listSecrets() error {
	_, err := v.client.CoreV1().Secrets("argocd").List(context.Background(), metav1.ListOptions{LabelSelector: "owner=helm"})
	return err
}

// Helm asks for the version first, and client-go decodes no error there.
func TestErrorOfVersion(t *testing.T) {
	t.Parallel()
	v := serveWithin(t, quick, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if _, err := v.client.ServerVersion(); err == nil || !strings.Contains(err.Error(), "no answer within 500ms") {
		t.Errorf("got %v", err)
	}
}

func TestPassesOn(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	v := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Warning", `299 - "obey"`)
		reply(w, config(map[string]string{"key": "value"}))
	})
	is, err := v.client.CoreV1().ConfigMaps("default").Create(context.Background(), config(map[string]string{"key": "sent"}), metav1.CreateOptions{DryRun: []string{"All"}})
	if err != nil || is.Data["key"] != "value" {
		t.Fatalf("got %v, %v", is, err)
	}
	if got.Method != http.MethodPost || got.URL.RequestURI() != "/api/v1/namespaces/default/configmaps?dryRun=All" || !strings.Contains(string(body), "sent") {
		t.Errorf("the server got %s %s with %s", got.Method, got.URL, body)
	}
	if accept := got.Header.Get("Accept"); accept != mediaJSON {
		t.Errorf("the server was asked for %s", accept)
	}
	// Over HTTP/2, a server has other ways to keep a client busy.
	if got.ProtoMajor != 1 {
		t.Errorf("the server was asked over %s", got.Proto)
	}
	if len(got.TLS.PeerCertificates) == 0 || got.Header.Get("Authorization") != "" || got.Header.Get("Accept-Encoding") != "" {
		t.Errorf("want the client's certificate and no token, got %v, %v", got.TLS.PeerCertificates, got.Header)
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"NotFound": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(kerrors.NewNotFound(corev1.Resource("configmaps"), "a").Status())
		},
		// An APIService without a server behind it.
		"Text": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "service unavailable", http.StatusServiceUnavailable)
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := serve(t, answer)
			for range 5 {
				_, err := v.getConfig()
				if err == nil || name == "NotFound" && !kerrors.IsNotFound(err) || name == "Text" && !kerrors.IsServiceUnavailable(err) {
					t.Fatalf("got %v", err)
				}
			}
			if v.asked.Load() != 5 {
				t.Errorf("the server was asked %d times: its own errors are no reason to leave it alone", v.asked.Load())
			}
		})
	}
}

// Whatever a virtual API server does, its request ends, with an error that says why, and then it is left alone.
func TestLimits(t *testing.T) {
	t.Parallel()
	get := func(v *virtualAPI) error { _, err := v.getConfig(); return err }
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		ask    func(*virtualAPI) error
		want   string
	}{
		"NeverAnswers": {want: "no answer within 500ms", ask: get, answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"NeverAnswersWrites": {want: "no answer within 700ms", ask: func(v *virtualAPI) error {
			return v.client.CoreV1().ConfigMaps("default").Delete(context.Background(), "a", metav1.DeleteOptions{})
		}, answer: func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); <-r.Context().Done() }},
		"Drips": {want: "no answer within 500ms", ask: get, answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}},
		"Endless": {want: "more than 20000 bytes", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 1000)); err != nil {
					return
				}
			}
		}},
		"Compressed": {want: "answers compressed", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 1<<20))
			_ = z.Close()
		}},
		"Redirect": {want: "status 302", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://kubernetes.default.svc/")
			w.WriteHeader(http.StatusFound)
		}},
		"ManyValues": {want: "values, more than 1000", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"data":[%s{}]}`, strings.Repeat("{},", 3000))
		}},
		"Deep": {want: "nested deeper than 500 levels", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			answerAs(w, mediaJSON, `{"spec":`+deep(500)+`}`)
		}},
		"DeepSecret": {want: "nested deeper than 500 levels", ask: (*virtualAPI).listSecrets, answer: func(w http.ResponseWriter, _ *http.Request) {
			answerAs(w, mediaJSON, `{"kind":"SecretList","apiVersion":"v1","items":[{"metadata":{"managedFields":[{"fieldsV1":`+deep(500)+`}]}}]}`)
		}},
		"ManyResources": {want: "values, more than 125", ask: func(v *virtualAPI) error {
			_, err := v.client.Discovery().ServerResourcesForGroupVersion("v1")
			return err
		}, answer: func(w http.ResponseWriter, _ *http.Request) {
			answerAs(w, mediaJSON, `{"kind":"APIResourceList","resources":[`+strings.Repeat("{},", 130)+`{}]}`)
		}},
		"NotJSON": {want: "doesn't answer with JSON", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
			_, _ = w.Write([]byte("k8s\x00"))
		}},
		"ManySecrets":    {want: "more than 80000 bytes", ask: (*virtualAPI).listSecrets, answer: secretsOf(bytes.Repeat([]byte("x"), 90_000))},
		"Bomb":           {want: "Secret argocd/r0 are more than 3, or unpack to more than 250000 bytes", ask: (*virtualAPI).listSecrets, answer: secretsOf(record(strings.Repeat(" ", 10<<20)))},
		"BombOfValues":   {want: "2000 values", ask: (*virtualAPI).listSecrets, answer: secretsOf(record("[" + strings.Repeat("{},", 2000) + "{}]"))},
		"BombsOfValues":  {want: "Secret argocd/r2 are", ask: (*virtualAPI).listSecrets, answer: secretsOf(someValues, someValues, someValues)},
		"BombOfText":     {want: "3000 items in texts", ask: (*virtualAPI).listSecrets, answer: secretsOf(record(`"a: [` + strings.Repeat("[],", 3001) + `]"`))},
		"BombOfLines":    {want: "3000 items in texts", ask: (*virtualAPI).listSecrets, answer: secretsOf(record(`"` + strings.Repeat(`\n`, 3001) + `"`))},
		"TooManyRecords": {want: "Secret argocd/r3 are", ask: (*virtualAPI).listSecrets, answer: secretsOf(record("{}"), record("{}"), record("{}"), record("{}"))},
		"LongError": {want: "more than 1000 bytes", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaJSON)
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(kerrors.NewForbidden(corev1.Resource("configmaps"), "a", errors.New(strings.Repeat("no ", 1000))).Status())
		}},
		"SilentWatch": {want: "no answer within 1s", ask: func(v *virtualAPI) error {
			w, err := v.watchHook()
			if err != nil {
				return err
			}
			for event := range w.ResultChan() {
				return fmt.Errorf("an event: %v", event)
			}
			return errors.New(service + ": no answer within 1s")
		}, answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", mediaJSON)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
		"OtherObjects": {want: "tells of another object", ask: func(v *virtualAPI) error {
			w, err := v.watchHook()
			if err != nil {
				return err
			}
			for event := range w.ResultChan() {
				return fmt.Errorf("an event: %v", event)
			}
			return errors.New(service + ": its watch of hook tells of another object")
		}, answer: func(w http.ResponseWriter, _ *http.Request) {
			answerAs(w, mediaJSON, `{"type":"ADDED","object":{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"argocd","name":"other"}}}`)
		}},
		"Upgrade": {want: "status 101", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}},
		"OpenAPIAsWatch": {want: "no answer within 500ms", ask: func(v *virtualAPI) error {
			return v.client.RESTClient().Get().RequestURI("/openapi/v3/api/v1?watch=true").Do(context.Background()).Error()
		}, answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"OpenAPIAsProtobuf": {want: "doesn't answer with JSON", ask: func(v *virtualAPI) error {
			return v.client.RESTClient().Get().RequestURI("/openapi/v3/api/v1").Do(context.Background()).Error()
		}, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf")
			_, _ = w.Write([]byte("J"))
		}},
		"ManyRecords":    {want: "Secret argocd/r2 are", ask: (*virtualAPI).listSecrets, answer: secretsOf(fits, fits, fits)},
		"BrokenBomb":     {want: "Secret argocd/r0 are", ask: (*virtualAPI).listSecrets, answer: secretsOf(record(strings.Repeat(" ", 10<<20))[:8000])},
		"UnreadableList": {want: "Secrets that can't be read", ask: (*virtualAPI).listSecrets, answer: func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]any{"items": "none"}) }},
		"OneSecret": {want: "Secret argocd/r0 are", ask: func(v *virtualAPI) error {
			_, err := v.client.CoreV1().Secrets("argocd").Get(context.Background(), "r0", metav1.GetOptions{})
			return err
		}, answer: func(w http.ResponseWriter, _ *http.Request) {
			reply(w, secretWith("r0", record(strings.Repeat(" ", 10<<20))))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := roomy()
			limits.Watch = limits.Read
			if strings.Contains(c.want, "no answer within") {
				limits = quick
			}
			// Longer than the requests of this test take on a machine that is busy.
			limits.Rest = 10 * time.Second
			v := serveWithin(t, limits, c.answer)
			for range MaxFailures {
				if err := c.ask(v); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), service) {
					t.Fatalf("want an error of %s with %q, got %v", service, c.want, err)
				}
			}
			asked := v.asked.Load()
			if err := c.ask(v); err == nil || !strings.Contains(err.Error(), "asked again within 10s") {
				t.Fatalf("want the server left alone, got %v", err)
			}
			if v.asked.Load() != asked {
				t.Errorf("the server was asked %d times more", v.asked.Load()-asked)
			}
			// It heals by itself.
			v.answer = func(w http.ResponseWriter, _ *http.Request) { reply(w, config(nil)) }
			time.Sleep(limits.Rest + 100*time.Millisecond)
			for range 3 {
				if _, err := v.getConfig(); err != nil && !strings.Contains(err.Error(), "no answer within") {
					t.Errorf("a server that is well again is not asked: %v", err)
				}
			}
		})
	}
}

// deep is an object, or by turns a list, nested that many levels deep.
func deep(levels int) string {
	return strings.Repeat(`{"a":[`, levels/2) + strings.Repeat(`]}`, levels/2)
}

// someValues is a record within the limits of one, and three are not.
var someValues = record("[" + strings.Repeat("{},", 350) + "{}]")

// fits is a record within the limits of one.
var fits = record(`"` + strings.Repeat("a", 90_000) + `"`)

func record(content string) []byte { return memtest.Pack([]byte(content)) }

func secretWith(name string, release []byte) corev1.Secret {
	return corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name}, Data: map[string][]byte{"release": release}, Type: "helm.sh/release.v1"}
}

func secretsOf(records ...[]byte) http.HandlerFunc {
	l := corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	for n, r := range records {
		l.Items = append(l.Items, secretWith(fmt.Sprint("r", n), r))
	}
	return func(w http.ResponseWriter, _ *http.Request) { reply(w, l) }
}

func TestRecordsWithinLimits(t *testing.T) {
	t.Parallel()
	v := serve(t, secretsOf(fits, fits))
	if err := v.listSecrets(); err != nil {
		t.Error(err)
	}
}

// A virtual cluster that comes up refuses connections. It is asked again as soon as a provider likes.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, config(nil)) })
	v.isAskedAgain(t, &v.gone, "connection refused")
}

// A name that isn't found in time is no fault of the virtual cluster's.
func TestLostName(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, config(nil)) })
	v.isAskedAgain(t, &v.nameless, "lookup")
}

// isAskedAgain has more requests fail than the proxy lets go over a limit, and then one succeed.
func (v *virtualAPI) isAskedAgain(t *testing.T, fault *atomic.Bool, says string) {
	t.Helper()
	fault.Store(true)
	for range 5 {
		if _, err := v.getConfig(); err == nil || !strings.Contains(err.Error(), says) {
			t.Fatalf("got %v", err)
		}
	}
	fault.Store(false)
	if _, err := v.getConfig(); err != nil {
		t.Error(err)
	}
}

// A node that is lost takes connections no more, and doesn't refuse them.
func TestLostNode(t *testing.T) {
	t.Parallel()
	v := serve(t, nil)
	v.lost.Store(true)
	for n := range MaxFailures + 1 {
		_, err := v.getConfig()
		want := "i/o timeout"
		if n == MaxFailures {
			want = "asked again within"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// A client would sleep for as long as a server says.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_ = json.NewEncoder(w).Encode(kerrors.NewTooManyRequests("later", 3600).Status())
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := v.client.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
	if !kerrors.IsTooManyRequests(err) || ctx.Err() != nil {
		t.Errorf("want the error at once, got %v, %v", err, ctx.Err())
	}
}

// watchHook watches the Job of a hook, as Helm does.
func (v *virtualAPI) watchHook() (watch.Interface, error) {
	return v.client.BatchV1().Jobs("argocd").Watch(context.Background(), metav1.ListOptions{FieldSelector: "metadata.name=hook"})
}

// Helm watches the Jobs of its hooks.
func TestWatches(t *testing.T) {
	t.Parallel()
	event := func(w http.ResponseWriter) error {
		_, err := fmt.Fprintf(w, `{"type":"MODIFIED","object":{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"argocd","name":"hook"}}}`+"\n")
		_ = http.NewResponseController(w).Flush()
		return err
	}
	events := func(v *virtualAPI) int {
		w, err := v.watchHook()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range w.ResultChan() {
			n++
		}
		return n
	}
	within := roomy()
	within.Watch = 3 * time.Second
	start := time.Now()
	quiet := serveWithin(t, within, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = event(w)
		<-r.Context().Done()
	})
	if n := events(quiet); n != 1 || time.Since(start) < within.Watch || time.Since(start) > 20*within.Watch {
		t.Errorf("want one event, and the end after %s, got %d after %s", within.Watch, n, time.Since(start))
	}
	endless := serveWithin(t, within, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for {
			if event(w) != nil {
				return
			}
		}
	})
	if n := events(endless); n == 0 || n > within.Values {
		t.Errorf("%d events came through", n)
	}
}

func TestTokens(t *testing.T) {
	// As Credentials.Token does without looking.
	server := func(url string) string {
		raw, err := json.Marshal(Credentials{Server: url, CA: []byte("ca"), Certificate: []byte("c"), Key: []byte("k")})
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + base64.RawURLEncoding.EncodeToString(raw)
	}
	if _, err := ReadToken(strings.TrimPrefix(server("https://"+service), "Bearer ")); err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]string{
		"None": "", "Basic": "Basic YTpi", "Text": "Bearer token", "NotJSON": "Bearer YTpi",
		"OtherHost": server("https://example.org"), "HTTP": server("http://" + service), "Path": server("https://" + service + "/apis"), "User": server("https://a:b@" + service),
		"Suffix": server("https://" + service + ".example.org"), "ClusterDomain": server("https://" + service + ".cluster.local"), "Query": server("https://" + service + "?x=.svc"),
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/api", nil)
			r.Header.Set("Authorization", header)
			p := New(quick, logging.NewNopLogger())
			p.dial = func(context.Context, string, string) (net.Conn, error) {
				t.Error("it connects")
				return nil, errors.New("no")
			}
			p.ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized || header != "" && strings.Contains(w.Body.String(), strings.TrimPrefix(header, "Bearer ")) {
				t.Errorf("got %d: %s", w.Code, w.Body)
			}
		})
	}
	if _, err := (Credentials{Server: "https://" + service + ".cluster.local"}).Token(); err == nil {
		t.Error("there is a token that the proxy refuses")
	}
}
