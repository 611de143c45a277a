package proxy

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ConnectionsPrefix begins the names of the ConfigMaps with what Argo CD connects to, which exist in the proxy alone, too.
const ConnectionsPrefix = "virtual-argocd-connections:"

// SummaryConnections is the key of such a ConfigMap. Its value is a list of connections, as JSON.
const SummaryConnections = "connections"

// maxConnections is how many connections a ConfigMap may have: 50 clusters, their agents, 50 repositories and the identity provider.
const maxConnections = 151

// A ConnectionKey identifies a cluster, a repository or an identity provider that Argo CD connects to, or the agent of a tunnel. It is short, since it is part of a
// name, and doesn't contain the URL.
type ConnectionKey string

// IsCluster reports whether it is the key of a cluster.
func (k ConnectionKey) IsCluster() bool { return strings.HasPrefix(string(k), clusterKind+".") }

// IsRepository reports whether it is the key of a repository.
func (k ConnectionKey) IsRepository() bool { return strings.HasPrefix(string(k), repositoryKind+".") }

// IsAgent reports whether it is the key of the agent of a tunnel.
func (k ConnectionKey) IsAgent() bool { return strings.HasPrefix(string(k), agentKind+".") }

const (
	clusterKind    = "c"
	repositoryKind = "r"
	agentKind      = "t"
)

// AgentKey returns the key of the agent of a tunnel.
func AgentKey(name string) ConnectionKey { return keyOf(agentKind, name) }

// ClusterKey returns the key of the cluster with an API server.
func ClusterKey(server string) ConnectionKey {
	return keyOf(clusterKind, strings.TrimRight(strings.TrimSpace(server), "/"))
}

// RepositoryKey returns the key of a repository. To Argo CD, URLs are the same that differ in the scheme of SSH and OCI, in upper and lower
// case, or in .git at the end.
func RepositoryKey(url string) ConnectionKey {
	url = strings.ToLower(strings.TrimSpace(url))
	if !strings.Contains(url, "://") {
		// user@host:path of SSH
		url = strings.Replace(url, ":", "/", 1)
	}
	url = strings.TrimPrefix(strings.TrimPrefix(url, "oci://"), "ssh://")
	return keyOf(repositoryKind, strings.TrimSuffix(strings.TrimRight(url, "/"), ".git"))
}

func keyOf(kind, text string) ConnectionKey {
	sum := sha256.Sum256([]byte(text))
	return ConnectionKey(kind + "." + hex.EncodeToString(sum[:6]))
}

// SignOnKey returns the key of the identity provider of an Argo CD whose URL has this path, or "". With dex, that is Argo CD's own Dex.
func SignOnKey(path string, dex bool) ConnectionKey {
	kind := "oidc"
	if dex {
		kind = "dex"
	}
	return ConnectionKey("s." + kind + "." + base64.RawURLEncoding.EncodeToString([]byte(path)))
}

// SignOn returns what SignOnKey was given; false for other keys.
func (k ConnectionKey) SignOn() (path string, dex, ok bool) {
	match := signOnKeys.FindStringSubmatch(string(k))
	if match == nil {
		return "", false, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(match[2])
	return string(raw), match[1] == "dex", err == nil && rootPaths.Match(raw)
}

var (
	urlKeys    = regexp.MustCompile(`^[crt]\.[0-9a-f]{12}$`)
	signOnKeys = regexp.MustCompile(`^s\.(oidc|dex)\.([A-Za-z0-9_-]{0,400})$`)
	rootPaths  = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)
)

// ConnectionsName is the name of the ConfigMap that the proxy answers a GET with, in the namespace of Argo CD: whether Argo CD connects to
// what these keys identify. An empty list is one, too.
//
// Argo CD has this in its own API alone, which needs an account of each tenant's Argo CD. No object has it: of clusters, a metric says that
// they were read once (argoproj/gitops-engine#559 would keep it current), and a metric of repositories was rejected
// (argoproj/argo-cd#27957). Upstream, a condition on the Secret of a cluster or repository would replace package connections.
func ConnectionsName(of []ConnectionKey) string {
	names := make([]string, 0, len(of))
	for _, k := range of {
		names = append(names, string(k))
	}
	slices.Sort(names)
	return ConnectionsPrefix + strings.Join(slices.Compact(names), ",")
}

// ReadConnectionsName returns the keys in such a name.
func ReadConnectionsName(name string) ([]ConnectionKey, error) {
	list, ok := strings.CutPrefix(name, ConnectionsPrefix)
	switch {
	case !ok:
		return nil, errors.New("it isn't the name of a list of connections")
	case list == "":
		return nil, nil
	}
	var out []ConnectionKey
	for key := range strings.SplitSeq(list, ",") {
		if _, _, signOn := ConnectionKey(key).SignOn(); !signOn && !urlKeys.MatchString(key) {
			return nil, fmt.Errorf("%s isn't the key of a connection", key)
		}
		if out = append(out, ConnectionKey(key)); len(out) > maxConnections {
			return nil, fmt.Errorf("there are at most %d connections", maxConnections)
		}
	}
	return out, nil
}

// A Connection is what was observed of something that Argo CD connects to.
type Connection struct {
	Key ConnectionKey `json:"key"`
	// Connected reports whether Argo CD was observed to connect. Otherwise it was observed to fail.
	Connected bool `json:"connected"`
	// Message says why it fails, in Argo CD's words where it has any.
	Message string `json:"message,omitempty"`
	// Agent is what its tunnel's server says of an agent; nil for what is none.
	Agent *Agent `json:"agent,omitempty"`
}

// An Agent is the state of an agent of a tunnel: see package tunnel.
type Agent struct {
	State string `json:"state"`
	// Key is the fingerprint of the agent's key; "" for none that is well formed.
	Key string `json:"key,omitempty"`
	// Since is when the state changed last, in seconds since 1970.
	Since int64 `json:"since"`
	// Twice reports whether somebody else tries to connect with the agent's key.
	Twice bool `json:"twice,omitempty"`
}

// ReadConnections returns the connections in the text at SummaryConnections by their keys. What wasn't observed isn't among them.
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
	// Strings and booleans can always be encoded.
	raw, _ := json.Marshal(list)
	return map[string]string{SummaryConnections: string(raw)}
}
