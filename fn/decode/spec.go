package decode

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// maxItems are the bounds of lists in the schema, which counts for nothing where a
// platform offers the kind under a schema of its own.
var maxItems = []struct {
	path []string
	most int
}{
	{[]string{"maintenance", "days"}, 7},
	{[]string{"clusters"}, 50},
	{[]string{"repositories"}, 50},
	{[]string{"credentialTemplates"}, 50},
	{[]string{"bootstrap", "syncPolicy", "syncOptions"}, 20},
	{[]string{"sso", "oidc", "scopes"}, 20},
	{[]string{"sso", "oidc", "adminGroups"}, 50},
	{[]string{"sso", "oidc", "readOnlyGroups"}, 50},
}

// specFields are the fields of the spec that are ours. An XR has fields of Crossplane's
// beside them.
var specFields = func() map[string]bool {
	out := map[string]bool{}
	for i, t := 0, reflect.TypeFor[v1alpha1.Spec](); i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out[name] = true
	}
	return out
}()

// spec reads what the tenant asks for.
func spec(xr wire.Struct) (tenant.Ask, error) {
	ours, err := wire.Object("spec", xr.Value("spec"))
	if err != nil {
		return tenant.Ask{}, err
	}
	maps.DeleteFunc(ours, func(name string, _ any) bool { return !specFields[name] })
	for _, list := range maxItems {
		at, _ := values.Lookup(ours, list.path...)
		if items, _ := at.([]any); len(items) > list.most {
			return tenant.Ask{}, fmt.Errorf("spec.%s: has %d entries: write %d at most", strings.Join(list.path, "."), len(items), list.most)
		}
	}
	if err := bounded("spec", ours, 2); err != nil {
		return tenant.Ask{}, err
	}
	var is v1alpha1.Spec
	wire.Prune(ours)
	if err := wire.Strict("spec", ours, &is); err != nil {
		return tenant.Ask{}, err
	}
	s := tenant.Ask{
		Plan: is.Plan, Channel: is.Channel, Maintenance: is.Maintenance, Clusters: is.Clusters, Repositories: is.Repositories, CredentialTemplates: is.CredentialTemplates,
		Bootstrap: is.Bootstrap, Ingress: is.Ingress, SSO: is.SSO, DeletionProtection: is.DeletionProtection,
	}
	if is.Kubernetes != nil {
		s.KubernetesVersion = is.Kubernetes.Version
	}
	if is.ArgoCD != nil {
		s.ArgoCDChartVersion = is.ArgoCD.ChartVersion
		if s.ArgoCDValues, err = values.Decode("spec.argocd.values", is.ArgoCD.Values); err != nil {
			return s, err
		}
	}
	if is.VCluster != nil {
		s.VClusterChartVersion = is.VCluster.ChartVersion
		s.VClusterValues, err = values.Decode("spec.vcluster.values", is.VCluster.Values)
	}
	return s, err
}

// bounded bounds what stands so many levels below a field, one by one.
func bounded(field string, object map[string]any, levels int) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := field + "." + name
		if below, ok := object[name].(map[string]any); ok && levels > 1 {
			if err := bounded(at, below, levels-1); err != nil {
				return err
			}
		} else if err := wire.Bound(at, object[name]); err != nil {
			return err
		}
	}
	return nil
}

// Input decodes the platform's input. No input is an empty one.
func Input(s *structpb.Struct) (inputv1alpha1.Input, error) {
	in := inputv1alpha1.Input{}
	if len(s.GetFields()) == 0 {
		return in, nil
	}
	return inputFrom(s.AsMap())
}

// InputOf returns the function's input in a step of a Composition. It reports false for
// another function's, and for one that can't be used. A step without one has an empty one.
func InputOf(step wire.Struct) (inputv1alpha1.Input, bool) {
	given, err := wire.Object("input", step.Value("input"))
	if err != nil || len(given) == 0 {
		return inputv1alpha1.Input{}, err == nil
	}
	in, err := inputFrom(given)
	return in, err == nil
}

func inputFrom(given map[string]any) (inputv1alpha1.Input, error) {
	in := inputv1alpha1.Input{}
	if err := wire.Bound("input", given); err != nil {
		return in, err
	}
	if err := wire.Strict("input", given, &in); err != nil {
		return in, err
	}
	if in.APIVersion != inputv1alpha1.APIVersion || in.Kind != inputv1alpha1.Kind {
		return in, fmt.Errorf("input: apiVersion %q, kind %q is unknown: write %s, kind %s", in.APIVersion, in.Kind, inputv1alpha1.APIVersion, inputv1alpha1.Kind)
	}
	return in, nil
}
