package xpkg

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestWithInputChangesTheInputAlone(t *testing.T) {
	const before = `
kind: Composition
metadata: {name: c, labels: {a: b}}
spec:
  mode: Pipeline
  pipeline:
    - {step: one, functionRef: {name: other}, input: {keep: me}}
    - {step: two, functionRef: {name: virtual-argocd-function-virtual-argocd}, input: {old: 1}}
`
	const after = `
kind: Composition
metadata: {name: c, labels: {a: b}}
spec:
  mode: Pipeline
  pipeline:
    - {step: one, functionRef: {name: other}, input: {keep: me}}
    - {step: two, functionRef: {name: virtual-argocd-function-virtual-argocd}, input: {new: 2}}
`
	got, err := withInput([]byte(before), map[string]any{"new": 2})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parse(t, after), parse(t, string(got))); diff != "" {
		t.Errorf("withInput(...): -want, +got:\n%s", diff)
	}
	if _, err := withInput([]byte("spec: {pipeline: [{functionRef: {name: other}}]}"), nil); err == nil {
		t.Error("withInput(...): want an error for a Composition without the function")
	}
}

func parse(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
