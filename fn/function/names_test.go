package function_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestNamesOfClaims: each name that the API server lets a claim have works, dots included. Crossplane's schema of a claim takes names of at most
// 63 characters (pkg/xcrd, forCompositeResourceClaim): test/e2e tries a longer one, which is refused at admission.
func TestNamesOfClaims(t *testing.T) {
	const input = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"argocd.example.org"}}`
	for _, claim := range []string{"team.prod", "1.2.3", "a", strings.Repeat("a.", 31) + "a"} {
		t.Run(claim, func(t *testing.T) {
			xr := strings.NewReplacer("customer1-7rw8j", claim+"-7rw8j", `"name":"customer1"`, `"name":"`+claim+`"`).Replace(crossplanetest.TenantXR(`{"deletionProtection":true,"bootstrap":{"repoURL":"https://git.example.org/a"}}`))
			e := crossplanetest.NewXR(t, xr, input).Install()
			for name, o := range e.Request.GetObserved().GetResources() {
				checkNames(t, name, o.GetResource().AsMap())
			}
			for _, hostname := range e.IngressHosts() {
				if errs := validation.IsDNS1123Subdomain(hostname); len(errs) > 0 {
					t.Errorf("hostname %q: %v", hostname, errs)
				}
			}
		})
	}
}

// checkNames checks the names, namespaces and labels in an object, and in the manifest that it may have.
func checkNames(t *testing.T, at string, v any) {
	t.Helper()
	refuse := func(what string, is any, errs []string) {
		if len(errs) > 0 {
			t.Errorf("%s: %s %q: %v", at, what, is, errs)
		}
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			checkNames(t, fmt.Sprintf("%s[%d]", at, i), item)
		}
	case map[string]any:
		if namespace, ok := v["namespace"].(string); ok {
			refuse("namespace", namespace, validation.IsDNS1123Label(namespace))
		}
		if meta, ok := v["metadata"].(map[string]any); ok {
			if name, ok := meta["name"].(string); ok {
				valid := validation.IsDNS1123Subdomain
				if kind := v["kind"]; kind == "Namespace" || kind == "Service" {
					valid = validation.IsDNS1123Label
				}
				// What exists in the proxy alone has names of its own, as RBAC has.
				if !strings.HasPrefix(fmt.Sprint(v["apiVersion"]), "rbac.authorization.k8s.io/") && !strings.Contains(name, ":") {
					refuse("name", name, valid(name))
				}
			}
			labels, _ := meta["labels"].(map[string]any)
			for key, value := range labels {
				refuse("label "+key, value, validation.IsValidLabelValue(fmt.Sprint(value)))
			}
		}
		for key, below := range v {
			if key != "status" && key != "data" {
				checkNames(t, at+"."+key, below)
			}
		}
	}
}
