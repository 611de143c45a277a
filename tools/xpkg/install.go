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

// CheckFile is where WriteInstallFile writes the check.
func (p Project) CheckFile() string { return filepath.Join(p.Out, "check.yaml") }

// WriteInstallFile writes what every installation needs into one file: the files of examples/install that kustomization.yaml lists, but for
// those that come later, with the packages that were pushed, by their digests. If these are in another registry than the published one, an
// ImageConfig is in the file, too: Crossplane finds them there, and their names stay. check.yaml, which isn't installed, becomes a file of
// its own.
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
	check, err := os.ReadFile(filepath.Join(folder, "check.yaml"))
	if err != nil {
		return err
	}
	for file, text := range map[string]string{p.InstallFile(): strings.Join(documents, "\n---\n") + "\n", p.CheckFile(): string(check)} {
		// ImageConfigs rewrite packages, and no images of containers.
		text = strings.ReplaceAll(withDigests(text, pushed), "image: "+PublishedRegistry+"/", "image: "+registry+"/")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// withDigests names the packages that were pushed by their digests, wherever a text names this project's packages.
func withDigests(text string, pushed []Pushed) string {
	return pinReferences(text, func(name, version string) (string, string) {
		for _, done := range pushed {
			if _, tag, ok := strings.Cut(done.Tag, "/"+name+":"); ok {
				return tag, done.Digest
			}
		}
		return version, ""
	})
}

// rewrite is an ImageConfig that makes Crossplane look for this project's packages in another registry.
func rewrite(registry string) string {
	return fmt.Sprintf(`# Crossplane pulls the packages from here. If the registry asks for a password, create a Secret of type kubernetes.io/dockerconfigjson in
# crossplane-system, and name it in imagePullSecrets of Crossplane's chart: Crossplane and the packages' pods then use it.
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
