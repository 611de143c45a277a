package proxy

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
)

// maxWatch is how long a provider's watch lasts at most. Clients ask for up to ten minutes.
const maxWatch = 10 * time.Minute

// serveWatch answers a provider's list or watch of all objects of a kind, with those that are
// followed. It answers 503 if too many virtual clusters are watched.
func (p *Proxy) serveWatch(w http.ResponseWriter, r *http.Request, s *server, kinds []*watchable) {
	var all watched
	for _, kind := range kinds {
		f, leave := p.join(followKey{s.url, kind})
		if f == nil {
			http.Error(w, "too many virtual clusters are watched", http.StatusServiceUnavailable)
			return
		}
		defer leave()
		all = append(all, f)
	}
	if isTrue(r.URL.Query().Get("watch")) {
		p.watch(w, r, all)
		return
	}
	objects, version, _ := all.since(0)
	list := &metav1.PartialObjectMetadataList{TypeMeta: kinds[0].TypeMeta, Items: []metav1.PartialObjectMetadata{}}
	list.Kind += "List"
	list.ResourceVersion = formatVersion(version)
	for _, o := range objects {
		list.Items = append(list.Items, *o)
	}
	body, err := json.Marshal(list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, mediaJSON, http.StatusOK, body)
}

// watched are the followed objects of one kind.
type watched []*followed

// since returns the objects that are newer than a version, oldest first, the newest version of all, and
// channels one of which is closed when an object changes.
func (all watched) since(seen int64) (objects []*metav1.PartialObjectMetadata, newest int64, changed []<-chan struct{}) {
	if len(all) == 0 {
		return nil, 0, nil
	}
	// A client goes on from the last version that it got. What changes from here on could be newer than
	// a change of an object that was read before it.
	limit := all[0].proxy.version.Load()
	versions := map[*metav1.PartialObjectMetadata]int64{}
	for _, f := range all {
		object, version, c := f.state()
		if version > limit {
			now := make(chan struct{})
			close(now)
			c = now
		} else {
			newest = max(newest, version)
		}
		if object != nil && version > seen && version <= limit {
			versions[object] = version
		}
		changed = append(changed, c)
	}
	objects = slices.SortedFunc(maps.Keys(versions), func(a, b *metav1.PartialObjectMetadata) int { return cmp.Compare(versions[a], versions[b]) })
	return objects, newest, changed
}

// knows reports whether a version is one of these objects', so that a watch can go on from it.
func (all watched) knows(version int64) bool {
	created, newest := int64(math.MaxInt64), int64(0)
	for _, f := range all {
		_, last, _ := f.state()
		created, newest = min(created, f.created), max(newest, last)
	}
	return version >= created && version <= newest
}

// watch tells a provider of each change of the objects, until the provider ends the watch or
// its time is over.
func (p *Proxy) watch(w http.ResponseWriter, r *http.Request, all watched) {
	query := r.URL.Query()
	within := maxWatch
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil && seconds > 0 {
		within = min(within, time.Duration(seconds)*time.Second)
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	defer context.AfterFunc(p.watches, cancel)()
	seen, err := strconv.ParseInt(query.Get("resourceVersion"), 10, 64)
	// With sendInitialEvents, a client asks for the list as the first events of the watch.
	list := isTrue(query.Get("sendInitialEvents"))
	if err != nil || list {
		seen = 0
	}
	w.Header().Set("Content-Type", mediaJSON)
	w.WriteHeader(http.StatusOK)
	out, flush := json.NewEncoder(w), http.NewResponseController(w)
	tell := func(typ watch.EventType, object any) bool {
		return out.Encode(map[string]any{"type": typ, "object": object}) == nil && flush.Flush() == nil
	}
	_ = flush.Flush()
	// A client with a version of an earlier proxy has to list again. If it hasn't asked for an object
	// yet, the list is empty: the client takes that for a deletion, and asks for the object.
	if seen != 0 && !all.knows(seen) {
		gone := kerrors.NewResourceExpired("the proxy has been restarted: list again").Status()
		gone.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		tell(watch.Error, gone)
		return
	}
	typ := watch.Modified
	if seen == 0 {
		typ = watch.Added
	}
	for {
		objects, version, changed := all.since(seen)
		for _, o := range objects {
			if !tell(typ, o) {
				return
			}
		}
		if list {
			end := &metav1.PartialObjectMetadata{TypeMeta: all[0].kind.TypeMeta}
			end.ResourceVersion, end.Annotations = formatVersion(version), map[string]string{metav1.InitialEventsAnnotationKey: "true"}
			if !tell(watch.Bookmark, end) {
				return
			}
		}
		seen, list, typ = max(seen, version), false, watch.Modified
		if !anyOf(ctx, changed) {
			return
		}
	}
}

// anyOf waits until one of at most two channels is closed. It reports false if the context ends before
// that.
func anyOf(ctx context.Context, changed []<-chan struct{}) bool {
	// A nil channel is never closed.
	both := [2]<-chan struct{}{}
	copy(both[:], changed)
	select {
	case <-ctx.Done():
		return false
	case <-both[0]:
	case <-both[1]:
	}
	return true
}

func formatVersion(version int64) string { return strconv.FormatInt(version, 10) }
