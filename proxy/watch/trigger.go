package watch

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// How many bytes a second an informer reads of a watch in a virtual cluster, and how many at once: twice the workloads of Argo CD.
const (
	eventBytes = 16 << 10
	eventBurst = 256 << 10
	eventChunk = 4 << 10
)

// watchTriggers watches all triggers of an object, until the caller calls stop.
func (i *informer) watchTriggers(ctx context.Context, o Object) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	if i.resource.Triggers == nil {
		return stop
	}
	for _, trigger := range i.resource.Triggers(o) {
		go i.watchTrigger(ctx, trigger)
	}
	return stop
}

// watchTrigger watches a trigger, again and again, until the context ends.
func (i *informer) watchTrigger(ctx context.Context, trigger string) {
	intervals := i.all.intervals
	for backoff := intervals.Backoff; ; backoff = min(2*backoff, intervals.MaxBackoff) {
		start := time.Now()
		i.watchOnce(ctx, trigger)
		// Whatever has ended the watch, the virtual API server may be gone.
		i.enqueue()
		if time.Since(start) > intervals.MaxBackoff {
			backoff = intervals.Backoff
		}
		if !sleep(ctx, jitter(backoff)) {
			return
		}
	}
}

// onlyMetadata is the media type that requests the least of each object.
const onlyMetadata = virtualapi.MediaJSON + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," + virtualapi.MediaJSON

// watchOnce watches a trigger once, and has the object polled whenever something arrives, without decoding it. An API server first sends all
// existing objects.
func (i *informer) watchOnce(ctx context.Context, trigger string) {
	c, _ := i.target()
	if !c.Breaker.Closed() {
		return
	}
	timeout := jitter(i.all.intervals.WatchTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout+c.Limits.Read)
	defer cancel()
	begins := time.AfterFunc(c.Limits.Read, cancel)
	response, err := c.Get(ctx, asWatch(trigger, int(timeout.Seconds())), onlyMetadata)
	begins.Stop()
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return
	}
	chunk, slow := make([]byte, eventChunk), rate.NewLimiter(eventBytes, eventBurst)
	for {
		n, err := response.Body.Read(chunk)
		if n > 0 {
			i.enqueue()
		}
		if err != nil || slow.WaitN(ctx, n) != nil {
			return
		}
	}
}

// asWatch returns a list's path and query as those of a watch.
func asWatch(list string, seconds int) string {
	separator := "?"
	if strings.Contains(list, "?") {
		separator = "&"
	}
	return fmt.Sprintf("%s%swatch=true&timeoutSeconds=%d", list, separator, seconds)
}
