package images

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/function"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// rounds is how many calls of the function a composite resource gets at most: a tenant with everything is complete after ten.
const rounds = 30

// A play calls the function for a composite resource as Crossplane does, and answers for the providers and the host: everything that the function
// composes is there at once, and works. So the function composes everything that it ever does for the composite resource.
type play struct {
	function *function.Function
	now      time.Time
	// cluster has what the function may ask for: plans, Secrets, what a channel has composed.
	cluster []map[string]any
	// server returns the image of Argo CD's API server, as the chart of the tenant's Release has it. What the function knows of the version that runs
	// comes from there.
	server func(composed map[string]map[string]any) (string, error)

	xr       map[string]any
	input    *structpb.Struct
	observed map[string]*fnv1.Resource
}

// newPlay returns one for a composite resource, for which it is as late as now all the time.
func newPlay(now time.Time, xr, input map[string]any, cluster []map[string]any) (*play, error) {
	in, err := toStruct(input)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return &play{
		function: function.New(logging.NewNopLogger(), func() time.Time { return now }), now: now,
		cluster: slices.Concat(hostObjects(), cluster), xr: xr, input: in, observed: map[string]*fnv1.Resource{},
	}, nil
}

// compose returns all composed resources, by their names in the composition, and the last message of the status.
func (e *play) compose(ctx context.Context) (map[string]map[string]any, string, error) {
	all := map[string]map[string]any{}
	if err := e.settle(ctx, all); err != nil {
		return nil, "", err
	}
	message := textAt(e.xr, "status", "message")
	// A tenant that ever sleeps has an account for the Job that puts it to sleep. The Job comes at its time, or at once where the platform says so.
	if all[tenant.HibernationAccount] != nil && all[tenant.HibernateJob] == nil {
		spec := mapAt(e.xr, "spec")
		spec["suspension"] = map[string]any{"reason": "to see its Job"}
		later := map[string]map[string]any{}
		if err := e.settle(ctx, later); err != nil {
			return nil, "", err
		}
		maps.Copy(later, all)
		all = later
	}
	return all, message, nil
}

// settle calls the function until nothing changes any more, and adds what it composes.
func (e *play) settle(ctx context.Context, all map[string]map[string]any) error {
	var last *fnv1.RunFunctionResponse
	for range rounds {
		rsp, err := e.call(ctx)
		if err != nil {
			return err
		}
		if last != nil && proto.Equal(rsp.GetDesired(), last.GetDesired()) {
			return nil
		}
		last = rsp
		e.report(rsp)
		observed := map[string]*fnv1.Resource{}
		for name, r := range rsp.GetDesired().GetResources() {
			all[name] = r.GetResource().AsMap()
		}
		for name := range rsp.GetDesired().GetResources() {
			if observed[name], err = e.observe(name, all); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		e.observed = observed
	}
	return errors.New("the function composes something else at each call")
}

// call calls the function until it asks for nothing new.
func (e *play) call(ctx context.Context) (*fnv1.RunFunctionResponse, error) {
	xr, err := toStruct(e.xr)
	if err != nil {
		return nil, err
	}
	req := &fnv1.RunFunctionRequest{
		Meta: &fnv1.RequestMeta{Tag: "images", Capabilities: []fnv1.Capability{
			fnv1.Capability_CAPABILITY_CAPABILITIES, fnv1.Capability_CAPABILITY_REQUIRED_RESOURCES,
		}},
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: xr}, Resources: e.observed}, Input: e.input,
	}
	var asked *fnv1.Requirements
	for range 6 {
		rsp, err := e.function.RunFunction(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, r := range rsp.GetResults() {
			if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
				return nil, errors.New(r.GetMessage())
			}
		}
		if proto.Equal(asked, rsp.GetRequirements()) {
			return rsp, nil
		}
		asked, req.Context = rsp.GetRequirements(), rsp.GetContext()
		if req.RequiredResources, err = e.required(asked); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the function never stops asking for more")
}

// required returns what the function has asked for.
func (e *play) required(asked *fnv1.Requirements) (map[string]*fnv1.Resources, error) {
	out := map[string]*fnv1.Resources{}
	for requirement, s := range asked.GetResources() {
		out[requirement] = &fnv1.Resources{}
		for _, o := range e.cluster {
			if !matches(s, o) {
				continue
			}
			is, err := toStruct(o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", identity(o), err)
			}
			out[requirement].Items = append(out[requirement].Items, &fnv1.Resource{Resource: is})
		}
	}
	return out, nil
}

// matches reports whether Crossplane finds an object by a selector.
func matches(s *fnv1.ResourceSelector, o map[string]any) bool {
	if textAt(o, "kind") != s.GetKind() || textAt(o, "metadata", "namespace") != s.GetNamespace() {
		return false
	}
	if s.GetMatchLabels() == nil {
		return textAt(o, "metadata", "name") == s.GetMatchName()
	}
	for key, value := range s.GetMatchLabels().GetLabels() {
		if textAt(o, "metadata", "labels", key) != value {
			return false
		}
	}
	return true
}

// report writes the status of a response into the composite resource.
func (e *play) report(rsp *fnv1.RunFunctionResponse) {
	status := rsp.GetDesired().GetComposite().GetResource().AsMap()["status"]
	is, _ := status.(map[string]any)
	if is == nil {
		is = map[string]any{}
	}
	var conditions []any
	for _, c := range rsp.GetConditions() {
		status := map[fnv1.Status]string{fnv1.Status_STATUS_CONDITION_TRUE: "True", fnv1.Status_STATUS_CONDITION_FALSE: "False"}[c.GetStatus()]
		conditions = append(conditions, e.condition(c.GetType(), status, c.GetReason()))
	}
	ready := "False"
	if rsp.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_TRUE {
		ready = "True"
	}
	is["conditions"] = append(conditions, e.condition("Ready", ready, "Available"))
	e.xr["status"] = is
}

func (e *play) condition(typ, status, reason string) map[string]any {
	if status == "" {
		status = "Unknown"
	}
	return map[string]any{"type": typ, "status": status, "reason": reason, "lastTransitionTime": e.now.Format(time.RFC3339)}
}

// observe returns what is observed of a composed resource: it is there, and works.
func (e *play) observe(name string, all map[string]map[string]any) (*fnv1.Resource, error) {
	raw, err := json.Marshal(all[name])
	if err != nil {
		return nil, err
	}
	var o map[string]any
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	meta := mapAt(o, "metadata")
	meta["uid"], meta["creationTimestamp"] = "uid-of-"+name, e.now.Format(time.RFC3339)
	out := &fnv1.Resource{}
	good := []any{e.condition("Synced", "True", "ReconcileSuccess"), e.condition("Ready", "True", "Available")}
	switch kind := textAt(o, "kind"); {
	case kind == "Secret" && textAt(o, "type") == "kubernetes.io/service-account-token":
		cert, _, err := keyPair()
		if err != nil {
			return nil, err
		}
		data := map[string]any{"token": encoded("a-token"), "ca.crt": encoded(cert), "namespace": encoded(textAt(meta, "namespace"))}
		maps.Copy(data, mapAt(o, "data"))
		o["data"] = data
	case kind == "Job":
		o["status"] = map[string]any{"completionTime": e.now.Format(time.RFC3339), "conditions": []any{e.condition("Complete", "True", "CompletionsReached")}}
	case kind == "ConfigMap" || kind == "EnvironmentConfig":
		// What a channel publishes.
		meta["ownerReferences"] = []any{map[string]any{"uid": textAt(e.xr, "metadata", "uid"), "controller": true}}
		e.store(o)
	case kind == "Release":
		o["status"] = map[string]any{"conditions": good, "atProvider": map[string]any{
			"state": "deployed", "revision": float64(1), "version": textAt(o, "spec", "forProvider", "chart", "version"),
		}}
		if name == tenant.VClusterRelease {
			if err := e.publish(textAt(o, "spec", "forProvider", "namespace")); err != nil {
				return nil, err
			}
		}
		if len(listOf(mapAt(o, "spec")["connectionDetails"])) > 0 {
			out.ConnectionDetails = map[string][]byte{"password": []byte("a-password")}
		}
	case kind == "Object":
		manifest := mapAt(o, "spec", "forProvider", "manifest")
		o["status"] = map[string]any{"conditions": good, "atProvider": map[string]any{"manifest": manifest}}
		switch name {
		case tenant.Namespace:
			mapAt(manifest, "metadata")["uid"] = "uid-of-the-namespace"
			manifest["status"] = map[string]any{"phase": "Active"}
		case tenant.Workloads:
			if manifest["data"], err = e.summary(textAt(manifest, "metadata", "name"), all); err != nil {
				return nil, err
			}
		}
	default:
		if strings.Contains(textAt(o, "apiVersion"), "crossplane.io/") {
			o["status"] = map[string]any{"conditions": good}
		}
	}
	out.Resource, err = toStruct(o)
	return out, err
}

// summary returns what the proxy says of Argo CD's workloads.
func (e *play) summary(name string, all map[string]map[string]any) (map[string]any, error) {
	workloads, err := proxy.ReadSummaryName(name)
	if err != nil {
		return nil, err
	}
	image, err := e.server(all)
	if err != nil {
		return nil, err
	}
	for i := range workloads {
		w := &workloads[i]
		w.UID, w.Replicas, w.Available, w.Images = "uid-of-"+w.Name, 1, true, map[string]string{tenant.ComponentServer: image}
	}
	data, err := proxy.Summary(workloads)
	out := map[string]any{}
	for key, text := range data {
		out[key] = text
	}
	return out, err
}

// publish writes the Secret with the kubeconfig of the virtual cluster, as vcluster does.
func (e *play) publish(namespace string) error {
	cert, key, err := keyPair()
	if err != nil {
		return err
	}
	const name = "virtual"
	raw, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: name,
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: "https://vcluster." + namespace + ".svc:443", CertificateAuthorityData: []byte(cert)}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: []byte(cert), ClientKeyData: []byte(key)}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
	})
	e.store(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": tenant.KubeconfigSource, "namespace": namespace},
		"data": map[string]any{tenant.KubeconfigSourceKey: encoded(string(raw))},
	})
	return err
}

// store puts an object where the function finds it, in place of the one before.
func (e *play) store(o map[string]any) {
	key := func(o map[string]any) string {
		return identity(o) + " " + textAt(o, "metadata", "namespace")
	}
	if i := slices.IndexFunc(e.cluster, func(is map[string]any) bool { return key(is) == key(o) }); i >= 0 {
		e.cluster[i] = o
		return
	}
	e.cluster = append(e.cluster, o)
}

// hostObjects are what the function looks for on the host: admission policies, and the DNS resolver for tenants.
func hostObjects() []map[string]any {
	out := []map[string]any{{
		"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "metadata": map[string]any{"name": "virtual-argocd-dns"},
		"status": map[string]any{"atProvider": map[string]any{"manifest": map[string]any{"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"clusterIP": "10.96.0.53"}}}},
	}}
	for _, name := range host.RequiredPolicies {
		for kind, spec := range map[string]map[string]any{
			"ValidatingAdmissionPolicy":        {"failurePolicy": "Fail"},
			"ValidatingAdmissionPolicyBinding": {"policyName": name, "validationActions": []any{"Deny"}},
		} {
			out = append(out, map[string]any{
				"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "spec": spec,
				"metadata": map[string]any{
					"name": name, "labels": map[string]any{"app.kubernetes.io/part-of": "virtual-argocd"},
					"annotations": map[string]any{"virtualargocd.io/policies-version": strconv.Itoa(host.HostPoliciesVersion)},
				},
			})
		}
	}
	return out
}

// composite returns the composite resource of a claim, or that of a plan's tenant without a claim.
func composite(claim map[string]any) map[string]any {
	spec := map[string]any{}
	maps.Copy(spec, mapAt(claim, "spec"))
	name, namespace, kind := textAt(claim, "metadata", "name"), textAt(claim, "metadata", "namespace"), textAt(claim, "kind")
	if namespace == "" {
		namespace = "default"
	}
	if !strings.HasPrefix(kind, "X") {
		spec["claimRef"] = map[string]any{"apiVersion": textAt(claim, "apiVersion"), "kind": kind, "name": name, "namespace": namespace}
		kind = "X" + kind
	}
	meta := map[string]any{"name": name, "uid": "uid-of-" + name, "generation": float64(1)}
	for _, key := range []string{"labels", "annotations"} {
		if is := mapAt(claim, "metadata", key); is != nil {
			meta[key] = is
		}
	}
	return map[string]any{"apiVersion": textAt(claim, "apiVersion"), "kind": kind, "metadata": meta, "spec": spec}
}

// ofPlan is the composite resource of a tenant that has a plan and wants nothing more; "" for the default plan.
func ofPlan(plan string) map[string]any {
	spec := map[string]any{}
	if plan != "" {
		spec["plan"] = plan
	}
	return map[string]any{
		"apiVersion": v1alpha1.APIVersion, "kind": "XVirtualArgoCD",
		"metadata": map[string]any{"name": "tenant", "uid": "uid-of-tenant", "generation": float64(1)}, "spec": spec,
	}
}

// keyPair is a certificate and its key, in PEM, for the kubeconfig that the function reads.
func keyPair() (cert, key string, err error) {
	pair, err := generate()
	return pair[0], pair[1], err
}

var generate = sync.OnceValues(func() ([2]string, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return [2]string{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return [2]string{}, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	return [2]string{
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
	}, err
})

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// toStruct is an object as protobuf has it. Numbers of YAML become those of JSON on the way.
func toStruct(o map[string]any) (*structpb.Struct, error) {
	if o == nil {
		return nil, nil
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	out := &structpb.Struct{}
	return out, out.UnmarshalJSON(raw)
}
