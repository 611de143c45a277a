package watch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// A Resource is a kind of which provider-kubernetes watches one object in each virtual cluster: the one that it has read last.
type Resource struct {
	metav1.TypeMeta

	// Plural is the name of the resource in paths.
	Plural string
	// Triggers returns the paths and queries of the lists in the virtual cluster to watch. An event of any of them may mean that the object
	// has changed. If Triggers is nil, the object is polled at Intervals.Poll, and that the virtual API server doesn't answer is no change.
	Triggers func(Object) []string
	// Poll returns what a provider would read.
	Poll func(context.Context, *virtualapi.Client, Object) (State, error)
	// Check returns an error if the virtual API server doesn't answer, and otherwise whether the object may have changed without an event. It
	// is nil for resources that leave that to another one.
	Check func(context.Context, *virtualapi.Client, Object) (changed bool, err error)
}

// An Object is the namespace and the name of an object.
type Object struct{ Namespace, Name string }

// A Digest identifies a state of an object; the zero Digest says that the virtual API server doesn't answer.
type Digest [sha256.Size]byte

// A State is what a poll has found.
type State struct {
	Digest Digest
	// Settled reports whether the object stays as it is until there is an event.
	Settled bool
}

// DigestOfData returns the digest of the data of a ConfigMap.
func DigestOfData(data map[string]string) Digest {
	// A map of strings can always be encoded.
	raw, _ := json.Marshal(data)
	return sha256.Sum256(raw)
}

// DigestOfResponse returns the digest of a response with an object, without what prune removes, or that there is none; the zero Digest for
// other responses.
func DigestOfResponse(status int, body []byte, prune func(object map[string]any)) Digest {
	object := map[string]any{}
	switch {
	case status == http.StatusNotFound:
		return sha256.Sum256(nil)
	case status != http.StatusOK || json.Unmarshal(body, &object) != nil:
		return Digest{}
	}
	prune(object)
	sum := sha256.New()
	e := json.NewEncoder(sum)
	// Escaped, a character would take six times as many bytes.
	e.SetEscapeHTML(false)
	if e.Encode(object) != nil {
		return Digest{}
	}
	return Digest(sum.Sum(nil))
}

// Stored returns the Resource of a kind that virtual API servers store, unlike a ConfigMap of the proxy's. prune removes from an object what
// changes without concerning the provider.
func Stored(of metav1.TypeMeta, plural string, prune func(object map[string]any)) *Resource {
	r := &Resource{TypeMeta: of, Plural: plural}
	in := func(o Object) string { return r.group() + "/namespaces/" + o.Namespace + "/" + plural }
	r.Triggers = func(o Object) []string {
		return []string{in(o) + "?" + url.Values{"fieldSelector": {"metadata.name=" + o.Name}}.Encode()}
	}
	r.Poll = func(ctx context.Context, c *virtualapi.Client, o Object) (state State, err error) {
		err = c.Fetch(ctx, in(o)+"/"+o.Name, c.Ordinary(), func(status int, body []byte) error {
			if state = (State{DigestOfResponse(status, body, prune), true}); state.Digest == (Digest{}) {
				return fmt.Errorf("it answers with status %d: %s", status, podtrouble.Short(string(body)))
			}
			return nil
		})
		return state, err
	}
	return r
}

// group returns the path of the resource's group and version.
func (r *Resource) group() string {
	if strings.Contains(r.APIVersion, "/") {
		return "/apis/" + r.APIVersion
	}
	return "/api/" + r.APIVersion
}

// Path returns the path of all objects of the resource.
func (r *Resource) Path() string { return r.group() + "/" + r.Plural }

// ObjectAt returns the object with a path; false if it isn't the path of one of the resource.
func (r *Resource) ObjectAt(path string) (Object, bool) {
	rest, ok := strings.CutPrefix(path, r.group()+"/namespaces/")
	part := strings.Split(rest, "/")
	if !ok || len(part) != 3 || part[0] == "" || part[1] != r.Plural || part[2] == "" {
		return Object{}, false
	}
	return Object{part[0], part[2]}, true
}
