package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// maxTimeout is how long a provider's watch lasts at most. Clients request up to ten minutes.
const maxTimeout = 10 * time.Minute

// Serve answers a provider's list or watch of all objects of a kind with those that these resources have in the client's virtual cluster:
// at most maxResources, of one kind. It answers 503 if too many virtual clusters are watched.
func (i *Informers) Serve(w http.ResponseWriter, r *http.Request, c *virtualapi.Client, resources []*Resource) {
	var of objects
	for _, resource := range resources {
		is, unsubscribe := i.subscribe(key{c.URL, resource})
		if is == nil {
			http.Error(w, "too many virtual clusters are watched", http.StatusServiceUnavailable)
			return
		}
		defer unsubscribe()
		of = append(of, is)
	}
	if IsTrue(r.URL.Query().Get("watch")) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(i.ctx, cancel)()
		of.watch(ctx, w, r)
		return
	}
	of.list(w)
}

// IsTrue reports whether a parameter of a query is true.
func IsTrue(parameter string) bool { return parameter == "true" || parameter == "1" }

// objects are those of the informers of one kind in one virtual cluster.
type objects []*informer

// since returns the objects that are newer than a version, oldest first, the newest version of all, and channels one of which is closed when
// an object changes.
func (of objects) since(version int64) (newer []*metav1.PartialObjectMetadata, newest int64, changed []<-chan struct{}) {
	if len(of) == 0 {
		return nil, 0, nil
	}
	// A client goes on from the last version that it got. A change from here on could be newer than a change of an object that was read
	// before it.
	limit := of[0].all.version.Load()
	versions := map[*metav1.PartialObjectMetadata]int64{}
	for _, i := range of {
		object, is, c := i.state()
		if is > limit {
			now := make(chan struct{})
			close(now)
			c = now
		} else {
			newest = max(newest, is)
		}
		if object != nil && is > version && is <= limit {
			versions[object] = is
		}
		changed = append(changed, c)
	}
	newer = slices.SortedFunc(maps.Keys(versions), func(a, b *metav1.PartialObjectMetadata) int { return cmp.Compare(versions[a], versions[b]) })
	return newer, newest, changed
}

// knows reports whether a version is one of these objects', so that a watch can go on from it.
func (of objects) knows(version int64) bool {
	created, newest := int64(math.MaxInt64), int64(0)
	for _, i := range of {
		_, last, _ := i.state()
		created, newest = min(created, i.created), max(newest, last)
	}
	return version >= created && version <= newest
}

// list answers with the objects.
func (of objects) list(w http.ResponseWriter) {
	all, version, _ := of.since(0)
	list := &metav1.PartialObjectMetadataList{TypeMeta: of[0].resource.TypeMeta, Items: []metav1.PartialObjectMetadata{}}
	list.Kind += "List"
	list.ResourceVersion = formatVersion(version)
	for _, o := range all {
		list.Items = append(list.Items, *o)
	}
	body, err := json.Marshal(list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", virtualapi.MediaJSON)
	_, _ = w.Write(body)
}

// watch sends an event of each change of the objects, until the client ends the watch or its timeout is over.
func (of objects) watch(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	timeout := maxTimeout
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil && seconds > 0 {
		timeout = min(timeout, time.Duration(seconds)*time.Second)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	from, err := strconv.ParseInt(query.Get("resourceVersion"), 10, 64)
	// With sendInitialEvents, a client gets the list as the first events of the watch, and a bookmark at their end.
	initial := IsTrue(query.Get("sendInitialEvents"))
	if err != nil || initial {
		from = 0
	}
	events := begin(w)
	// A client with a resourceVersion of an earlier proxy has to list again. If it hasn't read an object through this one yet, the list is
	// empty: the client takes that for a deletion, and reads the object.
	if from != 0 && !of.knows(from) {
		expired := kerrors.NewResourceExpired("the proxy has been restarted: list again").Status()
		expired.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		events.send(watch.Error, expired)
		return
	}
	typ := watch.Modified
	if from == 0 {
		typ = watch.Added
	}
	for {
		newer, version, changed := of.since(from)
		for _, o := range newer {
			if !events.send(typ, o) {
				return
			}
		}
		if initial {
			end := &metav1.PartialObjectMetadata{TypeMeta: of[0].resource.TypeMeta}
			end.ResourceVersion, end.Annotations = formatVersion(version), map[string]string{metav1.InitialEventsAnnotationKey: "true"}
			if !events.send(watch.Bookmark, end) {
				return
			}
		}
		from, initial, typ = max(from, version), false, watch.Modified
		if !anyOf(ctx, changed) {
			return
		}
	}
}

// A stream sends the events of a watch.
type stream struct {
	out  *json.Encoder
	http *http.ResponseController
}

// begin begins the response to a watch.
func begin(w http.ResponseWriter) stream {
	s := stream{json.NewEncoder(w), http.NewResponseController(w)}
	w.Header().Set("Content-Type", virtualapi.MediaJSON)
	w.WriteHeader(http.StatusOK)
	_ = s.http.Flush()
	return s
}

// send sends an event. It reports false if the client has gone.
func (s stream) send(typ watch.EventType, object any) bool {
	return s.out.Encode(map[string]any{"type": typ, "object": object}) == nil && s.http.Flush() == nil
}

// maxResources is how many resources of one kind there are at most.
const maxResources = 3

// anyOf waits until one of at most maxResources channels is closed. It reports false if the context ends before that.
func anyOf(ctx context.Context, changed []<-chan struct{}) bool {
	// A nil channel is never closed.
	all := [maxResources]<-chan struct{}{}
	copy(all[:], changed)
	select {
	case <-ctx.Done():
		return false
	case <-all[0]:
	case <-all[1]:
	case <-all[2]:
	}
	return true
}
