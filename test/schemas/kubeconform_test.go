// Package schemas tests what editors, kubeconform and `kubectl explain` show of the API.
package schemas

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
)

const root = "../.."

// kinds are those that have a JSON schema.
var kinds = []string{
	"virtualargocd.io/v1alpha1/VirtualArgoCD", "virtualargocd.io/v1alpha1/XArgoCDChannel", "input.virtualargocd.io/v1alpha1/Input",
	"virtualargocd.io/v1alpha1/XArgoCDPlan", "virtualargocd.io/v1alpha1/XArgoCDPool", "m.virtualargocd.io/v1alpha1/VirtualArgoCD",
}

// conform validates objects as `kubeconform -strict -ignore-missing-schemas` does with the location of docs/checking.md. It counts those
// that have a schema, by kind.
func conform(t *testing.T, file, manifests string, seen map[string]int) error {
	t.Helper()
	v, err := validator.New([]string{filepath.Join(root, "schemas", "{{.Group}}", "{{.ResourceKind}}_{{.ResourceAPIVersion}}.json")}, validator.Opts{Strict: true, IgnoreMissingSchemas: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range v.Validate(file, io.NopCloser(bytes.NewReader([]byte(manifests)))) {
		if r.Status == validator.Error || r.Status == validator.Invalid {
			return fmt.Errorf("%s: %w: %v", file, r.Err, r.ValidationErrors)
		}
		if sig, err := r.Resource.Signature(); err == nil && r.Status == validator.Valid {
			seen[sig.Version+"/"+sig.Kind]++
		}
	}
	return nil
}

// TestExamples: the JSON schemas accept whatever users copy.
func TestExamples(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, dir := range []string{"examples", filepath.Join("test", "render", "testdata")} {
		if err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && (d.Name() == "templates" || d.Name() == "golden") {
				return fs.SkipDir
			}
			if err != nil || filepath.Ext(path) != ".yaml" || d.Name() == "kustomization.yaml" || d.Name() == "kube-state-metrics.yaml" {
				return err
			}
			raw, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(raw, []byte("\nkind: ")) {
				return err
			}
			if err := conform(t, path, string(raw), seen); err != nil {
				t.Error(err)
			}
			// Each claim is one of the namespaced kind by its apiVersion.
			if namespaced := strings.ReplaceAll(string(raw), "apiVersion: virtualargocd.io/v1alpha1\nkind: VirtualArgoCD\n", "apiVersion: m.virtualargocd.io/v1alpha1\nkind: VirtualArgoCD\n"); namespaced != string(raw) {
				if err := conform(t, path, namespaced, seen); err != nil {
					t.Errorf("namespaced: %v", err)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range kinds {
		if seen[kind] == 0 {
			t.Errorf("no %s among the examples was validated: %v", kind, seen)
		}
	}
}

// TestMistakes: they find what is misspelt, of the wrong type or out of bounds, and nothing else.
func TestMistakes(t *testing.T) {
	t.Parallel()
	const (
		claim   = "apiVersion: virtualargocd.io/v1alpha1\nkind: VirtualArgoCD\nmetadata: {name: a}\nspec: "
		channel = "apiVersion: virtualargocd.io/v1alpha1\nkind: XArgoCDChannel\nmetadata: {name: a}\nspec: "
		input   = "apiVersion: input.virtualargocd.io/v1alpha1\nkind: Input\n"
		plan    = "apiVersion: virtualargocd.io/v1alpha1\nkind: XArgoCDPlan\nmetadata: {name: a}\nspec: "
	)
	cases := map[string]struct{ object, want string }{
		"Empty":           {claim + "{}", ""},
		"AllOfCrossplane": {claim + "{writeConnectionSecretToRef: {name: a}, compositionRef: {name: a}, compositionRevisionSelector: {matchLabels: {a: b}}, compositionUpdatePolicy: Automatic}", ""},
		"FreeValues":      {claim + "{argocd: {values: {a: {b: [1, {c: null}]}}}}", ""},
		"NoSpec":          {strings.Replace(claim, "spec: ", "", 1), "spec"},
		"Field":           {claim + "{plann: small}", "plann"},
		"FieldBelow":      {claim + "{argocd: {chartversion: 9.3.7}}", "chartversion"},
		"FieldInList":     {claim + "{repositories: [{name: a, url: 'https://a.b', user: c}]}", "user"},
		"FieldOfTheTop":   {claim + "{}\nstatuss: {}", "statuss"},
		"Type":            {claim + "{deletionProtection: 'yes'}", "deletionProtection"},
		"Length":          {claim + "{clusters: [{name: '', secretRef: {name: a}}]}", "name"},
		"Required":        {claim + "{repositories: [{name: a}]}", "url"},
		"Enum":            {claim + "{compositionUpdatePolicy: Sometimes}", "compositionUpdatePolicy"},
		"ReferenceOther":  {claim + "{writeConnectionSecretToRef: {name: a, namespace: b}}", "namespace"},
		"Channel":         {channel + "{offer: {argocd: {version: '9'}}}", "version"},
		"ChannelStep":     {channel + "{rollout: {steps: [{percent: '10'}]}}", "percent"},
		"Input":           {input + "host: {clusterdomain: a}", "clusterdomain"},
		"InputSwitch":     {input + "network: {disabled: 1}", "disabled"},
		"Plan":            {plan + "{argocd: {contoller: {}}}", "contoller"},
		"PlanQuantity":    {plan + "{limits: {max: {cpu: 2, memory: 4Gi}}}", ""},
		"PlanQuantityNot": {plan + "{limits: {max: {cpu: [2]}}}", "cpu"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seen := map[string]int{}
			err := conform(t, "object", tc.object, seen)
			if tc.want == "" && (err != nil || len(seen) != 1) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("want an error with %q, got %v (validated: %v)", tc.want, err, seen)
			}
		})
	}
}
