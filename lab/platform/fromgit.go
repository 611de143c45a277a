package platform

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// ownFile is the name in Cluster.Files of what only this cluster needs.
const ownFile = "cluster.yaml"

// writeFiles fills Cluster.Files.
func (i *installer) writeFiles(pushed []xpkg.Pushed) error {
	i.files = map[string]string{}
	for _, name := range append([]string{"providerconfigs.yaml"}, installed...) {
		objects, err := i.manifests(pushed, name)
		if err != nil {
			return err
		}
		if i.files[name], err = encodeManifests(objects); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	own, err := i.ownManifests()
	if err != nil {
		return err
	}
	i.files[ownFile], err = encodeManifests(own)
	return err
}

func encodeManifests(objects []*unstructured.Unstructured) (string, error) {
	out := &strings.Builder{}
	for _, o := range objects {
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(out, "---\n%s", data)
	}
	return out.String(), nil
}
