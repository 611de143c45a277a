package function

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// Secrets that the providers publish in these tests.
const (
	testPassword = "correct-horse-battery"
	// testToken is the token of each account on the host.
	testToken = "tok-of-an-account-0123456789"
)

// testNow is when these tests happen.
var testNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// An engine does what Crossplane and the providers do with a response, one
// reconcile after the other.
type engine struct {
	t   testing.TB
	f   *Function
	req *fnv1.RunFunctionRequest
	rsp *fnv1.RunFunctionResponse
	// asked is what the function has asked for.
	asked *fnv1.Requirements
	// events that reached the claim.
	events []string
	// cluster holds what Crossplane may be asked for, by kind/namespace/name.
	cluster map[string]*structpb.Struct
	// stale is what Crossplane reads in its place while a test has it look at what was before; nil
	// for nothing.
	stale map[string]*structpb.Struct
	// unwatched: Crossplane doesn't watch what the function asks for, as before 2.4.
	unwatched bool
	// ingresses are those of the tenant's own making on the host.
	ingresses int
	// withoutArgoCDs: its Ingress was deleted on the host. Else that was created at ingressCreated; zero for long ago.
	withoutArgoCDs bool
	ingressCreated time.Time
	// generations: the Release of Argo CD has a generation, which its provider reports.
	generations bool
	// accounts are the values of accounts that Helm has deployed, if generations.
	accounts map[string]any
}

func newEngine(t testing.TB, xr string, input string) *engine {
	t.Helper()
	e := &engine{t: t, f: New(newLog(), nil), cluster: map[string]*structpb.Struct{}, req: &fnv1.RunFunctionRequest{
		Meta: &fnv1.RequestMeta{Tag: "test", Capabilities: []fnv1.Capability{
			fnv1.Capability_CAPABILITY_CAPABILITIES, fnv1.Capability_CAPABILITY_REQUIRED_RESOURCES,
		}},
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: resource.MustStructJSON(xr)}, Resources: map[string]*fnv1.Resource{}},
	}}
	e.protect()
	if input != "" {
		e.req.Input = resource.MustStructJSON(input)
	}
	e.f.now = func() time.Time { return testNow }
	return e
}

// A testLog is a log that keeps its lines.
type testLog struct {
	values []any
	lines  *[]string
}

func newLog() testLog { return testLog{lines: &[]string{}} }

// Debug keeps a line.
func (l testLog) Debug(msg string, values ...any) { l.Info(msg, values...) }

// Info keeps a line. Bytes are kept as text.
func (l testLog) Info(msg string, values ...any) {
	*l.lines = append(*l.lines, fmt.Sprintf("%s %s", msg, slices.Concat(l.values, values)))
}

// WithValues returns the log with values that go with each line.
func (l testLog) WithValues(values ...any) logging.Logger {
	return testLog{slices.Concat(l.values, values), l.lines}
}

// logged returns what a function has logged so far, once.
func logged(f *Function) string {
	lines := f.log.(testLog).lines
	text := strings.Join(*lines, "\n")
	*lines = nil
	return text
}

// fork returns another engine with the same tenant, which goes on by itself.
func (e *engine) fork() *engine {
	other := *e
	other.req = proto.Clone(e.req).(*fnv1.RunFunctionRequest)
	other.cluster, other.events = maps.Clone(e.cluster), slices.Clone(e.events)
	return &other
}

// testKubeconfig is what vcluster writes: see virtualKubeconfig.
var testKubeconfig = virtualKubeconfig(nil)

// secretLine is a part of the client's key in it.
var secretLine = strings.Split(string(must(clientcmd.Load([]byte(testKubeconfig))).AuthInfos["my-vcluster"].ClientKeyData), "\n")[1]

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// virtualKubeconfig is a kubeconfig as vcluster writes it, after a change.
func virtualKubeconfig(change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) string {
	cert, key := keyPair()
	cluster := &clientcmdapi.Cluster{Server: "https://vcluster.elsewhere.svc:443", CertificateAuthorityData: []byte(cert)}
	user := &clientcmdapi.AuthInfo{ClientCertificateData: []byte(cert), ClientKeyData: []byte(key)}
	if change != nil {
		change(cluster, user)
	}
	raw, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: "my-vcluster",
		Clusters:       map[string]*clientcmdapi.Cluster{"my-vcluster": cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"my-vcluster": user},
		Contexts:       map[string]*clientcmdapi.Context{"my-vcluster": {Cluster: "my-vcluster", AuthInfo: "my-vcluster"}},
	})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// publish writes the Secret with the kubeconfig of the virtual cluster, as vcluster does; without one it is gone.
func (e *engine) publish(kubeconfig string) {
	names := tenant.NewNames(field(e.xr(), "metadata").GetFields()["name"].GetStringValue(), "")
	key := "Secret/" + names.Namespace + "/vc-vcluster"
	if delete(e.cluster, key); kubeconfig != "" {
		e.cluster[key] = resource.MustStructJSON(fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"vc-vcluster","namespace":%q},"data":{"config":%q}}`,
			names.Namespace, base64.StdEncoding.EncodeToString([]byte(kubeconfig))))
	}
}

// kubeconfig is what the Secret holds by which the virtual cluster is reached.
func (e *engine) kubeconfig() []byte {
	e.t.Helper()
	raw, err := base64.StdEncoding.DecodeString(field(e.observed(tenant.KubeconfigSecret), "data").GetFields()["kubeconfig"].GetStringValue())
	if err != nil {
		e.t.Fatal(err)
	}
	return raw
}

// resolverKey is the key of the Object that observes the resolver for tenants.
const resolverKey = "Object//virtual-argocd-dns"

// resolver gives the host a DNS resolver for tenants.
func (e *engine) resolver(address string) {
	e.cluster[resolverKey] = resource.MustStructJSON(`{"apiVersion":"kubernetes.crossplane.io/v1alpha2","kind":"Object","metadata":{"name":"virtual-argocd-dns"},
		"status":{"atProvider":{"manifest":{"apiVersion":"v1","kind":"Service","spec":{"clusterIP":"` + address + `"}}}}}`)
}

// protect gives the host what the function asks for: admission policies, and a resolver.
func (e *engine) protect() {
	e.resolver("10.96.0.53")
	for _, name := range host.RequiredPolicies {
		for kind, spec := range map[string]string{
			"ValidatingAdmissionPolicy":        `{"failurePolicy":"Fail"}`,
			"ValidatingAdmissionPolicyBinding": `{"policyName":"` + name + `","validationActions":["Deny"]}`,
		} {
			e.cluster[kind+"//"+name] = resource.MustStructJSON(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"` + kind + `","metadata":{"name":"` + name + `",
				"labels":{"app.kubernetes.io/part-of":"virtual-argocd"},"annotations":{"virtualargocd.io/policies-version":"` + strconv.Itoa(host.HostPoliciesVersion) + `"}},"spec":` + spec + `}`)
		}
	}
}

// testNamespace is the namespace of the claim of each tenant in these tests.
const testNamespace = "team-a"

func tenantXR(spec string) string {
	if fields, ok := strings.CutPrefix(spec, "{"); ok {
		claim := `{"claimRef":{"apiVersion":"virtualargocd.io/v1alpha1","kind":"VirtualArgoCD","namespace":"` + testNamespace + `","name":"customer1"}`
		if fields != "}" {
			claim += ","
		}
		spec = claim + fields
	}
	return `{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"customer1-7rw8j","uid":"1f0d7d2c","generation":1},"spec":` + spec + `}`
}

// call calls the function as Crossplane does: again and again, with what it has
// asked for, until it asks for nothing else. What it asked for in the call before is
// handed over at once, as Crossplane 2.4 does: most calls are the only one then.
func (e *engine) call() *fnv1.RunFunctionResponse {
	e.t.Helper()
	e.req.Context = nil
	if e.unwatched {
		e.asked, e.req.RequiredResources = nil, nil
	}
	for range 6 {
		if e.asked != nil {
			e.hand()
		}
		rsp, err := e.f.RunFunction(e.t.Context(), e.req)
		if err != nil {
			e.t.Fatal(err)
		}
		if fatal(rsp) != "" || proto.Equal(e.asked, rsp.GetRequirements()) {
			return rsp
		}
		e.asked, e.req.Context = rsp.GetRequirements(), rsp.GetContext()
	}
	e.t.Fatal("the function never stops asking for more")
	return nil
}

// hand hands over what the function has asked for.
func (e *engine) hand() {
	e.req.RequiredResources = map[string]*fnv1.Resources{}
	cluster := e.cluster
	if e.stale != nil {
		cluster = e.stale
	}
	keys := slices.Sorted(maps.Keys(cluster))
	for name, s := range e.asked.GetResources() {
		found := &fnv1.Resources{}
		for _, key := range keys {
			if o := cluster[key]; matches(s, o) {
				found.Items = append(found.Items, &fnv1.Resource{Resource: o})
			}
		}
		e.req.RequiredResources[name] = found
	}
}

// matches reports whether Crossplane finds an object by a selector.
func matches(s *fnv1.ResourceSelector, o *structpb.Struct) bool {
	meta := field(o, "metadata").GetFields()
	if o.GetFields()["kind"].GetStringValue() != s.GetKind() || meta["namespace"].GetStringValue() != s.GetNamespace() {
		return false
	}
	if s.GetMatchLabels() == nil {
		return meta["name"].GetStringValue() == s.GetMatchName()
	}
	for key, value := range s.GetMatchLabels().GetLabels() {
		if field(o, "metadata", "labels").GetFields()[key].GetStringValue() != value {
			return false
		}
	}
	return true
}

// plan installs a plan; labels are key=value.
func (e *engine) plan(name, spec string, labels ...string) {
	e.t.Helper()
	o := resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XArgoCDPlan","metadata":{"name":"` + name + `","labels":{}}}`)
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		field(o, "metadata", "labels").Fields["virtualargocd.io/"+key] = structpb.NewStringValue(value)
	}
	o.Fields["spec"] = jsonValue(spec)
	e.cluster["XArgoCDPlan//"+name] = o
}

// reconcile calls the function and applies what it desires.
func (e *engine) reconcile() *fnv1.RunFunctionResponse {
	e.t.Helper()
	rsp := e.call()
	e.rsp = rsp
	xr := e.xr()
	for _, c := range rsp.GetConditions() {
		was := wire.Of(xr).Condition(c.GetType())
		setCondition(xr, c.GetType(), map[fnv1.Status]string{fnv1.Status_STATUS_CONDITION_TRUE: "True", fnv1.Status_STATUS_CONDITION_UNKNOWN: "Unknown"}[c.GetStatus()], c.GetReason(), c.GetMessage())
		at := e.f.now().UTC().Format(time.RFC3339)
		if is := wire.Of(xr).Condition(c.GetType()); is.Status == was.Status && is.Reason == was.Reason && is.Message == was.Message {
			at = was.LastTransitionTime
		}
		setTransition(xr, c.GetType(), at)
	}
	for _, r := range rsp.GetResults() {
		e.events = append(e.events, r.GetReason()+": "+r.GetMessage())
	}
	if fatal(rsp) != "" {
		return rsp
	}
	readyIsPhaseReady(e.t, rsp)
	setReady(xr, rsp.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_TRUE, e.f.now())
	conditions := xr.Fields["status"].GetStructValue().GetFields()["conditions"]
	xr.Fields["status"] = structpb.NewStructValue(proto.Clone(rsp.GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue()).(*structpb.Struct))
	xr.Fields["status"].GetStructValue().Fields["conditions"] = conditions
	e.req.Observed.Composite.ConnectionDetails = maps.Clone(rsp.GetDesired().GetComposite().GetConnectionDetails())

	observed := e.req.GetObserved().GetResources()
	maps.DeleteFunc(observed, func(name string, o *fnv1.Resource) bool {
		gone := rsp.GetDesired().GetResources()[name] == nil
		if meta := field(o.GetResource(), "metadata").GetFields(); gone {
			delete(e.cluster, o.GetResource().GetFields()["kind"].GetStringValue()+"/"+meta["namespace"].GetStringValue()+"/"+meta["name"].GetStringValue())
		}
		return gone
	})
	for name, d := range rsp.GetDesired().GetResources() {
		was := observed[name]
		if !e.mayControl(d.GetResource()) {
			continue
		}
		o := &fnv1.Resource{Resource: applied(d.GetResource()), ConnectionDetails: was.GetConnectionDetails()}
		meta := o.Resource.Fields["metadata"].GetStructValue()
		meta.Fields["uid"] = structpb.NewStringValue("uid-of-" + name)
		for _, key := range []string{"generation", "creationTimestamp"} {
			if is := field(was.GetResource(), "metadata").GetFields()[key]; is != nil {
				meta.Fields[key] = is
			}
		}
		if s := was.GetResource().GetFields()["status"]; s != nil {
			o.Resource.Fields["status"] = s
		}
		if e.generations && name == tenant.ArgoCDRelease {
			generation := field(was.GetResource(), "metadata").GetFields()["generation"].GetNumberValue()
			if !proto.Equal(was.GetResource().GetFields()["spec"], o.GetResource().GetFields()["spec"]) {
				generation++
			}
			meta.Fields["generation"] = structpb.NewNumberValue(generation)
		}
		// Server-side apply leaves others' keys alone.
		for _, key := range []string{"token", "ca.crt", "namespace"} {
			if v := field(was.GetResource(), "data").GetFields()[key]; v != nil && strings.HasSuffix(name, "-credentials") {
				if o.Resource.Fields["data"] == nil {
					o.Resource.Fields["data"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
				}
				field(o.GetResource(), "data").Fields[key] = v
			}
		}
		observed[name] = o
	}
	return rsp
}

// applied returns an object with maps of its own for what Kubernetes and the providers write into it. The rest is shared: to copy all of each
// object takes a tenth of the time of these tests.
func applied(desired *structpb.Struct) *structpb.Struct {
	o := &structpb.Struct{Fields: maps.Clone(desired.GetFields())}
	for _, key := range []string{"metadata", "data"} {
		if of := o.Fields[key].GetStructValue(); of != nil {
			o.Fields[key] = structpb.NewStructValue(&structpb.Struct{Fields: maps.Clone(of.GetFields())})
		}
	}
	return o
}

// callFails does what Crossplane does when its call of the function fails: it makes the conditions Unknown that the function sets.
func (e *engine) callFails() {
	e.t.Helper()
	for _, c := range wire.Of(e.xr()).List("status", "conditions") {
		if typ := c.String("type"); !slices.Contains([]string{"Ready", "Synced", "Responsive"}, typ) {
			setCondition(e.xr(), typ, "Unknown", "FatalError", "A fatal error occurred before the status of this condition could be determined.")
		}
	}
}

// mayControl does what an API server does with an object that Crossplane applies:
// it refuses one that has another controller.
func (e *engine) mayControl(o *structpb.Struct) bool {
	if o.GetFields()["kind"].GetStringValue() != "ConfigMap" {
		return true
	}
	meta := field(o, "metadata")
	key := "ConfigMap/" + meta.GetFields()["namespace"].GetStringValue() + "/" + meta.GetFields()["name"].GetStringValue()
	uid := field(e.xr(), "metadata").GetFields()["uid"].GetStringValue()
	if there := e.cluster[key]; there != nil {
		owner := field(there, "metadata").GetFields()["ownerReferences"].GetListValue().GetValues()
		return len(owner) > 0 && owner[0].GetStructValue().GetFields()["uid"].GetStringValue() == uid
	}
	there := proto.Clone(o).(*structpb.Struct)
	owners, err := structpb.NewList([]any{map[string]any{"uid": uid, "controller": true}})
	if err != nil {
		e.t.Fatal(err)
	}
	field(there, "metadata").Fields["ownerReferences"] = structpb.NewListValue(owners)
	claim := field(e.xr(), "spec", "claimRef").GetFields()
	field(there, "metadata").Fields["labels"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"crossplane.io/claim-name": claim["name"], "crossplane.io/claim-namespace": claim["namespace"],
	}})
	e.cluster[key] = there
	return true
}

func (e *engine) xr() *structpb.Struct { return e.req.GetObserved().GetComposite().GetResource() }

func (e *engine) observed(name string) *structpb.Struct {
	e.t.Helper()
	o, ok := e.req.GetObserved().GetResources()[name]
	if !ok {
		e.t.Fatalf("composed resource %q doesn't exist", name)
	}
	return o.GetResource()
}

// heal does the providers' work: everything that exists becomes what it should.
func (e *engine) heal() {
	e.t.Helper()
	for name, o := range e.req.GetObserved().GetResources() {
		if !strings.Contains(o.GetResource().GetFields()["apiVersion"].GetStringValue(), "crossplane.io") {
			// There as soon as it is created, and without conditions.
			delete(o.GetResource().GetFields(), "status")
			if strings.HasSuffix(name, "-credentials") {
				e.setToken(name, testToken)
			}
			continue
		}
		setCondition(o.GetResource(), "Synced", "True", "ReconcileSuccess", "")
		setCondition(o.GetResource(), "Ready", "True", "Available", "")
		switch name {
		case tenant.VClusterRelease:
			e.publish(testKubeconfig)
			e.deploy(name)
		case tenant.Namespace:
			e.setManifest(name, `{"phase":"Active"}`)
			field(o.GetResource(), "status", "atProvider", "manifest", "metadata").Fields["uid"] = structpb.NewStringValue("uid-of-the-namespace")
		case tenant.IngressObject:
			e.setIngress(`{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}`)
		case tenant.IngressCount:
			all := e.ingresses
			if !e.withoutArgoCDs && len(hostnamesOf(e)["the Release"]) > 0 {
				all++
			}
			if !wire.Of(o.GetResource()).Has("metadata", "creationTimestamp") {
				e.created(name, 0)
			}
			e.setManifest(name, fmt.Sprintf(`{"used":{"count/ingresses.networking.k8s.io":"%d"}}`, all))
		case tenant.IngressOnHost:
			e.showIngress(o.GetResource())
		case tenant.Bootstrap:
			e.setApplication(`{"sync":{"status":"Synced","revision":"0123abc"},"health":{"status":"Healthy"}}`)
		case tenant.ArgoCDRelease:
			// What a Release has read stays in its Secret while it has one.
			spec := field(o.GetResource(), "spec").GetFields()
			if spec["writeConnectionSecretToRef"] == nil {
				o.ConnectionDetails = nil
			} else if spec["connectionDetails"] != nil {
				o.ConnectionDetails = map[string][]byte{"password": []byte(testPassword)}
			}
			e.deploy(name)
			if e.generations {
				e.deployAccounts()
			}
		case tenant.Workloads:
			field(o.GetResource(), "status").Fields["atProvider"] = structpb.NewNullValue()
			e.setWorkload("", nil)
		case tenant.Connections:
			e.setConnections()
		}
	}
}

// deploy does what Helm does with a Release.
func (e *engine) deploy(name string) {
	e.setRecord(name, field(e.observed(name), "spec", "forProvider", "chart").GetFields()["version"].GetStringValue())
}

// deployAccounts does what provider-helm does with the values of accounts.
func (e *engine) deployAccounts() {
	o := e.observed(tenant.ArgoCDRelease)
	e.accounts = map[string]any{}
	for _, from := range wire.Of(o).List("spec", "forProvider", "valuesFrom") {
		name, key := from.String("secretKeyRef", "name"), from.String("secretKeyRef", "key")
		if !strings.HasSuffix(name, "-argocd-accounts") {
			continue
		}
		raw := e.secretKey(tenant.AccountsSecret, key)
		if len(raw) == 0 {
			setCondition(o, "Synced", "False", "ReconcileError", "missing key "+key)
			return
		}
		if err := yaml.Unmarshal(raw, &e.accounts); err != nil {
			e.t.Fatal(err)
		}
	}
	for _, c := range field(o, "status").GetFields()["conditions"].GetListValue().GetValues() {
		if s := c.GetStructValue(); s.GetFields()["type"].GetStringValue() == "Synced" {
			s.Fields["observedGeneration"] = field(o, "metadata").GetFields()["generation"]
		}
	}
}

// setRecord says which version of a Release's chart Helm's record says is deployed.
func (e *engine) setRecord(name, version string) {
	setStatus(e.observed(name), `{"state":"deployed","version":"`+version+`"}`)
}

// setToken does what Kubernetes does with the Secret of an account's token.
func (e *engine) setToken(name, token string) {
	o := e.observed(name)
	if o.GetFields()["data"] == nil {
		o.Fields["data"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
	}
	cert, _ := keyPair()
	for key, v := range map[string]string{"token": token, "ca.crt": cert, "namespace": "crossplane-system"} {
		field(o, "data").Fields[key] = structpb.NewStringValue(base64.StdEncoding.EncodeToString([]byte(v)))
	}
}

// setApplication says what Argo CD reports of the first Application.
func (e *engine) setApplication(status string) { e.setManifest(tenant.Bootstrap, status) }

// setIngress says what the ingress controller reports of the Ingress.
func (e *engine) setIngress(status string) { e.setManifest(tenant.IngressObject, status) }

// showIngress says that an Object has read Argo CD's Ingress on the host, as the Release has it.
func (e *engine) showIngress(o *structpb.Struct) {
	if e.withoutArgoCDs {
		setCondition(o, "Synced", "False", "ReconcileError", "observe failed: not found")
		return
	}
	m := proto.Clone(field(o, "spec", "forProvider", "manifest")).(*structpb.Struct)
	field(m, "metadata").Fields["creationTimestamp"] = structpb.NewStringValue(e.ingressCreated.UTC().Format(time.RFC3339))
	var rules, certified []any
	for _, hostname := range hostnamesOf(e)["the Release"] {
		rules, certified = append(rules, map[string]any{"host": hostname}), append(certified, hostname)
	}
	spec, err := structpb.NewStruct(map[string]any{"rules": rules, "tls": []any{map[string]any{"hosts": certified}}})
	if err != nil {
		e.t.Fatal(err)
	}
	m.Fields["spec"] = structpb.NewStructValue(spec)
	show(o, m)
}

// setManifest says what status the object has that an Object is about.
func (e *engine) setManifest(name, status string) {
	m := proto.Clone(field(e.observed(name), "spec", "forProvider", "manifest")).(*structpb.Struct)
	m.Fields["status"] = structpb.NewStructValue(resource.MustStructJSON(status))
	show(e.observed(name), m)
}

// show says that an Object has read a manifest.
func show(o, manifest *structpb.Struct) {
	if field(o, "status") == nil {
		o.Fields["status"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
	}
	field(o, "status").Fields["atProvider"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"manifest": structpb.NewStructValue(manifest)}})
}

// setReplicas says how many replicas of a workload are available, of the one that is
// wanted.
func (e *engine) setReplicas(name string, available int) {
	e.t.Helper()
	e.setWorkload(name, func(w *proxy.Workload) {
		if w.Replicas, w.Available = 1, available == 1; w.Available {
			w.Why = ""
		}
	})
}

// setWorkload changes what the proxy sums up of a workload. The others are available
// unless something else was said of them.
func (e *engine) setWorkload(name string, change func(*proxy.Workload)) {
	e.t.Helper()
	o := e.observed(tenant.Workloads)
	m := proto.Clone(field(o, "spec", "forProvider", "manifest")).(*structpb.Struct)
	summary, err := proxy.ReadSummaryName(field(m, "metadata").GetFields()["name"].GetStringValue())
	if err != nil {
		e.t.Fatal(err)
	}
	seen := proxy.ReadSummary(field(o, "status", "atProvider", "manifest", "data").GetFields()[proxy.SummaryWorkloads].GetStringValue())
	for i := range summary {
		w := &summary[i]
		if j := slices.IndexFunc(seen, func(s proxy.Workload) bool { return s.Kind == w.Kind && s.Name == w.Name }); j >= 0 {
			*w = seen[j]
		} else {
			w.UID, w.Replicas, w.Available, w.Images = "uid-of-"+w.Name, 1, true, map[string]string{"server": "quay.io/argoproj/argocd:v3.4.4"}
		}
		if w.Name == name {
			change(w)
		}
	}
	data, err := proxy.Summary(summary)
	if err != nil {
		e.t.Fatal(err)
	}
	text, err := json.Marshal(data)
	if err != nil {
		e.t.Fatal(err)
	}
	m.Fields["data"] = jsonValue(string(text))
	show(o, m)
}

// setConnections says what the proxy has seen of Argo CD's connections: all work but those that are said.
func (e *engine) setConnections(but ...proxy.Connection) {
	e.t.Helper()
	o := e.observed(tenant.Connections)
	m := proto.Clone(field(o, "spec", "forProvider", "manifest")).(*structpb.Struct)
	keys, err := proxy.ReadConnectionsName(field(m, "metadata").GetFields()["name"].GetStringValue())
	if err != nil {
		e.t.Fatal(err)
	}
	list := []proxy.Connection{}
	for _, k := range keys {
		i := slices.IndexFunc(but, func(c proxy.Connection) bool { return c.Key == k })
		if i < 0 {
			list = append(list, proxy.Connection{Key: k, Connected: true})
		} else if but[i].Connected || but[i].Message != "" {
			list = append(list, but[i])
		}
	}
	text, err := json.Marshal(proxy.ConnectionsData(list))
	if err != nil {
		e.t.Fatal(err)
	}
	m.Fields["data"] = jsonValue(string(text))
	show(o, m)
}

// secret puts a Secret into the claim's namespace that claims may use.
func (e *engine) secret(name, typ string, data map[string]string) {
	e.t.Helper()
	encoded := map[string]any{}
	for key, v := range data {
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(v))
	}
	s, err := structpb.NewStruct(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": typ,
		"metadata": map[string]any{"namespace": testNamespace, "name": name, "labels": map[string]any{tenant.LabelCredentials: "true", tenant.LabelSecretName: name}}, "data": encoded,
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.cluster["Secret/"+testNamespace+"/"+name] = s
}

// label says what the label of a Secret in the claim's namespace has as its value; nil
// for no such label.
func (e *engine) label(name string, value any) {
	e.t.Helper()
	labels, err := structpb.NewStruct(map[string]any{"app": "x", tenant.LabelCredentials: value})
	if err != nil {
		e.t.Fatal(err)
	}
	if value == nil {
		delete(labels.Fields, tenant.LabelCredentials)
	}
	field(e.cluster["Secret/"+testNamespace+"/"+name], "metadata").Fields["labels"] = structpb.NewStructValue(labels)
}

// secretValues are the chart values in the composed Secret that come from Secrets of the claim: all but the password of redis.
func (e *engine) secretValues() map[string]any {
	e.t.Helper()
	values := valuesOf(e.t, e.observed(tenant.ValuesSecret))
	delete(values, "extraObjects")
	return values
}

func valuesOf(t testing.TB, secret *structpb.Struct) map[string]any {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(field(secret, "data").GetFields()["values.yaml"].GetStringValue())
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]any{}
	if err := yaml.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// spec changes the spec.
func (e *engine) spec(spec string) {
	e.t.Helper()
	e.xr().Fields["spec"] = resource.MustStructJSON(tenantXR(spec)).GetFields()["spec"]
}

// begin lets Crossplane and the providers make what the virtual cluster waits for,
// until it may be installed.
func (e *engine) begin() {
	e.t.Helper()
	for range 8 {
		if _, ok := e.req.GetObserved().GetResources()[tenant.VClusterRelease]; ok {
			return
		}
		e.heal()
		e.reconcile()
	}
	e.t.Fatalf("the virtual cluster isn't installed: %s", e.status("message"))
}

// claimedIn moves the tenant's claim to another namespace; "" for no claim.
func (e *engine) claimedIn(namespace string) {
	e.t.Helper()
	spec := field(e.xr(), "spec")
	if namespace == "" {
		delete(spec.GetFields(), "claimRef")
		return
	}
	field(spec, "claimRef").Fields["namespace"] = structpb.NewStringValue(namespace)
}

// cycle lets Crossplane and the providers work in turn.
func (e *engine) cycle(times int) {
	e.t.Helper()
	for range times {
		e.reconcile()
		e.heal()
	}
	e.reconcile()
}

// install reconciles a tenant to Ready.
func (e *engine) install() *engine {
	e.t.Helper()
	for range 12 {
		was := e.rsp
		e.reconcile()
		e.heal()
		// The function is a pure one: nothing would change from here on.
		if e.status("phase") == "Ready" && proto.Equal(was, e.rsp) {
			break
		}
	}
	if got := e.status("phase"); got != "Ready" {
		e.t.Fatalf("tenant is %s after installation: %s", got, e.status("message"))
	}
	return e
}

func (e *engine) status(path ...string) string {
	at := field(e.xr(), append([]string{"status"}, path[:len(path)-1]...)...)
	return at.GetFields()[path[len(path)-1]].GetStringValue()
}

// number is a number in the status.
func (e *engine) number(path ...string) int64 {
	at := field(e.xr(), append([]string{"status"}, path[:len(path)-1]...)...)
	return int64(at.GetFields()[path[len(path)-1]].GetNumberValue())
}

// statusList is a list of the status.
func (e *engine) statusList(name string) []any {
	return field(e.xr(), "status").GetFields()[name].GetListValue().AsSlice()
}

func (e *engine) condition(typ string) *fnv1.Condition {
	for _, c := range e.rsp.GetConditions() {
		if c.GetType() == typ {
			return c
		}
	}
	return &fnv1.Condition{}
}

func field(s *structpb.Struct, path ...string) *structpb.Struct {
	for _, key := range path {
		s = s.GetFields()[key].GetStructValue()
	}
	return s
}

func setStatus(s *structpb.Struct, atProvider string) {
	field(s, "status").Fields["atProvider"] = structpb.NewStructValue(resource.MustStructJSON(atProvider))
}

func setCondition(s *structpb.Struct, typ, status, reason, message string) {
	if status == "" {
		status = "False"
	}
	if s.Fields["status"].GetStructValue() == nil {
		s.Fields["status"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
	}
	st := s.Fields["status"].GetStructValue()
	kept := []*structpb.Value{}
	for _, c := range st.GetFields()["conditions"].GetListValue().GetValues() {
		if c.GetStructValue().GetFields()["type"].GetStringValue() != typ {
			kept = append(kept, c)
		}
	}
	c, _ := structpb.NewStruct(map[string]any{"type": typ, "status": status, "reason": reason, "message": message})
	st.Fields["conditions"] = structpb.NewListValue(&structpb.ListValue{Values: append(kept, structpb.NewStructValue(c))})
}

// setReady sets Crossplane's own condition, with the time at which it changed.
func setReady(xr *structpb.Struct, ready bool, now time.Time) {
	status, at := "False", now.UTC().Format(time.RFC3339)
	if ready {
		status = "True"
	}
	if was := wire.Of(xr).Condition("Ready"); was.Status == status {
		at = was.LastTransitionTime
	}
	setCondition(xr, "Ready", status, "", "")
	setTransition(xr, "Ready", at)
}

// setTransition sets when a condition changed last.
func setTransition(xr *structpb.Struct, typ, at string) {
	for _, c := range field(xr, "status").GetFields()["conditions"].GetListValue().GetValues() {
		if s := c.GetStructValue(); s.GetFields()["type"].GetStringValue() == typ {
			s.Fields["lastTransitionTime"] = structpb.NewStringValue(at)
		}
	}
}

// fatal returns the message of the response's fatal result, "" when there is none.
func fatal(rsp *fnv1.RunFunctionResponse) string {
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return r.GetMessage()
		}
	}
	return ""
}

// refusal returns why what the claim, its plan or the input says isn't in use, "" when
// it is: the response's fatal result, or the condition of a tenant that goes on.
func refusal(rsp *fnv1.RunFunctionResponse) string {
	for _, c := range rsp.GetConditions() {
		if c.GetType() == v1alpha1.ConditionSpecAccepted && c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
			return c.GetMessage()
		}
	}
	return fatal(rsp)
}
