package values

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// Owner says who has written values. Those of a later owner take precedence.
type Owner = mistakes.Owner

// Owners of values, in order.
const (
	BuiltIn = mistakes.BuiltIn
	Input   = mistakes.Input
	Channel = mistakes.Channel
	Plan    = mistakes.Plan
	Claim   = mistakes.Claim
)

// A Layer is the chart values of one owner.
type Layer struct {
	// Field that holds the values, such as spec.argocd.values.
	Field  mistakes.Field
	Values Values
	// Accepted are the values that the field had when it was accepted last; nil for nothing.
	Accepted Values
}

// A Setting is one value, such as one that a field of a plan sets.
type Setting struct {
	// Field, such as "plan small: spec.quota.count/pods".
	Field mistakes.Field
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
	// chart is the version of the chart; nil for a chart that isn't recorded.
	chart *known.Version
	// free reports whether claims may set what nobody else does. Then they may repeat the chart's defaults, too.
	free bool
	// dropped are values of the claim that only repeat the chart's defaults, where something else sets them.
	dropped []Setting
	// refused are the paths of the claim's values that are refused.
	refused [][]string
	// noEffect has messages about values that the chart doesn't have, or that nothing acts on.
	noEffect []string
}

// NewStack returns a stack. It is an error if a layer has a value that its owner may not set, or a
// number that no amount can be, or a claim a value that is a setting, or one that the chart doesn't
// have. chart is nil for a chart that isn't recorded. The stack can be used in spite of an error, to
// look for further mistakes.
func NewStack(t Table, chart *known.Version, layers []Layer, settings []Setting) (*Stack, error) {
	s := &Stack{layers: layers, settings: settings, chart: chart, free: t.otherwise == OfTenant}
	var found []error
	for i := range layers {
		l := &layers[i]
		// Values of the claim may be dropped.
		l.Values = Merge(l.Values)
		found = append(found, mistakes.By(l.Field.Owner, mistakes.Join(s.checkKnown(*l), s.check(t, l), checkNumbers(*l))))
	}
	for _, o := range settings {
		found = append(found, s.Reserve(Claim, o.By, Not(o.Path...)))
	}
	return s, mistakes.Join(found...)
}

// checkKnown refuses a claim's values that the chart doesn't have, and those that nothing acts on in a virtual cluster. What was accepted before, or isn't the claim's, or isn't certain,
// only has no effect.
func (s *Stack) checkKnown(l Layer) error {
	if l.Field.Owner == BuiltIn {
		return nil
	}
	var found []error
	if s.chart != nil {
		found = append(found, s.refuse(l, s.chart.Exact, s.chart.Unknown(l.Values)))
	}
	if s.free {
		found = append(found, s.refuse(l, true, identities(l.Values)), s.checkShapes(l))
	}
	return mistakes.Join(found...)
}

// refuse refuses a claim's values that have no effect, if that is certain.
func (s *Stack) refuse(l Layer, certain bool, without []known.Unknown) error {
	var found []error
	for _, u := range without {
		message := l.Field.Below(strings.Join(u.Path, ".")).Path + ": " + u.Message
		now, _ := Lookup(l.Values, u.Path...)
		before, _ := Lookup(l.Accepted, u.Path...)
		if l.Field.Owner < Claim || !certain || reflect.DeepEqual(now, before) {
			s.noEffect = append(s.noEffect, message)
			continue
		}
		s.refused, found = append(s.refused, u.Path), append(found, errors.New(message))
	}
	return mistakes.Join(found...)
}

// Check refuses what a check finds in the claim's values, except for what was accepted before. That, and what it finds in others' values, is
// named among those without effect.
func (s *Stack) Check(find func(Values) []known.Unknown) error {
	var found []error
	for _, l := range s.layers {
		if l.Field.Owner != BuiltIn {
			without := slices.DeleteFunc(find(l.Values), func(u known.Unknown) bool { return l.Field.Owner == Claim && s.isRefused(u.Path) })
			found = append(found, mistakes.By(l.Field.Owner, s.refuse(l, true, without)))
		}
	}
	return mistakes.Join(found...)
}

// Name names what a check finds in the claim's values among those without effect.
func (s *Stack) Name(find func(Values) []known.Unknown) {
	for _, l := range s.layers {
		if l.Field.Owner != Claim {
			continue
		}
		for _, u := range find(l.Values) {
			if !s.isRefused(u.Path) {
				s.noEffect = append(s.noEffect, l.Field.Below(strings.Join(u.Path, ".")).Path+": "+u.Message)
			}
		}
	}
}

// NameSwitchedOff names the claim's values that have no effect because of a switch, in the values that the chart gets.
func (s *Stack) NameSwitchedOff(merged Values) {
	if s.chart != nil && s.free {
		s.Name(func(v Values) []known.Unknown { return s.chart.SwitchedOff(v, merged) })
	}
}

// isRefused reports whether a value of the claim at, above or below a path is refused already: one reason is enough.
func (s *Stack) isRefused(path []string) bool {
	return slices.ContainsFunc(s.refused, func(at []string) bool { return Below(path, at) || Below(at, path) })
}

// NoEffect returns messages about values that the chart doesn't have, and that aren't refused.
func (s *Stack) NoEffect() []string { return s.noEffect }

// drop removes a value of the claim that only repeats the chart's default, and reports whether it has: something else sets it.
func (s *Stack) drop(l *Layer, path []string) bool {
	value, ok := Lookup(l.Values, path...)
	if !ok || l.Field.Owner != Claim || !s.free || s.chart == nil || !s.chart.IsDefault(path, value) {
		return false
	}
	above := At[Values](l.Values, path[:len(path)-1]...)
	if len(path) == 1 {
		above = l.Values
	}
	delete(above, path[len(path)-1])
	s.dropped = append(s.dropped, Setting{Field: l.Field.Below(strings.Join(path, ".")), Path: path, Value: value})
	return true
}

// DropDefault removes a value of the claim at a path that the function sets, if it only repeats the chart's default.
func (s *Stack) DropDefault(path ...string) {
	for i := range s.layers {
		s.drop(&s.layers[i], path)
	}
}

// WithoutDropped returns merged values without what was dropped since they were merged. A dropped value that isn't the one in use has
// no effect.
func (s *Stack) WithoutDropped(merged Values) Values {
	if len(s.dropped) == 0 {
		return merged
	}
	out, now := Merge(merged), s.Merged()
	for _, d := range s.dropped {
		if is, ok := Lookup(out, d.Path...); ok && reflect.DeepEqual(is, d.Value) {
			unstructured.RemoveNestedField(out, d.Path...)
			if below, ok := Lookup(now, d.Path...); ok {
				Insert(out, below, d.Path...)
			}
		}
		if is, ok := Lookup(out, d.Path...); ok && !isMap(d.Value) && d.Value != nil && d.Value != "" && fmt.Sprint(is) != fmt.Sprint(d.Value) {
			s.noEffect = append(s.noEffect, d.Field.Path+": only repeats the chart's default, and something else is set: leave it out")
		}
	}
	return out
}

func isMap(v any) bool { _, ok := v.(Values); return ok }

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
	var found []error
	for _, r := range rules {
		for i, l := range slices.Backward(s.layers) {
			if l.Field.Owner < from {
				break
			}
			at := taken(l.Values, r.path)
			is, _ := Lookup(l.Values, r.path...)
			if at == nil || len(at) == len(r.path) && r.may != nil && r.may(is) || s.drop(&s.layers[i], at) || l.Field.Owner == Claim && s.isRefused(at) {
				continue
			}
			advice := "leave it out"
			if strings.HasPrefix(by, "plan ") {
				advice += ", or choose another plan"
			}
			found = append(found, mistakes.By(l.Field.Owner, fmt.Errorf("%s.%s is set by %s: %s", l.Field, strings.Join(at, "."), by, advice)))
			break
		}
	}
	return mistakes.Join(found...)
}

// Field returns the field that sets the value at a path.
func (s *Stack) Field(path ...string) mistakes.Field {
	for _, o := range s.settings {
		if slices.Equal(o.Path, path) {
			return o.Field
		}
	}
	at := strings.Join(path, ".")
	for _, l := range slices.Backward(s.layers) {
		if _, ok := Lookup(l.Values, path...); ok && l.Field.Owner != BuiltIn {
			return l.Field.Below(at)
		}
	}
	return mistakes.Field{Owner: BuiltIn, Path: at + ", built in"}
}

// Each returns the values at a path, one for each layer that has one, lowest precedence first.
func (s *Stack) Each(path ...string) []Setting {
	var out []Setting
	for _, l := range s.layers {
		if v, ok := Lookup(l.Values, path...); ok {
			out = append(out, Setting{Field: l.Field.Below(strings.Join(path, ".")), Path: path, Value: v})
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

// Claims returns the value at a path in the claim's values, without what was dropped.
func (s *Stack) Claims(path ...string) (any, bool) {
	for _, l := range s.layers {
		if l.Field.Owner == Claim {
			return Lookup(l.Values, path...)
		}
	}
	return nil, false
}

// Merged returns the values of all layers and settings.
func (s *Stack) Merged() Values {
	all := make([]Values, 0, len(s.layers))
	for _, l := range s.layers {
		all = append(all, l.Values)
	}
	out := Merge(all...)
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
