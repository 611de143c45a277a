package decode

import (
	"encoding/base64"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// requiredSecret is the name of the requirement for a Secret.
func requiredSecret(name string) string { return "secret/" + name }

// requiredKubeconfig is the name of the requirement for the Secret that the virtual
// cluster writes its kubeconfig to.
const requiredKubeconfig = "virtual-cluster-kubeconfig"

// Require asks Crossplane for the virtual cluster's kubeconfig, the plan that is asked
// for and the objects that the spec in use names. Crossplane calls the function again
// with them. It reports whether the spec names Secrets.
func Require(rsp *fnv1.RunFunctionResponse, req *fnv1.RunFunctionRequest, asked, r plan.Request) bool {
	selectors := map[string]*fnv1.ResourceSelector{}
	rsp.Requirements = &fnv1.Requirements{Resources: selectors}
	ask := func(name, kind, namespace, of string) {
		selectors[name] = &fnv1.ResourceSelector{
			ApiVersion: "v1", Kind: kind, Namespace: proto.String(namespace),
			Match: &fnv1.ResourceSelector_MatchName{MatchName: of},
		}
	}
	ask(requiredKubeconfig, "Secret", plan.NewNames(asked.XRName, "").Namespace, plan.KubeconfigSource)
	for name, labels := range choiceOf(asked).selectors(req) {
		selectors[name] = &fnv1.ResourceSelector{
			ApiVersion: planAPIVersion, Kind: planKind,
			// Without labels, all.
			Match: &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: labels}},
		}
	}
	askForPolicies(selectors)
	// The plan has a say in the host.
	if r.Plan.Name == "" {
		return false
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

// required returns the objects of a kind that Crossplane has found for a
// requirement, and whether it has looked.
func required(req *fnv1.RunFunctionRequest, requirement, apiVersion, kind string) ([]Struct, bool) {
	resources, read := req.GetRequiredResources()[requirement]
	var out []Struct
	for _, r := range resources.GetItems() {
		// A Composition may hand over resources under any name it likes.
		if s := (Struct{r.GetResource()}); s.String("apiVersion") == apiVersion && s.String("kind") == kind {
			out = append(out, s)
		}
	}
	return out, read
}

// requiredObject returns the object of API version v1 with that kind, namespace and name
// that Crossplane has found for a requirement, and whether it has looked.
func requiredObject(req *fnv1.RunFunctionRequest, requirement, kind, namespace, name string) (Struct, bool) {
	found, read := required(req, requirement, "v1", kind)
	for _, o := range found {
		if namespace != "" && o.String("metadata", "namespace") == namespace && o.String("metadata", "name") == name {
			return o, read
		}
	}
	return Struct{}, read
}

// published returns the kubeconfig that the virtual cluster has written, nil while there
// is none.
func published(req *fnv1.RunFunctionRequest, xr Struct) []byte {
	namespace := plan.NewNames(xr.String("metadata", "name"), "").Namespace
	s, _ := requiredObject(req, requiredKubeconfig, "Secret", namespace, plan.KubeconfigSource)
	return s.SecretValue(plan.KubeconfigSourceKey)
}

// secrets are the Secrets of the claim's namespace that Crossplane has looked for.
func secrets(req *fnv1.RunFunctionRequest, namespace string, names []string) map[string]plan.Secret {
	out := make(map[string]plan.Secret, len(names))
	for _, name := range names {
		o, read := requiredObject(req, requiredSecret(name), "Secret", namespace, name)
		s := plan.Secret{Read: read}
		if o.s != nil {
			s.Labelled = o.String("metadata", "labels", plan.LabelCredentials) == "true"
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
	for key := range fields {
		if raw := o.SecretValue(key); raw != nil {
			out[key] = string(raw)
		}
	}
	return out
}

// SecretValue returns the decoded value at a key of a Secret: empty where there is
// none, nil for what isn't base64.
func (o Struct) SecretValue(key string) []byte {
	raw, err := base64.StdEncoding.DecodeString(o.String("data", key))
	if err != nil {
		return nil
	}
	return raw
}
