package admission

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"sigs.k8s.io/yaml"
)

// TestAmountsBeforeValidation: amounts.yaml refuses the amounts of pods, workloads and volume claims that tenants.yaml refuses, before the API server
// compares them, and no others.
func TestAmountsBeforeValidation(t *testing.T) {
	const refusal = "an-amount-of-a-tenant"
	ask := newMutatingAPIServer(t)
	cases, refused := amounts(), 0
	elsewhere := cases["Limit"]
	elsewhere.namespace, elsewhere.want = "team", ""
	cases["OfTheHost"] = elsewhere
	byOther := cases["Limit"]
	byOther.by = "system:serviceaccount:kube-system:replicaset-controller"
	cases["ByOthers"] = byOther
	// Virtual clusters may update workloads.
	for name, resource := range map[string]string{"StatefulSet": "apps/statefulsets", "ReplicaSet": "apps/replicasets", "Deployment": "apps/deployments"} {
		template := `{spec: {template: {spec: {containers: [{name: c, resources: {limits: {cpu: "%s"}}}]}}}}`
		v := verdict{request{by: syncer, resource: resource, namespace: "vargo-a", name: "vcluster", old: fmt.Sprintf(template, "1"), object: fmt.Sprintf(template, "1e2000000000")}, "an amount"}
		cases[name] = v
		v.object, v.want = fmt.Sprintf(template, "2"), ""
		cases[name+"Usual"] = v
	}
	for name, v := range cases {
		t.Run(name, func(t *testing.T) {
			switch {
			case !strings.HasPrefix(v.want, "an amount"):
				v.want = ""
			default:
				v.want = refusal
				refused++
			}
			if wrong := v.wrong(ask(t, v.request)); wrong != "" {
				t.Error(wrong)
			}
		})
	}
	if refused < 15 {
		t.Errorf("only %d cases are to be refused", refused)
	}
}

// newMutatingAPIServer is an API server with amounts.yaml, as far as its own dispatcher of such policies goes. It returns why a request is refused;
// "" when it isn't.
func newMutatingAPIServer(t *testing.T) func(*testing.T, request) string {
	t.Helper()
	policy, binding := &mutating.Policy{}, &mutating.PolicyBinding{}
	file, err := os.ReadFile("../../examples/install/amounts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	docs := strings.Split(string(file), "\n---\n")
	if len(docs) != 2 {
		t.Fatalf("want a policy and its binding, got %d objects", len(docs))
	}
	// v1 has the fields of v1beta1.
	for i, into := range []any{policy, binding} {
		if err := yaml.UnmarshalStrict([]byte(docs[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	if binding.Spec.PolicyName != policy.Name {
		t.Fatalf("the binding is of %s", binding.Spec.PolicyName)
	}
	// The API server's defaults.
	m := policy.Spec.MatchConstraints
	equivalent, all := v1beta1.Equivalent, v1beta1.AllScopes
	m.MatchPolicy, m.ObjectSelector = &equivalent, &metav1.LabelSelector{}
	for i := range m.ResourceRules {
		m.ResourceRules[i].Scope = &all
	}
	s := newAPIServer(t)
	matcher := matching.NewMatcher(listersv1.NewNamespaceLister(s.namespaces), nil)
	dispatcher := mutating.NewDispatcher(authorizer.AuthorizerFunc(authorize), matcher, untyped{})
	hook := mutating.PolicyHook{Policy: policy, Bindings: []*mutating.PolicyBinding{binding}, Evaluator: evaluator(t, policy)}
	return func(t *testing.T, r request) string {
		t.Helper()
		if err := dispatcher.Dispatch(t.Context(), attributes(t, r), interfaces, []mutating.PolicyHook{hook}); err != nil {
			return err.Error()
		}
		return ""
	}
}

// evaluator does what the API server does with a policy when it reads it.
func evaluator(t *testing.T, p *mutating.Policy) mutating.PolicyEvaluator {
	t.Helper()
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, 34)))
	if err != nil {
		t.Fatal(err)
	}
	var variables []cel.NamedExpressionAccessor
	for _, v := range p.Spec.Variables {
		variables = append(variables, &mutating.Variable{Name: v.Name, Expression: v.Expression})
	}
	vars := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	compiler.CompileAndStoreVariables(variables, vars, environment.NewExpressions)
	vars.HasPatchTypes = true
	out := mutating.PolicyEvaluator{CompositionEnv: compiler.CompositionEnv}
	for _, m := range p.Spec.Mutations {
		out.Mutators = append(out.Mutators, patch.NewJSONPatcher(compiler.CompileMutatingEvaluator(&patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}, vars, environment.NewExpressions)))
	}
	return out
}

// untyped has a converter for every kind, for patches of another type than amounts.yaml has.
type untyped struct{}

func (untyped) GetTypeConverter(schema.GroupVersionKind) managedfields.TypeConverter {
	return managedfields.NewDeducedTypeConverter()
}
func (untyped) Run(context.Context) {}
