package function_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestSecretsStayInSecrets: whatever is in the claim's Secrets, and whatever
// providers say of it, reaches the composed Secret and nothing else.
func TestSecretsStayInSecrets(t *testing.T) {
	t.Parallel()
	reached, all := uint64(0), crossplanetest.Seeds(40)
	for seed := range all {
		r := rand.New(rand.NewPCG(seed, 11))
		spec, secrets := randomTenant(r)
		e := crossplanetest.New(t, spec, "")
		for name, s := range secrets {
			e.AddSecret(name, s.typ, s.data)
		}
		for range 10 {
			e.Reconcile()
			leaks(t, seed, crossplanetest.Closed(t, e.Response))
			e.RunProviders()
		}
		if s := e.Response.GetDesired().GetResources()[tenant.ValuesSecret]; s != nil && strings.Contains(fmt.Sprint(crossplanetest.ValuesOf(t, s.GetResource())), needle) {
			reached++
		}
		// A provider tells what it read, and so does Argo CD.
		said := "cannot apply: " + crossplanetest.Password + " " + crossplanetest.Token + " " + crossplanetest.Kubeconfig
		for _, name := range slices.Sorted(maps.Keys(secrets)) {
			for _, key := range slices.Sorted(maps.Keys(secrets[name].data)) {
				// What is public would only make the message longer than it may be.
				if v := secrets[name].data[key]; strings.Contains(v, "n33dle") {
					said += " " + v + " " + crossplanetest.Base64(v) + " " + crossplanetest.InJSON(v) + " " + strconv.Quote(v)
				}
			}
		}
		crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", said)
		e.SetApplication(`{"sync":{"status":"Unknown"},"conditions":[{"type":"ComparisonError","message":"` + crossplanetest.InJSON(said) + `"}]}`)
		e.Reconcile()
		leaks(t, seed, crossplanetest.Closed(t, e.Response))
		if !strings.Contains(e.Status("bootstrap", "message"), "[redacted]") {
			t.Errorf("seed %d: status.bootstrap.message: %q", seed, e.Status("bootstrap", "message"))
		}
		// The claim is refused for something else, while the Secrets are known.
		e.SetSpec(strings.Replace(spec, "{", `{"vcluster":{"chartVersion":"latest"},`, 1))
		if e.Reconcile(); crossplanetest.Refusal(e.Response) == "" {
			t.Error("a bad version is refused")
		}
		leaks(t, seed, crossplanetest.Closed(t, e.Response))
		// What was accepted is lost, and the claim is refused for what its author should not have put there.
		delete(e.Request.GetObserved().GetResources(), tenant.AcceptedSecret)
		e.SetSpec(strings.Replace(spec, "{", `{"vcluster":{"chartVersion":"`+crossplanetest.Token+`"},`, 1))
		if e.Reconcile(); crossplanetest.Fatal(e.Response) == "" {
			t.Error("a bad version is refused where nothing was accepted")
		}
		leaks(t, seed, crossplanetest.Closed(t, e.Response))
		leaks(t, seed, strings.Join(e.Events, "\n"))
		leaks(t, seed, e.Logged())
	}
	if reached < all/4 {
		t.Errorf("secrets reached the composed Secret in %d of %d tenants: too little was tested", reached, all)
	}
}

func leaks(t *testing.T, seed uint64, text string) {
	t.Helper()
	for _, secret := range []string{needle, crossplanetest.Password, crossplanetest.Token, crossplanetest.KeyLine} {
		if form := crossplanetest.FormIn(text, secret); form != "" {
			at := strings.Index(text, form)
			t.Fatalf("seed %d: a secret is outside of Secrets, as %q: ...%s...", seed, form, text[max(0, at-120):min(len(text), at+60)])
		}
	}
}

// TestClaimReachesOnlyItsOwnSecrets: the function asks for Secrets of the
// claim's namespace alone, and uses nothing else that it may be handed.
func TestClaimReachesOnlyItsOwnSecrets(t *testing.T) {
	t.Parallel()
	asked, written, all := uint64(0), uint64(0), crossplanetest.Seeds(120)
	begun := crossplanetest.New(t, `{}`, "")
	begun.Reconcile()
	begun.AwaitVCluster()
	for seed := range all {
		r := rand.New(rand.NewPCG(seed, 12))
		spec, secrets := randomTenant(r)
		e := begun.Fork(t)
		e.SetSpec(spec)
		rsp := e.Reconcile()
		handed := map[string]*fnv1.Resources{}
		for key, s := range rsp.GetRequirements().GetResources() {
			if s.GetKind() != "Secret" || s.GetNamespace() == "vargo-customer1-7rw8j" && s.GetMatchName() == "vc-vcluster" {
				continue
			}
			asked++
			labels := s.GetMatchLabels().GetLabels()
			name := s.GetMatchName()
			if name == "" {
				name = labels[tenant.LabelSecretName]
			}
			if s.GetApiVersion() != "v1" || s.GetNamespace() != crossplanetest.Namespace || name == "" || s.GetMatchLabels() != nil && labels[tenant.LabelCredentials] != "true" {
				t.Errorf("seed %d: the function asks for Secrets elsewhere: %v", seed, s)
			}
			// Somebody else's Secrets under the same requirement.
			for _, meta := range []map[string]any{
				{"namespace": "team-b", "name": name}, {"name": name}, {"namespace": crossplanetest.Namespace, "name": name + "-2"},
			} {
				meta["labels"] = map[string]any{tenant.LabelCredentials: "true", tenant.LabelSecretName: name}
				data := map[string]any{}
				for key, v := range secrets[name].data {
					data[key] = crossplanetest.Base64(v)
				}
				o, err := structpb.NewStruct(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data})
				if err != nil {
					t.Fatal(err)
				}
				if handed[key] == nil {
					handed[key] = &fnv1.Resources{}
				}
				handed[key].Items = append(handed[key].Items, &fnv1.Resource{Resource: o})
			}
		}
		e.RunProviders()
		// The plan and the policies are handed over as they are.
		maps.Copy(e.Request.RequiredResources, handed)
		rsp, err := e.Function.RunFunction(t.Context(), e.Request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := protojson.Marshal(rsp)
		if err != nil {
			t.Fatal(err)
		}
		if form := crossplanetest.FormIn(string(text), needle); form != "" {
			t.Errorf("seed %d: a Secret of another namespace is in the response, as %q", seed, form)
		}
		if s := rsp.GetDesired().GetResources()[tenant.ValuesSecret]; s != nil {
			written++
			if v := fmt.Sprint(crossplanetest.ValuesOf(t, s.GetResource())); strings.Contains(v, needle) {
				t.Errorf("seed %d: a Secret of another namespace is used: %s", seed, v)
			}
		}
	}
	if asked < all/3 || written < all/3 {
		t.Errorf("the function asked for %d Secrets, and wrote values for %d tenants: too little was tested", asked, written)
	}
}

// TestBrokenSecretTellsNothing: whatever stands at a key of a Secret that a claim may use, no message about it shows that.
func TestBrokenSecretTellsNothing(t *testing.T) {
	cert, key := crossplanetest.KeyPair()
	keys, host := crossplanetest.SSHKey()
	text := secretText(rand.New(rand.NewPCG(1, 14)))
	texts := []string{text, "https://u:" + text + "@a.b", `{"bearerToken":["` + text + `"]}`, `{"tlsClientConfig":{"caData":"` + text + `"}}`, "users: {token: " + text, "-----BEGIN " + text}
	const cluster, repository = `{"clusters":[{"name":"a","secretRef":{"name":"s"}}]}`, `{"repositories":[{"name":"a","url":"%s","secretRef":{"name":"s"}}]}`
	https, overSSH := fmt.Sprintf(repository, "https://git.example.org/a"), fmt.Sprintf(repository, "git@git.example.org:a")
	for name, tc := range map[string]struct {
		spec string
		data map[string]string
	}{
		"Declarative": {cluster, map[string]string{"server": "https://a.b", "config": `{"bearerToken":"x"}`, "namespaces": "a", "clusterResources": "true", "project": "a", "shard": "1"}},
		"Kubeconfig":  {cluster, map[string]string{"kubeconfig": ""}},
		"Token":       {strings.Replace(cluster, `"name":"a"`, `"name":"a","server":"https://a.b"`, 1), map[string]string{"token": "x", "ca.crt": cert}},
		"Password": {https, map[string]string{"username": "u", "password": "x", "insecure": "true", "enableLfs": "true", "forceHttpBasicAuth": "true", "insecureOCIForceHttp": "true",
			"proxy": "http://a.b", "noProxy": "a", "tlsClientCertData": cert, "tlsClientCertKey": key}},
		"App":         {https, map[string]string{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": keys[0], "githubAppEnterpriseBaseUrl": "https://a.b"}},
		"SSH":         {overSSH, map[string]string{"sshPrivateKey": keys[0], "knownHosts": host}},
		"Bearer":      {https, map[string]string{"bearerToken": "x"}},
		"Certificate": {`{"ingress":{"host":"a.example.org","tls":{"secretName":"s"}}}`, map[string]string{"tls.crt": cert, "tls.key": key}},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, "")
			invalid := 0
			for at := range tc.data {
				for _, text := range texts {
					data := maps.Clone(tc.data)
					data[at] = text
					e.AddSecret("s", "Opaque", data)
					e.Reconcile()
					leaks(t, 0, crossplanetest.Closed(t, e.Response))
					if strings.Contains(fmt.Sprint(e.Response.GetConditions()), v1alpha1.ReasonSecretInvalid) {
						invalid++
					}
				}
			}
			if name != "Bearer" && invalid == 0 {
				t.Error("no message is about a Secret: too little was tested")
			}
		})
	}
}
