package proxy

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// maxWatch is how long a provider's watch lasts at most. Clients ask for up to ten minutes.
const maxWatch = 10 * time.Minute

// serveWatch answers a provider's list or watch of all objects of a kind, with the one that is
// followed. It answers 503 if too many virtual clusters are watched.
func (p *Proxy) serveWatch(w http.ResponseWriter, r *http.Request, s *server, kind *watchable) {
	f, leave := p.join(followKey{s.url, kind})
	if f == nil {
		http.Error(w, "too many virtual clusters are watched", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	if isTrue(r.URL.Query().Get("watch")) {
		f.watch(w, r)
		return
	}
	object, version, _ := f.state()
	list := &metav1.PartialObjectMetadataList{TypeMeta: kind.TypeMeta, Items: []metav1.PartialObjectMetadata{}}
	list.Kind += "List"
	list.ResourceVersion = formatVersion(version)
	if object != nil {
		list.Items = append(list.Items, *object)
	}
	body, err := json.Marshal(list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, mediaJSON, http.StatusOK, body)
}

// watch tells a provider of each change of the object, until the provider ends the watch or
// its time is over.
func (f *followed) watch(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	within := maxWatch
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil && seconds > 0 {
		within = min(within, time.Duration(seconds)*time.Second)
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	defer context.AfterFunc(f.proxy.watches, cancel)()
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
	// A client with a version of an earlier proxy has to list again. If it hasn't asked for the object
	// yet, the list is empty: the client takes that for a deletion, and asks for the object.
	if seen != 0 && !f.knows(seen) {
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
		object, version, changed := f.state()
		if object != nil && version > seen && !tell(typ, object) {
			return
		}
		if list {
			end := &metav1.PartialObjectMetadata{TypeMeta: f.kind.TypeMeta}
			end.ResourceVersion, end.Annotations = formatVersion(version), map[string]string{metav1.InitialEventsAnnotationKey: "true"}
			if !tell(watch.Bookmark, end) {
				return
			}
		}
		seen, list, typ = version, false, watch.Modified
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

func formatVersion(version int64) string { return strconv.FormatInt(version, 10) }
