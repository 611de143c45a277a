package decode

import (
	"encoding/base64"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// requiredSecret is the name of the requirement for a Secret.
func requiredSecret(name string) string { return "secret/" + name }

// Require asks Crossplane for the plan and for the objects that the spec names.
// Crossplane calls the function again with them. It tells whether there are Secrets
// among them.
func Require(rsp *fnv1.RunFunctionResponse, req *fnv1.RunFunctionRequest, r plan.Request) bool {
	selectors := map[string]*fnv1.ResourceSelector{}
	rsp.Requirements = &fnv1.Requirements{Resources: selectors}
	if looksUp(req) {
		for name, labels := range planSelectors(req, r.Spec.Plan) {
			selectors[name] = &fnv1.ResourceSelector{
				ApiVersion: planAPIVersion, Kind: planKind,
				// Without labels, all.
				Match: &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: labels}},
			}
		}
	}
	// The plan has a say in the host.
	if r.Plan.Name == "" {
		return false
	}
	ask := func(name, kind, namespace, of string) {
		selectors[name] = &fnv1.ResourceSelector{
			ApiVersion: "v1", Kind: kind, Namespace: proto.String(namespace),
			Match: &fnv1.ResourceSelector_MatchName{MatchName: of},
		}
	}
	// A reference of an XR without a claim is refused: it has no namespace to be in.
	if r.Claim.Namespace != "" {
		for _, name := range r.Spec.SecretNames() {
			ask(requiredSecret(name), "Secret", r.Claim.Namespace, name)
		}
	}
	if host, err := r.WantedHost(); err == nil && host != "" {
		ask(requiredHost, hostKind, r.RecordsIn(), plan.HostRecord(host))
	}
	return len(r.Secrets) > 0
}

// secrets are the Secrets of the claim's namespace that Crossplane has looked for.
func secrets(req *fnv1.RunFunctionRequest, namespace string, names []string) map[string]plan.Secret {
	out := make(map[string]plan.Secret, len(names))
	for _, name := range names {
		resources, read := req.GetRequiredResources()[requiredSecret(name)]
		s := plan.Secret{Read: read}
		for _, r := range resources.GetItems() {
			o := Struct{r.GetResource()}
			// A Composition may hand over resources under any name it likes.
			if o.String("apiVersion") != "v1" || o.String("kind") != "Secret" || namespace == "" ||
				o.String("metadata", "namespace") != namespace || o.String("metadata", "name") != name {
				continue
			}
			if s.Found, s.Type, s.TooLarge = true, o.String("type"), tooLarge(o); !s.TooLarge {
				s.Data = secretData(o)
			}
		}
		out[name] = s
	}
	return out
}

// tooLarge tells whether a Secret holds more than credentials would. What reads
// them takes many times their size.
func tooLarge(o Struct) bool {
	size := 0
	for key, v := range o.Get("data").s.GetFields() {
		size += len(key) + base64.StdEncoding.DecodedLen(len(v.GetStringValue()))
	}
	return size > plan.MaxSecretSize
}

// secretData is what stands in a Secret, decoded. What isn't base64 can't come
// from an API server, and reads as absent.
func secretData(o Struct) map[string]string {
	fields := o.Get("data").s.GetFields()
	out := make(map[string]string, len(fields))
	for key, v := range fields {
		if raw, err := base64.StdEncoding.DecodeString(v.GetStringValue()); err == nil {
			out[key] = string(raw)
		}
	}
	return out
}
