package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/helm"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// releaseName is the name of Argo CD's release.
const releaseName = "argocd"

// A kind of objects that are looked for. Others aren't: a record names any, and each kind is a request. Deployments and StatefulSets are
// among the workloads of a summary.
type kind struct {
	group, name, plural string
	// path of the API, before the namespace or the plural.
	path string
	// namespaced reports whether its objects are in a namespace.
	namespaced bool
}

func kindOf(group, version, name, plural string, namespaced bool) kind {
	path := "/apis/" + group + "/" + version
	if group == "" {
		path = "/api/" + version
	}
	return kind{group, name, plural, path, namespaced}
}

const (
	rbac    = "rbac.authorization.k8s.io"
	inOne   = true
	inWhole = false
)

// kinds are those that the argo-cd chart (9.3.7 to 10.1.1) installs beside workloads and what belongs to other operators.
var kinds = []kind{
	kindOf("", "v1", "ConfigMap", "configmaps", inOne),
	kindOf("", "v1", "Secret", "secrets", inOne),
	kindOf("", "v1", "Service", "services", inOne),
	kindOf("", "v1", "ServiceAccount", "serviceaccounts", inOne),
	kindOf(rbac, "v1", "Role", "roles", inOne),
	kindOf(rbac, "v1", "RoleBinding", "rolebindings", inOne),
	kindOf(rbac, "v1", "ClusterRole", "clusterroles", inWhole),
	kindOf(rbac, "v1", "ClusterRoleBinding", "clusterrolebindings", inWhole),
	kindOf("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", inWhole),
	kindOf("networking.k8s.io", "v1", "Ingress", "ingresses", inOne),
	kindOf("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", inOne),
	kindOf("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", inOne),
	kindOf("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", inOne),
}

// in returns the path of the objects of a kind.
func (k kind) in(namespace string) string {
	if k.namespaced {
		return k.path + "/namespaces/" + namespace + "/" + k.plural
	}
	return k.path + "/" + k.plural
}

// A record of Helm's that was read.
type record struct {
	// key identifies the version of the Secret that has it.
	key      string
	revision int64
	// names of the objects of each kind, by the index of the kind.
	names map[int][]string
}

const (
	// managedByHelm selects the objects of releases: Helm labels each (setMetadataVisitor in pkg/action/validate.go).
	managedByHelm = "app.kubernetes.io/managed-by=Helm"
	maxListed     = "500"
	listBytes     = 512 << 10
	maxRecords    = "5"
)

// A list of objects, with their metadata alone.
type metadataList struct {
	Items []metav1.PartialObjectMetadata `json:"items"`
}

const (
	acceptMetadata = virtualapi.MediaJSON + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptList     = virtualapi.MediaJSON + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	// acceptTable requests of a list what kubectl prints, which is a fraction of the objects, and has nothing of Secrets.
	acceptTable = virtualapi.MediaJSON + ";as=Table;g=meta.k8s.io;v=v1"
)

// deployed returns the Secret with the record of the release that is deployed; nil for none.
func deployed(ctx context.Context, c *virtualapi.Client, namespace string) (*metav1.PartialObjectMetadata, error) {
	list := metadataList{}
	query := url.Values{"labelSelector": {"owner=helm,status=deployed,name=" + releaseName}, "limit": {maxRecords}}
	if err := get(ctx, c, secretsIn(namespace)+"?"+query.Encode(), acceptList, &list); err != nil {
		return nil, err
	}
	var out *metav1.PartialObjectMetadata
	for i, is := range list.Items {
		if virtualapi.IsName(is.Name) && (out == nil || revisionOf(is) > revisionOf(*out)) {
			out = &list.Items[i]
		}
	}
	return out, nil
}

func secretsIn(namespace string) string { return "/api/v1/namespaces/" + namespace + "/secrets" }

func revisionOf(record metav1.PartialObjectMetadata) int64 {
	n, _ := strconv.ParseInt(record.Labels["version"], 10, 64)
	return n
}

// read returns the record in a Secret.
func read(ctx context.Context, c *virtualapi.Client, namespace string, of metav1.PartialObjectMetadata) (record, error) {
	out := record{key: keyOf(of), revision: revisionOf(of), names: map[int][]string{}}
	most := virtualapi.Bounds{Bytes: c.Limits.LargeResponse, Values: c.Limits.Values}
	err := c.Fetch(ctx, secretsIn(namespace)+"/"+of.Name, most, func(status int, body []byte) error {
		secret := struct {
			Data struct {
				Release []byte `json:"release"`
			} `json:"data"`
		}{}
		if status != http.StatusOK {
			return errStatus(status)
		}
		if err := json.Unmarshal(body, &secret); err != nil {
			return err
		}
		// Nothing is known of a record that can't be read, until there is another one.
		objects, _ := helm.Objects(secret.Data.Release)
		for _, o := range objects {
			out.add(namespace, o)
		}
		return nil
	})
	return out, err
}

func keyOf(secret metav1.PartialObjectMetadata) string {
	return secret.Name + " " + string(secret.UID) + " " + secret.ResourceVersion
}

// add adds an object of a kind that is looked for. A chart may also have some for other namespaces.
func (r record) add(namespace string, o helm.Object) {
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		group = ""
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.group == group && k.name == o.Kind })
	if i < 0 || kinds[i].namespaced && o.Namespace != "" && o.Namespace != namespace || !proxy.IsMissingObject(o.Kind+" "+o.Name) {
		return
	}
	r.names[i] = append(r.names[i], o.Name)
}

// missing returns the objects of a record that don't exist. It is an error if that isn't known of all kinds.
func (r record) missing(ctx context.Context, c *virtualapi.Client, namespace string) (*proxy.Missing, error) {
	out := &proxy.Missing{Revision: r.revision}
	for i, k := range kinds {
		if len(r.names[i]) == 0 {
			continue
		}
		listed, err := k.list(ctx, c, namespace)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", k.plural, err)
		}
		for _, name := range r.names[i] {
			if listed[name] || len(out.Objects) == proxy.MaxMissing {
				continue
			}
			// One that isn't listed may lack the label, or come after the first ones.
			exists, err := k.exists(ctx, c, namespace, name)
			if err != nil {
				return nil, fmt.Errorf("get %s %s: %w", k.name, name, err)
			}
			if !exists {
				out.Objects = append(out.Objects, k.name+" "+name)
			}
		}
	}
	slices.Sort(out.Objects)
	return out, nil
}

// list returns the names of the first objects of a kind that Helm has made.
func (k kind) list(ctx context.Context, c *virtualapi.Client, namespace string) (map[string]bool, error) {
	table := struct {
		ColumnDefinitions []struct {
			Format string `json:"format"`
		} `json:"columnDefinitions"`
		Rows []struct {
			Cells []any `json:"cells"`
		} `json:"rows"`
	}{}
	query := url.Values{"labelSelector": {managedByHelm}, "limit": {maxListed}, "includeObject": {string(metav1.IncludeNone)}}
	if err := get(ctx, c, k.in(namespace)+"?"+query.Encode(), acceptTable, &table); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for n, column := range table.ColumnDefinitions {
		for _, row := range table.Rows {
			if name, ok := cell(row.Cells, n).(string); ok && column.Format == "name" {
				out[name] = true
			}
		}
	}
	return out, nil
}

func cell(cells []any, n int) any {
	if n >= len(cells) {
		return nil
	}
	return cells[n]
}

// exists reports whether there is an object.
func (k kind) exists(ctx context.Context, c *virtualapi.Client, namespace, name string) (bool, error) {
	err := get(ctx, c, k.in(namespace)+"/"+url.PathEscape(name), acceptMetadata, &metav1.PartialObjectMetadata{})
	if errors.Is(err, errStatus(http.StatusNotFound)) {
		return false, nil
	}
	return true, err
}

// An errStatus is the status of a response that isn't OK.
type errStatus int

func (e errStatus) Error() string { return fmt.Sprintf("it answers with status %d", int(e)) }

// get reads an object or a list in the form that accept says.
func get(ctx context.Context, c *virtualapi.Client, uri, accept string, into any) error {
	return c.FetchAs(ctx, uri, accept, virtualapi.Bounds{Bytes: listBytes, Values: c.Limits.Values}, func(status int, body []byte) error {
		if status != http.StatusOK {
			return errStatus(status)
		}
		return json.Unmarshal(body, into)
	})
}
