package xpkg

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// later are the files of examples/install that aren't in the installation file: providers.yaml isn't for clusters that run the providers
// already, and the kinds in providerconfigs.yaml come with the packages.
var later = []string{"providers.yaml", "providerconfigs.yaml"}

// InstallFile is where WriteInstallFile writes.
func (p Project) InstallFile() string { return filepath.Join(p.Out, "install.yaml") }

// WriteInstallFile writes what every installation needs into one file: the files of examples/install that kustomization.yaml lists, but for
// those that come later, with the packages that were pushed, by their digests. If these are in another registry than the published one, an
// ImageConfig is in the file, too: Crossplane finds them there, and their names stay.
func (p Project) WriteInstallFile(registry string, pushed ...Pushed) error {
	folder := filepath.Join(p.Root, "examples", "install")
	list, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
	if err != nil {
		return err
	}
	var all struct{ Resources []string }
	if err := yaml.Unmarshal(list, &all); err != nil {
		return fmt.Errorf("cannot parse kustomization.yaml: %w", err)
	}
	var documents []string
	registry = strings.TrimSuffix(registry, "/")
	if registry != PublishedRegistry {
		documents = append(documents, rewrite(registry))
	}
	for _, file := range all.Resources {
		if slices.Contains(later, file) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			return err
		}
		documents = append(documents, strings.TrimSpace(string(text)))
	}
	text := ownReference.ReplaceAllStringFunc(strings.Join(documents, "\n---\n")+"\n", func(reference string) string {
		m := ownReference.FindStringSubmatch(reference)
		for _, done := range pushed {
			if strings.Contains(done.Tag, "/"+m[1]+":") {
				_, tag, _ := strings.Cut(done.Tag, m[1]+":")
				return fmt.Sprintf("%s/%s:%s@%s", PublishedRegistry, m[1], tag, done.Digest)
			}
		}
		return reference
	})
	// ImageConfigs rewrite packages, and no images of containers.
	text = strings.ReplaceAll(text, "image: "+PublishedRegistry+"/", "image: "+registry+"/")
	return os.WriteFile(p.InstallFile(), []byte(text), 0o644)
}

// rewrite is an ImageConfig that makes Crossplane look for this project's packages in another registry.
func rewrite(registry string) string {
	return fmt.Sprintf(`# Crossplane pulls the packages from here. If the registry asks for a password, create a Secret of type kubernetes.io/dockerconfigjson in
# crossplane-system, and name it in spec.registry.authentication.pullSecretRef: Crossplane and the packages' pods then use it.
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata:
  name: virtual-argocd-packages
spec:
  matchImages:
    - type: Prefix
      prefix: %[1]s
  rewriteImage:
    prefix: %[2]s`, PublishedRegistry, registry)
}
