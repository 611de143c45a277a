package values

import (
	"fmt"
	"slices"
	"strings"
)

// Owner says who has written values. Those of a later owner win.
type Owner int

// Owners of values.
const (
	BuiltIn Owner = iota
	Input
	Channel
	Plan
	Claim
)

// A Layer is a set of chart values that somebody has written.
type Layer struct {
	Owner Owner
	// Field that holds the values, such as spec.argocd.values.
	Field  string
	Values Values
}

// A Setting is one value that a field of its own sets, such as quota of a plan.
type Setting struct {
	// Field, such as "plan small: data.quota.count/pods".
	Field string
	// By is what the error calls the field where a claim sets the value, too.
	By    string
	Path  []string
	Value any
}

// A Stack is the values of one chart, in layers of increasing precedence.
type Stack struct {
	table    Table
	layers   []Layer
	settings []Setting
}

// NewStack returns a stack that holds its layers to a table.
func NewStack(of Table) *Stack { return &Stack{table: of} }

// Add lays values over those that are there. A value that isn't its owner's to set is
// an error.
func (s *Stack) Add(l Layer) error {
	if err := s.table.check(l); err != nil {
		return err
	}
	s.layers = append(s.layers, l)
	return nil
}

// Set lays settings over all layers. A claim that sets the same value is an error.
func (s *Stack) Set(settings ...Setting) error {
	for _, o := range settings {
		if err := s.Reserve(Claim, o.By, Rule{path: o.Path}); err != nil {
			return err
		}
	}
	s.settings = append(s.settings, settings...)
	return nil
}

// A Rule is for a value that a field of the spec sets.
type Rule struct {
	path []string
	// may reports whether a layer may have the value all the same; nil for never.
	may func(value any) bool
}

// Be returns a rule for a value that has to be the supplied one where it is set.
func Be(want any, path ...string) Rule {
	// true and "true" are the same to a chart.
	return Rule{path: path, may: func(is any) bool { return fmt.Sprint(is) == fmt.Sprint(want) }}
}

// Not returns a rule for a value that no layer may set.
func Not(path ...string) Rule { return Rule{path: path} }

// In returns a rule for a map in which something is set: no layer may have something
// else in its place.
func In(path ...string) Rule {
	return Rule{path: path, may: func(is any) bool { _, ok := is.(Values); return ok }}
}

// Reserve returns an error where a layer, of the supplied owner or a later one, has a
// value that a rule doesn't allow, or takes away a map that the value stands in. by is
// what sets the value instead.
func (s *Stack) Reserve(from Owner, by string, rules ...Rule) error {
	for _, r := range rules {
		for _, l := range slices.Backward(s.layers) {
			if l.Owner < from {
				break
			}
			at := taken(l.Values, r.path)
			if at == nil {
				continue
			}
			if is, _ := Lookup(l.Values, r.path...); len(at) == len(r.path) && r.may != nil && r.may(is) {
				continue
			}
			return fmt.Errorf("%s.%s is set by %s: leave it out%s", l.Field, strings.Join(at, "."), by, otherwise(by))
		}
	}
	return nil
}

// otherwise is what the author of a claim may do about a value of the plan.
func otherwise(by string) string {
	if strings.HasPrefix(by, "plan ") {
		return ", or choose another plan"
	}
	return ""
}

// Field returns the field that sets the value at a path, and who has written it.
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

// Merged returns the values of all layers and settings.
func (s *Stack) Merged() Values {
	var all []Values
	for _, l := range s.layers {
		all = append(all, l.Values)
	}
	set := Values{}
	for _, o := range s.settings {
		Insert(set, o.Value, o.Path...)
	}
	return Merge(append(all, set)...)
}

// taken is the path at which v sets what stands at path, or takes away a map
// that it stands in; nil when it does neither.
func taken(v Values, path []string) []string {
	var at any = v
	for i, key := range path {
		m, ok := at.(Values)
		if !ok {
			return path[:i]
		}
		if at, ok = m[key]; !ok {
			return nil
		}
	}
	return path
}
