package argocd_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestRedisPassword: redis has one from the values Secret, which stays the same and which nobody else can make.
func TestRedisPassword(t *testing.T) {
	const init = "redisSecretInit"
	password := func(t *testing.T, e *crossplanetest.Engine) string {
		t.Helper()
		for _, o := range objectsIn(t, e) {
			if o := o.(map[string]any); o["kind"] == "Secret" && o["metadata"].(map[string]any)["name"] == "argocd-redis" {
				return o["stringData"].(map[string]any)["auth"].(string)
			}
		}
		return ""
	}
	e := crossplanetest.New(t, `{"argocd":{"values":{"extraObjects":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"mine"}}]}}}`, "").Install()
	first := password(t, e)
	if len(first) < 32 || strings.Contains(first, crossplanetest.Token) {
		t.Fatalf("want a long password that isn't the account's token, got %q", first)
	}
	if objects := objectsIn(t, e); len(objects) != 2 || objects[0].(map[string]any)["kind"] != "ConfigMap" {
		t.Errorf("the claim's objects are lost: %v", objects)
	}
	values := releaseValues(e)
	if on, set := values[init].(map[string]any)["enabled"]; !set || on != false || values["extraObjects"] != nil {
		t.Errorf("want the chart's Job off, and its objects in the Secret alone: %v, %v", values[init], values["extraObjects"])
	}
	release, err := json.Marshal(e.Observed(tenant.ArgoCDRelease).AsMap())
	if err != nil || strings.Contains(string(release), first) {
		t.Errorf("the password stands in the Release (%v)", err)
	}
	t.Run("OutlivesTheToken", func(t *testing.T) {
		e.SetToken(tenant.InstallerCredentials, "another-token-of-the-account")
		e.Reconcile()
		if got := password(t, e); got != first {
			t.Errorf("the password changes with the account's token: %q, %q", first, got)
		}
		e.SetToken(tenant.InstallerCredentials, crossplanetest.Token)
	})
	t.Run("OutlivesTheSecret", func(t *testing.T) {
		delete(e.Request.GetObserved().GetResources(), tenant.ValuesSecret)
		e.Cycle(2)
		if got := password(t, e); got != first {
			t.Errorf("the password changes with the Secret: %q, %q", first, got)
		}
	})
	t.Run("IsNoneWithoutTheLastSecret", func(t *testing.T) {
		const own = `"argocd":{"values":{"redisSecretInit":{"enabled":true}}}`
		e := crossplanetest.WithCluster(t, "tok-first-1")
		e.SetSpec(`{` + own + `,` + crossplanetest.ClusterSpec[1:])
		e.Install()
		if password(t, e) != "" || len(e.SecretValues()) == 0 {
			t.Fatalf("want the cluster's credentials and no password, got %v", e.SecretValues())
		}
		// A Release that misses the Secret it has read can't be looked at any more: it stays, and comes back where it is deleted.
		e.SetSpec(`{` + own + `}`)
		for range 2 {
			e.Cycle(2)
			if got := crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret)); len(got) > 0 || crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider").GetFields()["valuesFrom"] == nil || e.Status("phase") != "Ready" {
				t.Errorf("want an empty Secret that the Release reads, in phase Ready, got %v in phase %s", got, e.Status("phase"))
			}
			delete(e.Request.GetObserved().GetResources(), tenant.ValuesSecret)
		}
		// Then the function is to make one, which stays.
		e.SetSpec(`{}`)
		e.Cycle(2)
		made := password(t, e)
		e.SetToken(tenant.InstallerCredentials, "another-token-of-the-account")
		if e.Reconcile(); len(made) < 32 || password(t, e) != made {
			t.Errorf("want one long password, got %q, and then %q", made, password(t, e))
		}
	})
	for name, values := range map[string]string{
		"JobWanted":     `{"redisSecretInit":{"enabled":true}}`,
		"OwnSecret":     `{"extraObjects":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"argocd-redis"},"stringData":{"auth":"x"}}]}`,
		"OwnSecretText": `{"extraObjects":["kind: Secret\nmetadata: {name: argocd-redis}"]}`,
		"OtherRedis":    `{"redis":{"enabled":false},"externalRedis":{"host":"redis.example.org"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			spec, input := `{"argocd":{"values":`+values+`}}`, ""
			if name == "OwnSecretText" { // Claims can't have it.
				spec, input = `{}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":`+spec+`}`
			}
			e := crossplanetest.New(t, spec, input).Install()
			if releaseValues(e)[init] != nil && strings.Contains(values, init) == false {
				t.Errorf("the values see to redis' password themselves, and %s is %v", init, releaseValues(e)[init])
			}
			if e.Has(tenant.ValuesSecret) {
				t.Errorf("a password is made that nobody uses: %v", e.SecretValues())
			}
		})
	}
}

// releaseValues are the values in the Release of Argo CD.
func releaseValues(e *crossplanetest.Engine) map[string]any {
	return crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()
}

// objectsIn are the objects that the values Secret adds to the chart.
func objectsIn(t *testing.T, e *crossplanetest.Engine) []any {
	t.Helper()
	objects, _ := crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret))["extraObjects"].([]any)
	return objects
}
