package decode

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
	kjson "sigs.k8s.io/json"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// input decodes the platform's input strictly: a misspelt field must not pass
// for one that was left out. No input is an empty one.
func input(s *structpb.Struct) (v1alpha1.Input, error) {
	in := v1alpha1.Input{}
	if len(s.GetFields()) == 0 {
		return in, nil
	}
	if err := bound("input", s); err != nil {
		return in, err
	}
	m, err := goMap(s)
	if err != nil {
		return in, fmt.Errorf("input.%w", err)
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return in, fmt.Errorf("input: cannot be written as JSON: %w", err)
	}
	strict, err := kjson.UnmarshalStrict(raw, &in)
	if err == nil {
		err = errors.Join(strict...)
	}
	if err != nil {
		return in, fmt.Errorf("input: %w: see the Input's reference for the fields there are", err)
	}
	if in.APIVersion != v1alpha1.APIVersion || in.Kind != v1alpha1.Kind {
		return in, fmt.Errorf("input: apiVersion %q, kind %q is unknown: write %s, kind %s", in.APIVersion, in.Kind, v1alpha1.APIVersion, v1alpha1.Kind)
	}
	return in, nil
}
