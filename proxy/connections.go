package proxy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// connectionsPrefix begins the names of the ConfigMaps with what Argo CD connects to, which the
// proxy makes up, too.
const connectionsPrefix = "virtual-argocd-connections:"

// SummaryConnections is the key of such a ConfigMap. Its value is a list of connections, as JSON.
const SummaryConnections = "connections"

// maxConnections is how many connections a ConfigMap may have: 50 clusters, 50 repositories and the
// identity provider.
const maxConnections = 101

// A ConnectionKey identifies something that Argo CD connects to. It is short, since it is part of a
// name, and says nothing of a URL.
type ConnectionKey string

// ClusterKey returns the key of the cluster with an API server.
func ClusterKey(server string) ConnectionKey {
	return keyOf("c", strings.TrimRight(strings.TrimSpace(server), "/"))
}

// RepositoryKey returns the key of a repository. Argo CD doesn't tell apart what differs in the
// scheme of SSH and OCI, in the case of letters or in .git at the end.
func RepositoryKey(url string) ConnectionKey {
	url = strings.ToLower(strings.TrimSpace(url))
	if !strings.Contains(url, "://") {
		// user@host:path of SSH
		url = strings.Replace(url, ":", "/", 1)
	}
	url = strings.TrimPrefix(strings.TrimPrefix(url, "oci://"), "ssh://")
	return keyOf("r", strings.TrimSuffix(strings.TrimRight(url, "/"), ".git"))
}

func keyOf(kind, text string) ConnectionKey {
	sum := sha256.Sum256([]byte(text))
	return ConnectionKey(kind + "." + hex.EncodeToString(sum[:6]))
}

// SignOnKey returns the key of the identity provider of an Argo CD whose URL has a path, "" for
// none. With dex, that is Argo CD's own Dex.
func SignOnKey(path string, dex bool) ConnectionKey {
	kind := "oidc"
	if dex {
		kind = "dex"
	}
	return ConnectionKey("s." + kind + "." + base64.RawURLEncoding.EncodeToString([]byte(path)))
}

// signOn returns what SignOnKey was given; false for other keys.
func (k ConnectionKey) signOn() (path string, dex, ok bool) {
	match := signOnKeys.FindStringSubmatch(string(k))
	if match == nil {
		return "", false, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(match[2])
	return string(raw), match[1] == "dex", err == nil && rootPaths.Match(raw)
}

var (
	urlKeys    = regexp.MustCompile(`^[cr]\.[0-9a-f]{12}$`)
	signOnKeys = regexp.MustCompile(`^s\.(oidc|dex)\.([A-Za-z0-9_-]{0,400})$`)
	rootPaths  = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)
)

// ConnectionsName is the name of the ConfigMap that the proxy answers with when it is asked for it in
// the namespace of Argo CD: what Argo CD was seen to connect to. An empty list is one, too.
func ConnectionsName(of []ConnectionKey) string {
	names := make([]string, 0, len(of))
	for _, k := range of {
		names = append(names, string(k))
	}
	slices.Sort(names)
	return connectionsPrefix + strings.Join(slices.Compact(names), ",")
}

// ReadConnectionsName returns the keys in such a name.
func ReadConnectionsName(name string) ([]ConnectionKey, error) {
	list, ok := strings.CutPrefix(name, connectionsPrefix)
	switch {
	case !ok:
		return nil, errors.New("it isn't the name of a list of connections")
	case list == "":
		return nil, nil
	}
	var out []ConnectionKey
	for key := range strings.SplitSeq(list, ",") {
		if _, _, signOn := ConnectionKey(key).signOn(); !signOn && !urlKeys.MatchString(key) {
			return nil, fmt.Errorf("%s isn't the key of a connection", key)
		}
		if out = append(out, ConnectionKey(key)); len(out) > maxConnections {
			return nil, fmt.Errorf("there are at most %d connections", maxConnections)
		}
	}
	return out, nil
}

// A Connection is what was seen of something that Argo CD connects to.
type Connection struct {
	Key ConnectionKey `json:"key"`
	// Connected reports whether Argo CD was seen to connect. Otherwise it was seen to fail.
	Connected bool `json:"connected"`
	// Message says why it fails, in Argo CD's words where it has any.
	Message string `json:"message,omitempty"`
}

// ReadConnections returns the connections in the text at SummaryConnections by their keys. What
// wasn't seen isn't among them.
func ReadConnections(text string) map[ConnectionKey]Connection {
	var list []Connection
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	out := make(map[ConnectionKey]Connection, len(list))
	for _, c := range list {
		out[c.Key] = c
	}
	return out
}

// ConnectionsData is the data of the ConfigMap with these connections.
func ConnectionsData(list []Connection) map[string]string {
	slices.SortFunc(list, func(a, b Connection) int { return cmp.Compare(a.Key, b.Key) })
	// What has only texts can always be encoded.
	raw, _ := json.Marshal(list)
	return map[string]string{SummaryConnections: string(raw)}
}

var connectionsOne = regexp.MustCompile(`^/api/v1/namespaces/([^/]+)/configmaps/(` + connectionsPrefix + `[^/]*)$`)

// argocdConnections are followed as the summary of workloads is. There is nothing to watch that reports
// all changes: the proxy looks each minute.
var argocdConnections = &watchable{
	TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
	path:     workloadSummaries.path, one: connectionsOne, polled: true,
	bells: func(target) []string { return nil },
	look: func(ctx context.Context, p *Proxy, s *server, t target, _ bool) (digest, bool, error) {
		keys, err := ReadConnectionsName(t.name)
		if err != nil {
			return digest{}, true, err
		}
		sight := p.sightOf(s, t.namespace)
		sight.look(ctx, p, s, t.namespace, keys)
		data, seen := sight.data(keys)
		return digestOf(data), seen == len(keys), nil
	},
}

// connectionsOf answers with the ConfigMap of that name, as summarize does.
func (p *Proxy) connectionsOf(ctx context.Context, s *server, r *http.Request, namespace, name string) ([]byte, error) {
	out := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	switch {
	case r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") == metav1.DryRunAll:
		return json.Marshal(out)
	case r.Method != http.MethodGet:
		return nil, errors.New("what Argo CD connects to can't be changed")
	}
	keys, err := ReadConnectionsName(name)
	if err != nil {
		return nil, err
	}
	t := target{namespace, name}
	sight := p.sightOf(s, namespace)
	if sight.old() {
		sight.look(ctx, p, s, namespace, keys)
	}
	out.Data, _ = sight.data(keys)
	p.saw(s, argocdConnections, t, digestOf(out.Data))
	return json.Marshal(out)
}
