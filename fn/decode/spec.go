package decode

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/utils/ptr"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/parts"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// maxItems are the maximum lengths of lists in the schema of the claim, which a platform may
// replace by one of its own.
var maxItems = map[string]int{
	"argocd.accounts":                  20,
	"argocd.secretKeys":                50,
	"clusters":                         50,
	"components":                       16,
	"repositories":                     50,
	"credentialTemplates":              50,
	"hibernation.schedules":            10,
	"maintenance.days":                 7,
	"ingress.additionalHosts":          4,
	"bootstrap.sources":                20,
	"imagePullSecrets":                 10,
	"notifications.defaultTriggers":    50,
	"notifications.services":           20,
	"notifications.subscriptions":      50,
	"notifications.templates":          50,
	"notifications.triggers":           50,
	"trustedCertificates":              50,
	"webhooks":                         6,
	"bootstrap.syncPolicy.syncOptions": 20,
	"sso.dex.connectors":               20,
	"sso.dex.adminGroups":              50,
	"sso.dex.readOnlyGroups":           50,
	"sso.oidc.allowedAudiences":        20,
	"sso.oidc.scopes":                  20,
	"sso.oidc.adminGroups":             50,
	"sso.oidc.readOnlyGroups":          50,
}

// spec decodes the spec of an XR. It returns apart the mistakes in spite of which the rest is decoded.
func spec(xr wire.Struct) (_ tenant.Ask, wrong, err error) {
	ours, err := wire.Object("spec", xr.Value("spec"))
	if err != nil {
		return tenant.Ask{}, nil, err
	}
	wire.DropCrossplanes(ours)
	var found []error
	for _, list := range slices.Sorted(maps.Keys(maxItems)) {
		if n := len(values.At[[]any](ours, strings.Split(list, ".")...)); n > maxItems[list] {
			found = append(found, fmt.Errorf("spec.%s: has %d entries: write %d at most", list, n, maxItems[list]))
		}
	}
	if err := wire.Bound("spec", ours, wire.SpecLevels); err != nil {
		return tenant.Ask{}, nil, mistakes.Join(append(found, err)...)
	}
	texts, err := checkTexts(ours)
	if found = append(found, texts); err != nil {
		return tenant.Ask{}, nil, mistakes.Join(append(found, err)...)
	}
	var is v1alpha1.Spec
	wire.Prune(ours)
	unknown, err := wire.Decode("spec", pages.SpecFields, ours, &is)
	if err != nil {
		return tenant.Ask{}, nil, mistakes.Join(append(found, err)...)
	}
	argocd, vcluster := ptr.Deref(is.ArgoCD, v1alpha1.ArgoCDSpec{}), ptr.Deref(is.VCluster, v1alpha1.VClusterSpec{})
	s := tenant.Ask{
		Plan: is.Plan, Channel: is.Channel, Maintenance: is.Maintenance, Clusters: is.Clusters, Repositories: is.Repositories, CredentialTemplates: is.CredentialTemplates,
		Bootstrap: is.Bootstrap, Ingress: is.Ingress, SSO: is.SSO, Notifications: is.Notifications,
		Webhooks: is.Webhooks, ImagePullSecrets: is.ImagePullSecrets, TrustedCertificates: is.TrustedCertificates, Backup: is.Backup, RestoreFrom: is.RestoreFrom, Hibernation: is.Hibernation, Suspension: is.Suspension, DeletionProtection: is.DeletionProtection,
		KubernetesVersion:  ptr.Deref(is.Kubernetes, v1alpha1.KubernetesSpec{}).Version,
		ArgoCDSecretKeys:   argocd.SecretKeys,
		ArgoCDAccounts:     argocd.Accounts,
		ArgoCDChartVersion: argocd.ChartVersion, VClusterChartVersion: vcluster.ChartVersion,
	}
	var ofArgoCD, ofVCluster error
	s.ArgoCDValues, ofArgoCD = values.Decode("spec.argocd.values", argocd.Values)
	s.VClusterValues, ofVCluster = values.Decode("spec.vcluster.values", vcluster.Values)
	for i, c := range is.Components {
		v, err := values.Decode(fmt.Sprintf("spec.components[%d].values", i), c.Values)
		s.Components, found = append(s.Components, tenant.AskedComponent{Name: c.Name, Values: v}), append(found, err)
	}
	found = append(found, unknown, ofArgoCD, checkExtraObjects(s.ArgoCDValues), ofVCluster)
	if n := len(parts.SecretNames(s)); n > tenant.MaxSecrets {
		found = append(found, fmt.Errorf("spec: names %d Secrets: name %d at most; one Secret can be named more than once", n, tenant.MaxSecrets))
	}
	return s, mistakes.Join(found...), nil
}

// Input decodes the platform's input. No input is an empty one.
func Input(s *structpb.Struct) (inputv1alpha1.Input, error) {
	in := inputv1alpha1.Input{}
	if len(s.GetFields()) == 0 {
		return in, nil
	}
	given := s.AsMap()
	field := mistakes.Field{Owner: mistakes.Input, Path: "input"}
	if err := wire.Bound(field.Path, given, 0); err != nil {
		return in, mistakes.By(field.Owner, err)
	}
	if err := wire.Strict(field.Path, pages.InputFields, given, &in); err != nil {
		return in, mistakes.By(field.Owner, err)
	}
	if in.APIVersion != inputv1alpha1.APIVersion || in.Kind != inputv1alpha1.Kind {
		return in, field.Errorf("apiVersion %q, kind %q is unknown: write %s, kind %s", in.APIVersion, in.Kind, inputv1alpha1.APIVersion, inputv1alpha1.Kind)
	}
	return in, nil
}
