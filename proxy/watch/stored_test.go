package watch_test

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

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// application is a first Application, with the time at which Argo CD has compared it, and its health.
const application = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application",
 "metadata":{"name":"bootstrap","namespace":"argocd","uid":"u","generation":%[1]d,"resourceVersion":"%[1]d"},
 "spec":{"project":"default"},
 "status":{"reconciledAt":"%[1]d","sync":{"status":"Synced","revision":"abc"},"health":{"status":"%[2]s","lastTransitionTime":"%[1]d"}}}`

// TestWatchedObjects: a provider is notified of changes of the first Application that a claim's status shows, and reads no others; and of
// all changes of the Ingress.
func TestWatchedObjects(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		kind   schema.GroupVersionResource
		name   string
		object func(compared int, health string) string
	}{
		"Application": {schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}, "bootstrap",
			func(compared int, health string) string { return fmt.Sprintf(application, compared, health) }},
		"Ingress": {schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}, "argocd-server",
			func(_ int, health string) string {
				return `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"argocd-server","namespace":"argocd","resourceVersion":"1"},"status":{"loadBalancer":{"ingress":[{"hostname":"` + health + `"}]}}}`
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var compared atomic.Int32
			var health atomic.Value
			health.Store("Healthy")
			path := "/apis/" + tc.kind.Group + "/" + tc.kind.Version + "/namespaces/argocd/" + tc.kind.Resource
			event := make(chan struct{})
			var reads atomic.Int32
			v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", virtualapi.MediaJSON)
				switch query := r.URL.Query(); {
				case r.URL.Path == path && query.Get("watch") == "true" && query.Get("fieldSelector") == "metadata.name="+tc.name:
					for {
						_, _ = fmt.Fprintln(w, `{}`)
						_ = http.NewResponseController(w).Flush()
						select {
						case <-r.Context().Done():
							return
						case <-event:
						}
					}
				case r.URL.Path == path+"/"+tc.name && health.Load() == "":
					w.WriteHeader(http.StatusNotFound)
					_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
				case r.URL.Path == path+"/"+tc.name:
					reads.Add(1)
					_, _ = fmt.Fprint(w, tc.object(int(compared.Add(1)), health.Load().(string)))
				default:
					t.Errorf("asked for %s", r.URL)
				}
			}, proxytest.At(proxytest.Brisk()))
			client, err := dynamic.NewForConfig(&rest.Config{Host: v.URL, BearerToken: v.Token})
			if err != nil {
				t.Fatal(err)
			}
			events := make(chan string, 100)
			send := func(o any) {
				is := o.(*unstructured.Unstructured)
				if len(is.Object) != 3 || is.GetNamespace() != "argocd" || is.GetName() != tc.name {
					t.Errorf("the informer gets %v", is.Object)
				}
				events <- is.GetKind()
			}
			i := dynamicinformer.NewFilteredDynamicInformer(client, tc.kind, "", 0, nil, nil).Informer()
			if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: send, UpdateFunc: func(_, o any) { send(o) }}); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go i.Run(ctx.Done())
			read := func() (*unstructured.Unstructured, error) {
				return client.Resource(tc.kind).Namespace("argocd").Get(ctx, tc.name, metav1.GetOptions{})
			}
			first, err := read()
			if err != nil {
				t.Fatal(err)
			}
			want := func(when string) {
				t.Helper()
				select {
				case kind := <-events:
					if kind != name {
						t.Errorf("%s: got %s", when, kind)
					}
				case <-time.After(proxytest.Soon):
					t.Fatalf("%s: no event", when)
				}
			}
			want("once it is read")
			before := reads.Load()
			for reads.Load() < before+3 {
				select {
				case event <- struct{}{}:
				case <-time.After(time.Millisecond):
				}
			}
			select {
			case <-events:
				t.Error("the provider is notified of no change")
			case <-time.After(200 * time.Millisecond):
			}
			if second, err := read(); err != nil || cmp.Diff(first, second) != "" {
				t.Errorf("the provider reads a change, %v: %s", err, cmp.Diff(first, second))
			}
			health.Store("Degraded")
			event <- struct{}{}
			want("when its status changes")
			if is, err := read(); err != nil || !strings.Contains(fmt.Sprint(is.Object["status"]), "Degraded") {
				t.Errorf("the provider reads %v, %v", is, err)
			}
			health.Store("")
			event <- struct{}{}
			want("when it is gone")
		})
	}
}
