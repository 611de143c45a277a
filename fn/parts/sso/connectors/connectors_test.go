package connectors

import (
	"slices"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// TestRecord: each line of the record is read, and none is of an unknown kind.
func TestRecord(t *testing.T) {
	if types := Types(); len(types) < 17 || slices.Contains(types, Whole) || slices.Contains(types, "samlExperimental") || !IsType("samlExperimental") || IsType(Whole) || IsType("") {
		t.Errorf("types: %v", types)
	}
	n := 0
	var walk func(f *field, top bool)
	walk = func(f *field, top bool) {
		n++
		if _, ok := wants[f.kind]; !top && !ok && f.kind != Anything {
			t.Errorf("%s is of kind %q", f.name, f.kind)
		}
		if (f.kind == Object || f.kind == Objects) != (len(f.below) > 0) && !top {
			t.Errorf("%s is of kind %q, with %d fields", f.name, f.kind, len(f.below))
		}
		for _, below := range f.below {
			walk(below, false)
		}
	}
	for _, f := range record().types {
		walk(f, true)
	}
	if n < 200 || Version() == "" {
		t.Errorf("%d fields of version %q", n, Version())
	}
}

// TestNewest: the record is of the Dex that the newest known version of the argo-cd chart brings.
func TestNewest(t *testing.T) {
	chart := known.Named("argo-cd")
	newest := chart.At(chart.At("999.0.0").Minor + ".0")
	if !newest.IsDefault([]string{"dex", "image", "tag"}, "v"+Version()) {
		t.Errorf("version %s of the argo-cd chart brings another Dex than %s: run make dex-fields", newest.Minor, Version())
	}
}
