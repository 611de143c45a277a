package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/fields"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/server"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/watch"
)

// hook returns what Helm lists and watches of a Job of its hooks.
func hook(v *proxytest.VirtualAPI) cache.ListerWatcher {
	return cache.NewListWatchFromClient(v.Client.BatchV1().RESTClient(), "jobs", "argocd", fields.OneTermEqualSelector("metadata.name", "hook"))
}

// TestHooks: Helm gets an event of the Job of a hook when it is complete, and of nothing else, however the virtual API server answers.
func TestHooks(t *testing.T) {
	t.Parallel()
	job := func(name, condition string) string {
		return `{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"argocd","name":"` + name + `","resourceVersion":"7","generation":9007199254740993},"status":{"conditions":[` + condition + `]}}`
	}
	const complete = `{"type":"Complete","status":"True"}`
	until := func(v *proxytest.VirtualAPI) (*batchv1.Job, error) {
		ctx, cancel := context.WithTimeout(t.Context(), proxytest.Soon)
		defer cancel()
		e, err := watchtools.UntilWithSync(ctx, hook(v), &batchv1.Job{}, nil, func(e apiwatch.Event) (bool, error) {
			return len(e.Object.(*batchv1.Job).Status.Conditions) > 0, nil
		})
		if err != nil {
			return nil, err
		}
		return e.Object.(*batchv1.Job), nil
	}
	for name, watches := range map[string]http.HandlerFunc{
		"InitialEvents": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintln(w, `{"type":"ADDED","object":`+job("hook", "")+`}`)
			_, _ = fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"apiVersion":"batch/v1","kind":"Job","metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
			_, _ = fmt.Fprintln(w, `{"type":"MODIFIED","object":`+job("hook", complete)+`}`)
		},
		"List": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("sendInitialEvents") == "true" {
				noInitialEvents(w)
				return
			}
			_, _ = fmt.Fprintln(w, `{"type":"MODIFIED","object":`+job("hook", complete)+`}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within := proxytest.Roomy()
			within.Watch = 10 * time.Second
			v := proxytest.ServeWithin(t, within, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", virtualapi.MediaJSON)
				if r.URL.Path != "/apis/batch/v1/namespaces/argocd/jobs" || r.URL.Query().Get("fieldSelector") != "metadata.name=hook" {
					t.Errorf("asked for %s", r.URL)
				}
				if r.URL.Query().Get("watch") != "true" {
					_, _ = io.WriteString(w, `{"apiVersion":"batch/v1","kind":"JobList","metadata":{"resourceVersion":"7"},"items":[`+job("hook", "")+`]}`)
					return
				}
				watches(w, r)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			is, err := until(v)
			if err != nil || is.GetName() != "hook" || is.GetGeneration() != 9007199254740993 {
				t.Errorf("got %v, %v", is, err)
			}
		})
	}
	for name, begins := range map[string]string{
		"OtherObjects":   ``,
		"OtherNamespace": `{"type":"ADDED","object":` + strings.Replace(job("hook", ""), `"argocd"`, `"other"`, 1) + `}`,
		"Twice":          `{"type":"ADDED","object":` + strings.Replace(job("hook", ""), `"status"`, `"metadata":{"namespace":"argocd","name":"other"},"status"`, 1) + `}`,
		"OtherCase":      `{"type":"ADDED","object":` + job("other", "") + `,"Object":` + job("hook", "") + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &evil{}
			v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				if query := r.URL.Query(); query.Get("watch") == "true" && query.Get("sendInitialEvents") == "" {
					w.Header().Set("Content-Type", virtualapi.MediaJSON)
					_, _ = fmt.Fprintln(w, begins)
				}
				e.answer(w, r, "batch/v1", "Job")
			})
			store, i := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: hook(v), ObjectType: &batchv1.Job{}, Handler: cache.ResourceEventHandlerFuncs{}})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go i.RunWithContext(ctx)
			e.asked(t, func() int { return len(store.List()) })
		})
	}
}

// TestShortWatch: a watch that ends at once doesn't have a client watch again all the time.
func TestShortWatch(t *testing.T) {
	t.Parallel()
	l := proxytest.Roomy()
	l.Watch = l.Read
	v := proxytest.ServeWithin(t, l, func(w http.ResponseWriter, _ *http.Request) { proxytest.ReplyAs(w, virtualapi.MediaJSON, "") })
	begins := time.Now()
	if status, text := v.Send(t, http.MethodGet, "/apis/batch/v1/namespaces/argocd/jobs?fieldSelector=metadata.name%3Da&watch=true"); status != http.StatusOK || text != "" {
		t.Errorf("got %d %s", status, text)
	}
	if took := time.Since(begins); took < server.MinWatch {
		t.Errorf("it took %s", took)
	}
}

// TestCheckEvent: nothing of an event is passed on that wasn't checked.
func TestCheckEvent(t *testing.T) {
	t.Parallel()
	const job = `{"metadata":{"name":"hook","namespace":"argocd"}}`
	for _, more := range []string{`"Object":{"metadata":{"name":"other"}}`, `"OBJECT":{"metadata":{"name":"other"}}`, `"other":1`} {
		event, err := server.CheckEvent(limits.Default, watch.Object{Namespace: "argocd", Name: "hook"}, []byte(`{"type":"ADDED","object":`+job+`,`+more+`}`))
		if want := `{"type":"ADDED","object":` + job + `}`; err != nil || string(event) != want {
			t.Errorf("with %s: got %s, %v, want %s", more, event, err, want)
		}
	}
}
