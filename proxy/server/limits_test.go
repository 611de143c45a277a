package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

func TestMain(m *testing.M) { proxytest.Main(m) }

func config(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: data}
}

func getConfig(v *proxytest.VirtualAPI) (*corev1.ConfigMap, error) {
	return v.Client.CoreV1().ConfigMaps("default").Get(context.Background(), "a", metav1.GetOptions{})
}

func listSecrets(v *proxytest.VirtualAPI) error {
	_, err := v.Client.CoreV1().Secrets("argocd").List(context.Background(), metav1.ListOptions{LabelSelector: "owner=helm"})
	return err
}

// Helm asks for the version first, and client-go decodes no error there.
func TestErrorOfVersion(t *testing.T) {
	t.Parallel()
	v := proxytest.ServeWithin(t, proxytest.Quick(), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if _, err := v.Client.ServerVersion(); err == nil || !strings.Contains(err.Error(), "no answer within 500ms") {
		t.Errorf("got %v", err)
	}
}

func TestPassesOn(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Warning", `299 - "obey"`)
		proxytest.Reply(w, config(map[string]string{"key": "value"}))
	})
	is, err := v.Client.CoreV1().ConfigMaps("default").Create(context.Background(), config(map[string]string{"key": "sent"}), metav1.CreateOptions{DryRun: []string{"All"}})
	if err != nil || is.Data["key"] != "value" {
		t.Fatalf("got %v, %v", is, err)
	}
	if got.Method != http.MethodPost || got.URL.RequestURI() != "/api/v1/namespaces/default/configmaps?dryRun=All" || !strings.Contains(string(body), "sent") {
		t.Errorf("the server got %s %s with %s", got.Method, got.URL, body)
	}
	if accept := got.Header.Get("Accept"); accept != virtualapi.MediaJSON {
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
			w.Header().Set("Content-Type", virtualapi.MediaJSON)
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(kerrors.NewNotFound(corev1.Resource("configmaps"), "a").Status())
		},
		// An APIService without a server behind it.
		"Text": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "proxytest.Service unavailable", http.StatusServiceUnavailable)
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := proxytest.Serve(t, answer)
			for range 5 {
				_, err := getConfig(v)
				if err == nil || name == "NotFound" && !kerrors.IsNotFound(err) || name == "Text" && !kerrors.IsServiceUnavailable(err) {
					t.Fatalf("got %v", err)
				}
			}
			if v.Asked.Load() != 5 {
				t.Errorf("the server was asked %d times: its own errors are no reason to leave it alone", v.Asked.Load())
			}
		})
	}
}

// Whatever a virtual API server does, its request ends, with an error that says why, and then it is left alone.
func TestLimits(t *testing.T) {
	t.Parallel()
	get := func(v *proxytest.VirtualAPI) error { _, err := getConfig(v); return err }
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		ask    func(*proxytest.VirtualAPI) error
		want   string
	}{
		"NeverAnswers": {want: "no answer within 500ms", ask: get, answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"NeverAnswersWrites": {want: "no answer within 700ms", ask: func(v *proxytest.VirtualAPI) error {
			return v.Client.CoreV1().ConfigMaps("default").Delete(context.Background(), "a", metav1.DeleteOptions{})
		}, answer: func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); <-r.Context().Done() }},
		"Drips": {want: "no answer within 500ms", ask: get, answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", virtualapi.MediaJSON)
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}},
		"Endless": {want: "more than 20000 bytes", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", virtualapi.MediaJSON)
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
			w.Header().Set("Content-Type", virtualapi.MediaJSON)
			_, _ = fmt.Fprintf(w, `{"data":[%s{}]}`, strings.Repeat("{},", 3000))
		}},
		"Deep": {want: "nested deeper than 500 levels", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			proxytest.ReplyAs(w, virtualapi.MediaJSON, `{"spec":`+deep(500)+`}`)
		}},
		"DeepSecret": {want: "nested deeper than 500 levels", ask: listSecrets, answer: func(w http.ResponseWriter, _ *http.Request) {
			proxytest.ReplyAs(w, virtualapi.MediaJSON, `{"kind":"SecretList","apiVersion":"v1","items":[{"metadata":{"managedFields":[{"fieldsV1":`+deep(500)+`}]}}]}`)
		}},
		"ManyResources": {want: "values, more than 125", ask: func(v *proxytest.VirtualAPI) error {
			_, err := v.Client.Discovery().ServerResourcesForGroupVersion("v1")
			return err
		}, answer: func(w http.ResponseWriter, _ *http.Request) {
			proxytest.ReplyAs(w, virtualapi.MediaJSON, `{"kind":"APIResourceList","resources":[`+strings.Repeat("{},", 130)+`{}]}`)
		}},
		"NotJSON": {want: "doesn't answer with JSON", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
			_, _ = w.Write([]byte("k8s\x00"))
		}},
		"ManySecrets": {want: "more than 80000 bytes", ask: listSecrets, answer: secretsOf(bytes.Repeat([]byte("x"), 90_000))},
		"Bomb":        {want: "Secret argocd/r0 are more than 3, or unpack to more than 250000 bytes", ask: listSecrets, answer: secretsOf(record(strings.Repeat(" ", 10<<20)))},
		"LongError": {want: "more than 1000 bytes", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", virtualapi.MediaJSON)
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(kerrors.NewForbidden(corev1.Resource("configmaps"), "a", errors.New(strings.Repeat("no ", 1000))).Status())
		}},
		"SilentWatch": {want: "no answer within 1s", ask: func(v *proxytest.VirtualAPI) error {
			w, err := watchHook(v)
			if err != nil {
				return err
			}
			for event := range w.ResultChan() {
				return fmt.Errorf("an event: %v", event)
			}
			return errors.New(proxytest.Service + ": no answer within 1s")
		}, answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", virtualapi.MediaJSON)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
		"OtherObjects": {want: "has an event of another object", ask: func(v *proxytest.VirtualAPI) error {
			w, err := watchHook(v)
			if err != nil {
				return err
			}
			for event := range w.ResultChan() {
				return fmt.Errorf("an event: %v", event)
			}
			return errors.New(proxytest.Service + ": its watch of hook has an event of another object")
		}, answer: func(w http.ResponseWriter, _ *http.Request) {
			proxytest.ReplyAs(w, virtualapi.MediaJSON, `{"type":"ADDED","object":{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"argocd","name":"other"}}}`)
		}},
		"Upgrade": {want: "status 101", ask: get, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}},
		"OpenAPIAsWatch": {want: "no answer within 500ms", ask: func(v *proxytest.VirtualAPI) error {
			return v.Client.RESTClient().Get().RequestURI("/openapi/v3/api/v1?watch=true").Do(context.Background()).Error()
		}, answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"OpenAPIAsProtobuf": {want: "doesn't answer with JSON", ask: func(v *proxytest.VirtualAPI) error {
			return v.Client.RESTClient().Get().RequestURI("/openapi/v3/api/v1").Do(context.Background()).Error()
		}, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf")
			_, _ = w.Write([]byte("J"))
		}},
		"UnreadableList": {want: "Secrets that can't be read", ask: listSecrets, answer: func(w http.ResponseWriter, _ *http.Request) { proxytest.Reply(w, map[string]any{"items": "none"}) }},
		"OneSecret": {want: "Secret argocd/r0 are", ask: func(v *proxytest.VirtualAPI) error {
			_, err := v.Client.CoreV1().Secrets("argocd").Get(context.Background(), "r0", metav1.GetOptions{})
			return err
		}, answer: func(w http.ResponseWriter, _ *http.Request) {
			proxytest.Reply(w, secretWith("r0", record(strings.Repeat(" ", 10<<20))))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := proxytest.Roomy()
			l.Watch = l.Read
			if strings.Contains(c.want, "no answer within") {
				l = proxytest.Quick()
			}
			// Longer than the requests of this test take on a machine that is busy.
			l.Blocked = 10 * time.Second
			v := proxytest.ServeWithin(t, l, c.answer)
			for range limits.MaxFailures {
				if err := c.ask(v); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), proxytest.Service) {
					t.Fatalf("want an error of %s with %q, got %v", proxytest.Service, c.want, err)
				}
			}
			asked := v.Asked.Load()
			if err := c.ask(v); err == nil || !strings.Contains(err.Error(), "asked again within 10s") {
				t.Fatalf("want the server left alone, got %v", err)
			}
			if v.Asked.Load() != asked {
				t.Errorf("the server was asked %d times more", v.Asked.Load()-asked)
			}
			// It heals by itself.
			v.Answer = func(w http.ResponseWriter, _ *http.Request) { proxytest.Reply(w, config(nil)) }
			time.Sleep(l.Blocked + 100*time.Millisecond)
			for range 3 {
				if _, err := getConfig(v); err != nil && !strings.Contains(err.Error(), "no answer within") {
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

func record(content string) []byte { return memtest.Pack([]byte(content)) }

func secretWith(name string, release []byte) corev1.Secret {
	return corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name}, Data: map[string][]byte{"release": release}, Type: "helm.sh/release.v1"}
}

func secretsOf(records ...[]byte) http.HandlerFunc {
	l := corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	for n, r := range records {
		l.Items = append(l.Items, secretWith(fmt.Sprint("r", n), r))
	}
	return func(w http.ResponseWriter, _ *http.Request) { proxytest.Reply(w, l) }
}

// A virtual cluster that comes up refuses connections. It is asked again as proxytest.Soon as a provider likes.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { proxytest.Reply(w, config(nil)) })
	isAskedAgain(t, v, &v.Gone, "connection refused")
}

// A name that isn't found in time is no fault of the virtual cluster's.
func TestLostName(t *testing.T) {
	t.Parallel()
	v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { proxytest.Reply(w, config(nil)) })
	isAskedAgain(t, v, &v.Nameless, "lookup")
}

// isAskedAgain has more requests fail than the proxy lets go over a limit, and then one succeed.
func isAskedAgain(t *testing.T, v *proxytest.VirtualAPI, fault *atomic.Bool, says string) {
	t.Helper()
	fault.Store(true)
	for range 5 {
		if _, err := getConfig(v); err == nil || !strings.Contains(err.Error(), says) {
			t.Fatalf("got %v", err)
		}
	}
	fault.Store(false)
	if _, err := getConfig(v); err != nil {
		t.Error(err)
	}
}

// A node that is lost takes connections no more, and doesn't refuse them.
func TestLostNode(t *testing.T) {
	t.Parallel()
	v := proxytest.Serve(t, nil)
	v.Lost.Store(true)
	for n := range limits.MaxFailures + 1 {
		_, err := getConfig(v)
		want := "i/o timeout"
		if n == limits.MaxFailures {
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
	v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
		w.WriteHeader(http.StatusTooManyRequests)
		_ = json.NewEncoder(w).Encode(kerrors.NewTooManyRequests("later", 3600).Status())
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := v.Client.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
	if !kerrors.IsTooManyRequests(err) || ctx.Err() != nil {
		t.Errorf("want the error at once, got %v, %v", err, ctx.Err())
	}
}

// watchHook watches the Job of a hook, as Helm does.
func watchHook(v *proxytest.VirtualAPI) (watch.Interface, error) {
	return v.Client.BatchV1().Jobs("argocd").Watch(context.Background(), metav1.ListOptions{FieldSelector: "metadata.name=hook"})
}

// Helm watches the Jobs of its hooks.
func TestWatches(t *testing.T) {
	t.Parallel()
	event := func(w http.ResponseWriter) error {
		_, err := fmt.Fprintf(w, `{"type":"MODIFIED","object":{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"argocd","name":"hook"}}}`+"\n")
		_ = http.NewResponseController(w).Flush()
		return err
	}
	events := func(v *proxytest.VirtualAPI) int {
		w, err := watchHook(v)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range w.ResultChan() {
			n++
		}
		return n
	}
	within := proxytest.Roomy()
	within.Watch = 3 * time.Second
	start := time.Now()
	quiet := proxytest.ServeWithin(t, within, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
		_ = event(w)
		<-r.Context().Done()
	})
	if n := events(quiet); n != 1 || time.Since(start) < within.Watch || time.Since(start) > 20*within.Watch {
		t.Errorf("want one event, and the end after %s, got %d after %s", within.Watch, n, time.Since(start))
	}
	endless := proxytest.ServeWithin(t, within, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
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
