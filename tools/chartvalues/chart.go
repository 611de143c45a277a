package chartvalues

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// A Chart is the name and the version of a chart, and the values that it has.
type Chart struct {
	Name, Version string
	Values        *known.Value
}

// Read reads a chart from its folder.
func Read(folder string) (Chart, error) {
	var is struct {
		Name, Version string
		Dependencies  []struct{ Name, Alias string }
	}
	if err := readYAML(filepath.Join(folder, "Chart.yaml"), &is); err != nil {
		return Chart{}, err
	}
	c := Chart{Name: is.Name, Version: is.Version}
	var defaults map[string]any
	if err := readYAML(filepath.Join(folder, "values.yaml"), &defaults); err != nil {
		return c, err
	}
	schema, err := os.ReadFile(filepath.Join(folder, "values.schema.json"))
	if err == nil {
		if c.Values, err = fromSchema(schema); err == nil {
			setDefaults(c.Values, defaults)
		}
		return c, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	c.Values = fromDefaults(defaults)
	u := &usage{values: c.Values}
	if err := u.read(filepath.Join(folder, "templates")); err != nil {
		return c, fmt.Errorf("%s: %w", folder, err)
	}
	for _, d := range is.Dependencies {
		key := d.Alias
		if key == "" {
			key = d.Name
		}
		at := filepath.Join(folder, "charts", d.Name)
		_, err := os.Stat(at)
		var sub Chart
		if err == nil {
			if sub, err = Read(at); err != nil {
				return c, err
			}
		}
		switch {
		case err == nil:
			// This chart's defaults are over those of the chart that it depends on.
			setDefaults(sub.Values, defaults[key])
			c.Values.Below[key] = sub.Values
		case !errors.Is(err, fs.ErrNotExist):
			return c, err
		case c.Values.Below[key] != nil:
			// The values of a chart that isn't in the folder aren't known.
			c.Values.Below[key].Free = true
		}
		// Helm's own: the values that a chart shares with those that it depends on, and the switch.
		if below := c.Values.Below[key]; below != nil && len(below.Below) > 0 {
			for _, own := range []string{"global", "enabled"} {
				if below.Below[own] == nil {
					below.Below[own] = &known.Value{}
				}
			}
		}
	}
	return c, nil
}

func readYAML(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// fromDefaults returns the values in values.yaml.
func fromDefaults(is any) *known.Value {
	defaults, isMap := is.(map[string]any)
	if !isMap {
		return &known.Value{Default: is}
	}
	v := &known.Value{Below: map[string]*known.Value{}}
	for key, below := range defaults {
		v.Below[key] = fromDefaults(below)
	}
	return v
}

// setDefaults sets the defaults of values that a schema has.
func setDefaults(v *known.Value, is any) {
	defaults, isMap := is.(map[string]any)
	if !isMap {
		v.Default = is
	}
	for key, below := range defaults {
		if v.Below == nil {
			// A map of which the schema doesn't say what is in it.
			v.Below, v.Free = map[string]*known.Value{}, true
		}
		if v.Below[key] == nil {
			v.Below[key] = &known.Value{}
		}
		setDefaults(v.Below[key], below)
	}
}
