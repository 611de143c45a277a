package xpkg

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// ConfigurationFile is the Configuration's package file.
func (p Project) ConfigurationFile() string {
	return filepath.Join(p.Out, ConfigurationName+".xpkg")
}

// BuildConfiguration builds the Configuration's package for development, where many builds have one version: it depends on the function of
// its own version or a compatible later one: ^v0.1.0 is v0.1.x, ^v1.2.0 is v1.x from v1.2.0 on.
func (p Project) BuildConfiguration() error {
	version, err := p.version()
	if err != nil {
		return err
	}
	return p.buildConfiguration("^" + version)
}

// buildConfiguration builds the Configuration's package. function is the version of the function that it depends on: a constraint or a digest.
func (p Project) buildConfiguration(function string) error {
	// A package is every YAML file of a folder, and the project's root has
	// many that don't belong in it.
	stage := filepath.Join(p.Out, "configuration")
	if err := errors.Join(os.RemoveAll(stage), os.MkdirAll(stage, 0o755)); err != nil {
		return fmt.Errorf("cannot prepare folder %s: %w", stage, err)
	}
	meta, err := os.ReadFile(filepath.Join(p.Root, "crossplane.yaml"))
	if err != nil {
		return fmt.Errorf("cannot read the configuration's metadata: %w", err)
	}
	if meta, err = stampFunction(meta, function); err != nil {
		return fmt.Errorf("crossplane.yaml: %w", err)
	}
	if err := os.WriteFile(filepath.Join(stage, "crossplane.yaml"), meta, 0o644); err != nil {
		return fmt.Errorf("cannot write the configuration's metadata: %w", err)
	}
	for _, dir := range []string{"apis", "compositions"} {
		if err := copyYAML(filepath.Join(p.Root, dir), filepath.Join(stage, dir)); err != nil {
			return err
		}
	}
	if p.Input != "" {
		if err := replaceInput(filepath.Join(stage, "compositions"), p.Input); err != nil {
			return err
		}
	}
	return Contents{Root: stage, Examples: filepath.Join(p.Root, "examples", "claims")}.Build(p.ConfigurationFile())
}

// functionDigest is the digest that the Function's package has in a registry.
func (p Project) functionDigest(version string) (string, error) {
	files := p.functionFiles()
	if len(files) == 0 {
		return "", fmt.Errorf("no package of the Function in %s: build it before the Configuration, which depends on it", p.Out)
	}
	pkg, err := assemble(annotations(version), files...)
	if err != nil {
		return "", err
	}
	digest, err := pkg.Digest()
	if err != nil {
		return "", fmt.Errorf("cannot compute the digest of the Function: %w", err)
	}
	return digest.String(), nil
}

// stampFunction makes the configuration depend on a version of the function.
func stampFunction(meta []byte, version string) ([]byte, error) {
	var cfg map[string]any
	if err := yaml.Unmarshal(meta, &cfg); err != nil {
		return nil, fmt.Errorf("cannot parse: %w", err)
	}
	spec, _ := cfg["spec"].(map[string]any)
	dependencies, _ := spec["dependsOn"].([]any)
	for _, d := range dependencies {
		if dep, ok := d.(map[string]any); ok && dep["package"] == PublishedRegistry+"/"+FunctionName {
			dep["version"] = version
			return yaml.Marshal(cfg)
		}
	}
	return nil, fmt.Errorf("spec.dependsOn must name package %s/%s", PublishedRegistry, FunctionName)
}

func copyYAML(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no *.yaml in %s: the package would be empty", from)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("cannot make folder %s: %w", to, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return fmt.Errorf("cannot read manifest: %w", err)
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(f)), data, 0o644); err != nil {
			return fmt.Errorf("cannot copy manifest: %w", err)
		}
	}
	return nil
}
