package pullsecrets_test

import (
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

const typ = "kubernetes.io/dockerconfigjson"

func file(password string) map[string]string {
	return map[string]string{".dockerconfigjson": `{"auths":{"registry.example.org":{"auth":"` + crossplanetest.Base64("u:"+password) + `"}}}`}
}

// objects returns the Secrets for registries in Argo CD's namespace, by name.
func objects(e *crossplanetest.Engine) map[string]map[string]any {
	e.T.Helper()
	out := map[string]map[string]any{}
	all, _ := crossplanetest.ValuesOf(e.T, e.Observed(tenant.ValuesSecret))["extraObjects"].([]any)
	for _, o := range all {
		o := o.(map[string]any)
		if o["type"] == typ {
			out[o["metadata"].(map[string]any)["name"].(string)] = o
		}
	}
	return out
}

// onHost returns the manifest of the ServiceAccount of the tenant's pods.
func onHost(e *crossplanetest.Engine) string {
	return strings.ReplaceAll(string(crossplanetest.Must(wire.Of(e.Observed(tenant.PullAccount)).Get("spec", "forProvider", "manifest").JSON())), " ", "")
}

func TestImagePullSecrets(t *testing.T) {
	e := crossplanetest.New(t, `{"imagePullSecrets":[{"name":"a"},{"name":"b"}]}`, "")
	e.AddSecret("a", typ, file("secret-of-a-1"))
	e.Install()
	if c := e.Condition(v1alpha1.ConditionImagePullSecretsReady); c.GetReason() != v1alpha1.ReasonSecretMissing || !strings.Contains(c.GetMessage(), "Image pull secret b: Secret b in namespace team-a does not exist") {
		t.Errorf("ImagePullSecretsReady: %v", c)
	}
	e.AddSecret("b", typ, map[string]string{".dockerconfigjson": `{"auths":{"r":{"username":"u","password":"secret-of-b"}}}`})
	e.Cycle(3)
	all := objects(e)
	if len(all) != 2 {
		t.Fatalf("Secrets: %v", all)
	}
	names := ""
	for name, o := range all {
		if !strings.Contains(onHost(e), `{"name":"`+name+`-x-argocd-x-vcluster"}`) {
			t.Errorf("the tenant's pods don't have %s: %s", name, onHost(e))
		}
		// Without it, vcluster copies only what a pod names.
		if got := o["metadata"].(map[string]any)["annotations"].(map[string]any)["vcluster.loft.sh/force-sync"]; got != "true" {
			t.Errorf("force-sync of %s is %v", name, got)
		}
		names += name + " "
	}
	if c := e.Condition(v1alpha1.ConditionImagePullSecretsReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("ImagePullSecretsReady: %v", c)
	}
	before, values := onHost(e), string(crossplanetest.Must(wire.Of(e.Observed(tenant.VClusterRelease)).Get("spec", "forProvider", "values").JSON()))
	e.AddSecret("a", typ, file("secret-of-a-2"))
	e.Cycle(3)
	if !strings.Contains(fmt.Sprint(objects(e)), crossplanetest.Base64(file("secret-of-a-2")[".dockerconfigjson"])) || onHost(e) != before {
		t.Errorf("a new password: %s", onHost(e))
	}
	delete(e.Cluster, "Secret/"+crossplanetest.Namespace+"/a")
	e.Cycle(2)
	if !strings.Contains(fmt.Sprint(objects(e)), crossplanetest.Base64(file("secret-of-a-2")[".dockerconfigjson"])) {
		t.Error("what a Secret that is gone gave before doesn't stay")
	}
	// A part that is gone leaves no name behind, and doesn't take the chart's ServiceAccount with it.
	e.SetSpec(`{}`)
	e.Cycle(3)
	if got := onHost(e); strings.Contains(got, "imagePullSecrets") || !strings.Contains(got, `"name":"vc-workload-vcluster"`) || len(objects(e)) > 0 {
		t.Errorf("after the field was removed: %s, %v", got, objects(e))
	}
	if got := wire.Of(e.Observed(tenant.PullAccount)).Get("spec").Strings("managementPolicies"); fmt.Sprint(got) != "[Observe Update]" {
		t.Errorf("managementPolicies %v", got)
	}
	if now := string(crossplanetest.Must(wire.Of(e.Observed(tenant.VClusterRelease)).Get("spec", "forProvider", "values").JSON())); now != values {
		t.Error("the Release of vcluster has changed, which restarts the virtual API server")
	}
	e.CheckDeletable()
}

// TestPlatformsPullSecrets: those of the platform, which the chart gives to the tenant's pods, stay.
func TestPlatformsPullSecrets(t *testing.T) {
	e := crossplanetest.New(t, `{"imagePullSecrets":[{"name":"a"}]}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"vcluster":{"values":{"controlPlane":{"advanced":{
		"serviceAccount":{"imagePullSecrets":[{"name":"ours"}]},"workloadServiceAccount":{"imagePullSecrets":[{"name":"theirs"}]}}}}}}}`)
	e.AddSecret("a", typ, file("p"))
	e.Install()
	if got := onHost(e); !strings.Contains(got, `"imagePullSecrets":[{"name":"ours"},{"name":"theirs"},{"name":"image-pull-`) {
		t.Errorf("got %s", got)
	}
	e.SetSpec(`{}`)
	e.Cycle(3)
	if got := onHost(e); !strings.Contains(got, `"imagePullSecrets":[{"name":"ours"},{"name":"theirs"}]`) {
		t.Errorf("after the field was removed: %s", got)
	}
}

// TestNoImagePullSecrets: a tenant that names none has no Object for them.
func TestNoImagePullSecrets(t *testing.T) {
	if crossplanetest.New(t, `{}`, "").Install().Has(tenant.PullAccount) {
		t.Error("there is one")
	}
}

func TestBrokenImagePullSecrets(t *testing.T) {
	for name, tc := range map[string]struct {
		typ, file, want string
	}{
		"Type":     {"Opaque", file("p")[".dockerconfigjson"], `it is of type "Opaque": create one of type kubernetes.io/dockerconfigjson`},
		"NoJSON":   {typ, "auths", "is not the JSON that Kubernetes knows"},
		"NoAuths":  {typ, `{}`, "has no auths"},
		"NotThere": {typ, `{"auths":{"r":{}}}`, "entry 1 of auths has no user name with a password, neither as auth in base64 nor as username and password; write what kubectl create secret docker-registry makes"},
		"NoColon":  {typ, `{"auths":{"r":{"auth":"` + crossplanetest.Base64("secret") + `"}}}`, "entry 1 of auths has no user name with a password, neither as auth in base64 nor as username and password; write what kubectl create secret docker-registry makes"},
		"OfAzure":  {typ, `{"auths":{"r":{"auth":"` + crossplanetest.Base64("00000000-0000-0000-0000-000000000000:") + `","identitytoken":"x"}}}`, "entry 1 of auths has a token that Kubernetes doesn't read (identitytoken or registrytoken) and no password"},
		"NoBase64": {typ, `{"auths":{"r":{"auth":"u:p"}}}`, "entry 1 of auths has no user name with a password, neither as auth in base64 nor as username and password; write what kubectl create secret docker-registry makes"},
		"Right":    {typ, file("p")[".dockerconfigjson"], ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"imagePullSecrets":[{"name":"a"}]}`, "")
			e.AddSecret("a", tc.typ, map[string]string{".dockerconfigjson": tc.file})
			e.Install()
			c := e.Condition(v1alpha1.ConditionImagePullSecretsReady)
			if invalid := c.GetReason() == v1alpha1.ReasonSecretInvalid; invalid != (tc.want != "") || !strings.Contains(c.GetMessage(), tc.want) {
				t.Errorf("%v, want %q", c, tc.want)
			}
			if n := len(objects(e)); n > 0 != (tc.want == "") {
				t.Errorf("%d Secrets are created", n)
			}
		})
	}
	crossplanetest.New(t, `{"imagePullSecrets":[{"name":"a"},{"name":"a"},{"name":"b/c"}]}`, "").CheckRefused(`spec.imagePullSecrets[1].name: "a" is that of another entry`, `spec.imagePullSecrets[2].name: "b/c" is not the name of a Secret`)
}
