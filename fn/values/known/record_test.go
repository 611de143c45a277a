package known

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func leaf() *Value { return &Value{} }

func values(below map[string]*Value) *Value { return &Value{Below: below} }

// TestRecord: what is written is read again, in whatever order versions are recorded.
func TestRecord(t *testing.T) {
	r := &Record{}
	for _, v := range []struct {
		version string
		values  *Value
	}{
		{"10.1.1", values(map[string]*Value{"server": values(map[string]*Value{"replicas": {Default: 2.}, "new": {Templated: true, Default: "a = b"}}), "cm": {Free: true, Below: map[string]*Value{"url": leaf()}}})},
		{"9.3.6", values(map[string]*Value{"wrong": leaf()})},
		{"8.6.4", values(map[string]*Value{"server": values(map[string]*Value{"replicas": {Default: 1.}, "config": leaf()}), "installCRDs": leaf(), "cm": leaf()})},
		{"9.3.7", values(map[string]*Value{"server": values(map[string]*Value{"replicas": {Default: 1.}}), "cm": values(map[string]*Value{"url": leaf()})})},
	} {
		if err := r.Set(v.version, v.values); err != nil {
			t.Fatal(err)
		}
	}
	const want = `8.6.4 9.3.7 10.1.1
cm *8.6,10.1
 url 9.3-10.1
installCRDs 8.6
server
 config 8.6
 new 10.1 !	="a = b"
 replicas	8.6-9.3=1	10.1=2
`
	if diff := cmp.Diff(want, r.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	again, err := Parse("# A comment.\n" + want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.root, again.root, cmp.AllowUnexported(node{})); diff != "" {
		t.Errorf("read again: -want, +got:\n%s", diff)
	}
	for name, text := range map[string]string{"NoVersion": "x\n", "TooDeep": "1.0.0\n  a\n", "UnknownSpan": "1.0.0\na 2.0\n", "BackwardSpan": "1.0.0 2.0.0\na 2.0-1.0\n"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}
