package values

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Owner says who has written values. Those of a later owner take precedence.
type Owner int

// Owners of values, in order.
const (
	BuiltIn Owner = iota
	Input
	Channel
	Plan
	Claim
)

// A Layer is the chart values of one owner.
type Layer struct {
	Owner Owner
	// Field that holds the values, such as spec.argocd.values.
	Field  string
	Values Values
}

// A Setting is one value, such as one that a field of a plan sets.
type Setting struct {
	// Field, such as "plan small: data.quota.count/pods".
	Field string
	// By is the field as errors name it, such as "plan small (quota.count/pods)".
	By    string
	Path  []string
	Value any
}

// A Stack is the values of one chart, in layers of increasing precedence, and settings over
// all of them.
type Stack struct {
	layers   []Layer
	settings []Setting
}

// NewStack returns a stack. It is an error if a layer has a value that its owner may not set,
// or a number that no amount can be, or a claim a value that is a setting.
func NewStack(t Table, layers []Layer, settings []Setting) (*Stack, error) {
	s := &Stack{layers: layers, settings: settings}
	for _, l := range layers {
		if err := cmp.Or(t.check(l), checkNumbers(l)); err != nil {
			return nil, err
		}
	}
	for _, o := range settings {
		if err := s.Reserve(Claim, o.By, Not(o.Path...)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// A Rule says which value layers may have at a path that something else sets.
type Rule struct {
	path []string
	// may reports whether a layer may have the value; nil for never.
	may func(value any) bool
}

// Be returns a rule that allows only the supplied value.
func Be(want any, path ...string) Rule {
	// true and "true" are the same to a chart.
	return Rule{path: path, may: func(is any) bool { return fmt.Sprint(is) == fmt.Sprint(want) }}
}

// Not returns a rule that allows no value.
func Not(path ...string) Rule { return Rule{path: path} }

// In returns a rule that allows only maps.
func In(path ...string) Rule {
	return Rule{path: path, may: func(is any) bool { _, ok := is.(Values); return ok }}
}

// Reserve returns an error where a layer, of the supplied owner or a later one, has a
// value that a rule doesn't allow, or something other than a map above that value. by is
// what sets the value instead.
func (s *Stack) Reserve(from Owner, by string, rules ...Rule) error {
	for _, r := range rules {
		for _, l := range slices.Backward(s.layers) {
			if l.Owner < from {
				break
			}
			at := taken(l.Values, r.path)
			is, _ := Lookup(l.Values, r.path...)
			if at == nil || len(at) == len(r.path) && r.may != nil && r.may(is) {
				continue
			}
			advice := "leave it out"
			if strings.HasPrefix(by, "plan ") {
				advice += ", or choose another plan"
			}
			return fmt.Errorf("%s.%s is set by %s: %s", l.Field, strings.Join(at, "."), by, advice)
		}
	}
	return nil
}

// Field returns the field that sets the value at a path, and its owner.
func (s *Stack) Field(path ...string) (field string, of Owner) {
	for _, o := range s.settings {
		if slices.Equal(o.Path, path) {
			return o.Field, Plan
		}
	}
	at := strings.Join(path, ".")
	for _, l := range slices.Backward(s.layers) {
		if _, ok := Lookup(l.Values, path...); ok && l.Owner != BuiltIn {
			return l.Field + "." + at, l.Owner
		}
	}
	return at + ", built in", BuiltIn
}

// Each returns the values at a path, one for each layer that has one, lowest precedence first.
func (s *Stack) Each(path ...string) []Setting {
	var out []Setting
	for _, l := range s.layers {
		if v, ok := Lookup(l.Values, path...); ok {
			out = append(out, Setting{Field: l.Field + "." + strings.Join(path, "."), Path: path, Value: v})
		}
	}
	return out
}

// Last returns the value at a path from the layer with the highest precedence; a Setting
// without a value if no layer has one.
func (s *Stack) Last(path ...string) Setting {
	if each := s.Each(path...); len(each) > 0 {
		return each[len(each)-1]
	}
	return Setting{Path: path}
}

// Merged returns the values of all layers and settings.
func (s *Stack) Merged() Values {
	out := Values{}
	for _, l := range s.layers {
		out = Merge(out, l.Values)
	}
	for _, o := range s.settings {
		Insert(out, o.Value, o.Path...)
	}
	return out
}

// taken returns the path at which v sets the value at path, or something other than a map
// above it; nil when v does neither.
func taken(v Values, path []string) []string {
	for i, key := range path {
		below, ok := v[key]
		if !ok {
			return nil
		}
		if v, ok = below.(Values); !ok {
			return path[:i+1]
		}
	}
	return path
}
