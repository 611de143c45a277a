package ingress_test

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestOtherIngresses: what the host refuses of an Ingress is refused in the chart's other Ingresses, and in those of the claim's own.
func TestOtherIngresses(t *testing.T) {
	const listed = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"tls":{"clusterIssuers":["letsencrypt"]}}}`
	grpc := func(v string) string {
		return `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"server":{"ingressGrpc":{"enabled":true,` + v + `}}}}}`
	}
	webhook := func(v string) string {
		return `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"applicationSet":{"ingress":{"enabled":true,` + v + `}}}}}`
	}
	own := func(v string) string {
		return `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"extraObjects":[{"apiVersion":"networking.k8s.io/v1","kind":"Ingress",` + v + `}]}}}`
	}
	const at = "spec.argocd.values."
	cases := map[string]crossplanetest.Claim{
		"Number":            {Spec: grpc(`"annotations":{"nginx.ingress.kubernetes.io/proxy-read-timeout":"1h"}`), Want: []string{at + `server.ingressGrpc.annotations[nginx.ingress.kubernetes.io/proxy-read-timeout]: "1h" is not possible: write a number of seconds`}},
		"NumberRight":       {Spec: grpc(`"annotations":{"nginx.ingress.kubernetes.io/proxy-read-timeout":"3600"}`)},
		"Issuer":            {Spec: webhook(`"annotations":{"cert-manager.io/cluster-issuer":"internal-ca"}`), Input: listed, Want: []string{at + "applicationSet.ingress.annotations[cert-manager.io/cluster-issuer]", "write one of letsencrypt"}},
		"IssuerRight":       {Spec: webhook(`"annotations":{"cert-manager.io/cluster-issuer":"letsencrypt"}`), Input: listed},
		"Signs":             {Spec: webhook(`"annotations":{"nginx.ingress.kubernetes.io/whitelist-source-range":"10.0.0.0/8;1.2.3.4/32"}`), Want: []string{at + "applicationSet.ingress.annotations[nginx.ingress.kubernetes.io/whitelist-source-range]", "the host refuses signs"}},
		"SignsOfArgoCDs":    {Spec: `{"ingress":{"host":"a.example.org","annotations":{"nginx.ingress.kubernetes.io/whitelist-source-range":"10.0.0.0/8;1.2.3.4/32"}}}`, Want: []string{"spec.ingress.annotations[nginx.ingress.kubernetes.io/whitelist-source-range]", "the host refuses signs"}},
		"SignsRight":        {Spec: `{"ingress":{"host":"a.example.org","annotations":{"nginx.ingress.kubernetes.io/whitelist-source-range":"10.0.0.0/8,1.2.3.4/32","argocd.argoproj.io/a":"{}"}}}`},
		"Path":              {Spec: webhook(`"path":"/api/webhook(/.*)?"`), Want: []string{at + "applicationSet.ingress.path: "}},
		"PathRight":         {Spec: webhook(`"path":"/api/webhook"`)},
		"RuleForAnyHost":    {Spec: webhook(`"extraRules":[{"http":{"paths":[]}}]`), Want: []string{at + "applicationSet.ingress.extraRules[0].host: is missing"}},
		"CertificateForAny": {Spec: grpc(`"extraTls":[{"secretName":"a"}]`), Want: []string{at + "server.ingressGrpc.extraTls[0].hosts: is missing"}},
		"CertificateRight":  {Spec: grpc(`"extraTls":[{"secretName":"a","hosts":["grpc.a.example.org"]}]`)},
		"OwnOfAnother":      {Spec: own(`"metadata":{"name":"a"},"spec":{"rules":[{"host":"b.example.org"}],"tls":[{"hosts":["c.example.org"]}]}`), Want: []string{at + `extraObjects[0].spec.rules[0].host: "b.example.org" is not a hostname of this claim`, at + "extraObjects[0].spec.tls[0].hosts[0]"}},
		"OwnElsewhere":      {Spec: own(`"metadata":{"name":"a","namespace":"apps"},"spec":{"rules":[{"host":"a.example.org"}]}`), Want: []string{at + "extraObjects[0].metadata.namespace: the host refuses Ingresses outside of namespace argocd"}},
		"OwnRight":          {Spec: own(`"metadata":{"name":"a","namespace":"argocd"},"spec":{"rules":[{"host":"grpc.a.example.org"}]}`)},
	}
	for name, tc := range cases {
		tc.Policies = "../../../examples/install/tenants.yaml"
		cases[name] = tc
	}
	crossplanetest.CheckClaims(t, cases)
}
