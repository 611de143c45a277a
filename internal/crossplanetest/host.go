package crossplanetest

import (
	"encoding/base64"
	"os"
	"strconv"
	"strings"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

// ProtectHost gives the host what the function asks for: admission policies, and a resolver.
func (e *Engine) ProtectHost() {
	e.SetResolver("10.96.0.53")
	for _, name := range host.RequiredPolicies {
		for kind, spec := range map[string]string{
			"ValidatingAdmissionPolicy":        `{"failurePolicy":"Fail"}`,
			"ValidatingAdmissionPolicyBinding": `{"policyName":"` + name + `","validationActions":["Deny"]}`,
		} {
			e.Cluster[kind+"//"+name] = resource.MustStructJSON(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"` + kind + `","metadata":{"name":"` + name + `",
				"labels":{"app.kubernetes.io/part-of":"virtual-argocd"},"annotations":{"virtualargocd.io/policies-version":"` + strconv.Itoa(host.HostPoliciesVersion) + `"}},"spec":` + spec + `}`)
		}
	}
}

// AddPolicies adds the admission policies in a file, such as that of examples/install, with the lists in them.
func (e *Engine) AddPolicies(file string) {
	e.T.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		e.T.Fatal(err)
	}
	for _, doc := range strings.Split(string(raw), "\n---\n") {
		o := map[string]any{}
		if err := text.Own([]byte(doc), &o); err != nil {
			e.T.Fatal(err)
		}
		is := Must(structpb.NewStruct(o))
		e.Cluster[Key(is)] = is
	}
}

// ResolverKey is the key of the Object that observes the resolver for tenants.
const ResolverKey = "Object//virtual-argocd-dns"

// SetResolver gives the host a DNS resolver for tenants, at an address.
func (e *Engine) SetResolver(address string) {
	e.Cluster[ResolverKey] = resource.MustStructJSON(`{"apiVersion":"kubernetes.crossplane.io/v1alpha2","kind":"Object","metadata":{"name":"virtual-argocd-dns"},
		"status":{"atProvider":{"manifest":{"apiVersion":"v1","kind":"Service","spec":{"clusterIP":"` + address + `"}}}}}`)
}

// SetToken does what Kubernetes does with the Secret of an account's token.
func (e *Engine) SetToken(name, token string) {
	o := e.Observed(name)
	if o.GetFields()["data"] == nil {
		o.Fields["data"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
	}
	cert, _ := KeyPair()
	for key, v := range map[string]string{"token": token, "ca.crt": cert, "namespace": "crossplane-system"} {
		Field(o, "data").Fields[key] = structpb.NewStringValue(base64.StdEncoding.EncodeToString([]byte(v)))
	}
}
