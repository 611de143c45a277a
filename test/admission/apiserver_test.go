// Package admission holds the admission policies that users apply to their host cluster.
package admission

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"
)

// Files of examples/install that hold policies.
var files = []string{"tenants.yaml", "confinement.yaml", "claims.yaml"}

// apiServer decides about requests as the API server does: its own dispatcher goes
// through match constraints, bindings, match conditions and validations of policies.
type apiServer struct {
	policies   []*policy
	namespaces cache.Indexer
	dispatcher generic.Dispatcher[validating.PolicyHook]
}

// read reads the objects of the files, with the API server's defaults.
func read(t *testing.T) ([]*admissionv1.ValidatingAdmissionPolicy, []*admissionv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	var policies []*admissionv1.ValidatingAdmissionPolicy
	var bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join("../../examples/install", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range strings.Split(string(data), "\n---\n") {
			if strings.Contains(doc, "kind: ValidatingAdmissionPolicyBinding\n") {
				b := &admissionv1.ValidatingAdmissionPolicyBinding{}
				if err := yaml.UnmarshalStrict([]byte(doc), b); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				bindings = append(bindings, b)
				continue
			}
			p := &admissionv1.ValidatingAdmissionPolicy{}
			if err := yaml.UnmarshalStrict([]byte(doc), p); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			policies = append(policies, p)
		}
	}
	return policies, bindings
}

// compiled are the policies as they are in the files, with their bindings. To compile them takes seconds.
var compiled struct {
	once     sync.Once
	policies []*policy
}

// newAPIServer has the policies as they are in the files, and tenant a's namespace beside others.
func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	compiled.once.Do(func() {
		policies, bindings := read(t)
		for _, p := range policies {
			if c := compile(t, p, bindings); len(c.bindings) > 0 {
				compiled.policies = append(compiled.policies, c)
			}
		}
	})
	s := &apiServer{policies: compiled.policies, namespaces: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
	matcher := matching.NewMatcher(listersv1.NewNamespaceLister(s.namespaces), nil)
	s.dispatcher = validating.NewDispatcher(authorizer.AuthorizerFunc(authorize), generic.NewPolicyMatcher(matcher))
	for _, ns := range []*corev1.Namespace{
		tenant("vargo-a", map[string]string{
			"virtualargocd.io/ingress-host":      "a.example.org,b.example.org",
			"virtualargocd.io/tolerations":       "plans-a,plans-b",
			"virtualargocd.io/control-plane-env": "PLATFORMS", "virtualargocd.io/control-plane-tolerations": "plans-a", "virtualargocd.io/control-plane-priority-class": "plans",
			"virtualargocd.io/control-plane-resources": "example.org/tpm",
			"virtualargocd.io/images":                  strings.Join([]string{repository(imageOfVCluster), repository(imageOfKubernetes), repository(imageOfEtcd)}, ","),
		}),
		tenant("vargo-gpu", map[string]string{"virtualargocd.io/extended-resources": "nvidia.com/gpu,resourceclaims", "virtualargocd.io/priority-class": "tenants", "virtualargocd.io/runtime-class": "gvisor"}),
		tenant("vargo-events", map[string]string{"virtualargocd.io/ingress-host": "a.example.org", "virtualargocd.io/ingress-namespaces": "argo-events,hooks"}),
		tenant("vargo-issuers", map[string]string{"virtualargocd.io/ingress-host": "a.example.org", "virtualargocd.io/cluster-issuers": "letsencrypt,staging"}),
		tenant("vargo-bare", nil),
		{ObjectMeta: metav1.ObjectMeta{Name: "vargo-unlabelled"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "crossplane-system"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "virtual-argocd-dns"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "gateways"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "team"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "customer", Annotations: map[string]string{"virtualargocd.io/writes-for-customers": "other," + argocd + "," + manager}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "leaving", DeletionTimestamp: &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "free-team", Annotations: map[string]string{"virtualargocd.io/allow-composition-choice": "true"}}},
	} {
		if err := s.namespaces.Add(ns); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// platform is somebody who may update composite resources, the only right that policies ask for. So may an Argo CD on the host, for customers, and
// the account in kube-system that argocd cluster add makes for one elsewhere: see examples/cells/namespace/values.yaml.
const (
	platform = "platform"
	argocd   = "system:serviceaccount:argocd:argocd-application-controller"
	manager  = "system:serviceaccount:kube-system:argocd-manager"
)

func authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if name := a.GetUser().GetName(); slices.Contains([]string{platform, argocd, manager}, name) && a.GetVerb() == "update" && a.GetAPIGroup() == "virtualargocd.io" && a.GetResource() == "xvirtualargocds" && a.GetNamespace() == "" {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func tenant(name string, annotations map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"virtualargocd.io/tenant": strings.TrimPrefix(name, "vargo-")}, Annotations: annotations,
	}}
}

// setDefaults are the API server's.
func setDefaults(m *admissionv1.MatchResources) {
	if m.NamespaceSelector == nil {
		m.NamespaceSelector = &metav1.LabelSelector{}
	}
	if m.ObjectSelector == nil {
		m.ObjectSelector = &metav1.LabelSelector{}
	}
	if m.MatchPolicy == nil {
		equivalent := admissionv1.Equivalent
		m.MatchPolicy = &equivalent
	}
	for i := range m.ResourceRules {
		if m.ResourceRules[i].Scope == nil {
			all := admissionv1.AllScopes
			m.ResourceRules[i].Scope = &all
		}
	}
}

// A request to the API server.
type request struct {
	// by is a username.
	by        string
	operation admission.Operation
	// resource is [group/]resource[/subresource], such as pods/exec; groups have a dot, or are apps and policy.
	resource  string
	namespace string
	// name is "-" for all of them.
	name string
	// object and old are YAML, without kind, name and namespace where they have none of their own.
	object, old string
	options     runtime.Object
	// dryRun: nothing is kept of it.
	dryRun bool
}

// decide is why a request is refused, policy by policy; "" when it isn't.
func (s *apiServer) decide(t *testing.T, r request) string {
	t.Helper()
	a := attributes(t, r)
	var refusals []string
	for _, p := range s.policies {
		if refusal := s.ask(t, a, p.hook()); refusal != "" {
			refusals = append(refusals, refusal)
		}
	}
	return strings.Join(refusals, "; ")
}

// ask is why one policy refuses a request; "" when it doesn't. One at a time, since the dispatcher tells the first refusal alone.
func (s *apiServer) ask(t *testing.T, a admission.Attributes, hook validating.PolicyHook) string {
	t.Helper()
	err := s.dispatcher.Dispatch(t.Context(), a, interfaces, []validating.PolicyHook{hook})
	if err == nil {
		return ""
	}
	status := &apierrors.StatusError{}
	if !errors.As(err, &status) || len(status.ErrStatus.Details.Causes) == 0 {
		t.Fatalf("want a refusal, got %v", err)
	}
	return status.ErrStatus.Details.Causes[0].Message
}

var interfaces = admission.NewObjectInterfacesFromScheme(runtime.NewScheme())

// attributes are a request as the API server hands it to admission.
func attributes(t *testing.T, r request) admission.Attributes {
	t.Helper()
	gvr, subresource := resourceOf(r.resource)
	gvk := gvr.GroupVersion().WithKind(kinds[gvr.Resource])
	if gvk.Kind == "" {
		t.Fatalf("no kind is known of %s", gvr.Resource)
	}
	if r.operation == "" {
		r.operation = admission.Create
		if r.old != "" {
			r.operation = admission.Update
		}
	}
	if r.name == "" {
		r.name = "x-x-default-x-vcluster"
	}
	if gvk.Kind == "Namespace" {
		r.namespace = r.name
	}
	object, old := parse(t, r.object, gvk, r), parse(t, r.old, gvk, r)
	if r.name == "-" {
		r.name = ""
	}
	return admission.NewAttributesRecord(object, old, gvk, r.namespace, r.name, gvr, subresource, r.operation, r.options, r.dryRun, &user.DefaultInfo{Name: r.by})
}

// parse is nil, and not an interface with a nil pointer in it, for no text.
func parse(t *testing.T, text string, gvk schema.GroupVersionKind, r request) runtime.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if o.Object == nil {
		o.Object = map[string]any{}
	}
	o.SetGroupVersionKind(gvk)
	if o.GetName() == "" && o.GetGenerateName() == "" {
		o.SetName(r.name)
	}
	if gvk.Kind != "Namespace" {
		o.SetNamespace(r.namespace)
	}
	return o
}

// kinds of resources.
var kinds = map[string]string{
	"bindings": "Binding", "clusterroles": "ClusterRole", "configmaps": "ConfigMap", "daemonsets": "DaemonSet", "deployments": "Deployment",
	"endpoints": "Endpoints", "endpointslices": "EndpointSlice", "events": "Event", "gateways": "Gateway", "grpcroutes": "GRPCRoute", "httproutes": "HTTPRoute", "referencegrants": "ReferenceGrant",
	"xlistenersets": "XListenerSet", "ingresses": "Ingress", "leases": "Lease",
	"flowschemas": "FlowSchema", "limitranges": "LimitRange", "namespaces": "Namespace", "networkpolicies": "NetworkPolicy", "nodes": "Node",
	"objects": "Object", "observedobjectcollections": "ObservedObjectCollection", "providerconfigusages": "ProviderConfigUsage", "xvirtualargocds": "XVirtualArgoCD",
	"persistentvolumeclaims": "PersistentVolumeClaim", "poddisruptionbudgets": "PodDisruptionBudget", "pods": "Pod",
	"replicasets": "ReplicaSet", "resourcequotas": "ResourceQuota", "rolebindings": "RoleBinding", "roles": "Role", "secrets": "Secret",
	"prioritylevelconfigurations": "PriorityLevelConfiguration", "serviceaccounts": "ServiceAccount", "services": "Service", "servicesx": "Service", "statefulsets": "StatefulSet",
	"usages": "Usage", "virtualargocds": "VirtualArgoCD", "widgets": "Widget",
}

// resourceOf takes [group/]resource[/subresource] apart.
func resourceOf(name string) (schema.GroupVersionResource, string) {
	parts := strings.Split(name, "/")
	gvr := schema.GroupVersionResource{Version: "v1"}
	if strings.Contains(parts[0], ".") || parts[0] == "apps" || parts[0] == "policy" {
		gvr.Group, parts = parts[0], parts[1:]
	}
	gvr.Resource = parts[0]
	return gvr, strings.Join(parts[1:], "/")
}

// oldest is what the first API server with these policies, 1.30, takes for new ones.
var oldest = version.MajorMinor(1, 29)

// A policy that is compiled, and its bindings.
type policy struct {
	*admissionv1.ValidatingAdmissionPolicy
	bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	// The parts of a validator.
	matcher                       matchconditions.Matcher
	validations, audits, messages cel.ConditionEvaluator
}

// hook is what the dispatcher goes by.
func (p *policy) hook() validating.PolicyHook {
	validator := validating.NewValidator(p.validations, p.matcher, p.audits, p.messages, p.Spec.FailurePolicy)
	return validating.PolicyHook{Policy: p.ValidatingAdmissionPolicy, Bindings: p.bindings, Evaluator: validator}
}

// compile does what the API server does with a policy and its bindings.
func compile(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy, bindings []*admissionv1.ValidatingAdmissionPolicyBinding) *policy {
	t.Helper()
	out := &policy{ValidatingAdmissionPolicy: p.DeepCopy()}
	setDefaults(out.Spec.MatchConstraints)
	for _, b := range bindings {
		if b.Spec.PolicyName == p.Name {
			b = b.DeepCopy()
			if b.Spec.MatchResources != nil {
				setDefaults(b.Spec.MatchResources)
			}
			out.bindings = append(out.bindings, b)
		}
	}
	t.Helper()
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(oldest))
	if err != nil {
		t.Fatal(err)
	}
	vars := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	var variables []cel.NamedExpressionAccessor
	for _, v := range p.Spec.Variables {
		variables = append(variables, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	compiler.CompileAndStoreVariables(variables, vars, environment.NewExpressions)
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
		return compiler.CompileCondition(of, vars, environment.NewExpressions)
	}
	if len(conditions) > 0 {
		out.matcher = matchconditions.NewMatcher(condition(conditions, vars), p.Spec.FailurePolicy, "policy", "validate", p.Name)
	}
	out.validations, out.audits = condition(validations, vars), condition(nil, vars)
	out.messages = condition(messages, cel.OptionalVariableDeclarations{})
	return out
}

// A verdict about a request: want is part of the refusal, "" for none.
type verdict struct {
	request
	want string
}

// wrong says how the answer differs from the wanted one; "" when it doesn't. What goes
// wrong in a policy, which refuses everything then, is no answer to be content with.
func (v verdict) wrong(got string) string {
	for _, failed := range []string{"resulted in error", "failed to configure", "compilation", "cost", "no such"} {
		if strings.Contains(got, failed) {
			return "the policy can't be evaluated: " + got
		}
	}
	if v.want == "" && got != "" || v.want != "" && !strings.Contains(got, v.want) {
		return "want refusal \"" + v.want + "\", got \"" + got + "\""
	}
	return ""
}

// ask holds the policies in force to the verdicts.
func ask(t *testing.T, cases map[string]verdict) {
	t.Helper()
	s := newAPIServer(t)
	for name, v := range cases {
		t.Run(name, func(t *testing.T) {
			if wrong := v.wrong(s.decide(t, v.request)); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// repository takes the tag off an image.
func repository(image string) string { return image[:strings.LastIndex(image, ":")] }
