package clusters_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

func TestClusterForms(t *testing.T) {
	cert, key := crossplanetest.KeyPair()
	declared := `{"bearerToken":"tok-declared-1","tlsClientConfig":{"caData":"` + crossplanetest.Base64(cert) + `"}}`
	cases := map[string]struct {
		reason string
		spec   string
		typ    string
		data   map[string]string
		want   map[string]any
	}{
		"Declarative": {
			"Argo CD's own form is taken as it is.",
			`{"name":"prod","secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"name": "prod", "server": "https://prod.example.org", "config": declared},
			map[string]any{"server": "https://prod.example.org", "config": map[string]any{"bearerToken": "tok-declared-1", "tlsClientConfig": map[string]any{"caData": crossplanetest.Base64(cert)}}},
		},
		"DeclarativeKeepsItsOwn": {
			"What the Secret says of the cluster counts where the claim says nothing.",
			`{"name":"prod","secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"server": "https://prod.example.org/", "config": `{"execProviderConfig":{"command":"argocd-k8s-auth"},"awsAuthConfig":null}`, "namespaces": "a, b", "clusterResources": "true", "project": "web", "shard": "1"},
			map[string]any{"server": "https://prod.example.org/", "config": map[string]any{"execProviderConfig": map[string]any{"command": "argocd-k8s-auth"}},
				"namespaces": "a,b", "clusterResources": "true", "project": "web", "shard": "1"},
		},
		"ClaimWins": {
			"What the claim says counts.",
			`{"name":"prod","labels":{"env":"p"},"annotations":{"a/b":"c"},"namespaces":["x"],"project":"own","secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"server": "https://prod.example.org", "config": `{"username":"u","password":"secret-password-1"}`, "namespaces": "a", "project": "web"},
			map[string]any{"server": "https://prod.example.org", "config": map[string]any{"username": "u", "password": "secret-password-1"},
				"namespaces": "x", "project": "own", "labels": map[string]any{"env": "p"}, "annotations": map[string]any{"a/b": "c"}},
		},
		"AuthorityOfClaim": {
			"A CA is no secret, and may stand in the claim.",
			`{"name":"prod","server":"https://prod.example.org","certificateAuthority":` + string(crossplanetest.Must(json.Marshal(cert))) + `,"secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"token": "tok-declared-1"},
			map[string]any{"server": "https://prod.example.org", "config": map[string]any{"bearerToken": "tok-declared-1", "tlsClientConfig": map[string]any{"insecure": false, "caData": crossplanetest.Base64(cert)}}},
		},
		"AuthorityOfBoth": {
			"The claim may repeat the CA of the Secret.",
			`{"name":"prod","certificateAuthority":` + string(crossplanetest.Must(json.Marshal(strings.TrimSpace(cert)))) + `,"secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"server": "https://prod.example.org", "config": declared},
			map[string]any{"server": "https://prod.example.org", "config": map[string]any{"bearerToken": "tok-declared-1", "tlsClientConfig": map[string]any{"caData": crossplanetest.Base64(strings.TrimSpace(cert))}}},
		},
		"NamespaceLikeANumber": {
			"The chart writes namespaces without quotes.",
			`{"name":"prod","namespaces":["2024"],"secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"server": "https://prod.example.org", "config": `{"username":"u"}`},
			map[string]any{"server": "https://prod.example.org", "config": map[string]any{"username": "u"}, "namespaces": "2024,2024"},
		},
		"KubeconfigCertificate": {
			"The current context of a kubeconfig counts.",
			`{"name":"prod","secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"kubeconfig": crossplanetest.ClusterKubeconfig(map[string]any{"client-certificate-data": crossplanetest.Base64(cert), "client-key-data": crossplanetest.Base64(key)},
				map[string]any{"server": "https://10.0.0.1:6443", "certificate-authority-data": crossplanetest.Base64(cert), "tls-server-name": "api", "proxy-url": "http://proxy:3128"})},
			map[string]any{"server": "https://10.0.0.1:6443", "config": map[string]any{"proxyUrl": "http://proxy:3128",
				"tlsClientConfig": map[string]any{"insecure": false, "serverName": "api", "caData": crossplanetest.Base64(cert), "certData": crossplanetest.Base64(cert), "keyData": crossplanetest.Base64(key)}}},
		},
		"KubeconfigToken": {
			"A server that isn't verified is the customer's decision.",
			`{"name":"prod","secretRef":{"name":"s"}}`, "Opaque",
			map[string]string{"kubeconfig": crossplanetest.ClusterKubeconfig(map[string]any{"token": "tok-kubeconfig-1"}, map[string]any{"server": "https://10.0.0.1:6443", "insecure-skip-tls-verify": true})},
			map[string]any{"server": "https://10.0.0.1:6443", "config": map[string]any{"bearerToken": "tok-kubeconfig-1", "tlsClientConfig": map[string]any{"insecure": true}}},
		},
		"Token": {
			"A ServiceAccount's token needs the server's URL from the claim.",
			`{"name":"prod","server":"https://203.0.113.7:6443","secretRef":{"name":"s"}}`, "kubernetes.io/service-account-token",
			map[string]string{"token": "tok-account-1\n", "ca.crt": cert, "namespace": "argocd"},
			map[string]any{"server": "https://203.0.113.7:6443", "config": map[string]any{"bearerToken": "tok-account-1", "tlsClientConfig": map[string]any{"insecure": false, "caData": crossplanetest.Base64(strings.TrimSpace(cert))}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"clusters":[`+tc.spec+`]}`, "")
			e.AddSecret("s", tc.typ, tc.data)
			e.Install()
			want := map[string]any{"configs": map[string]any{"clusterCredentials": map[string]any{"prod": tc.want}}}
			if diff := cmp.Diff(want, e.SecretValues()); diff != "" {
				t.Errorf("\n%s\nvalues in the Secret: -want, +got:\n%s", tc.reason, diff)
			}
			if c := e.Condition(v1alpha1.ConditionClustersConnected); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || c.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
				t.Errorf("\n%s\nClustersConnected: %v", tc.reason, c)
			}
			if diff := cmp.Diff([]any{map[string]any{"name": "prod", "state": "Connected"}}, e.StatusList("clusters")); diff != "" {
				t.Errorf("\n%s\nstatus.clusters: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBrokenClusterSecrets(t *testing.T) {
	cert, key := crossplanetest.KeyPair()
	one := `{"name":"prod","secretRef":{"name":"s"}}`
	withServer := `{"name":"prod","server":"https://203.0.113.7:6443","secretRef":{"name":"s"}}`
	server := map[string]any{"server": "https://10.0.0.1:6443"}
	ofKubeconfig := func(user, cluster map[string]any) map[string]string {
		return map[string]string{"kubeconfig": crossplanetest.ClusterKubeconfig(user, cluster)}
	}
	cases := map[string]struct {
		spec  string
		data  map[string]string
		state v1alpha1.ConnectionState
		want  string
	}{
		"Missing":              {one, nil, v1alpha1.StateSecretMissing, "Secret s in namespace team-a does not exist: create it"},
		"Empty":                {one, map[string]string{}, v1alpha1.StateSecretInvalid, "none of the forms"},
		"TwoForms":             {one, map[string]string{"kubeconfig": "x", "token": "y"}, v1alpha1.StateSecretInvalid, "keys of several forms"},
		"NoConfig":             {one, map[string]string{"server": "https://a"}, v1alpha1.StateSecretInvalid, "key config is missing"},
		"ConfigNotJSON":        {one, map[string]string{"server": "https://a.b", "config": "bearerToken: tok-no-json-1"}, v1alpha1.StateSecretInvalid, "key config is not the JSON"},
		"ConfigOfWrongType":    {one, map[string]string{"server": "https://a.b", "config": `{"bearerToken":["tok-list-1"]}`}, v1alpha1.StateSecretInvalid, "field bearerToken has the wrong type"},
		"CANotBase64":          {one, map[string]string{"server": "https://a.b", "config": `{"username":"u","tlsClientConfig":{"caData":"%"}}`}, v1alpha1.StateSecretInvalid, "base64"},
		"CANotPEM":             {one, map[string]string{"server": "https://a.b", "config": `{"username":"u","tlsClientConfig":{"caData":"YWJj"}}`}, v1alpha1.StateSecretInvalid, "not a PEM certificate"},
		"CAAndInsecure":        {one, map[string]string{"server": "https://a.b", "config": `{"username":"u","tlsClientConfig":{"insecure":true,"caData":"` + crossplanetest.Base64(cert) + `"}}`}, v1alpha1.StateSecretInvalid, "leave one of the two out"},
		"CAOfClaim":            {strings.TrimSuffix(one, "}") + `,"certificateAuthority":` + string(crossplanetest.Must(json.Marshal(cert+cert))) + `}`, map[string]string{"server": "https://a.b", "config": `{"username":"u","tlsClientConfig":{"caData":"` + crossplanetest.Base64(cert) + `"}}`}, v1alpha1.StateSecretInvalid, "its certificate authority is another than spec.clusters[0].certificateAuthority"},
		"InsecureAndCAOfClaim": {strings.TrimSuffix(one, "}") + `,"certificateAuthority":` + string(crossplanetest.Must(json.Marshal(cert))) + `}`, map[string]string{"server": "https://a.b", "config": `{"username":"u","tlsClientConfig":{"insecure":true}}`}, v1alpha1.StateSecretInvalid, "it says not to verify the certificate, and spec.clusters[0].certificateAuthority is set"},
		"CertWithoutKey":       {one, map[string]string{"server": "https://a.b", "config": `{"tlsClientConfig":{"certData":"` + crossplanetest.Base64(cert) + `"}}`}, v1alpha1.StateSecretInvalid, "without its key"},
		"KeyOfAnotherCert":     {one, map[string]string{"server": "https://a.b", "config": `{"tlsClientConfig":{"certData":"` + crossplanetest.Base64(cert) + `","keyData":"` + crossplanetest.Base64(cert) + `"}}`}, v1alpha1.StateSecretInvalid, "don't belong together"},
		"NoCredentials":        {one, map[string]string{"server": "https://a.b", "config": `{}`}, v1alpha1.StateSecretInvalid, "no credentials"},
		"ServerNotHTTPS":       {one, map[string]string{"server": "http://a.b", "config": `{"username":"u"}`}, v1alpha1.StateSecretInvalid, "API server's URL"},
		"ServerWithUser":       {one, map[string]string{"server": "https://u:secret-in-url@a.b", "config": `{"username":"u"}`}, v1alpha1.StateSecretInvalid, "API server's URL"},
		"ShardNotANumber":      {one, map[string]string{"server": "https://a.b", "config": `{"username":"u"}`, "shard": "one"}, v1alpha1.StateSecretInvalid, "key shard"},
		"ServerTwice":          {withServer, map[string]string{"server": "https://a.b", "config": `{"username":"u"}`}, v1alpha1.StateSecretInvalid, "its API server is another than spec.clusters[0].server, https://203.0.113.7:6443: write the same in both, or leave the cluster's field server out"},
		"KubeconfigNotYAML":    {one, map[string]string{"kubeconfig": "{token: tok-not-yaml-1"}, v1alpha1.StateSecretInvalid, "not a kubeconfig"},
		"KubeconfigNoContext":  {one, map[string]string{"kubeconfig": `{"apiVersion":"v1","kind":"Config"}`}, v1alpha1.StateSecretInvalid, "current-context"},
		"KubeconfigExec":       {one, ofKubeconfig(map[string]any{"exec": map[string]any{"apiVersion": "client.authentication.k8s.io/v1", "command": "aws", "interactiveMode": "Never"}}, server), v1alpha1.StateSecretInvalid, "user.exec is not possible here"},
		"KubeconfigAuth":       {one, ofKubeconfig(map[string]any{"auth-provider": map[string]any{"name": "gcp"}}, server), v1alpha1.StateSecretInvalid, "user.auth-provider is not possible here"},
		"KubeconfigCAFile":     {one, ofKubeconfig(map[string]any{"token": "t-1234567"}, map[string]any{"server": "https://a.b", "certificate-authority": "/etc/ca.pem"}), v1alpha1.StateSecretInvalid, "cluster.certificate-authority is not possible here"},
		"KubeconfigCertFile":   {one, ofKubeconfig(map[string]any{"client-certificate": "/c", "client-key-data": crossplanetest.Base64(key)}, server), v1alpha1.StateSecretInvalid, "user.client-certificate is not possible here"},
		"KubeconfigKeyFile":    {one, ofKubeconfig(map[string]any{"client-key": "/k", "client-certificate-data": crossplanetest.Base64(cert)}, server), v1alpha1.StateSecretInvalid, "user.client-key is not possible here"},
		"KubeconfigTokenFile":  {one, ofKubeconfig(map[string]any{"tokenFile": "/var/run/t"}, server), v1alpha1.StateSecretInvalid, "user.tokenFile is not possible here"},
		"KubeconfigAs":         {one, ofKubeconfig(map[string]any{"token": "t-1234567", "as": "admin"}, server), v1alpha1.StateSecretInvalid, "user.as is not possible here"},
		"TokenWithoutServer":   {one, map[string]string{"token": "tok-no-server-1", "ca.crt": cert}, v1alpha1.StateSecretInvalid, "write its URL in the cluster's field server"},
		"TokenWithoutCA":       {withServer, map[string]string{"token": "tok-no-ca-1"}, v1alpha1.StateSecretInvalid, "key ca.crt is missing"},
		"TokenNotFilledIn":     {withServer, map[string]string{"token": "", "ca.crt": cert}, v1alpha1.StateSecretInvalid, "none of the forms"},
		"TokenWithSpaces":      {withServer, map[string]string{"token": "tok spaces 1", "ca.crt": cert}, v1alpha1.StateSecretInvalid, "has spaces"},
		"NotText":              {one, map[string]string{"server": "https://a.b", "config": "\xff\xfe"}, v1alpha1.StateSecretInvalid, "is not text"},
		"TooLarge":             {one, map[string]string{"server": "https://a.b", "config": `{"username":"u","password":"` + strings.Repeat("x", 300<<10) + `"}`}, v1alpha1.StateSecretInvalid, "too large"},
		"SameServerAsTheFirst": {`{"name":"first","secretRef":{"name":"s"}},{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": `{"username":"u"}`}, v1alpha1.StateSecretInvalid, "is that of cluster first, too"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"clusters":[`+tc.spec+`]}`, "")
			if tc.data != nil {
				e.AddSecret("s", "Opaque", tc.data)
			}
			// Nothing of this holds back the tenant.
			e.Install()
			c := e.Condition(v1alpha1.ConditionClustersConnected)
			if c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || c.GetReason() != string(tc.state) || !strings.Contains(c.GetMessage(), tc.want) {
				t.Errorf("ClustersConnected: want False, %s, %q, got %v", tc.state, tc.want, c)
			}
			all := e.StatusList("clusters")
			last := all[len(all)-1].(map[string]any)
			if last["state"] != string(tc.state) || !strings.Contains(last["message"].(string), tc.want) {
				t.Errorf("status.clusters: want %s, %q, got %v", tc.state, tc.want, last)
			}
			news := 0
			for _, event := range e.Events {
				if strings.HasPrefix(event, string(tc.state)) {
					news++
				}
			}
			if news != 1 {
				t.Errorf("want one event, got %d: %v", news, e.Events)
			}
		})
	}
}

// TestClusterStays: what worked stays in use while its Secret is missing or
// broken, and goes when its entry goes.
func TestClusterStays(t *testing.T) {
	e := crossplanetest.WithCluster(t, "tok-first-1").Install()
	used := e.SecretValues()

	delete(e.Cluster, "Secret/"+crossplanetest.Namespace+"/prod-token")
	e.Reconcile()
	if diff := cmp.Diff(used, e.SecretValues()); diff != "" {
		t.Errorf("the Secret is gone: the values changed: -want, +got:\n%s", diff)
	}
	if c := e.Condition(v1alpha1.ConditionClustersConnected); c.GetReason() != v1alpha1.ReasonSecretMissing || !strings.Contains(c.GetMessage(), "what it gave before stays in use") {
		t.Errorf("ClustersConnected: %v", c)
	}
	if e.Status("phase") != "Ready" || e.Status("message") != "Argo CD is ready, but these conditions are False: ClustersConnected" {
		t.Errorf("a missing Secret made the tenant %s: %s", e.Status("phase"), e.Status("message"))
	}
	e.AddSecret("prod-token", "Opaque", map[string]string{"token": "broken", "ca.crt": "broken"})
	e.Reconcile()
	if diff := cmp.Diff(used, e.SecretValues()); diff != "" {
		t.Errorf("the Secret is broken: the values changed: -want, +got:\n%s", diff)
	}
	e.SetSpec(`{}`)
	e.Reconcile()
	if diff := cmp.Diff(map[string]any{}, e.SecretValues()); diff != "" {
		t.Errorf("the entry is gone: -want, +got:\n%s", diff)
	}
	if c := e.Condition(v1alpha1.ConditionClustersConnected); c.GetReason() != v1alpha1.ReasonNotInSpec || c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("a condition that can't be taken away says so: %v", c)
	}
}

// TestClustersAwaitActivation: an Argo CD that was restored gets the clusters of its own claim, too, only once it may act. One that it has got stays.
func TestClustersAwaitActivation(t *testing.T) {
	const input = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","backup":{"remote":"backup:"}}`
	spec := func(restore string) string {
		return `{"clusters":[{"name":"prod","secretRef":{"name":"s"}},{"name":"Our prod","secretRef":{"name":"u"}},{"name":"in-cluster","labels":{"a":"b"}}],"restoreFrom":` + restore + `}`
	}
	for _, restore := range []string{`{"tenant":"other"%s}`, `{"backup":"latest"%s}`} {
		e := crossplanetest.New(t, spec(fmt.Sprintf(restore, "")), input)
		for name, server := range map[string]string{"s": "https://prod.example.org", "u": "https://other.example.org"} {
			e.AddSecret(name, "Opaque", map[string]string{"server": server, "config": `{"bearerToken":"tok-` + name + `-1"}`})
		}
		has := func() (all []string) {
			text := fmt.Sprint(e.SecretValues())
			for _, name := range []string{"prod.example.org", "other.example.org", "tok-"} {
				if strings.Contains(text, name) || strings.Contains(text, crossplanetest.Base64("https://"+name)) {
					all = append(all, name)
				}
			}
			return all
		}
		e.Install()
		c := e.Condition(v1alpha1.ConditionClustersConnected)
		if is := has(); len(is) > 0 || c.GetStatus() != fnv1.Status_STATUS_CONDITION_UNKNOWN || c.GetReason() != v1alpha1.ReasonInactive || !strings.Contains(c.GetMessage(), "Cluster prod: Argo CD gets its credentials once spec.restoreFrom.activate is true") {
			t.Errorf("before it is activated, it has %v: %v", is, c)
		}
		for range 2 {
			e.SetSpec(spec(fmt.Sprintf(restore, `,"activate":true`)))
			e.Reconcile()
			e.Reconcile()
			if is := has(); len(is) < 2 {
				t.Errorf("once it is activated, it has %v: %s", is, crossplanetest.Refusal(e.Response))
			}
			e.SetSpec(spec(fmt.Sprintf(restore, "")))
		}
		e.Reconcile()
		if is := has(); len(is) < 2 {
			t.Errorf("what it has got is gone: %v", is)
		}
	}
}

// TestRotatedCredential: the Release is told of a change once the Secret that it
// reads has changed, and not before.
func TestRotatedCredential(t *testing.T) {
	e := crossplanetest.WithCluster(t, "tok-first-1").Install()
	digest := func() string {
		return crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "metadata", "annotations").GetFields()["virtualargocd.io/values-digest"].GetStringValue()
	}
	token := func() any {
		v := e.SecretValues()["configs"].(map[string]any)["clusterCredentials"].(map[string]any)["prod"].(map[string]any)
		return v["config"].(map[string]any)["bearerToken"]
	}
	first := digest()
	if first == "" || e.Reconcile() == nil || digest() != first {
		t.Errorf("the digest isn't stable: %q, then %q", first, digest())
	}
	cert, _ := crossplanetest.KeyPair()
	e.AddSecret("prod-token", "Opaque", map[string]string{"token": "tok-second-2", "ca.crt": cert})
	e.Reconcile()
	if token() != "tok-second-2" || digest() != first {
		t.Errorf("the Secret changes first: token %v, digest changed: %t", token(), digest() != first)
	}
	if e.Reconcile(); digest() == first {
		t.Error("the Release isn't told of the change")
	}
	// Whoever sees the digest can't find the token by trying.
	crossplanetest.Field(e.Observed(tenant.ValuesSecret), "metadata").Fields["uid"] = structpb.NewStringValue("another")
	second := digest()
	if rsp := e.Call(); crossplanetest.Field(rsp.GetDesired().GetResources()[tenant.ArgoCDRelease].GetResource(), "metadata", "annotations").GetFields()["virtualargocd.io/values-digest"].GetStringValue() == second {
		t.Error("the digest depends on the values alone")
	}
}

// TestReleaseWaitsForItsValues: a Release that names a Secret that isn't there only fails.
func TestReleaseWaitsForItsValues(t *testing.T) {
	e := crossplanetest.WithCluster(t, "tok-first-1")
	e.Reconcile()
	e.AwaitVCluster()
	if !e.Has(tenant.ValuesSecret) {
		t.Error("the Secret comes before the virtual cluster, so that nothing waits for it later")
	}
	e.Install()
	reads := func() bool {
		e.Reconcile()
		return crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider").GetFields()["valuesFrom"] != nil
	}
	if !reads() {
		t.Error("the Release doesn't read its Secret")
	}
	// Deleted by hand, it comes back, and the Release goes on reading it.
	delete(e.Request.GetObserved().GetResources(), tenant.ValuesSecret)
	if !reads() || e.Response.GetDesired().GetResources()[tenant.ValuesSecret] == nil {
		t.Error("a Secret that was deleted by hand doesn't come back")
	}
}

func TestRefusedClusters(t *testing.T) {
	ref := `"secretRef":{"name":"s"}`
	cases := map[string]struct {
		spec, input string
		want        []string
	}{
		"NameOfTwoLines":     {`{"clusters":[{"name":"a\nb",` + ref + `}]}`, "", []string{"spec.clusters[0].name", `"a\nb"`, "one line"}},
		"SpaceAroundName":    {`{"clusters":[{"name":" a",` + ref + `}]}`, "", []string{"spec.clusters[0].name", `" a"`, "without space around it"}},
		"NameTooLong":        {`{"clusters":[{"name":"` + strings.Repeat("a", 254) + `",` + ref + `}]}`, "", []string{"spec.clusters[0].name", "253 characters"}},
		"NoSecretElsewhere":  {`{"clusters":[{"name":"a","server":"https://a.example.org"}]}`, "", []string{"spec.clusters[0].secretRef.name", "https://kubernetes.default.svc"}},
		"NoName":             {`{"clusters":[{` + ref + `}]}`, "", []string{"spec.clusters[0].name"}},
		"NameTwice":          {`{"clusters":[{"name":"a",` + ref + `},{"name":"a",` + ref + `}]}`, "", []string{"spec.clusters[1].name", `"a"`}},
		"NoSecret":           {`{"clusters":[{"name":"a"}]}`, "", []string{"spec.clusters[0].secretRef.name"}},
		"SecretElsewhere":    {`{"clusters":[{"name":"a","secretRef":{"name":"other/s"}}]}`, "", []string{"spec.clusters[0].secretRef.name", "other/s", "namespace of the claim"}},
		"NamespaceNotOne":    {`{"clusters":[{"name":"a","namespaces":["A"],` + ref + `}]}`, "", []string{"spec.clusters[0].namespaces", `"A"`}},
		"ProjectNotAName":    {`{"clusters":[{"name":"a","project":"{{ x }}",` + ref + `}]}`, "", []string{"spec.clusters[0].project", "{{ x }}"}},
		"ServerNotAURL":      {`{"clusters":[{"name":"a","server":"https://a b",` + ref + `}]}`, "", []string{"spec.clusters[0].server", "https://a b"}},
		"LabelOfTheChart":    {`{"clusters":[{"name":"a","labels":{"argocd.argoproj.io/secret-type":"repository"},` + ref + `}]}`, "", []string{"spec.clusters[0].labels", "secret-type"}},
		"LabelNotOne":        {`{"clusters":[{"name":"a","labels":{"a":"b c"},` + ref + `}]}`, "", []string{"spec.clusters[0].labels", `"b c"`}},
		"AnnotationOfHelm":   {`{"clusters":[{"name":"a","annotations":{"helm.sh/resource-policy":"keep"},` + ref + `}]}`, "", []string{"spec.clusters[0].annotations", "helm.sh/resource-policy"}},
		"TooMany":            {`{"clusters":[` + strings.Repeat(`{"name":"a"},`, 50) + `{"name":"a"}]}`, "", []string{"spec.clusters", "51", "50"}},
		"NotAList":           {`{"clusters":{"a":1}}`, "", []string{"spec.clusters", "a list"}},
		"EntryNotAnObject":   {`{"clusters":["prod"]}`, "", []string{"spec.clusters[0]", `"prod"`, "an object"}},
		"ValuesHaveIt":       {`{"clusters":[{"name":"a",` + ref + `}],"argocd":{"values":{"configs":{"clusterCredentials":{"a":{}}}}}}`, "", []string{"spec.argocd.values.configs.clusterCredentials.a", "spec.clusters[0]"}},
		"ValuesTakeItAway":   {`{"clusters":[{"name":"a",` + ref + `}],"argocd":{"values":{"configs":{"clusterCredentials":"none"}}}}`, "", []string{"spec.argocd.values.configs.clusterCredentials", "leave it out"}},
		"PlatformsValuesDo":  {`{"clusters":[{"name":"a",` + ref + `}]}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"configs":{"clusterCredentials":{"a":{}}}}}}}`, []string{"input.charts.argocd.values.configs.clusterCredentials.a"}},
		"LabelValueNotText":  {`{"clusters":[{"name":"a","labels":{"a":true},` + ref + `}]}`, "", []string{"spec.clusters[0].labels.a", "true", "text"}},
		"NamespacesNotTexts": {`{"clusters":[{"name":"a","namespaces":[1],` + ref + `}]}`, "", []string{"spec.clusters[0].namespaces"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			crossplanetest.New(t, tc.spec, tc.input).CheckRefused(tc.want...)
		})
	}
	// Another cluster in the values is no conflict.
	e := crossplanetest.New(t, `{"clusters":[{"name":"a",`+ref+`}],"argocd":{"values":{"configs":{"clusterCredentials":{"b":{"server":"https://b","config":{}}}}}}}`, "")
	e.Install()
	crossplanetest.NewXR(t, strings.Replace(crossplanetest.TenantXR(crossplanetest.ClusterSpec), `"claimRef"`, `"claimOf"`, 1), "").CheckRefused("spec", "prod-token", "no claim")
}

// TestNamesStayReadable: a condition names a cluster and its Secret, whatever they are called and labelled.
func TestNamesStayReadable(t *testing.T) {
	for _, name := range []string{"by-token", "production"} {
		t.Run(name, func(t *testing.T) {
			cert, _ := crossplanetest.KeyPair()
			spec := fmt.Sprintf(`{"clusters":[{"name":%q,"server":"https://203.0.113.7:6443","labels":{"environment":%q},"secretRef":{"name":"cluster-%s"}}]}`, name, name, name)
			e := crossplanetest.New(t, spec, "")
			e.AddSecret("cluster-"+name, "kubernetes.io/service-account-token", map[string]string{"token": "tok-first-1", "ca.crt": cert})
			e.Install()
			delete(e.Cluster, "Secret/"+crossplanetest.Namespace+"/cluster-"+name)
			e.Reconcile()
			want := name + ": Secret cluster-" + name + " in namespace " + crossplanetest.Namespace + " does not exist"
			if c := e.Condition(v1alpha1.ConditionClustersConnected); !strings.Contains(c.GetMessage(), want) {
				t.Errorf("ClustersConnected: want %q in it, got %q", want, c.GetMessage())
			}
		})
	}
}
