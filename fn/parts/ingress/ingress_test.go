package ingress_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// argocdValues are the values of Argo CD's Release that an Ingress decides.
func argocdValues(e *crossplanetest.Engine) map[string]any {
	v := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()
	out := map[string]any{"domain": v["global"].(map[string]any)["domain"]}
	if server, ok := v["server"].(map[string]any); ok && server["ingress"] != nil {
		out["ingress"] = server["ingress"]
	}
	if configs, ok := v["configs"].(map[string]any); ok && configs["params"] != nil {
		out["params"] = configs["params"]
	}
	return out
}

func TestIngress(t *testing.T) {
	insecure := map[string]any{"server.insecure": "true"}
	cases := map[string]struct {
		reason      string
		spec, input string
		host        string
		want        map[string]any
	}{
		"Host": {
			"The ingress controller's own certificate, and its default class.",
			`{"ingress":{"host":"argocd.example.org"}}`, "", "argocd.example.org",
			map[string]any{"enabled": true, "hostname": "argocd.example.org", "extraTls": []any{map[string]any{"hosts": []any{"argocd.example.org"}}}},
		},
		"Issuer": {
			"cert-manager on the host makes the certificate.",
			`{"ingress":{"host":"a.example.org","className":"traefik","annotations":{"x/y":"{{ z }}"},"tls":{"issuer":{"name":"ca","kind":"Issuer"}}}}`, "", "a.example.org",
			map[string]any{"enabled": true, "hostname": "a.example.org", "ingressClassName": "traefik", "tls": true,
				"annotations": map[string]any{"x/y": "{{`{{`}} z }}", "cert-manager.io/issuer": "ca"}},
		},
		"PlatformsDomain": {
			"A claim that says nothing gets a name below the platform's domain.",
			`{}`, crossplanetest.IngressInput, "customer1--team-a.apps.example.org",
			map[string]any{"enabled": true, "hostname": "customer1--team-a.apps.example.org", "ingressClassName": "nginx", "tls": true,
				"annotations": map[string]any{"a/a": "platform", "b/b": "platform", "cert-manager.io/cluster-issuer": "letsencrypt"}},
		},
		"ClaimOverPlatform": {
			"What the claim says counts.",
			`{"ingress":{"host":"own.example.org","className":"own","annotations":{"b/b":"claim"},"tls":{"secretName":"cert"}}}`, crossplanetest.IngressInput, "own.example.org",
			map[string]any{"enabled": true, "hostname": "own.example.org", "ingressClassName": "own", "tls": true,
				"annotations": map[string]any{"a/a": "platform", "b/b": "claim"}},
		},
		"EmptyObjects": {
			"An empty object is as good as none.",
			`{"ingress":{"annotations":null,"tls":{}}}`, crossplanetest.IngressInput, "customer1--team-a.apps.example.org",
			map[string]any{"enabled": true, "hostname": "customer1--team-a.apps.example.org", "ingressClassName": "nginx", "tls": true,
				"annotations": map[string]any{"a/a": "platform", "b/b": "platform", "cert-manager.io/cluster-issuer": "letsencrypt"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, tc.input)
			cert, key := crossplanetest.ServerPair(time.Now().Add(time.Hour), tc.host)
			e.AddSecret("cert", "kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": key})
			e.Install()
			if diff := cmp.Diff(map[string]any{"domain": tc.host, "ingress": tc.want, "params": insecure}, argocdValues(e)); diff != "" {
				t.Errorf("\n%s\nvalues: -want, +got:\n%s", tc.reason, diff)
			}
			if !e.Has(tenant.IngressesBinding) {
				t.Errorf("\n%s\nvcluster may not bring the Ingress to the host", tc.reason)
			}
			url := "https://" + tc.host
			if got := string(e.Response.GetDesired().GetComposite().GetConnectionDetails()["url"]); got != url || e.Status("argocd", "url") != url {
				t.Errorf("\n%s\nURL: want %s, got %s in the connection details and %s in the status", tc.reason, url, got, e.Status("argocd", "url"))
			}
			if c := e.Condition(v1alpha1.ConditionIngressReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || !strings.HasPrefix(c.GetMessage(), url+" is served at 192.0.2.1") ||
				strings.Contains(c.GetMessage(), "cert-manager has issued") != (tc.want["tls"] == true && !strings.Contains(tc.spec, "secretName")) {
				t.Errorf("\n%s\nIngressReady: %v", tc.reason, c)
			}
		})
	}
}

func TestIngressCertificate(t *testing.T) {
	const spec = `{"ingress":{"host":"argocd.example.org","tls":{"secretName":"cert"}}}`
	cert, key := crossplanetest.KeyPair()
	e := crossplanetest.New(t, spec, "").Install()
	if c := e.Condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonSecretMissing || !strings.Contains(c.GetMessage(), "Secret cert in namespace team-a does not exist") {
		t.Errorf("IngressReady: %v", c)
	}
	e.AddSecret("cert", "kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": cert})
	if e.Reconcile(); e.Condition(v1alpha1.ConditionIngressReady).GetReason() != v1alpha1.ReasonSecretInvalid {
		t.Errorf("IngressReady: %v", e.Condition(v1alpha1.ConditionIngressReady))
	}
	e.AddSecret("cert", "kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": key, "ca.crt": cert})
	want := map[string]any{"server": map[string]any{"certificateSecret": map[string]any{"enabled": true, "crt": cert, "key": key}}}
	e.Reconcile()
	if diff := cmp.Diff(want, e.SecretValues()); diff != "" {
		t.Errorf("values in the Secret: -want, +got:\n%s", diff)
	}
	delete(e.Cluster, "Secret/"+crossplanetest.Namespace+"/cert")
	e.Reconcile()
	if diff := cmp.Diff(want, e.SecretValues()); diff != "" {
		t.Errorf("the Secret is gone: -want, +got:\n%s", diff)
	}
}

// TestCertificateForClients: a certificate that clients refuse is in use, and the condition says why they do.
func TestCertificateForClients(t *testing.T) {
	const spec = `{"ingress":{"host":"a.example.org","additionalHosts":["b.example.org"],"tls":{"secretName":"cert"}}}`
	now := crossplanetest.Start
	for name, tc := range map[string]struct {
		expires   time.Time
		hostnames []string
		reason    string
		want      string
	}{
		"Right":         {now.AddDate(1, 0, 0), []string{"a.example.org", "b.example.org"}, v1alpha1.ReasonAvailable, "are served at 192.0.2.1"},
		"Wildcard":      {now.AddDate(1, 0, 0), []string{"*.example.org"}, v1alpha1.ReasonAvailable, "are served at 192.0.2.1"},
		"ExpiresSoon":   {now.AddDate(0, 0, 13), []string{"*.example.org"}, v1alpha1.ReasonAvailable, "; the certificate in Secret cert expires at 2026-01-15T03:04:05Z"},
		"Expired":       {now.AddDate(0, 0, -1), []string{"*.example.org"}, v1alpha1.ReasonCertificateInvalid, "The certificate in Secret cert expired at 2026-01-01T03:04:05Z"},
		"ForOneOfTwo":   {now.AddDate(1, 0, 0), []string{"a.example.org"}, v1alpha1.ReasonCertificateInvalid, "The certificate in Secret cert isn't for hostname b.example.org"},
		"OnlyWithAName": {now.AddDate(1, 0, 0), nil, v1alpha1.ReasonCertificateInvalid, "isn't for hostname a.example.org"},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, spec, "")
			cert, key := crossplanetest.ServerPair(tc.expires, tc.hostnames...)
			e.AddSecret("cert", "kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": key})
			e.Install()
			if c := e.Condition(v1alpha1.ConditionIngressReady); c.GetReason() != tc.reason || !strings.Contains(c.GetMessage(), tc.want) {
				t.Errorf("want %s, %q, got %s: %s", tc.reason, tc.want, c.GetReason(), c.GetMessage())
			}
			if is, _ := values.Lookup(e.SecretValues(), "server", "certificateSecret", "crt"); is != cert {
				t.Error("the certificate isn't in use")
			}
		})
	}
}

// owns are the hosts that the admission policy lets the tenant's Ingresses have.
func owns(e *crossplanetest.Engine) string {
	return e.NamespaceAnnotation("virtualargocd.io/ingress-host")
}

// withGRPC are a host and the one for gRPC that comes with it.
func withGRPC(host string) string { return host + ",grpc." + host }

// TestWhoMayWriteIngresses: a virtual cluster may bring Ingresses to the host once the tenant has a hostname, and takes
// away what it has brought there.
func TestWhoMayWriteIngresses(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	if e.Has(tenant.IngressesBinding) {
		t.Error("a tenant without a hostname may write Ingresses")
	}
	taken := crossplanetest.NewXR(t, strings.NewReplacer("customer1", "customer2", "1f0d7d2c", "another").Replace(crossplanetest.TenantXR(`{"ingress":{"host":"a.example.org"}}`)), "").Install()
	e.Cluster = taken.Cluster
	e.SetSpec(`{"ingress":{"host":"a.example.org"}}`)
	e.Cycle(3)
	if e.Condition(v1alpha1.ConditionIngressReady).GetReason() != v1alpha1.ReasonHostTaken || e.Has(tenant.IngressesBinding) {
		t.Errorf("a tenant whose hostname is another's may write Ingresses: %v", e.Condition(v1alpha1.ConditionIngressReady))
	}
	before := crossplanetest.Field(e.Observed(tenant.VClusterRelease), "spec", "forProvider")
	e.SetSpec(`{"ingress":{"host":"b.example.org"}}`)
	e.Cycle(3)
	if !e.Has(tenant.IngressesBinding) {
		t.Error("a tenant with a hostname may not write Ingresses")
	}
	if diff := cmp.Diff(before, crossplanetest.Field(e.Observed(tenant.VClusterRelease), "spec", "forProvider"), protocmp.Transform()); diff != "" {
		t.Errorf("the first hostname changes the virtual cluster's Release, which restarts the virtual API: -without, +with:\n%s", diff)
	}
	e.SetSpec(`{}`)
	e.Reconcile()
	if !e.Has(tenant.IngressesBinding) {
		t.Error("vcluster loses its rights before the Ingress is gone")
	}
	e.Cycle(3)
	if argocdValues(e)["ingress"] != nil || !e.Has(tenant.IngressesBinding) {
		t.Errorf("the Ingress is gone, vcluster is to delete others, too: %v, %t", argocdValues(e)["ingress"], e.Has(tenant.IngressesBinding))
	}
}

// records are the hosts' records in the cluster.
func records(e *crossplanetest.Engine) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for key := range maps.Keys(e.Cluster) {
			if strings.HasPrefix(key, "ConfigMap/") && !yield(key) {
				return
			}
		}
	})
}

func TestIngressHealth(t *testing.T) {
	e := crossplanetest.New(t, `{"ingress":{"host":"argocd.example.org"}}`, "")
	reasons := []string{}
	for i := range 6 {
		e.Reconcile()
		if i == 1 {
			e.AwaitVCluster()
			e.Reconcile()
			e.RunProviders()
			e.Reconcile()
		}
		reasons = append(reasons, e.Condition(v1alpha1.ConditionIngressReady).GetReason())
		e.RunProviders()
	}
	const waits = v1alpha1.ReasonWaitingForArgoCD
	want := []string{waits, waits, waits, waits, waits, v1alpha1.ReasonAvailable}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("reasons while a tenant comes up: -want, +got:\n%s", diff)
	}
	e.Install()
	e.SetIngress(`{"loadBalancer":{}}`)
	e.Reconcile()
	if c := e.Condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonWaitingForAddress || !strings.Contains(c.GetMessage(), "default class") || e.Status("phase") != "Ready" {
		t.Errorf("no controller serves it: %v, tenant %s", c, e.Status("phase"))
	}
	e.SetIngress(`{"loadBalancer":{"ingress":[{"hostname":"lb.example.org"}]}}`)
	e.Reconcile()
	if c := e.Condition(v1alpha1.ConditionIngressReady); !strings.HasSuffix(c.GetMessage(), "is served at lb.example.org") {
		t.Errorf("IngressReady: %v", c)
	}
}

// issuersInput lists the ClusterIssuers that claims may name.
const issuersInput = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"tls":{"issuer":{"name":"letsencrypt"},"clusterIssuers":["staging"]}}}`

// TestClusterIssuers: the admission policies are told which ClusterIssuers a tenant may name, where the platform lists them.
func TestClusterIssuers(t *testing.T) {
	for input, want := range map[string]string{issuersInput: "letsencrypt,staging", crossplanetest.IngressInput: ""} {
		e := crossplanetest.New(t, `{"ingress":{"host":"a.b","tls":{"issuer":{"name":"letsencrypt"}}}}`, input).Install()
		if got := e.NamespaceAnnotation(tenant.AnnotationClusterIssuers); got != want {
			t.Errorf("input %s: the policies are told %q, want %q", input, got, want)
		}
	}
	crossplanetest.New(t, `{"ingress":{"host":"a.b","annotations":{"nginx.ingress.kubernetes.io/proxy-body-size":"0","nginx.ingress.kubernetes.io/proxy-buffer-size":"128k","nginx.ingress.kubernetes.io/proxy-read-timeout":"3600"},"tls":{"issuer":{"name":"own","kind":"Issuer"}}}}`, issuersInput).Install()
}

func TestRefusedIngress(t *testing.T) {
	const host = `"ingress":{"host":"argocd.example.org"}`
	cases := map[string]struct {
		spec, input string
		want        []string
	}{
		"NoHost":              {`{"ingress":{"className":"nginx"}}`, "", []string{"spec.ingress.host", "no domain"}},
		"HostWithScheme":      {`{"ingress":{"host":"https://a.b"}}`, "", []string{"spec.ingress.host", "https://a.b"}},
		"HostUpperCase":       {`{"ingress":{"host":"A.example.org"}}`, "", []string{"spec.ingress.host"}},
		"HostWildcard":        {`{"ingress":{"host":"*.example.org"}}`, "", []string{"spec.ingress.host"}},
		"HostIsAddress":       {`{"ingress":{"host":"192.0.2.1"}}`, "", []string{"spec.ingress.host", "192.0.2.1"}},
		"HostIsOctal":         {`{"ingress":{"host":"010.0.0.1"}}`, "", []string{"spec.ingress.host", "010.0.0.1"}},
		"ClassNotAName":       {`{"ingress":{"host":"a.b","className":"{{ x }}"}}`, "", []string{"spec.ingress.className"}},
		"AnnotationNotOne":    {`{"ingress":{"host":"a.b","annotations":{"a b":"c"}}}`, "", []string{"spec.ingress.annotations", "a b"}},
		"PlatformsAnnotation": {`{"ingress":{"host":"a.b"}}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"annotations":{"a b":"c"}}}`, []string{"input.ingress.annotations", "a b"}},
		"TLSBoth":             {`{"ingress":{"host":"a.b","tls":{"secretName":"s","issuer":{"name":"i"}}}}`, "", []string{"spec.ingress.tls", "write one of them"}},
		"IssuerKindUnknown":   {`{"ingress":{"host":"a.b","tls":{"issuer":{"name":"i","kind":"Vault"}}}}`, "", []string{"spec.ingress.tls.issuer.kind", "Vault", "ClusterIssuer or Issuer"}},
		"IssuerNoName":        {`{"ingress":{"host":"a.b","tls":{"issuer":{"kind":"Issuer"}}}}`, "", []string{"spec.ingress.tls.issuer.name"}},
		"PlatformsDomain":     {`{}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"Apps"}}`, []string{"input.ingress.domain", "Apps"}},
		"PlatformsIssuer":     {`{"ingress":{"host":"a.b"}}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"tls":{"issuer":{"name":"a","kind":"b"}}}}`, []string{"input.ingress.tls.issuer.kind"}},
		"ValuesDomain":        {`{` + host + `,"argocd":{"values":{"global":{"domain":"other.example.org"}}}}`, "", []string{"spec.argocd.values.global.domain", "spec.ingress"}},
		"ValuesURL":           {`{` + host + `,"argocd":{"values":{"configs":{"cm":{"url":"https://other.example.org"}}}}}`, "", []string{"spec.argocd.values.configs.cm.url"}},
		"ValuesInsecure":      {`{` + host + `,"argocd":{"values":{"configs":{"params":{"server.insecure":false}}}}}`, "", []string{"spec.argocd.values.configs.params.server.insecure"}},
		"ValuesNoParams":      {`{` + host + `,"argocd":{"values":{"configs":{"params":null}}}}`, "", []string{"spec.argocd.values.configs.params"}},
		"ValuesIngress":       {`{` + host + `,"argocd":{"values":{"server":{"ingress":{"extraHosts":[]}}}}}`, "", []string{"spec.argocd.values.server.ingress", "spec.ingress"}},
		"ValuesOwnIngress":    {`{"argocd":{"values":{"server":{"ingress":{"enabled":true,"hostname":"a.b"}}}}}`, "", []string{"spec.argocd.values.server.ingress", "spec.ingress", "enabled: false"}},
		"ValuesIngressName":   {`{"argocd":{"values":{"server":{"ingress":{"hostname":"a.b"}}}}}`, crossplanetest.IngressInput, []string{"spec.argocd.values.server.ingress"}},
		"ValuesGRPC":          {`{` + host + `,"argocd":{"values":{"server":{"ingressGrpc":{"enabled":true,"hostname":"a.b"}}}}}`, "", []string{"spec.argocd.values.server.ingressGrpc.hostname", "a.b", "argocd.example.org or grpc.argocd.example.org"}},
		"ValuesWebhook":       {`{"argocd":{"values":{"applicationSet":{"ingress":{"enabled":true,"hostname":"a.b"}}}}}`, "", []string{"spec.argocd.values.applicationSet.ingress.hostname", "spec.ingress.host"}},
		"HostOfADefault":      {`{"ingress":{"host":"shop--team-b.apps.example.org"}}`, crossplanetest.IngressInput, []string{"spec.ingress.host", "--"}},
		"HostOfAnyDefault":    {`{"ingress":{"host":"shop--team-b.elsewhere.example.org"}}`, "", []string{"spec.ingress.host", "--"}},
		"HostOfWildcard":      {`{"ingress":{"host":"shop--team-b.apps.example.org"}}`, strings.Replace(crossplanetest.IngressInput, `"domain"`, `"hosts":["*.apps.example.org"],"domain"`, 1), []string{"spec.ingress.host", "--"}},
		"HostInDomain":        {`{"ingress":{"host":"login.apps.example.org"}}`, crossplanetest.IngressInput, []string{"spec.ingress.host", "the platform's domain apps.example.org", "customer1--team-a.apps.example.org", "ingress.hosts"}},
		"HostDeepInDomain":    {`{"ingress":{"host":"a.b.apps.example.org"}}`, crossplanetest.IngressInput, []string{"spec.ingress.host", "the platform's domain"}},
		"HostIsDomain":        {`{"ingress":{"host":"apps.example.org"}}`, crossplanetest.IngressInput, []string{"spec.ingress.host", "the platform's domain"}},
		"HostWithDotAtTheEnd": {`{"ingress":{"host":"a.example.org."}}`, "", []string{"spec.ingress.host"}},
		"NginxNumber":         {`{"ingress":{"host":"a.b","annotations":{"nginx.ingress.kubernetes.io/proxy-buffer-size":"99999999999g"}}}`, "", []string{"spec.ingress.annotations[nginx.ingress.kubernetes.io/proxy-buffer-size]", "99999999999g", "16k"}},
		"NginxWord":           {`{"ingress":{"host":"a.b","annotations":{"nginx.ingress.kubernetes.io/proxy-buffering":"maybe"}}}`, "", []string{"spec.ingress.annotations", "on or off"}},
		"IssuerNotListed":     {`{"ingress":{"host":"a.b","tls":{"issuer":{"name":"internal-ca"}}}}`, issuersInput, []string{"spec.ingress.tls.issuer.name", "internal-ca", "letsencrypt, staging"}},
		"IssuerByAnnotation":  {`{"ingress":{"host":"a.b","annotations":{"cert-manager.io/cluster-issuer":"internal-ca"}}}`, issuersInput, []string{"spec.ingress.annotations[cert-manager.io/cluster-issuer]", "letsencrypt, staging"}},
		"ValuesSync":          {`{` + host + `,"vcluster":{"values":{"sync":{"toHost":{"ingresses":{"enabled":false}}}}}}`, "", []string{"spec.vcluster.values.sync.toHost.ingresses.enabled"}},
		"ValuesCertificate":   {`{"ingress":{"host":"a.b","tls":{"secretName":"s"}},"argocd":{"values":{"server":{"certificate":{"enabled":true}}}}}`, "", []string{"spec.argocd.values.server.certificate"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { crossplanetest.New(t, tc.spec, tc.input).CheckRefused(tc.want...) })
	}
	// What the platform lists, and what the claim gets by itself, is possible.
	for host, input := range map[string]string{
		"shop.apps.example.org":              strings.Replace(crossplanetest.IngressInput, `"domain"`, `"hosts":["*.apps.example.org"],"domain"`, 1),
		"old--name.apps.example.org":         strings.Replace(crossplanetest.IngressInput, `"domain"`, `"hosts":["old--name.apps.example.org"],"domain"`, 1),
		"customer1--team-a.apps.example.org": strings.Replace(crossplanetest.IngressInput, `"domain"`, `"hosts":["other.example.org"],"domain"`, 1),
		"xn--bcher-kva.example.org":          crossplanetest.IngressInput,
		"apps.example.org.example.com":       crossplanetest.IngressInput,
	} {
		e := crossplanetest.New(t, `{"ingress":{"host":"`+host+`"}}`, input).Install()
		if got := argocdValues(e)["domain"]; got != host {
			t.Errorf("want %s, got %v: %s", host, got, crossplanetest.Refusal(e.Response))
		}
	}
	// The same meaning is no conflict.
	crossplanetest.New(t, `{`+host+`,"argocd":{"values":{"global":{"domain":"argocd.example.org"},"configs":{"params":{"server.insecure":true}}}}}`, "").Install()
	// A claim that switches the Ingress off gets none of the platform's.
	e := crossplanetest.New(t, `{"argocd":{"values":{"server":{"ingress":{"enabled":false}}}}}`, crossplanetest.IngressInput).Install()
	if got := argocdValues(e)["ingress"]; !cmp.Equal(got, map[string]any{"enabled": false}) || len(records(e)) > 0 {
		t.Errorf("a claim without an Ingress has %v, and records %v", got, records(e))
	}
}
