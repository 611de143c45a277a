package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// follows returns how many objects the proxy follows, or may have to follow.
func (p *Proxy) followed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.follows)
}

// TestSeenButNotWatched: the proxy drops the credentials of a virtual API server if no provider watches what it has asked for.
func TestSeenButNotWatched(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		answerAs(w, mediaJSON, `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"namespace":"argocd","name":"a"}}`)
	})
	v.proxy.pace.linger = 300 * time.Millisecond
	if status, text := v.send(t, http.MethodGet, "/apis/networking.k8s.io/v1/namespaces/argocd/ingresses/a"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if n := v.proxy.followed(); n != 1 {
		t.Fatalf("the proxy notes %d objects: this shows nothing", n)
	}
	for begins := time.Now(); v.proxy.followed() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begins) > soon {
			t.Fatal("the proxy keeps the credentials")
		}
	}
}

// TestLingers: a provider that comes back and leaves again finds what it has watched for as long as after the first time.
func TestLingers(t *testing.T) {
	t.Parallel()
	const linger = 2 * time.Second
	v := serve(t, nil)
	v.proxy.pace.linger = linger
	key := followKey{"https://" + service, ingresses}
	_, leave := v.proxy.join(key)
	left := time.Now()
	leave()
	time.Sleep(linger * 3 / 4)
	f, leave := v.proxy.join(key)
	if f == nil {
		t.Fatal("too many objects are followed")
	}
	leave()
	again := time.Now()
	time.Sleep(linger*5/4 - time.Since(left))
	if n := v.proxy.followed(); n != 1 && time.Since(again) < linger {
		t.Errorf("after %s the proxy follows %d objects", time.Since(again), n)
	}
	for v.proxy.followed() > 0 {
		if time.Since(again) > soon {
			t.Fatal("the proxy goes on")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSlowWorkloads: a virtual API server that is slow, and within the limits with each answer, is within them with a summary.
func TestSlowWorkloads(t *testing.T) {
	t.Parallel()
	limits := roomy()
	limits.Read = 5 * time.Second
	v := serveWithin(t, limits, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Second)
		w.WriteHeader(http.StatusNotFound)
	})
	names := []string{}
	for n := range 10 {
		names = append(names, fmt.Sprint("deployment.argocd-", n))
	}
	status, text := v.send(t, http.MethodGet, "/api/v1/namespaces/argocd/configmaps/"+summaryPrefix+strings.Join(names, ","))
	if n := strings.Count(text, "missing"); status != http.StatusOK || n != len(names) {
		t.Errorf("%d, %d workloads, %s", status, n, text)
	}
}
