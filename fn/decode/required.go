package decode

import (
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/ingress"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// requiredSecret is the name of the requirement for a Secret.
func requiredSecret(name string) string { return "secret/" + name }

// requiredKubeconfig is the name of the requirement for the Secret that the virtual
// cluster writes its kubeconfig to.
const requiredKubeconfig = "virtual-cluster-kubeconfig"

// Require asks Crossplane for the virtual cluster's kubeconfig, the plan that is asked
// for, the objects that the spec in use names, and the record of the hostname that is
// decided on; decided is nil where nothing is. Crossplane calls the function again with
// them. It reports whether the spec names Secrets.
func Require(rsp *fnv1.RunFunctionResponse, req *fnv1.RunFunctionRequest, asked, r tenant.Given, decided *tenant.Decision) bool {
	selectors := map[string]*fnv1.ResourceSelector{}
	rsp.Requirements = &fnv1.Requirements{Resources: selectors}
	ask := func(name, kind, namespace, of string) {
		selectors[name] = &fnv1.ResourceSelector{
			ApiVersion: "v1", Kind: kind, Namespace: proto.String(namespace),
			Match: &fnv1.ResourceSelector_MatchName{MatchName: of},
		}
	}
	ask(requiredKubeconfig, "Secret", tenant.NewNames(asked.XRName, "").Namespace, tenant.KubeconfigSource)
	for name, labels := range choiceOf(asked).selectors(req) {
		selectors[name] = &fnv1.ResourceSelector{
			ApiVersion: planAPIVersion, Kind: planKind,
			// Without labels, all.
			Match: &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: labels}},
		}
	}
	host.RequirePolicies(selectors)
	// The plan has a say in the host.
	if r.Plan.Name == "" {
		return false
	}
	// A reference of an XR without a claim is refused: it has no namespace to be in.
	if r.Claim.Namespace != "" {
		for _, name := range r.SecretNames {
			ask(requiredSecret(name), "Secret", r.Claim.Namespace, name)
		}
	}
	if decided != nil && decided.Ingress.Asked != "" {
		ask(ingress.RequiredHostname, ingress.HostnameKind, decided.SecretsIn, tenant.HostnameRecord(decided.Ingress.Asked))
	}
	return len(r.Secrets) > 0
}

// published returns the kubeconfig that the virtual cluster has written, nil while there
// is none.
func published(req *fnv1.RunFunctionRequest, xr wire.Struct) []byte {
	namespace := tenant.NewNames(xr.String("metadata", "name"), "").Namespace
	s, _ := wire.RequiredObject(req, requiredKubeconfig, "Secret", namespace, tenant.KubeconfigSource)
	return s.SecretValue(tenant.KubeconfigSourceKey)
}

// secrets are the Secrets of the claim's namespace that Crossplane has looked for.
func secrets(req *fnv1.RunFunctionRequest, namespace string, names []string) map[string]tenant.Secret {
	out := make(map[string]tenant.Secret, len(names))
	for _, name := range names {
		o, read := wire.RequiredObject(req, requiredSecret(name), "Secret", namespace, name)
		s := tenant.Secret{Read: read}
		if o.Exists() {
			s.Labelled = o.String("metadata", "labels", tenant.LabelCredentials) == "true"
			if s.Found, s.Type, s.TooLarge = true, o.String("type"), wire.TooLarge(o); !s.TooLarge {
				s.Data = wire.SecretData(o)
			}
		}
		out[name] = s
	}
	return out
}
