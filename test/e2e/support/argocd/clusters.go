package argocd

import (
	"cmp"
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

// Source is where an Application's manifests are: a folder of a Git repository, or a chart of a Helm repository. Its
// revision is the newest when none is given.
type Source struct{ RepoURL, Path, Chart, Revision string }

// InCluster is the name of the cluster that Argo CD runs in.
const InCluster = "in-cluster"

// Create makes an Application that Argo CD syncs by itself, with a namespace of its own name as its destination in a
// cluster that is registered under a name.
func (c *Client) Create(ctx context.Context, name string, from Source, cluster string) error {
	source := map[string]any{"repoURL": from.RepoURL, "targetRevision": cmp.Or(from.Revision, "HEAD")}
	if from.Chart != "" {
		source["chart"] = from.Chart
	} else {
		source["path"] = from.Path
	}
	return c.call(ctx, http.MethodPost, "/api/v1/applications", map[string]any{
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"project":     "default",
			"source":      source,
			"destination": map[string]any{"name": cluster, "namespace": name},
			"syncPolicy": map[string]any{
				"automated":   map[string]any{},
				"syncOptions": []string{"CreateNamespace=true"},
			},
		},
	}, nil)
}
