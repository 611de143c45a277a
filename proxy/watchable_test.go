package proxy

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// application is what an API server answers for the first Application, with the time at which Argo CD has compared it, and
// its health.
const application = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application",
 "metadata":{"name":"bootstrap","namespace":"argocd","uid":"u","generation":%[1]d,"resourceVersion":"%[1]d","managedFields":[
  {"manager":"provider-kubernetes/bootstrap-1","operation":"Apply"},{"manager":"argocd-application-controller","time":"%[1]d"}]},
 "spec":{"project":"default","revisionHistoryLimit":3},
 "status":{"reconciledAt":"%[1]d","resources":[{"kind":"Deployment","name":"web"}],"history":[{"id":0}],
  "sync":{"status":"Synced","revision":"abc","comparedTo":{"source":{"repoURL":"u"}}},"health":{"status":"%[2]s","lastTransitionTime":"%[1]d"},
  "operationState":{"phase":"Succeeded","message":"ok","startedAt":"%[1]d","syncResult":{"resources":[]}},
  "conditions":[{"type":"ComparisonError","message":"m","lastTransitionTime":"%[1]d"}]}}`

// TestWatchedObjects: a provider is told of changes of the first Application that the claim tells of, and sees no others; and
// of all changes of the Ingress.
func TestWatchedObjects(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		kind   schema.GroupVersionResource
		name   string
		object func(compared int, health string) string
		news   bool
	}{
		"Application": {schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}, "bootstrap",
			func(compared int, health string) string { return fmt.Sprintf(application, compared, health) }, false},
		"Ingress": {schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}, "argocd-server",
			func(_ int, health string) string {
				return `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"argocd-server","namespace":"argocd","resourceVersion":"1"},"status":{"loadBalancer":{"ingress":[{"hostname":"` + health + `"}]}}}`
			}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var compared atomic.Int32
			var health atomic.Value
			health.Store("Healthy")
			path := "/apis/" + tc.kind.Group + "/" + tc.kind.Version + "/namespaces/argocd/" + tc.kind.Resource
			bells := make(chan struct{})
			var looks atomic.Int32
			v := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", mediaJSON)
				switch query := r.URL.Query(); {
				case r.URL.Path == path && query.Get("watch") == "true" && query.Get("fieldSelector") == "metadata.name="+tc.name:
					for {
						_, _ = fmt.Fprintln(w, `{}`)
						_ = http.NewResponseController(w).Flush()
						select {
						case <-r.Context().Done():
							return
						case <-bells:
						}
					}
				case r.URL.Path == path+"/"+tc.name && health.Load() == "":
					w.WriteHeader(http.StatusNotFound)
					_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
				case r.URL.Path == path+"/"+tc.name:
					looks.Add(1)
					_, _ = fmt.Fprint(w, tc.object(int(compared.Add(1)), health.Load().(string)))
				default:
					t.Errorf("asked for %s", r.URL)
				}
			})
			v.proxy.pace = brisk
			client, err := dynamic.NewForConfig(&rest.Config{Host: v.front, BearerToken: v.token})
			if err != nil {
				t.Fatal(err)
			}
			told := make(chan string, 100)
			tell := func(o any) {
				is := o.(*unstructured.Unstructured)
				if len(is.Object) != 3 || is.GetNamespace() != "argocd" || is.GetName() != tc.name {
					t.Errorf("the informer gets %v", is.Object)
				}
				told <- is.GetKind()
			}
			i := dynamicinformer.NewFilteredDynamicInformer(client, tc.kind, "", 0, nil, nil).Informer()
			if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, o any) { tell(o) }}); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go i.Run(ctx.Done())
			sees := func() (*unstructured.Unstructured, error) {
				return client.Resource(tc.kind).Namespace("argocd").Get(ctx, tc.name, metav1.GetOptions{})
			}
			first, err := sees()
			if err != nil {
				t.Fatal(err)
			}
			want := func(when string) {
				t.Helper()
				select {
				case kind := <-told:
					if kind != name {
						t.Errorf("%s: got %s", when, kind)
					}
				case <-time.After(soon):
					t.Fatalf("%s: no event", when)
				}
			}
			want("once it is asked for")
			before := looks.Load()
			for looks.Load() < before+3 {
				select {
				case bells <- struct{}{}:
				case <-time.After(time.Millisecond):
				}
			}
			select {
			case <-told:
				t.Error("the provider is told of nothing new")
			case <-time.After(200 * time.Millisecond):
			}
			if second, err := sees(); err != nil || cmp.Diff(first, second) != "" {
				t.Errorf("the provider sees a change, %v: %s", err, cmp.Diff(first, second))
			}
			health.Store("Degraded")
			bells <- struct{}{}
			want("when its status changes")
			if is, err := sees(); err != nil || !strings.Contains(fmt.Sprint(is.Object["status"]), "Degraded") {
				t.Errorf("the provider sees %v, %v", is, err)
			}
			health.Store("")
			bells <- struct{}{}
			want("when it is gone")
		})
	}
}

// TestLean: a provider sees what the function reads of an Application, and what it needs itself to apply it.
func TestLean(t *testing.T) {
	const want = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"managedFields":[{"manager":"provider-kubernetes/bootstrap-1","operation":"Apply"}],"name":"bootstrap","namespace":"argocd","uid":"u"},` +
		`"spec":{"project":"default","revisionHistoryLimit":3},"status":{"conditions":[{"message":"m","type":"ComparisonError"}],"health":{"status":"Healthy"},"operationState":{"message":"ok","phase":"Succeeded"},"sync":{"revision":"abc","status":"Synced"}}}`
	for _, tc := range [][2]string{
		{fmt.Sprintf(application, 1, "Healthy"), want},
		{`no JSON`, `no JSON`},
		{`{}`, `{}`},
		{`{"metadata":[],"status":{"sync":[],"conditions":{}}}`, `{"metadata":[],"status":{}}`},
		{`{"metadata":{"managedFields":["a",{"manager":1}]},"status":""}`, `{"metadata":{},"status":""}`},
		{`{"spec":{"a":"<&>"}}`, `{"spec":{"a":"<&>"}}`},
	} {
		got, err := quick.lean([]byte(tc[0]))
		if diff := cmp.Diff(tc[1], string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v, -want, +got:\n%s", tc[0], err, diff)
		}
	}
}

// TestLeanIsWithinLimits: an Application isn't longer as it is shown than an answer may be, whatever it takes to encode it.
func TestLeanIsWithinLimits(t *testing.T) {
	t.Parallel()
	var fill atomic.Value
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n := (int(quick.Answer) - 200) / len(fill.Load().(string))
		answerAs(w, mediaJSON, `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"namespace":"argocd","name":"a"},"spec":{"a":"`+strings.Repeat(fill.Load().(string), n)+`"}}`)
	})
	for text, status := range map[string]int{"<": http.StatusOK, "\u2028": http.StatusBadGateway, "\xff": http.StatusBadGateway} {
		fill.Store(text)
		got, body := v.send(t, http.MethodGet, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/a")
		if got != status || int64(len(body)) > quick.Answer {
			t.Errorf("with %q: got %d and %d bytes: %s", text, got, len(body), body[:100])
		}
	}
}
