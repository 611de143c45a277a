package function

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// needle stands in every secret of these tests. It is long enough that no base64 of it turns up in a certificate by
// chance, and is written otherwise in JSON, and in base64 for URLs.
const needle = "n33dle&~~~in-a-haystack"

// A testSecret is a Secret of the claim's namespace.
type testSecret struct {
	typ  string
	data map[string]string
}

// randomTenant is a spec with references of every kind, and the Secrets it names.
func randomTenant(r *rand.Rand) (spec string, secrets map[string]testSecret) {
	secrets = map[string]testSecret{}
	s := map[string]any{"clusters": randomClusters(r, secrets), "bootstrap": map[string]any{"repoURL": "https://git.example.org/apps"}, "repositories": randomRepositories(r, secrets), "credentialTemplates": []any{
		map[string]any{"name": "t", "url": "https://t.example.org", "secretRef": map[string]any{"name": "repository-0"}}}}
	if r.IntN(2) == 0 {
		s["ingress"] = map[string]any{"host": "argocd.example.org", "tls": map[string]any{"secretName": "cert"}}
		cert, _ := keyPair()
		secrets["cert"] = testSecret{"kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": secretText(r)}}
	}
	if r.IntN(2) == 0 {
		s["sso"] = map[string]any{"oidc": map[string]any{"issuer": "https://id.example.org", "clientID": "a", "clientSecretRef": map[string]any{"name": "oidc", "key": "k"}}}
		secrets["oidc"] = testSecret{"Opaque", map[string]string{"k": secretText(r), "other": secretText(r)}}
	}
	if s["sso"] == nil && r.IntN(2) == 0 {
		connector := map[string]any{"type": "ldap", "id": "a", "name": "A", "config": map[string]any{"bindPW": "$dex:k", "other": "$dex:lost"}}
		s["sso"] = map[string]any{"dex": map[string]any{"connectors": []any{connector}}}
		secrets["dex"] = testSecret{"Opaque", map[string]string{"k": secretText(r), "other": secretText(r)}}
		if r.IntN(2) == 0 {
			secrets["dex"].data["lost"] = secretText(r)
		}
	}
	if r.IntN(2) == 0 {
		s["argocd"] = map[string]any{"secretKeys": []any{map[string]any{"key": "webhook.github.secret", "secretRef": map[string]any{"name": "webhook"}, "secretKey": "k"}}}
		secrets["webhook"] = testSecret{"Opaque", map[string]string{"k": secretText(r), "other": secretText(r)}}
	}
	if s["argocd"] == nil && r.IntN(2) == 0 {
		s["argocd"] = map[string]any{"accounts": []any{map[string]any{"name": "ci", "tokens": []any{map[string]any{"name": "a"}}}}}
	}
	raw, _ := json.Marshal(s)
	return string(raw), secrets
}

// secretText is a secret that is like no other.
func secretText(r *rand.Rand) string { return fmt.Sprintf("%s-%016x", needle, r.Uint64()) }

func randomClusters(r *rand.Rand, secrets map[string]testSecret) []any {
	cert, _ := keyPair()
	clusters := []any{}
	for i := range r.IntN(4) {
		name := fmt.Sprintf("cluster-%d", i)
		c := map[string]any{"name": name, "secretRef": map[string]any{"name": name}}
		server := fmt.Sprintf("https://c%d.example.org", i)
		switch r.IntN(6) {
		case 0:
			secrets[name] = testSecret{"Opaque", map[string]string{"server": server, "config": `{"bearerToken":"` + secretText(r) + `","tlsClientConfig":{}}`}}
		case 1:
			secrets[name] = testSecret{"Opaque", map[string]string{"kubeconfig": kubeconfig(map[string]any{"username": "u", "password": secretText(r)}, map[string]any{"server": server})}}
		case 2:
			c["server"] = server
			secrets[name] = testSecret{"kubernetes.io/service-account-token", map[string]string{"token": secretText(r), "ca.crt": cert}}
		case 3: // Broken in a way that a parser would show.
			secrets[name] = testSecret{"Opaque", map[string]string{"kubeconfig": "users: {token: " + secretText(r)}}
		case 4:
			secrets[name] = testSecret{"Opaque", map[string]string{"server": "https://u:" + secretText(r) + "@a.b", "config": `{"bearerToken":["` + secretText(r) + `"]}`}}
		}
		clusters = append(clusters, c)
	}
	return clusters
}

func randomRepositories(r *rand.Rand, secrets map[string]testSecret) []any {
	cert, key := keyPair()
	all := []any{}
	for i := range r.IntN(4) {
		name := fmt.Sprintf("repository-%d", i)
		e := map[string]any{"name": name, "url": fmt.Sprintf("https://r%d.example.org", i), "secretRef": map[string]any{"name": name}}
		switch r.IntN(6) {
		case 0:
			secrets[name] = testSecret{"Opaque", map[string]string{"username": "u", "password": secretText(r)}}
		case 1:
			secrets[name] = testSecret{"Opaque", map[string]string{"bearerToken": secretText(r), "proxy": "http://u:" + secretText(r) + "@proxy.example.org"}}
		case 2:
			secrets[name] = testSecret{"Opaque", map[string]string{"tls.crt": cert, "tls.key": key, "password": secretText(r)}}
		case 3:
			e["url"] = fmt.Sprintf("git@r%d.example.org:a", i)
			secrets[name] = testSecret{"Opaque", map[string]string{"sshPrivateKey": secretText(r), "knownHosts": "not a line"}}
		case 4:
			secrets[name] = testSecret{"Opaque", map[string]string{"passwort": secretText(r)}}
		}
		all = append(all, e)
	}
	return all
}

// formsOf are the ways in which a secret may turn up, but for backslashes: as it is and as in JSON, either in hexadecimal
// and base64, or in base64 twice, as a key in the kubeconfig in the data of a Secret.
func formsOf(secret string) []string {
	var out []string
	for _, text := range []string{secret, inJSON(secret)} {
		inHex := hex.EncodeToString([]byte(text))
		out = append(out, unescaped(text), inHex, strings.ToUpper(inHex))
		out = append(out, inBase64(base64.URLEncoding, text)...)
		for _, once := range inBase64(base64.StdEncoding, text) {
			out = append(append(out, once), inBase64(base64.StdEncoding, once)...)
		}
	}
	return out
}

// inJSON is a text as it stands between the quotes of JSON.
func inJSON(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted[1 : len(quoted)-1])
}

// inBase64 is a text in base64, at each of the three places where it can begin.
func inBase64(of *base64.Encoding, text string) []string {
	var out []string
	for pad := range 3 {
		encoded := of.EncodeToString([]byte(strings.Repeat("_", pad) + text))
		// The characters at both ends depend on what is around.
		out = append(out, encoded[4*((pad+2)/3):len(encoded)-4])
	}
	return out
}

// formIn is the form in which a secret stands in a text without backslashes; "" where it doesn't.
func formIn(text, secret string) string {
	for _, form := range formsOf(secret) {
		if strings.Contains(text, form) {
			return form
		}
	}
	return ""
}

// closed is a response without the places where secrets may be, connection details and Secrets, and without backslashes.
func closed(t testing.TB, rsp *fnv1.RunFunctionResponse) string {
	t.Helper()
	open := proto.Clone(rsp).(*fnv1.RunFunctionResponse)
	if c := open.GetDesired().GetComposite(); c != nil {
		c.ConnectionDetails = nil
	}
	for _, r := range open.GetDesired().GetResources() {
		if o := r.GetResource().GetFields(); o["kind"].GetStringValue() == "Secret" && o["apiVersion"].GetStringValue() == "v1" {
			delete(o, "data")
		}
	}
	text, err := protojson.Marshal(open)
	if err != nil {
		t.Fatal(err)
	}
	return unescaped(string(text))
}

// unescaped is a text without backslashes: JSON in JSON has several in the place of one.
func unescaped(text string) string { return strings.ReplaceAll(text, `\`, "") }

// TestSecretsStayInSecrets: whatever is in the claim's Secrets, and whatever
// providers say of it, reaches the composed Secret and nothing else.
func TestSecretsStayInSecrets(t *testing.T) {
	t.Parallel()
	reached, all := uint64(0), seeds(40)
	for seed := range all {
		r := rand.New(rand.NewPCG(seed, 11))
		spec, secrets := randomTenant(r)
		e := newEngine(t, tenantXR(spec), "")
		for name, s := range secrets {
			e.secret(name, s.typ, s.data)
		}
		for range 10 {
			e.reconcile()
			leaks(t, seed, closed(t, e.rsp))
			e.heal()
		}
		if s := e.rsp.GetDesired().GetResources()[tenant.ValuesSecret]; s != nil && strings.Contains(fmt.Sprint(valuesOf(t, s.GetResource())), needle) {
			reached++
		}
		// A provider tells what it read, and so does Argo CD.
		said := "cannot apply: " + testPassword + " " + testToken + " " + testKubeconfig
		for _, name := range slices.Sorted(maps.Keys(secrets)) {
			for _, key := range slices.Sorted(maps.Keys(secrets[name].data)) {
				// What is public would only make the message longer than it may be.
				if v := secrets[name].data[key]; strings.Contains(v, "n33dle") {
					said += " " + v + " " + b64(v) + " " + inJSON(v) + " " + strconv.Quote(v)
				}
			}
		}
		setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", said)
		e.setApplication(`{"sync":{"status":"Unknown"},"conditions":[{"type":"ComparisonError","message":"` + inJSON(said) + `"}]}`)
		e.reconcile()
		leaks(t, seed, closed(t, e.rsp))
		if !strings.Contains(e.status("bootstrap", "message"), "[redacted]") {
			t.Errorf("seed %d: status.bootstrap.message: %q", seed, e.status("bootstrap", "message"))
		}
		// The claim is refused for something else, while the Secrets are known.
		e.spec(strings.Replace(spec, "{", `{"vcluster":{"chartVersion":"latest"},`, 1))
		if e.reconcile(); refusal(e.rsp) == "" {
			t.Error("a bad version is refused")
		}
		leaks(t, seed, closed(t, e.rsp))
		// What was accepted is lost, and the claim is refused for what its author should not have put there.
		delete(e.req.GetObserved().GetResources(), tenant.AcceptedSecret)
		e.spec(strings.Replace(spec, "{", `{"vcluster":{"chartVersion":"`+testToken+`"},`, 1))
		if e.reconcile(); fatal(e.rsp) == "" {
			t.Error("a bad version is refused where nothing was accepted")
		}
		leaks(t, seed, closed(t, e.rsp))
		leaks(t, seed, unescaped(strings.Join(e.events, "\n")))
		leaks(t, seed, unescaped(logged(e.f)))
	}
	if reached < all/4 {
		t.Errorf("secrets reached the composed Secret in %d of %d tenants: too little was tested", reached, all)
	}
}

func leaks(t *testing.T, seed uint64, text string) {
	t.Helper()
	for _, secret := range []string{needle, testPassword, testToken, secretLine} {
		if form := formIn(text, secret); form != "" {
			at := strings.Index(text, form)
			t.Fatalf("seed %d: a secret is outside of Secrets, as %q: ...%s...", seed, form, text[max(0, at-120):min(len(text), at+60)])
		}
	}
}

// TestClaimReachesOnlyItsOwnSecrets: the function asks for Secrets of the
// claim's namespace alone, and uses nothing else that it may be handed.
func TestClaimReachesOnlyItsOwnSecrets(t *testing.T) {
	t.Parallel()
	asked, written, all := uint64(0), uint64(0), seeds(120)
	begun := newEngine(t, tenantXR(`{}`), "")
	begun.reconcile()
	begun.begin()
	for seed := range all {
		r := rand.New(rand.NewPCG(seed, 12))
		spec, secrets := randomTenant(r)
		e := begun.fork()
		e.spec(spec)
		rsp := e.reconcile()
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
			if s.GetApiVersion() != "v1" || s.GetNamespace() != testNamespace || name == "" || s.GetMatchLabels() != nil && labels[tenant.LabelCredentials] != "true" {
				t.Errorf("seed %d: the function asks for Secrets elsewhere: %v", seed, s)
			}
			// Somebody else's Secrets under the same requirement.
			for _, meta := range []map[string]any{
				{"namespace": "team-b", "name": name}, {"name": name}, {"namespace": testNamespace, "name": name + "-2"},
			} {
				meta["labels"] = map[string]any{tenant.LabelCredentials: "true", tenant.LabelSecretName: name}
				data := map[string]any{}
				for key, v := range secrets[name].data {
					data[key] = b64(v)
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
		e.heal()
		// The plan and the policies are handed over as they are.
		maps.Copy(e.req.RequiredResources, handed)
		rsp, err := e.f.RunFunction(t.Context(), e.req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := protojson.Marshal(rsp)
		if err != nil {
			t.Fatal(err)
		}
		if form := formIn(unescaped(string(text)), needle); form != "" {
			t.Errorf("seed %d: a Secret of another namespace is in the response, as %q", seed, form)
		}
		if s := rsp.GetDesired().GetResources()[tenant.ValuesSecret]; s != nil {
			written++
			if v := fmt.Sprint(valuesOf(t, s.GetResource())); strings.Contains(v, needle) {
				t.Errorf("seed %d: a Secret of another namespace is used: %s", seed, v)
			}
		}
	}
	if asked < all/3 || written < all/3 {
		t.Errorf("the function asked for %d Secrets, and wrote values for %d tenants: too little was tested", asked, written)
	}
}

// TestSecretsOfClaimsAreLabelled: a claim gets nothing of a Secret without the label,
// whichever part names it, and keeps what the Secret gave before.
func TestSecretsOfClaimsAreLabelled(t *testing.T) {
	const ignored = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","credentials":{"label":"Ignored"}}`
	cert, key := keyPair()
	text := secretText(rand.New(rand.NewPCG(1, 13)))
	cases := map[string]struct {
		spec, condition string
		// secret is what stands at key.
		key, secret string
		data        map[string]string
	}{
		"Cluster": {`{"clusters":[{"name":"prod","secretRef":{"name":"s"}}]}`, v1alpha1.ConditionClustersConnected, "config", text,
			map[string]string{"server": "https://a.b", "config": `{"bearerToken":"` + text + `"}`}},
		"Repository": {`{"repositories":[{"name":"apps","url":"https://git.example.org/apps","secretRef":{"name":"s"}}]}`, v1alpha1.ConditionRepositoriesConnected, "password", text,
			map[string]string{"username": "u", "password": text}},
		"CredentialTemplate": {`{"credentialTemplates":[{"name":"apps","url":"https://git.example.org","secretRef":{"name":"s"}}]}`, v1alpha1.ConditionRepositoriesConnected, "password", text,
			map[string]string{"username": "u", "password": text}},
		"Certificate": {`{"ingress":{"host":"argocd.example.org","tls":{"secretName":"s"}}}`, v1alpha1.ConditionIngressReady, "tls.key", strings.TrimSpace(key),
			map[string]string{"tls.crt": cert, "tls.key": key}},
		"ClientSecret": {`{"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"a","clientSecretRef":{"name":"s","key":"any"}}}}`, v1alpha1.ConditionSSOReady, "any", text,
			map[string]string{"any": text}},
		"SecretKey": {`{"argocd":{"secretKeys":[{"key":"any","secretRef":{"name":"s"}}]}}`, v1alpha1.ConditionSecretKeysReady, "any", text,
			map[string]string{"any": text}},
		"Dex": {`{"sso":{"dex":{"connectors":[{"type":"ldap","id":"a","name":"A","config":{"bindPW":"$s:any"}}]}}}`, v1alpha1.ConditionSSOReady, "any", text,
			map[string]string{"any": text}},
	}
	const want = `Secret s in namespace team-a: doesn't have the label virtualargocd.io/credentials: "true", without which a claim can't use it: kubectl -n team-a label secret s virtualargocd.io/credentials=true`
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for value, usable := range map[any]bool{nil: false, "false": false, "": false, "True": false, "true": true} {
				e := newEngine(t, tenantXR(tc.spec), "")
				e.secret("s", "Opaque", tc.data)
				e.label("s", value)
				e.install()
				c := e.condition(tc.condition)
				_, written := e.req.GetObserved().GetResources()[tenant.ValuesSecret]
				all := ""
				if written {
					all = fmt.Sprint(valuesOf(t, e.observed(tenant.ValuesSecret)))
				}
				if used := strings.Contains(all, tc.secret) || strings.Contains(all, b64(tc.secret)); used != usable {
					t.Errorf("label %v: used: %t", value, used)
				}
				if !usable && (c.GetReason() != v1alpha1.ReasonSecretInvalid || !strings.Contains(c.GetMessage(), want)) {
					t.Errorf("label %v: want SecretInvalid, %q, got %v", value, want, c)
				}
				if usable && c.GetStatus() == fnv1.Status_STATUS_CONDITION_FALSE {
					t.Errorf("label %v: %v", value, c)
				}
			}
			// The label goes, and what the Secret has is changed: what it gave before stays.
			e := newEngine(t, tenantXR(tc.spec), "")
			e.secret("s", "Opaque", tc.data)
			e.install()
			used := e.secretValues()
			changed := maps.Clone(tc.data)
			changed[tc.key] = "changed"
			e.secret("s", "Opaque", changed)
			e.label("s", nil)
			e.reconcile()
			if diff := cmp.Diff(used, e.secretValues()); diff != "" {
				t.Errorf("the label is gone: the values changed: -want, +got:\n%s", diff)
			}
			if msg := e.condition(tc.condition).GetMessage(); !strings.Contains(msg, want+"; what it gave before stays in use") {
				t.Errorf("the label is gone: %q", msg)
			}
			// A platform may do without.
			e = newEngine(t, tenantXR(tc.spec), ignored)
			e.secret("s", "Opaque", tc.data)
			e.label("s", nil)
			if e.install(); e.condition(tc.condition).GetStatus() == fnv1.Status_STATUS_CONDITION_FALSE {
				t.Errorf("the label is ignored: %v", e.condition(tc.condition))
			}
		})
	}
}

// TestUnlabelledSecretTellsNothing: what is wrong with a Secret that a claim can't use
// is not told, and neither are its known hosts used.
func TestUnlabelledSecretTellsNothing(t *testing.T) {
	keys, host := sshKey()
	for name, data := range map[string]map[string]string{
		"KnownHosts": {"sshPrivateKey": keys[0], "knownHosts": host}, "KeyUnknown": {"no-such-key-" + needle: "x"}, "TooLarge": {"password": strings.Repeat("x", 300<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"repositories":[{"name":"apps","url":"git@git.example.org:apps","secretRef":{"name":"s"}}]}`), "")
			e.secret("s", "Opaque", data)
			e.label("s", nil)
			e.install()
			if diff := cmp.Diff(map[string]any{}, e.secretValues()); diff != "" {
				t.Errorf("values: -want, +got:\n%s", diff)
			}
			if msg := e.condition(v1alpha1.ConditionRepositoriesConnected).GetMessage(); strings.Contains(msg, needle) || strings.Contains(msg, "too large") || !strings.Contains(msg, "doesn't have the label") {
				t.Errorf("the condition says %q", msg)
			}
		})
	}
}

// TestBrokenSecretTellsNothing: whatever stands at a key of a Secret that a claim may use, no message about it shows that.
func TestBrokenSecretTellsNothing(t *testing.T) {
	cert, key := keyPair()
	keys, host := sshKey()
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
			e := newEngine(t, tenantXR(tc.spec), "")
			invalid := 0
			for at := range tc.data {
				for _, text := range texts {
					data := maps.Clone(tc.data)
					data[at] = text
					e.secret("s", "Opaque", data)
					e.reconcile()
					leaks(t, 0, closed(t, e.rsp))
					if strings.Contains(fmt.Sprint(e.rsp.GetConditions()), v1alpha1.ReasonSecretInvalid) {
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
