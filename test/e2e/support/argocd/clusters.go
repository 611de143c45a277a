package argocd

import (
	"context"
	"net/http"
)

// Cluster is what Argo CD tells of a cluster that it can deploy to.
type Cluster struct {
	Name, Server    string
	Labels          map[string]string
	ConnectionState struct{ Status, Message string }
}

// Clusters are the registered clusters by name, the one that Argo CD runs in among them.
func (c *Client) Clusters(ctx context.Context) (map[string]Cluster, error) {
	var list struct{ Items []Cluster }
	if err := c.call(ctx, http.MethodGet, "/api/v1/clusters", nil, &list); err != nil {
		return nil, err
	}
	out := map[string]Cluster{}
	for _, cluster := range list.Items {
		out[cluster.Name] = cluster
	}
	return out, nil
}

// Source is where an Application's manifests are.
type Source struct{ RepoURL, Path string }

// CreateAt makes an Application that Argo CD syncs by itself, with a namespace of its own name as its destination in a
// cluster that is registered under a name.
func (c *Client) CreateAt(ctx context.Context, name string, from Source, cluster string) error {
	return c.call(ctx, http.MethodPost, "/api/v1/applications", map[string]any{
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": from.RepoURL, "path": from.Path, "targetRevision": "HEAD"},
			"destination": map[string]any{"name": cluster, "namespace": name},
			"syncPolicy": map[string]any{
				"automated":   map[string]any{},
				"syncOptions": []string{"CreateNamespace=true"},
			},
		},
	}, nil)
}
