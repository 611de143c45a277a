package host

import "testing"

func TestSplitImage(t *testing.T) {
	for image, want := range map[string][2]string{
		"quay.io/argoproj/argocd:v3.2.6":           {"quay.io/argoproj/argocd", "v3.2.6"},
		"10.0.0.1:5000/argoproj/argocd:v3.2.6":     {"10.0.0.1:5000/argoproj/argocd", "v3.2.6"},
		"10.0.0.1:5000/argoproj/argocd":            {"10.0.0.1:5000/argoproj/argocd", ""},
		"quay.io/argoproj/argocd:v3@sha256:abc":    {"quay.io/argoproj/argocd", "v3"},
		"quay.io/argoproj/argocd@sha256:abcdef123": {"quay.io/argoproj/argocd", ""},
	} {
		if repository, tag := SplitImage(image); [2]string{repository, tag} != want {
			t.Errorf("SplitImage(%q): want %q, got %q and %q", image, want, repository, tag)
		}
	}
}
