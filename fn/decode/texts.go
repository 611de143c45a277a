package decode

import (
	"fmt"
	"maps"
	"slices"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

const (
	// maxValues bounds the values of a claim in number: Helm and the charts' templates take up to a thousand times their size for
	// small ones.
	maxValues = 5000
	// maxSigns bounds what the texts and keys of a claim are as YAML, into which the argo-cd chart writes some as they are, for every
	// workload anew. A policy.csv of 2,200 lines has 19,800 signs.
	maxSigns = 20_000
	// maxExtraObjects bounds the objects that the argo-cd chart creates for a claim. Helm compiles the chart's templates anew for each.
	maxExtraObjects = 100
)

// checkTexts refuses a spec with texts or keys that others could read as more than text. The argo-cd chart writes keys and many texts
// into YAML as they are, and the rest indented, which works only for text with ordinary line breaks. Helm decodes that for all tenants
// in one process. Its error says that there are too many of them to look at.
func checkTexts(spec map[string]any) (wrong, err error) {
	left, signs := maxValues, maxSigns
	var found []error
	check := func(field, s string) error {
		if signs -= text.Signs(s); signs < 0 {
			return fmt.Errorf("spec: its texts have more than %d lines and signs of YAML, such as commas and colons: write less, or have spec.bootstrap bring the objects", maxSigns)
		}
		if err := checkText(field, s); err != nil {
			found = append(found, err)
		}
		return nil
	}
	var walk func(field string, v any) error
	walk = func(field string, v any) error {
		if left--; left < 0 {
			return fmt.Errorf("spec: has more than %d values: write fewer, or have spec.bootstrap bring the objects", maxValues)
		}
		switch v := v.(type) {
		case string:
			return check(field, v)
		case []any:
			for i, item := range v {
				if err := walk(fmt.Sprintf("%s[%d]", field, i), item); err != nil {
					return err
				}
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if err := check(fmt.Sprintf("%s: key %.40q", field, key), key); err != nil {
					return err
				}
				if err := walk(field+"."+key, v[key]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk("spec", spec); err != nil {
		return nil, err
	}
	return mistakes.Join(found...), nil
}

func checkText(field, s string) error {
	switch {
	case text.Expands(s):
		return fmt.Errorf(`%s: a YAML anchor ("&" right before a name, at the beginning of a word) or %%TAG directive isn't possible in a claim: write what it stands for; if it is no YAML, write "& " or "&amp;"`, field)
	case text.BreaksLines(s):
		return fmt.Errorf(`%s: a line break other than "\n" and "\r\n" isn't possible in a claim: write \n`, field)
	}
	return nil
}

// checkExtraObjects refuses extraObjects of the argo-cd chart that aren't objects: the chart writes texts into its manifests as they
// are.
func checkExtraObjects(argocd map[string]any) error {
	const field = "spec.argocd.values.extraObjects"
	switch extra := argocd["extraObjects"].(type) {
	case nil:
	case []any:
		var found []error
		if len(extra) > maxExtraObjects {
			found = append(found, fmt.Errorf("%s: has %d entries: write %d at most, or have spec.bootstrap bring the objects", field, len(extra), maxExtraObjects))
		}
		for i, object := range extra {
			if _, ok := object.(map[string]any); !ok {
				found = append(found, fmt.Errorf("%s[%d]: is no object: write the object itself, not a text that contains it", field, i))
			}
		}
		return mistakes.Join(found...)
	default:
		return fmt.Errorf("%s: is no list: write a list of objects", field)
	}
	return nil
}
