package credentials

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestSensitiveLineBreaks: what comes from a Secret stays one value in the chart's manifests, whatever line breaks it has.
func TestSensitiveLineBreaks(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		ok    bool
	}{
		"Newlines":      {values.Values{"a": "b\nc\r\nd &e"}, true},
		"LineSeparator": {values.Values{"a": values.Values{"b": "c\u2028d"}}, false},
		"NextLine":      {values.Values{"a": []any{"b", "c\u0085d"}}, false},
		"Return":        {"a\rb", false},
		"InKey":         {values.Values{"a\u2029b": "c"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Sensitive{Values: values.Values{}}
			c := s.Add(tenant.Connection{Name: "prod"}, nil, tc.value, "a")
			if ok := c.State == v1alpha1.StateConfigured; ok != tc.ok || !ok && !strings.Contains(c.Message, "line break") {
				t.Errorf("want it used: %t, got %v", tc.ok, c)
			}
		})
	}
}
