package xpkg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// replaceInput gives the function's step of every Composition in dir another
// input. Nothing else of a Composition changes.
func replaceInput(dir, inputFile string) error {
	data, err := os.ReadFile(inputFile)
	if err != nil {
		return fmt.Errorf("cannot read the function's input: %w", err)
	}
	input := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &input); err != nil {
		return fmt.Errorf("cannot parse the function's input %s: %w", inputFile, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("cannot read composition: %w", err)
		}
		if data, err = withInput(data, input); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return fmt.Errorf("cannot write composition: %w", err)
		}
	}
	return nil
}

func withInput(composition []byte, input map[string]any) ([]byte, error) {
	c := map[string]any{}
	if err := yaml.Unmarshal(composition, &c); err != nil {
		return nil, fmt.Errorf("cannot parse: %w", err)
	}
	spec, _ := c["spec"].(map[string]any)
	steps, _ := spec["pipeline"].([]any)
	for _, s := range steps {
		step, _ := s.(map[string]any)
		ref, _ := step["functionRef"].(map[string]any)
		if name, _ := ref["name"].(string); strings.HasSuffix(name, FunctionName) {
			step["input"] = input
			return yaml.Marshal(c)
		}
	}
	return nil, fmt.Errorf("spec.pipeline has no step of %s", FunctionName)
}
