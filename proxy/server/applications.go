package server

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// pruneMetadata removes metadata that changes with each write.
func pruneMetadata(object map[string]any) {
	if meta, ok := object["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
		delete(meta, "resourceVersion")
		delete(meta, "generation")
	}
}

// pruneApplication keeps of an Application's status only what a claim's status shows. Argo CD writes the time of each comparison into the
// rest.
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

// showApplication returns an Application as the provider gets it: pruned, with the provider's own managed fields, which it needs to apply the
// Application.
//
// provider-kubernetes 1.2.1 copies the whole object that it observes to status.atProvider.manifest (setAtProvider in
// internal/controller/cluster/object/object.go). Argo CD writes an Application's status at each comparison, and each would be a write to the
// host. Upstream, a list of the fields that are copied would replace this.
func showApplication(l limits.Limits, application []byte) ([]byte, error) {
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
	if int64(len(out)) > l.Response {
		return nil, limits.TooLarge(l.Response)
	}
	return out, nil
}

// encode returns an object as JSON. It doesn't escape HTML, which would make it up to six times as long.
func encode(object any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(object)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
