package function_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// FuzzRunFunction: whatever the claim, the input, the plan and the state of the
// tenant, the laws hold.
func FuzzRunFunction(f *testing.F) {
	// A tenant with everything, and one that has just been claimed, of which more can be tried in the same time.
	young := crossplanetest.New(f, `{}`, "")
	young.Reconcile()
	bases := []*fnv1.RunFunctionRequest{withEverything(f).Install().Request, young.Request}
	f.Add(`{}`, `{}`, "customer1", `{}`, uint64(0))
	f.Add(`{"argocd":{"chartVersion":"9.3.7","values":{"redis-ha":{"enabled":true}}}}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input"}`, "a.b", `{}`, uint64(7))
	f.Add(`{"vcluster":{"values":{"sync":{"toHost":{"ingresses":{"enabled":true}}}}}}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","storage":{"ephemeral":true}}`, "", `{}`, uint64(3))
	f.Add(`{"vcluster":{"values":{"controlPlane":null}},"kubernetes":{"version":"latest"}}`, `{"host":1}`, "x", `{}`, uint64(9))
	f.Add(`{"claimRef":{"namespace":"team-a"},`+crossplanetest.ClusterSpec[1:], `{}`, "y", `{}`, uint64(10))
	f.Add(`{"claimRef":{"namespace":"team-a"},"clusters":[{"name":"prod","labels":{"a":"b"},"namespaces":["1"],"secretRef":{"name":"prod-token"}},{"name":"test","secretRef":{"name":"none"}}]}`, `{}`, "z", `{}`, uint64(6))
	f.Add(`{"claimRef":{"namespace":"team-a"},"repositories":[{"name":"apps","url":"git@a:b","type":"git","secretRef":{"name":"apps"}},{"name":"b","url":"oci://c","type":"helm"}],"credentialTemplates":[{"name":"a","url":"https://a.b","secretRef":{"name":"apps"}}]}`, `{}`, "r", `{}`, uint64(8))
	f.Add(`{"bootstrap":{"repoURL":"git@a:b","path":"c","syncPolicy":{"automated":{"prune":null}}}}`, `{}`, "s", `{}`, uint64(4))
	f.Add(`{"ingress":{"host":"a.b","additionalHosts":["d.e","f.g"],"tls":{"issuer":{"name":"c"}}}}`, `{}`, "t", `{}`, uint64(2))
	f.Add(`{"claimRef":{"namespace":"n","name":"m"}}`, crossplanetest.IngressInput, "u", `{}`, uint64(12))
	f.Add(`{"claimRef":{"namespace":"team-a"},"sso":{"disableAdmin":true,"oidc":{"issuer":"https://a.b","clientID":"b","clientSecretRef":{"name":"oidc"},"adminGroups":["c"]}},"ingress":{"host":"c.d"}}`, `{}`, "v", `{}`, uint64(0))
	f.Add(`{"plan":"p","argocd":{"values":{"controller":{"env":2}}}}`, `{}`, "w", `{"argocd":{"ha":true},"vcluster":{"backingStore":"etcd","replicas":3}}`, uint64(1))
	f.Add(`{"plan":"p"}`, `{}`, "x", `{"quota":{"limits.cpu":1},"limits":{"max":{"cpu":"a"}},"versions":{"kubernetes":["~1.35"]}}`, uint64(1))
	f.Add(`{"plan":"p"}`, crossplanetest.IngressInput, "y", `{"ingress":{"domain":"b.c"},"values":{"vcluster":{"logging":{"encoding":"json"}},"argocd":{"a":null}}}`, uint64(16))
	f.Add(`{"claimRef":{"namespace":"team-a"},"plan":"p","kubernetes":{"version":"v1.35.4"}}`, `{}`, "z", `{"namespaces":["premium-*","team-a"],"versions":{"kubernetes":["~1.35"]}}`, uint64(1))
	f.Add(`{"maintenance":{"timeWindow":{"begin":"220000","end":"030000","timeZone":"Europe/Berlin"},"days":["Sun"]}}`, `{}`, "m", `{"maintenance":{"timeWindow":{"begin":"220000","end":"030000","timeZone":"UTC"}}}`, uint64(0))
	f.Add(`{"maintenance":{"timeWindow":{"begin":"220000+0100","end":"030000+0100"},"days":["Sun"],"freeze":{"until":"2027-01-10","reason":"a"}}}`, `{}`, "m", `{"maintenance":{"freeze":{"until":"2026-06-01"}}}`, uint64(0))
	seeds, accepted := 0, 0
	f.Fuzz(func(t *testing.T, spec, input, name, planData string, seed uint64) {
		req := proto.Clone(bases[seed%2]).(*fnv1.RunFunctionRequest)
		xr := req.GetObserved().GetComposite().GetResource()
		xr.Fields["spec"] = crossplanetest.JSON(spec)
		if n, err := structpb.NewValue(name); err == nil {
			crossplanetest.Field(xr, "metadata").Fields["name"] = n
		}
		req.Input = crossplanetest.JSON(input).GetStructValue()
		handPlan(req, planData)
		whole := kept(t, young, req)
		wreck(rand.New(rand.NewPCG(seed, 2)), req)
		if _, err := proto.Marshal(req); err != nil {
			t.Skip("not a request that gRPC would carry")
		}
		if seeds++; checkLaws(t, young, req, whole) {
			accepted++
		}
	})
	// Of a refused request little can be seen, and what is made of a refused seed is refused, too. With -fuzz, or -run of one
	// seed, other requests are counted.
	if fuzzing := flag.Lookup("test.fuzz").Value.String() != ""; !fuzzing && seeds >= 10 && accepted*4 < seeds*3 {
		f.Errorf("%d of %d seeds are accepted, want three of four: too little is tested", accepted, seeds)
	}
}

// handPlan hands a plan over under each name that the function may ask for.
func handPlan(req *fnv1.RunFunctionRequest, data string) {
	name := crossplanetest.Field(req.GetObserved().GetComposite().GetResource(), "spec").GetFields()["plan"].GetStringValue()
	object := func(name string, labels map[string]any) *fnv1.Resources {
		o, err := structpb.NewStruct(map[string]any{
			"apiVersion": "virtualargocd.io/v1alpha1", "kind": "XArgoCDPlan", "metadata": map[string]any{"name": name, "labels": labels},
		})
		if err != nil {
			return &fnv1.Resources{}
		}
		o.Fields["spec"] = crossplanetest.JSON(data)
		return &fnv1.Resources{Items: []*fnv1.Resource{{Resource: o}}}
	}
	of := object(name, nil)
	req.RequiredResources["plan/"+name] = of
	req.RequiredResources["default-plan"] = object("p", map[string]any{"virtualargocd.io/default-plan": "true"})
	req.RequiredResources["plans"] = of
}
