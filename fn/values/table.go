package values

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

// A Class says who may set a value of a chart.
type Class string

// Classes of values.
const (
	// OfTenant values may be set by claims, plans, channels and the function's input.
	OfTenant Class = "tenant"
	// OfPlan values may be set by plans, channels and the function's input.
	OfPlan Class = "plan"
	// OfInput values may be set by channels and the function's input; the function adds its own.
	OfInput Class = "input"
	// Protected values are set only by the function.
	Protected Class = "protected"
)

// A Row is a path of a chart's values with everything below it, its class, and why it has
// that class or what it is for.
type Row struct {
	Path  string
	Class Class
	Why   string
}

// A Table says who may set the values of a chart. Paths that aren't in it have the class
// otherwise.
type Table struct {
	Rows      []Row
	otherwise Class
}

//go:embed table.yaml
var tables []byte

// VCluster is the table of the vcluster chart, and ArgoCD that of the argo-cd chart.
var (
	VCluster = table("vcluster", OfInput)
	ArgoCD   = table("argocd", OfTenant)
)

// table reads the table of a chart. Its rows are sorted by class and path.
func table(chart string, otherwise Class) Table {
	var charts map[string]map[Class]map[string]string
	if err := text.Own(tables, &charts); err != nil {
		panic(err)
	}
	t := Table{otherwise: otherwise}
	for _, class := range []Class{OfTenant, OfPlan, OfInput, Protected} {
		of := charts[chart][class]
		for _, path := range slices.Sorted(maps.Keys(of)) {
			t.Rows = append(t.Rows, Row{Path: path, Class: class, Why: of[path]})
		}
	}
	return t
}

// ClassOf returns the row with the longest path that a path is at or below. A key with a
// dot in it is one key: {"sync.toHost": ...} isn't {sync: {toHost: ...}}.
func (t Table) ClassOf(path []string) Row {
	best, length := Row{Class: t.otherwise}, 0
	for _, row := range t.Rows {
		of := strings.Split(row.Path, ".")
		if len(of) > length && Below(path, of) {
			best, length = row, len(of)
		}
	}
	return best
}

// Below reports whether a path is at or below another.
func Below(path, of []string) bool { return len(path) >= len(of) && slices.Equal(path[:len(of)], of) }

// check refuses the values of a layer that its owner may not set. The function's input and
// channels may set neither a protected value nor something other than a map above one, except in the
// argo-cd chart, where the function overrides them.
func (s *Stack) check(t Table, l *Layer) error {
	var found []error
	seen := map[string]bool{}
	for _, row := range t.Rows {
		if l.Field.Owner != Input && l.Field.Owner != Channel || row.Class != Protected || t.otherwise == OfTenant {
			continue
		}
		at := strings.Join(taken(l.Values, strings.Split(row.Path, ".")), ".")
		if at != "" && !seen[at] {
			seen[at], found = true, append(found, fmt.Errorf("%s.%s is protected (%s): leave it out", l.Field, at, row.Why))
		}
	}
	if l.Field.Owner < Plan {
		return mistakes.Join(found...)
	}
	for _, path := range Leaves(l.Values) {
		row := t.ClassOf(path)
		if row.Class == OfTenant || row.Class == OfPlan && l.Field.Owner == Plan || l.Field.Owner == Claim && s.isRefused(path) || s.drop(l, path) {
			continue
		}
		if found = append(found, t.refuse(*l, path, row)); l.Field.Owner == Claim {
			s.refused = append(s.refused, path)
		}
	}
	return mistakes.Join(found...)
}

// refuse returns the error for a value that the owner of a layer may not set.
func (t Table) refuse(l Layer, path []string, row Row) error {
	at, why := l.Field.Below(strings.Join(path, ".")), ""
	if row.Why != "" {
		why = " (" + row.Why + ")"
	}
	switch {
	case t.otherwise == OfTenant:
		return fmt.Errorf("%s is the platform's to set: leave it out", at)
	case l.Field.Owner == Plan:
		return fmt.Errorf("%s is protected%s: leave it out; values that no list of them names belong in the function's input", at, why)
	default:
		return fmt.Errorf("%s is not a tenant's to set%s; near it are: %s", at, why, strings.Join(t.nearest(path), ", "))
	}
}

// nearest returns the tenant's paths that share most of their beginning with path.
func (t Table) nearest(path []string) []string {
	var out []string
	for n := len(path); n >= 0 && len(out) == 0; n-- {
		for _, row := range t.Rows {
			if row.Class == OfTenant && Below(strings.Split(row.Path, "."), path[:n]) {
				out = append(out, row.Path)
			}
		}
	}
	return out
}
