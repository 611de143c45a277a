package limits

import (
	"bytes"
	"testing"

	"sigs.k8s.io/yaml"

	utiljson "sigs.k8s.io/json"

	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
)

// What decoding a record may allocate in the end, beside a fixed part: for each value, each item in a text, and each byte.
const (
	perRecord = 1 << 20
	perValue  = 2_000
	perText   = 2_000
	perByte   = 100
)

// FuzzRecord: whatever a record of Helm unpacks to, decoding it as JSON and each text in it as YAML allocates no more than the counter's
// numbers allow. So limits on these numbers are limits on memory. Counting allocates nothing that grows with the record.
func FuzzRecord(f *testing.F) {
	for _, seed := range []string{
		`{"manifest":"a: b\n---\nc: [d, {e: f}]\n","hooks":[{"manifest":"a: 1"}],"config":{"a":[1,{}]}}`,
		`{"manifest":"` + "x: \\u0026a xxxxxxxx\\ny: [*a,*a]" + `"}`, `{"manifest":"\u005b\u005b\u005b"}`, `[{},{},[]]`, `"? ? ? a"`, `"- - - a"`, `"!a !b c"`, `"%TAG ! a\n--- !b c"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		if len(record) > 64<<10 {
			t.Skip()
		}
		c := &Counter{}
		if took := memtest.Allocated(func() { _, _ = c.Write(record) }); took > 64<<10 {
			t.Errorf("counting %d bytes allocates %d", len(record), took)
		}
		if c.Expands() {
			return
		}
		var v any
		took := memtest.Allocated(func() {
			if utiljson.UnmarshalCaseSensitivePreserveInts(record, &v) != nil {
				return
			}
			texts(v, func(text string) {
				for _, document := range bytes.Split([]byte(text), []byte("\n---")) {
					_, _ = yaml.YAMLToJSON(document)
				}
			})
		})
		if most := uint64(perRecord + perValue*c.Values + perText*c.TextItems + perByte*len(record)); took > most {
			t.Errorf("%d bytes with %d values and %d items in texts allocate %d bytes, more than %d: %.200q", len(record), c.Values, c.TextItems, took, most, record)
		}
	})
}

// texts calls f for each text in a value of JSON.
func texts(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, item := range v {
			texts(item, f)
		}
	case map[string]any:
		for key, item := range v {
			f(key)
			texts(item, f)
		}
	}
}
