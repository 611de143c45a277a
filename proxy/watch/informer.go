package watch

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// An informer notifies providers when the object of a Resource changes in one virtual cluster.
type informer struct {
	key

	all *Informers
	// created is the first resourceVersion.
	created int64
	// enqueued has a value when the object may have changed.
	enqueued      chan struct{}
	notifications *rate.Limiter

	mu sync.Mutex
	// client has the credentials of the provider's last request, and object is what that was for.
	client *virtualapi.Client
	object Object
	// known is the digest of what the provider has read last, or was notified of.
	known    Digest
	version  int64
	changed  chan struct{}
	watchers int
	// unwatched is when the last watch of a provider ended, or when the informer was added.
	unwatched time.Time
	stop      context.CancelFunc
}

func (i *informer) isRunning() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stop != nil
}

// observed notes what a provider has read.
func (i *informer) observed(c *virtualapi.Client, o Object, d Digest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.client, i.known = c, d
	if i.object == o {
		return
	}
	i.object = o
	// The provider's informer has to have an object before it can get changes of it.
	i.notify()
	i.enqueue()
}

// notify gives the object a new resourceVersion, which all watches pass on. The caller holds the lock.
func (i *informer) notify() {
	i.version = i.all.nextVersion()
	close(i.changed)
	i.changed = make(chan struct{})
}

// enqueue has the object polled soon.
func (i *informer) enqueue() {
	select {
	case i.enqueued <- struct{}{}:
	default:
	}
}

// state returns the object's metadata, which is nil before a provider has read the object, its version, and a channel that is closed when
// the version changes.
func (i *informer) state() (object *metav1.PartialObjectMetadata, version int64, changed <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.object.Name != "" {
		object = &metav1.PartialObjectMetadata{TypeMeta: i.resource.TypeMeta, ObjectMeta: metav1.ObjectMeta{
			Namespace: i.object.Namespace, Name: i.object.Name, ResourceVersion: formatVersion(i.version),
		}}
	}
	return object, i.version, i.changed
}

// target returns the object to poll, with the client of the provider's last request.
func (i *informer) target() (*virtualapi.Client, Object) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.client, i.object
}

// update notifies the provider if the object isn't as it knows it. It reports false if that has to wait.
func (i *informer) update(now Digest) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if now == i.known {
		return true
	}
	if !i.notifications.Allow() {
		return false
	}
	i.known = now
	i.notify()
	return true
}
