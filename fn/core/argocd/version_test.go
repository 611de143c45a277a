package argocd

import (
	"testing"
)

func TestTag(t *testing.T) {
	for image, want := range map[string]string{
		"quay.io/argoproj/argocd:v3.2.6":           "v3.2.6",
		"10.0.0.1:5000/argoproj/argocd:v3.2.6":     "v3.2.6",
		"10.0.0.1:5000/argoproj/argocd":            "",
		"quay.io/argoproj/argocd:v3@sha256:abc":    "v3",
		"quay.io/argoproj/argocd@sha256:abcdef123": "",
	} {
		if got := tag(image); got != want {
			t.Errorf("tag(%q): want %q, got %q", image, want, got)
		}
	}
}
