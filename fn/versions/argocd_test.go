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
