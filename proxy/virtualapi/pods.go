package virtualapi

import (
	"context"
	"net/http"
	"regexp"
	"slices"
)

// objectName matches names of objects, and of namespaces.
var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// IsName reports whether a text can be the name of most objects, and be part of a path. Those of RBAC may have other characters, too.
func IsName(name string) bool { return objectName.MatchString(name) }

// nameLabel is the label with the component of Argo CD that a pod is of, as in the NetworkPolicies of tenants.
const nameLabel = "app.kubernetes.io/name"

// ReadyPods returns the names of ready pods of a component of Argo CD, sorted; the first ten pods are looked at.
func (c *Client) ReadyPods(ctx context.Context, namespace, component string) ([]string, error) {
	pods, err := c.Pods(ctx, namespace, nameLabel+"="+component)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, pod := range pods {
		if IsReady(pod) && pod.DeletionTimestamp == nil && IsName(pod.Name) {
			out = append(out, pod.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// GetFromPod sends a GET request to a port of a pod, by the virtual API server. It follows no redirects. The caller closes the body of the
// response, whose form isn't checked. pod may have a scheme before it, as in https:argocd-server.
func (c *Client) GetFromPod(ctx context.Context, namespace, pod, port, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/namespaces/"+namespace+"/pods/"+pod+":"+port+"/proxy"+path, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(ctx, r)
}
