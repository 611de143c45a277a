package decode

import (
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// spec reads what the tenant asks for. The schema has checked a claim that came
// by way of the API server; the checks here hold for a schema under another API
// group, too. Fields that are no part of the API are left to their owners: the
// spec of an XR has fields of Crossplane's beside ours.
func spec(xr Struct) (plan.Spec, error) {
	r := reader{}
	root := r.object(xr, "spec")
	argocd := r.object(root, "spec.argocd", "argocd")
	kubernetes := r.object(root, "spec.kubernetes", "kubernetes")
	vcluster := r.object(root, "spec.vcluster", "vcluster")
	s := plan.Spec{
		Plan:                 r.text(root, "spec.plan", "plan"),
		ArgoCDChartVersion:   r.text(argocd, "spec.argocd.chartVersion", "chartVersion"),
		ArgoCDValues:         r.values(argocd, "spec.argocd.values"),
		KubernetesVersion:    r.text(kubernetes, "spec.kubernetes.version", "version"),
		VClusterChartVersion: r.text(vcluster, "spec.vcluster.chartVersion", "chartVersion"),
		VClusterValues:       r.values(vcluster, "spec.vcluster.values"),
		Clusters:             r.clusters(root),
		Repositories:         r.repositories(root),
		CredentialTemplates:  r.credentialTemplates(root),
		Bootstrap:            r.bootstrap(root),
		Ingress:              r.ingress(root),
		SSO:                  r.sso(root),
		DeletionProtection:   r.flag(root, "spec.deletionProtection", "deletionProtection"),
	}
	return s, r.err
}
