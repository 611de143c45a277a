package versions

import "testing"

// TestArgoCD: what isn't known of a chart isn't guessed.
func TestArgoCD(t *testing.T) {
	for chart, want := range map[string]string{
		"6.11.1": "", "7.0.0": "2.11.0", "8.2.7": "3.0.0", "9.3.7": "3.2.0", "9.5.11": "3.3.0", "9.5.12": "3.4.0", "v10.1.1": "3.4.0", "10.1.2": "", "10.2.0": "", "": "", "x": "",
	} {
		got := ""
		if v := ArgoCD(chart); v != nil {
			got = v.String()
		}
		if got != want {
			t.Errorf("chart %q has Argo CD %q, want %q", chart, got, want)
		}
	}
}

func TestMayBe(t *testing.T) {
	for _, tc := range []struct {
		version string
		charts  []string
		want    bool
	}{
		{"v3.4.9", []string{"10.1.1"}, true},
		{"v3.3.0", []string{"10.1.1"}, false},
		{"v3.5.0", []string{"10.1.1"}, false},
		{"v3.3.0", []string{"10.1.1", "9.4.0"}, true},
		{"v3.5.0", []string{"11.0.0"}, true},
		{"v3.3.0", []string{"11.0.0"}, false},
		{"v2.11.0", []string{"6.0.0"}, true},
		{"v2.11.0", nil, true},
		{"v2.10.9", nil, false},
		{"v2.10.9", []string{"6.0.0"}, false},
		{"latest", nil, false},
		{"", nil, false},
	} {
		if got := MayBe(tc.version, tc.charts...); got != tc.want {
			t.Errorf("%s of %v: want %t, got %t", tc.version, tc.charts, tc.want, got)
		}
	}
}
