package watch

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

var (
	ingresses  = Stored(metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}, "ingresses", func(map[string]any) {})
	configMaps = Stored(metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, "configmaps", func(map[string]any) {})
)

// count returns how many informers there are.
func (i *Informers) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.all)
}

// awaitNone waits until there are no informers.
func awaitNone(t *testing.T, i *Informers) {
	t.Helper()
	for start := time.Now(); i.count() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("there are still %d informers", i.count())
		}
	}
}

// TestObservedButNotWatched: the credentials of a virtual API server are dropped if no provider watches what it has read.
func TestObservedButNotWatched(t *testing.T) {
	t.Parallel()
	at := DefaultIntervals
	at.Keep = 300 * time.Millisecond
	i := NewInformers(at)
	i.Observed(&virtualapi.Client{URL: "https://a"}, ingresses, Object{"argocd", "a"}, Digest{1})
	if n := i.count(); n != 1 {
		t.Fatalf("there are %d informers: this shows nothing", n)
	}
	awaitNone(t, i)
}

// TestKeep: a provider that watches again and ends that watch finds its informer for as long as after the first time.
func TestKeep(t *testing.T) {
	t.Parallel()
	at := DefaultIntervals
	at.Keep = 2 * time.Second
	i, k := NewInformers(at), key{"https://a", ingresses}
	_, unsubscribe := i.subscribe(k)
	first := time.Now()
	unsubscribe()
	time.Sleep(at.Keep * 3 / 4)
	is, unsubscribe := i.subscribe(k)
	if is == nil {
		t.Fatal("there are too many informers")
	}
	unsubscribe()
	again := time.Now()
	time.Sleep(at.Keep*5/4 - time.Since(first))
	if n := i.count(); n != 1 && time.Since(again) < at.Keep {
		t.Errorf("after %s there are %d informers", time.Since(again), n)
	}
	awaitNone(t, i)
}

// TestTooMany: informers are bounded; a provider still polls by itself.
func TestTooMany(t *testing.T) {
	i := NewInformers(DefaultIntervals)
	defer i.Stop()
	for n := range maxInformers {
		i.Observed(&virtualapi.Client{URL: fmt.Sprint(n)}, configMaps, Object{"argocd", "a"}, Digest{})
	}
	// Nobody watches them.
	if is, _ := i.subscribe(key{"one", ingresses}); is == nil {
		t.Fatal("informers that nobody watches leave no room")
	}
	for n := range maxInformers - 1 {
		i.subscribe(key{fmt.Sprint("watched", n), ingresses})
	}
	if is, _ := i.subscribe(key{"one", configMaps}); is != nil || i.count() != maxInformers {
		t.Errorf("there are %d informers", i.count())
	}
}

// TestStop: a proxy that stops polls and watches no virtual cluster any more.
func TestStop(t *testing.T) {
	i := NewInformers(DefaultIntervals)
	stopped := make(chan struct{})
	r := &Resource{Plural: "configmaps", Triggers: func(Object) []string { return nil }}
	is := &informer{key: key{"a", r}, all: i, enqueued: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(i.ctx)
	defer cancel()
	go func() { is.run(ctx); close(stopped) }()
	i.Stop()
	select {
	case <-stopped:
	case <-time.After(20 * time.Second):
		t.Error("an informer goes on")
	}
}

// TestDigests: other data has another digest, and no data isn't that of a virtual API server that doesn't answer.
func TestDigests(t *testing.T) {
	a, b := map[string]string{"workloads": `[{"why":"b"}]`}, map[string]string{"workloads": `[{"why":"c"}]`}
	if DigestOfData(a) == DigestOfData(b) || DigestOfData(nil) == (Digest{}) {
		t.Errorf("%v and %v have digests %x and %x, and nothing has %x", a, b, DigestOfData(a), DigestOfData(b), DigestOfData(nil))
	}
}

// TestObjectAt: only the path of a single object is one.
func TestObjectAt(t *testing.T) {
	for path, want := range map[string]Object{
		"/apis/networking.k8s.io/v1/namespaces/argocd/ingresses/a":        {"argocd", "a"},
		"/apis/networking.k8s.io/v1/namespaces/argocd/ingresses":          {},
		"/apis/networking.k8s.io/v1/namespaces/argocd/ingresses/a/status": {},
		"/apis/networking.k8s.io/v1/ingresses/a":                          {},
		"/api/v1/namespaces/argocd/configmaps/a":                          {},
	} {
		if got, ok := ingresses.ObjectAt(path); got != want || ok != (want != Object{}) {
			t.Errorf("%s: got %v, %t", path, got, ok)
		}
	}
	if got, ok := configMaps.ObjectAt("/api/v1/namespaces/argocd/configmaps/a:b"); !ok || got != (Object{"argocd", "a:b"}) {
		t.Errorf("got %v, %t", got, ok)
	}
}
