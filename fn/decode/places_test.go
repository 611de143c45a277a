package decode_test

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestPlacesOfDecodingErrors: the field that is wrong is named, also in a type that is a part of another one, below a key, and in place of a list.
func TestPlacesOfDecodingErrors(t *testing.T) {
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"PartOfAType":   {Spec: `{"bootstrap":{"repoURL":"https://a.b/c","helm":{"values":{"a":"b"}}}}`, Want: []string{"spec.bootstrap.helm.values: an object is not text"}},
		"DeeperInAPart": {Spec: `{"bootstrap":{"repoURL":"https://a.b/c","helm":{"parameters":[{"name":"a","value":1}]}}}`, Want: []string{"spec.bootstrap.helm.parameters[0].value: 1 is not text"}},
		"BelowAKey":     {Spec: `{"sso":{"oidc":{"issuer":"https://a.b","clientID":"a","clientSecretRef":{"name":"a"},"requestedIDTokenClaims":{"groups":{"essential":"true"}}}}}`, Want: []string{`spec.sso.oidc.requestedIDTokenClaims.groups.essential: "true" is not true or false`}},
		"NoList":        {Spec: `{"clusters":{"prod":{"secretRef":{"name":"s"}}}}`, Want: []string{"spec.clusters: an object is not a list"}},
		"ValuesAsText":  {Spec: `{"argocd":{"values":"server: {}"}}`, Want: []string{"spec.argocd.values: write an object of chart values, not a text"}},
	})
}

// TestOlderCrossplane: one that looks up nothing for the function is refused.
func TestOlderCrossplane(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "")
	e.Request.Meta.Capabilities = nil
	if msg := crossplanetest.Fatal(e.Call()); !strings.Contains(msg, "this version of Crossplane") || !strings.Contains(msg, "upgrade Crossplane to 2.2 or later") {
		t.Errorf("got %q", msg)
	}
}
