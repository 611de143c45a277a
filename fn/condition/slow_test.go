package condition

import (
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// withMessage is a Release in a virtual cluster that isn't synced.
func withMessage(message string) *structpb.Struct {
	o := resource.MustStructJSON(`{"spec":{"providerConfigRef":{"name":"vargo-a"},"forProvider":{"chart":{"repository":"https://charts.example.org"}}},
		"status":{"conditions":[{"type":"Synced","status":"False"}]}}`)
	o.Fields["status"].GetStructValue().Fields["conditions"].GetListValue().Values[0].GetStructValue().Fields["message"] = structpb.NewStringValue(message)
	return o
}

// TestSlowServers: errors that pass by themselves say what is waited for, in none of Go's words.
func TestSlowServers(t *testing.T) {
	const answer = "waiting for the API server of the virtual cluster, which doesn't answer"
	for name, tc := range map[string]struct{ said, want string }{
		"Deadline":         {"create failed: failed to install release: context deadline exceeded", answer},
		"Canceled":         {"observe failed: failed to get last helm release: context canceled", answer},
		"Quota":            {`Internal error occurred: resource quota evaluation timed out`, "waiting for the API server of the virtual cluster, which is slow to check the quota of the namespace"},
		"Timeout":          {`Get "https://vcluster.a.svc:443/version": dial tcp 10.96.1.2:443: i/o timeout`, answer},
		"Refused":          {`Get "https://vcluster.a.svc:443/version": dial tcp 10.96.1.2:443: connect: connection refused`, answer},
		"Reset":            {`read tcp 10.0.0.1:2->10.0.0.2:443: read: connection reset by peer`, answer},
		"EOF":              {`Get "https://vcluster.a.svc:443/api/v1/namespaces": EOF`, answer},
		"UnexpectedEOF":    {"cannot read the answer: unexpected EOF", answer},
		"TLSHandshake":     {`Get "https://vcluster.a.svc:443/api": net/http: TLS handshake timeout`, answer},
		"RequestCanceled":  {`Get "https://vcluster.a.svc:443/api": net/http: request canceled (Client.Timeout exceeded while awaiting headers)`, answer},
		"AwaitingHeaders":  {`Post "https://vcluster.a.svc:443/api": net/http: timeout awaiting response headers`, answer},
		"HTTP2Lost":        {"http2: client connection lost", answer},
		"GoAway":           {`http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug=""`, answer},
		"NoRoute":          {"dial tcp 10.96.1.2:443: connect: no route to host", answer},
		"Etcd":             {"etcdserver: request timed out", "waiting for the datastore of the API server of the virtual cluster, which doesn't answer"},
		"EtcdLeader":       {"rpc error: code = Unavailable desc = etcdserver: leader changed", "waiting for the datastore of the API server of the virtual cluster, which doesn't answer"},
		"Kine":             {"rpc error: code = Unknown desc = database is locked", "waiting for the datastore of the API server of the virtual cluster, which doesn't answer"},
		"Unavailable":      {"the server is currently unable to handle the request", answer},
		"Allotted":         {"Timeout: the server was unable to return a response in the time allotted, but may still be processing the request", answer},
		"NotComplete":      {"Timeout: request did not complete within requested timeout - context deadline exceeded", answer},
		"TooMany":          {"the server has received too many requests and has asked us to try again later", "waiting for the API server of the virtual cluster, which has too many requests at once"},
		"RateLimiter":      {"client rate limiter Wait returned an error: context deadline exceeded", answer},
		"HelmWaited":       {"Release \"argocd\" failed: timed out waiting for the condition", answer},
		"Webhook":          {`Internal error occurred: failed calling webhook "validate.kyverno.svc": failed to call webhook: Post "https://kyverno.svc:443/validate?timeout=10s": context deadline exceeded`, "waiting for the admission webhook validate.kyverno.svc of the API server of the virtual cluster, which doesn't answer"},
		"Chart":            {`failed to install release: failed to pull chart: looks like "https://charts.example.org" is not a valid chart repository or cannot be reached: Get "https://charts.example.org/index.yaml": dial tcp: i/o timeout`, "waiting for the chart repository https://charts.example.org, which doesn't answer"},
		"OfNobodyKnows":    {"admission webhook \"x\" denied the request: no", ""},
		"Forbidden":        {`pods is forbidden: User "x" cannot create resource "pods"`, ""},
		"QuotaExceeded":    {`pods "a" is forbidden: exceeded quota: virtual-argocd, requested: count/pods=1`, ""},
		"Invalid":          {`Deployment.apps "a" is invalid: spec.replicas: Invalid value: -1`, ""},
		"Template":         {"cannot render: parse error at (argo-cd/templates/a.yaml:3): unexpected EOF", ""},
		"TemplateOfValue":  {"template: gotpl:1: unexpected EOF in command", ""},
		"YAML":             {"YAML parse error on argo-cd/templates/a.yaml: error converting YAML to JSON: unexpected EOF", ""},
		"EOFInAWord":       {`unknown field "eof", GEOFENCE`, ""},
		"NoSuchHost":       {`failed to pull chart: Get "https://charts.example.rog/index.yaml": dial tcp: lookup charts.example.rog: no such host`, ""},
		"UnknownAuthority": {"tls: failed to verify certificate: x509: certificate signed by unknown authority", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := wire.Composed{Struct: wire.Of(withMessage(tc.said))}
			if got := Waits(c); got != tc.want {
				t.Errorf("%s:\n want %q\n got  %q", tc.said, tc.want, got)
			}
			if want := tc.want; want != "" && Problem(c) != want {
				t.Errorf("the problem is %q", Problem(c))
			} else if want == "" && Problem(c) != tc.said {
				t.Errorf("%q is said as %q", tc.said, Problem(c))
			}
			if Said(c) != tc.said {
				t.Errorf("a provider has said %q, not %q", tc.said, Said(c))
			}
		})
	}
}

// TestWhoseServer: an error is one of the host unless a ProviderConfig of a virtual cluster is used.
func TestWhoseServer(t *testing.T) {
	o := withMessage("i/o timeout")
	o.Fields["spec"].GetStructValue().Fields["providerConfigRef"] = resource.MustStructJSON(`{"a":{"name":"host-vargo-a"}}`).Fields["a"]
	if got := Waits(wire.Composed{Struct: wire.Of(o)}); !strings.Contains(got, "the API server of the host") {
		t.Errorf("an error of the host: %q", got)
	}
}

// TestHelmThatWaited: where Helm waits for what it has changed, it is that which isn't ready.
func TestHelmThatWaited(t *testing.T) {
	o := withMessage("Upgrade \"argocd\" failed: context deadline exceeded")
	release := o.Fields["spec"].GetStructValue().Fields["forProvider"].GetStructValue()
	for key, v := range resource.MustStructJSON(`{"wait":true,"waitTimeout":"5m0s"}`).Fields {
		release.Fields[key] = v
	}
	c := wire.Composed{Struct: wire.Of(o)}
	if got := Problem(c); got != "what the chart installs wasn't ready within 5m0s" || Waits(c) != "" {
		t.Errorf("got %q, and waits for %q", got, Waits(c))
	}
}
