// Package admission holds the admission policies that users apply to their host cluster.
package admission

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

const (
	syncer     = "system:serviceaccount:vargo-a:vc-vcluster"
	controller = "system:serviceaccount:kube-system:statefulset-controller"
)

// TestPoliciesOfTenants asks the policies of examples/install/tenants.yaml about
// objects, by the API server's own code.
func TestPoliciesOfTenants(t *testing.T) {
	const (
		ingress   = "virtual-argocd-ingresses"
		service   = "virtual-argocd-services"
		endpoints = "virtual-argocd-endpoints"
		pods      = "virtual-argocd-pods"
		volumes   = "virtual-argocd-volumes"
		pod       = `{metadata: {labels: {vcluster.loft.sh/managed-by: vcluster}}, spec: {serviceAccountName: vc-workload-vcluster, automountServiceAccountToken: false`
	)
	cases := map[string]struct {
		policy, object string
		// hosts are the value of the namespace's annotation; "-" for none.
		hosts string
		by    string
		// want is part of the refusal, "" for none.
		want string
	}{
		"OwnHost":           {ingress, rule("a.example.org"), "a.example.org", syncer, ""},
		"OneOfTheHosts":     {ingress, rule("b.example.org"), "a.example.org,b.example.org", syncer, ""},
		"OwnTLS":            {ingress, `{spec: {tls: [{hosts: [a.example.org], secretName: s}], rules: [{host: a.example.org}]}}`, "a.example.org", syncer, ""},
		"KnownAnnotations":  {ingress, `{metadata: {annotations: {cert-manager.io/cluster-issuer: x, vcluster.loft.sh/object-name: y}}, spec: {rules: [{host: a.example.org}]}}`, "a.example.org", syncer, ""},
		"CertManagersPath":  {ingress, `{spec: {rules: [{host: a.example.org, http: {paths: [{path: /.well-known/acme-challenge/a_B-1, backend: {service: {name: x}}}]}}]}}`, "a.example.org", syncer, ""},
		"OthersHost":        {ingress, rule("b.example.org"), "a.example.org", syncer, "those of its claim: a.example.org"},
		"HostBelowOwn":      {ingress, rule("x.a.example.org"), "a.example.org", syncer, "those of its claim"},
		"HostAboveOwn":      {ingress, rule("*.example.org"), "a.example.org", syncer, "those of its claim"},
		"ListOfHosts":       {ingress, rule("a.example.org,b.example.org"), "a.example.org,b.example.org", syncer, "those of its claim"},
		"NoHostInRule":      {ingress, `{spec: {rules: [{http: {paths: []}}]}}`, "a.example.org", syncer, "those of its claim"},
		"EmptyHostInRule":   {ingress, rule(""), "", syncer, "those of its claim"},
		"SecondRule":        {ingress, `{spec: {rules: [{host: a.example.org}, {host: b.example.org}]}}`, "a.example.org", syncer, "those of its claim"},
		"TenantWithoutHost": {ingress, rule("a.example.org"), "-", syncer, "no spec.ingress.host"},
		"ByAnybody":         {ingress, rule("b.example.org"), "a.example.org", "admin", "those of its claim"},
		"DefaultBackend":    {ingress, `{spec: {defaultBackend: {service: {name: x}}, rules: [{host: a.example.org}]}}`, "a.example.org", syncer, "default backend"},
		"OthersTLS":         {ingress, `{spec: {tls: [{hosts: [a.example.org, b.example.org]}], rules: [{host: a.example.org}]}}`, "a.example.org", syncer, "entry of tls"},
		"TLSForAll":         {ingress, `{spec: {tls: [{secretName: s}], rules: [{host: a.example.org}]}}`, "a.example.org", syncer, "entry of tls"},
		"ResourceBackend":   {ingress, `{spec: {rules: [{host: a.example.org, http: {paths: [{backend: {resource: {kind: Bucket}}}]}}]}}`, "a.example.org", syncer, "is a Service"},
		"PathOfTraefik":     {ingress, "{spec: {rules: [{host: a.example.org, http: {paths: [{path: '/`) || Host(`b.example.org', backend: {service: {name: x}}}]}}]}}", "a.example.org", syncer, "signs"},
		"PathOfNginx":       {ingress, `{spec: {rules: [{host: a.example.org, http: {paths: [{path: "/x {return 200;}\n", backend: {service: {name: x}}}]}}]}}`, "a.example.org", syncer, "signs"},
		"ServerAlias":       {ingress, `{metadata: {annotations: {nginx.ingress.kubernetes.io/server-alias: b.example.org}}, spec: {rules: [{host: a.example.org}]}}`, "a.example.org", syncer, "annotation nginx.ingress.kubernetes.io/server-alias"},
		"DNSName":           {ingress, `{metadata: {annotations: {external-dns.alpha.kubernetes.io/hostname: b.example.org}}, spec: {rules: [{host: a.example.org}]}}`, "a.example.org", syncer, "annotation external-dns"},
		"ValueOfNginx":      {ingress, `{metadata: {annotations: {nginx.ingress.kubernetes.io/proxy-body-size: "1m; } location /x { return 200"}}, spec: {rules: [{host: a.example.org}]}}`, "a.example.org", syncer, "value of an annotation"},
		"UsualValues":       {ingress, `{metadata: {annotations: {nginx.ingress.kubernetes.io/whitelist-source-range: "10.0.0.0/8, 2001:db8::/32", argocd.argoproj.io/x: "{{ y }}"}}, spec: {rules: [{host: a.example.org}]}}`, "a.example.org", syncer, ""},
		"PathMatcher":       {ingress, `{metadata: {annotations: {traefik.ingress.kubernetes.io/router.pathmatcher: Host}}, spec: {rules: [{host: a.example.org}]}}`, "a.example.org", syncer, "annotation traefik"},
		"BeingDeleted":      {ingress, `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {rules: [{host: b.example.org}]}}`, "a.example.org", syncer, ""},

		"Service":              {service, `{spec: {type: ClusterIP, selector: {a: b}}}`, "", syncer, ""},
		"LoadBalancer":         {service, `{spec: {type: LoadBalancer}}`, "", syncer, ""},
		"LoadBalancersOrder":   {service, `{metadata: {annotations: {metallb.io/loadBalancerIPs: 192.0.2.1}}, spec: {type: LoadBalancer}}`, "", syncer, "no annotations"},
		"LoadBalancersOwn":     {service, `{metadata: {annotations: {vcluster.loft.sh/object-name: a}}, spec: {type: LoadBalancer}}`, "", syncer, ""},
		"LoadBalancersAddress": {service, `{spec: {type: LoadBalancer, loadBalancerIP: 192.0.2.1}}`, "", syncer, "neither its address"},
		"LoadBalancersClass":   {service, `{spec: {type: LoadBalancer, loadBalancerClass: tailscale}}`, "", syncer, "neither its address"},
		"ExternalIPs":          {service, `{spec: {externalIPs: [192.0.2.1]}}`, "", syncer, "externalIPs"},
		"ExternalName":         {service, `{spec: {type: ExternalName, externalName: argocd-server.vargo-b.svc}}`, "", syncer, "ExternalName"},
		"NodePort":             {service, `{spec: {type: NodePort}}`, "", syncer, "NodePort"},
		"ServiceDNSName":       {service, `{metadata: {annotations: {external-dns.alpha.kubernetes.io/hostname: b.example.org}}, spec: {}}`, "", syncer, "DNS names"},
		"EndpointsOfVCluster":  {endpoints, `{endpoints: [{addresses: [169.254.169.254]}]}`, "", syncer, "no Endpoints"},
		"EndpointsOfHost":      {endpoints, `{endpoints: []}`, "", "system:serviceaccount:kube-system:endpointslice-controller", ""},
		"EndpointsOfLookalike": {endpoints, `{endpoints: []}`, "", "system:serviceaccount:vargo-ab:vc-vcluster", ""},

		"Pod":               {pods, pod + `, tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}], volumes: [{name: a, projected: {sources: [{secret: {name: b}}]}}]}}`, "", syncer, ""},
		"ControlPlanesPod":  {pods, `{spec: {serviceAccountName: vc-vcluster}}`, "", controller, ""},
		"PodWithoutLabel":   {pods, `{spec: {serviceAccountName: vc-workload-vcluster, automountServiceAccountToken: false}}`, "", syncer, "label vcluster.loft.sh/managed-by"},
		"PodAsControlPlane": {pods, strings.Replace(pod, "vc-workload-vcluster", "vc-vcluster", 1) + `}}`, "", syncer, "no rights"},
		"PodWithToken":      {pods, strings.Replace(pod, "false", "true", 1) + `}}`, "", syncer, "no token"},
		"PodMountsByItself": {pods, strings.Replace(pod, ", automountServiceAccountToken: false", "", 1) + `}}`, "", syncer, "no token"},
		"PodProjectsToken":  {pods, pod + `, volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}}`, "", syncer, "no token"},
		"PodOnNode":         {pods, pod + `, nodeName: control-plane-1}}`, "", syncer, "choose its node"},
		"PodToleratesAll":   {pods, pod + `, tolerations: [{operator: Exists}]}}`, "", syncer, "no taints but node.kubernetes.io/not-ready"},
		"PodToleratesOther": {pods, pod + `, tolerations: [{key: dedicated, operator: Exists}]}}`, "", syncer, "no taints but"},
		"PodToleratesPlans": {pods, pod + `, tolerations: [{key: plans-a, value: b}]}}`, "", syncer, ""},
		"PodsVolumes":       {pods, pod + `, volumes: [{emptyDir: {}}, {configMap: {}}, {secret: {}}, {persistentVolumeClaim: {}}, {downwardAPI: {}}, {ephemeral: {}}, {image: {}}]}}`, "", syncer, ""},
		"PodWithNFS":        {pods, pod + `, volumes: [{emptyDir: {}}, {name: a, nfs: {server: 10.0.0.1, path: /}}]}}`, "", syncer, "a volume of a tenant's pod"},
		"PodWithDisk":       {pods, pod + `, volumes: [{name: a, awsElasticBlockStore: {volumeID: vol-1}}]}}`, "", syncer, "a volume of a tenant's pod"},
		"PodWithGitRepo":    {pods, pod + `, volumes: [{name: a, gitRepo: {repository: "https://10.0.0.1/a"}}]}}`, "", syncer, "a volume of a tenant's pod"},
		"PodWithInlineCSI":  {pods, pod + `, volumes: [{name: a, csi: {driver: secrets-store.csi.k8s.io}}]}}`, "", syncer, "a volume of a tenant's pod"},
		"Volume":            {volumes, `{spec: {accessModes: [ReadWriteOnce], storageClassName: fast, dataSourceRef: {kind: VolumeSnapshot, name: a}}}`, "", syncer, ""},
		"StoresVolume":      {volumes, `{spec: {accessModes: [ReadWriteOnce]}}`, "", controller, ""},
		"VolumeOfOthers":    {volumes, `{spec: {volumeName: pv-1}}`, "", syncer, "names no volume"},
		"VolumeBySelector":  {volumes, `{spec: {selector: {}}}`, "", syncer, "selects no volume"},
		"StaticVolume":      {volumes, `{spec: {storageClassName: ""}}`, "", syncer, "has a StorageClass"},
		"StaticByNote":      {volumes, `{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: ""}}, spec: {}}`, "", syncer, "not in an annotation"},
		"CopyOfOthers":      {volumes, `{spec: {dataSourceRef: {kind: PersistentVolumeClaim, name: a, namespace: vargo-b}}}`, "", syncer, "another namespace"},
		"PodOnControlPlane": {pods, pod + `, tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]}}`, "", syncer, "no taints but"},
	}
	policies := read(t, "tenants.yaml")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := policies[tc.policy]
			if p == nil {
				t.Fatalf("there is no policy %s", tc.policy)
			}
			got := refusal(t, p, tc.object, tc.hosts, tc.by)
			expect(t, tc.want, got)
		})
	}
}

func rule(host string) string {
	return `{spec: {rules: [{host: "` + host + `", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: x}}}]}}]}}`
}

// TestUpdatesOfPods: a pod that runs gets no tolerations that it could not begin with.
func TestUpdatesOfPods(t *testing.T) {
	const (
		own  = `{metadata: {labels: {app: vcluster}}, spec: {serviceAccountName: vc-vcluster}}`
		runs = `{metadata: {labels: {vcluster.loft.sh/managed-by: vcluster}}, spec: {serviceAccountName: vc-workload-vcluster, automountServiceAccountToken: false, nodeName: node-1`
	)
	p := read(t, "tenants.yaml")["virtual-argocd-pods"]
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vargo-a"}}
	for name, tc := range map[string]struct{ old, new, want string }{
		"Labels":       {runs + `}}`, runs + `}}`, ""},
		"Taint":        {runs + `}}`, runs + `, tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]}}`, "no taints but"},
		"EveryTaint":   {runs + `}}`, runs + `, tolerations: [{operator: Exists}]}}`, "no taints but"},
		"BeingDeleted": {runs + `}}`, strings.Replace(runs, "{labels", "{deletionTimestamp: '2026-01-01T00:00:00Z', labels", 1) + `, tolerations: [{operator: Exists}]}}`, ""},
		"ControlPlane": {own, own, ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects := [2]*unstructured.Unstructured{}
			for i, text := range []string{tc.old, tc.new} {
				objects[i] = &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(text), &objects[i].Object); err != nil {
					t.Fatal(err)
				}
				objects[i].SetNamespace(ns.Name)
			}
			got := decide(t, p, objects[0], objects[1], pods, ns, syncer)
			expect(t, tc.want, got)
		})
	}
}

// TestPoliciesAreInForce: each policy is bound to refuse, fails closed, and is for
// the tenants' namespaces alone.
func TestPoliciesAreInForce(t *testing.T) {
	for name, p := range read(t, "tenants.yaml") {
		s := p.Spec
		if *s.FailurePolicy != admissionv1.Fail || len(s.MatchConstraints.NamespaceSelector.MatchExpressions) != 1 ||
			s.MatchConstraints.NamespaceSelector.MatchExpressions[0].Key != "virtualargocd.io/tenant" {
			t.Errorf("%s: %v, %v", name, *s.FailurePolicy, s.MatchConstraints.NamespaceSelector)
		}
	}
}

// TestConfinement asks the policy of examples/install/confinement.yaml.
func TestConfinement(t *testing.T) {
	const (
		helm       = "system:serviceaccount:crossplane-system:provider-helm"
		kubernetes = "system:serviceaccount:crossplane-system:provider-kubernetes"
	)
	// want is part of the refusal, "" for none.
	cases := map[string]struct{ resource, kind, namespace, name, by, want string }{
		"TenantsSecret":      {"secrets", "Secret", "vargo-a", "x", helm, ""},
		"ConnectionSecret":   {"secrets", "Secret", "crossplane-system", "x", helm, ""},
		"OthersSecret":       {"secrets", "Secret", "kube-system", "x", helm, "not to kube-system"},
		"OthersPod":          {"pods", "Pod", "default", "x", helm, "not to default"},
		"OthersLease":        {"leases", "Lease", "kube-system", "x", kubernetes, "not to kube-system"},
		"TenantsNamespace":   {"namespaces", "Namespace", "", "vargo-a", kubernetes, ""},
		"OthersNamespace":    {"namespaces", "Namespace", "", "default", kubernetes, "not to default"},
		"LookalikeNamespace": {"namespaces", "Namespace", "", "my-vargo-a", kubernetes, "not to my-vargo-a"},
		"Events":             {"events", "Event", "default", "x", kubernetes, ""},
		"SomebodyElse":       {"secrets", "Secret", "kube-system", "x", "admin", ""},
	}
	p := read(t, "confinement.yaml")["virtual-argocd-providers"]
	if p == nil || *p.Spec.FailurePolicy != admissionv1.Fail {
		t.Fatalf("want a policy that fails closed, got %v", p)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			o.SetAPIVersion("v1")
			o.SetKind(tc.kind)
			o.SetNamespace(tc.namespace)
			o.SetName(tc.name)
			got := decide(t, p, nil, o, schema.GroupVersionResource{Version: "v1", Resource: tc.resource}, nil, tc.by)
			expect(t, tc.want, got)
		})
	}
}

// read reads the policies of a file of examples/install, each of which has its
// binding.
func read(t *testing.T, file string) map[string]*admissionv1.ValidatingAdmissionPolicy {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../examples/install", file))
	if err != nil {
		t.Fatal(err)
	}
	policies := map[string]*admissionv1.ValidatingAdmissionPolicy{}
	bound := map[string]bool{}
	for _, doc := range strings.Split(string(data), "\n---\n") {
		p := &admissionv1.ValidatingAdmissionPolicy{}
		if strings.Contains(doc, "kind: ValidatingAdmissionPolicyBinding") {
			b := &admissionv1.ValidatingAdmissionPolicyBinding{}
			if err := yaml.UnmarshalStrict([]byte(doc), b); err != nil {
				t.Fatal(err)
			}
			bound[b.Spec.PolicyName] = slices.Equal(b.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny})
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(doc), p); err != nil {
			t.Fatal(err)
		}
		policies[p.Name] = p
	}
	for name := range policies {
		if !bound[name] {
			t.Errorf("policy %s is bound to nothing, or refuses nothing", name)
		}
	}
	return policies
}

// refusal is why a policy refuses an object that somebody creates in a tenant's
// namespace; "" when it doesn't.
func refusal(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy, object, hosts, by string) string {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(object), &o.Object); err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vargo-a", Labels: map[string]string{"virtualargocd.io/tenant": "a"}}}
	if hosts != "-" {
		ns.Annotations = map[string]string{"virtualargocd.io/ingress-host": hosts, "virtualargocd.io/tolerations": "plans-a,plans-b"}
	}
	o.SetName("x")
	o.SetNamespace(ns.Name)
	resource := p.Spec.MatchConstraints.ResourceRules[0]
	gvr := schema.GroupVersionResource{Group: resource.APIGroups[0], Version: resource.APIVersions[0], Resource: resource.Resources[0]}
	return decide(t, p, nil, o, gvr, ns, by)
}

// expect fails a test in which a refusal has no part that is wanted; "" stands for
// none.
func expect(t *testing.T, want, got string) {
	t.Helper()
	if want == "" && got != "" || want != "" && !strings.Contains(got, want) {
		t.Errorf("want refusal %q, got %q", want, got)
	}
}

// decide is why a policy refuses that somebody creates an object, or updates it where
// there is an old one; "" when it doesn't.
func decide(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy, old, o *unstructured.Unstructured, gvr schema.GroupVersionResource, ns *corev1.Namespace, by string) string {
	t.Helper()
	gvk := o.GroupVersionKind()
	// A nil pointer in an interface would be an old object.
	var before runtime.Object
	operation := admission.Create
	if old != nil {
		before, operation = old, admission.Update
	}
	attributes := admission.NewAttributesRecord(o, before, gvk, o.GetNamespace(), o.GetName(), gvr, "", operation, nil, false, &user.DefaultInfo{Name: by})
	versioned := &admission.VersionedAttributes{Attributes: attributes, VersionedKind: gvk, VersionedObject: o, VersionedOldObject: before}
	result := compile(t, p).Validate(t.Context(), gvr, versioned, nil, ns, celconfig.RuntimeCELCostBudget, nil)
	for _, d := range result.Decisions {
		if d.Evaluation == validating.EvalError {
			t.Fatalf("the policy can't be evaluated: %s", d.Message)
		}
		if d.Action == validating.ActionDeny {
			return d.Message
		}
	}
	return ""
}

// compile does what the API server does with a policy.
func compile(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy) validating.Validator {
	t.Helper()
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	vars := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	var variables []cel.NamedExpressionAccessor
	for _, v := range p.Spec.Variables {
		variables = append(variables, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	compiler.CompileAndStoreVariables(variables, vars, environment.StoredExpressions)
	var conditions, validations []cel.ExpressionAccessor
	// One for each validation, in its place; nil for none.
	messages := make([]cel.ExpressionAccessor, len(p.Spec.Validations))
	for i := range p.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&p.Spec.MatchConditions[i]))
	}
	for i, v := range p.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message})
		if v.MessageExpression != "" {
			messages[i] = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
	}
	condition := func(of []cel.ExpressionAccessor, vars cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
		return compiler.CompileCondition(of, vars, environment.StoredExpressions)
	}
	var matcher matchconditions.Matcher
	if len(conditions) > 0 {
		matcher = matchconditions.NewMatcher(condition(conditions, vars), p.Spec.FailurePolicy, "policy", "validate", p.Name)
	}
	return validating.NewValidator(condition(validations, vars), matcher, condition(nil, vars), condition(messages, cel.OptionalVariableDeclarations{}), p.Spec.FailurePolicy)
}
