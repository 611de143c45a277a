package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
)

// A watchable is an object that provider-kubernetes needs of a kind in each virtual cluster.
// The provider lists and watches all objects of the kind, in all namespaces. The proxy answers
// with only the object that the provider has asked for by name, so that a tenant's other
// objects neither fill the provider's memory nor cause it work.
type watchable struct {
	metav1.TypeMeta

	// path is the path of all objects of the kind, and one matches that of a single object.
	path string
	one  *regexp.Regexp
	// bells returns the paths and queries of the lists to watch in the virtual cluster to learn
	// of changes.
	bells func(target) []string
	// look returns a digest of what a provider would see, and whether that stays the same until
	// there is an event. Without whole, it only checks whether the virtual API server answers.
	look func(ctx context.Context, p *Proxy, s *server, t target, whole bool) (sees digest, settled bool, err error)
	// polled says that there is nothing to watch, so that the proxy looks from time to time.
	polled bool
	// prune removes from an object what changes without concerning the provider.
	prune func(object map[string]any)
}

// A target is the object that is watched.
type target struct{ namespace, name string }

// A digest identifies a state of an object; the zero digest says that the virtual API server
// doesn't answer.
type digest [sha256.Size]byte

var watchables = []*watchable{workloadSummaries, argocdConnections, applications, ingresses}

// watchablesAt returns those with this path of all objects of their kind.
func watchablesAt(path string) []*watchable {
	var out []*watchable
	for _, k := range watchables {
		if path == k.path {
			out = append(out, k)
		}
	}
	return out
}

var workloadSummaries = &watchable{
	TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
	path:     "/api/v1/configmaps",
	one:      summaries,
	bells: func(t target) []string {
		workloads, _ := ReadSummaryName(t.name)
		paths, has := []string{}, map[string]bool{}
		for _, w := range workloads {
			if path := workloadsPath(t.namespace, w.Kind); !has[path] {
				paths, has[path] = append(paths, path), true
			}
		}
		return paths
	},
	look: func(ctx context.Context, p *Proxy, s *server, t target, whole bool) (digest, bool, error) {
		workloads, err := ReadSummaryName(t.name)
		if err != nil {
			return digest{}, true, err
		}
		if !whole {
			_, err := p.workload(ctx, s, t.namespace, workloads[0])
			return digest{}, true, err
		}
		data, settled, err := p.summary(ctx, s, t.namespace, workloads)
		return digestOf(data), settled, err
	},
}

// digestOf returns the digest of a summary.
func digestOf(data map[string]string) digest {
	// A map of strings can always be encoded.
	raw, _ := json.Marshal(data)
	return sha256.Sum256(raw)
}

var (
	applications = objects(metav1.TypeMeta{APIVersion: "argoproj.io/v1alpha1", Kind: "Application"}, "applications", pruneApplication)
	ingresses    = objects(metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}, "ingresses", pruneMetadata)
)

// objects returns the watchable of a kind that exists in virtual clusters, unlike the summary.
func objects(of metav1.TypeMeta, plural string, prune func(map[string]any)) *watchable {
	group := "/apis/" + of.APIVersion
	k := &watchable{
		TypeMeta: of, prune: prune, path: group + "/" + plural,
		one: regexp.MustCompile(`^` + regexp.QuoteMeta(group) + `/namespaces/([^/]+)/` + plural + `/([^/]+)$`),
		bells: func(t target) []string {
			return []string{group + "/namespaces/" + t.namespace + "/" + plural + "?" + url.Values{"fieldSelector": {"metadata.name=" + t.name}}.Encode()}
		},
	}
	k.look = func(ctx context.Context, p *Proxy, s *server, t target, whole bool) (digest, bool, error) {
		// The summary's look tells whether the virtual API server answers.
		if !whole {
			return digest{}, true, nil
		}
		path := group + "/namespaces/" + t.namespace + "/" + plural + "/" + t.name
		answer, err := get(ctx, s, path)
		if err != nil {
			return digest{}, true, err
		}
		defer func() { _ = answer.Body.Close() }()
		body, release, err := p.read(ctx, s, answer, path)
		defer release()
		if err != nil {
			return digest{}, true, err
		}
		var sees digest
		err = p.decode(ctx, func() error { sees = digestOfAnswer(answer.StatusCode, body, prune); return nil })
		if err != nil {
			return digest{}, true, err
		}
		if sees == (digest{}) {
			return sees, true, fmt.Errorf("it answers with status %d: %s", answer.StatusCode, podtrouble.Short(string(body)))
		}
		return sees, true, nil
	}
	return k
}

// digestOfAnswer returns the digest of an answer with an object, or that there is none; the zero
// digest for other answers.
func digestOfAnswer(status int, body []byte, prune func(map[string]any)) digest {
	object := map[string]any{}
	switch {
	case status == http.StatusNotFound:
		return sha256.Sum256(nil)
	case status != http.StatusOK || json.Unmarshal(body, &object) != nil:
		return digest{}
	}
	prune(object)
	raw, err := encode(object)
	if err != nil {
		return digest{}
	}
	return sha256.Sum256(raw)
}

// pruneMetadata removes metadata that changes with each write.
func pruneMetadata(object map[string]any) {
	if meta, ok := object["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
		delete(meta, "resourceVersion")
		delete(meta, "generation")
	}
}

// pruneApplication keeps of an Application's status only what a claim's status shows. Argo CD
// writes the time of each comparison into the rest.
func pruneApplication(object map[string]any) {
	pruneMetadata(object)
	was, _ := object["status"].(map[string]any)
	is := map[string]any{}
	keep := func(field string, of ...string) {
		if from, ok := was[field].(map[string]any); ok {
			to := map[string]any{}
			for _, key := range of {
				if v, ok := from[key]; ok {
					to[key] = v
				}
			}
			is[field] = to
		}
	}
	keep("sync", "status", "revision")
	keep("health", "status")
	keep("operationState", "phase", "message")
	conditions := []any{}
	list, _ := was["conditions"].([]any)
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			conditions = append(conditions, map[string]any{"type": c["type"], "message": c["message"]})
		}
	}
	if len(conditions) > 0 {
		is["conditions"] = conditions
	}
	if was != nil {
		object["status"] = is
	}
}

// lean returns an Application as the provider sees it: without what changes all the time, which
// the provider would write to the host each time. Of the managed fields, the provider needs only
// its own.
func (l Limits) lean(application []byte) ([]byte, error) {
	object := map[string]any{}
	if utiljson.Unmarshal(application, &object) != nil {
		return application, nil
	}
	meta, _ := object["metadata"].(map[string]any)
	managers, _ := meta["managedFields"].([]any)
	pruneApplication(object)
	managers = slices.DeleteFunc(managers, func(is any) bool {
		of, _ := is.(map[string]any)
		name, _ := of["manager"].(string)
		return !strings.HasPrefix(name, "provider-kubernetes/")
	})
	if len(managers) > 0 {
		meta["managedFields"] = managers
	}
	out, err := encode(object)
	if err != nil {
		return application, nil
	}
	// Encoded anew, some characters take more bytes.
	if int64(len(out)) > l.Answer {
		return nil, tooLong(l.Answer)
	}
	return out, nil
}

// encode returns an object as JSON. It doesn't escape HTML, which would make it up to six times as
// long.
func encode(object any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(object)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// shown returns an answer as the provider sees it. If the answer is an object of a kind that the
// provider may watch, shown notes its digest.
func (p *Proxy) shown(s *server, r *http.Request, answer *http.Response, body []byte) ([]byte, error) {
	path, fails := r.URL.Path, answer.StatusCode >= http.StatusBadRequest
	if !fails {
		if err := checkObject(r.Method, path, body); err != nil {
			return nil, err
		}
	}
	switch {
	case isSecrets(path) && r.Method == http.MethodGet:
		return p.limits.ShowCutShort(body)
	case isDiscovery(path) && !fails:
		return body, checkDiscovery(path, answer.Header.Get("Content-Type"), body)
	case path == openAPIv3 && !fails:
		return body, checkOpenAPI(body)
	case isDocumentOfVersion(path) && !fails:
		return p.limits.LeanDocument(body)
	}
	for _, k := range []*watchable{applications, ingresses} {
		match := k.one.FindStringSubmatch(path)
		if match == nil {
			continue
		}
		if r.Method == http.MethodGet {
			p.saw(s, k, target{match[1], match[2]}, digestOfAnswer(answer.StatusCode, body, k.prune))
		}
		if k == applications && !fails {
			return p.limits.lean(body)
		}
	}
	return body, nil
}

// watching returns a bell's path and query as those of a watch.
func watching(bell string, seconds int) string {
	sign := "?"
	if strings.Contains(bell, "?") {
		sign = "&"
	}
	return fmt.Sprintf("%s%swatch=true&timeoutSeconds=%d", bell, sign, seconds)
}
