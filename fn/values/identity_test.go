package values_test

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestCloudIdentity: what would give pods an identity in a cloud does nothing in a virtual cluster, and the claim is told so.
func TestCloudIdentity(t *testing.T) {
	of := func(v string) string { return `{"argocd":{"values":` + v + `}}` }
	const page = "https://github.com/virtual-argocd/virtual-argocd/blob/main/docs/cloud-identity.md#"
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"IRSA":              {Spec: of(`{"repoServer":{"serviceAccount":{"annotations":{"eks.amazonaws.com/role-arn":"arn:aws:iam::123456789012:role/a"}}}}`), Want: []string{"spec.argocd.values.repoServer.serviceAccount.annotations.eks.amazonaws.com/role-arn: pods of a virtual cluster have no identity in AWS: leave it out", page + "aws"}},
		"IRSAOfEach":        {Spec: of(`{"controller":{"serviceAccount":{"annotations":{"eks.amazonaws.com/role-arn":"a"}}},"server":{"serviceAccount":{"annotations":{"eks.amazonaws.com/sts-regional-endpoints":"true"}}},"notifications":{"serviceAccount":{"annotations":{"eks.amazonaws.com/audience":"a"}}}}`), Want: []string{"values.controller.serviceAccount", "; (2) spec.argocd.values.notifications.serviceAccount", "; (3) spec.argocd.values.server.serviceAccount"}},
		"Kube2IAM":          {Spec: of(`{"repoServer":{"podAnnotations":{"iam.amazonaws.com/role":"a"}}}`), Want: []string{"spec.argocd.values.repoServer.podAnnotations.iam.amazonaws.com/role: pods of a virtual cluster have no identity in AWS"}},
		"WorkloadIdentity":  {Spec: of(`{"applicationSet":{"serviceAccount":{"annotations":{"iam.gke.io/gcp-service-account":"a@b.iam.gserviceaccount.com"}}}}`), Want: []string{"no identity in Google Cloud", page + "google-cloud"}},
		"AzurePods":         {Spec: of(`{"server":{"podLabels":{"azure.workload.identity/use":"true"}},"controller":{"serviceAccount":{"labels":{"azure.workload.identity/use":"true"},"annotations":{"azure.workload.identity/client-id":"a"}}}}`), Want: []string{"spec.argocd.values.controller.serviceAccount.annotations.azure.workload.identity/client-id: pods of a virtual cluster have no identity in Azure", "; (2) spec.argocd.values.controller.serviceAccount.labels", "; (3) spec.argocd.values.server.podLabels.azure.workload.identity/use", page + "azure"}},
		"AzureGlobal":       {Spec: of(`{"global":{"podLabels":{"azure.workload.identity/use":"true","aadpodidbinding":"a"}}}`), Want: []string{"spec.argocd.values.global.podLabels.aadpodidbinding", "; (2) spec.argocd.values.global.podLabels.azure"}},
		"OfAnotherVersion":  {Spec: `{"argocd":{"chartVersion":"11.0.0","values":{"server":{"podLabels":{"azure.workload.identity/use":"true"}}}}}`, Want: []string{"no identity in Azure"}},
		"OtherKeys":         {Spec: of(`{"server":{"podLabels":{"team":"a"},"serviceAccount":{"annotations":{"example.org/role-arn":"a"}}}}`)},
		"Empty":             {Spec: of(`{"server":{"serviceAccount":{"annotations":{"eks.amazonaws.com/role-arn":""}}}}`)},
		"OfAnObject":        {Spec: of(`{"extraObjects":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"argocd"},"data":{"serviceAccount":{"annotations":{"eks.amazonaws.com/role-arn":"a"}}}}]}`)},
		"LabelsOfAClusters": {Spec: of(`{"configs":{"cm":{"resource.customizations.ignoreDifferences.all":"jsonPointers: [\"/metadata/annotations/eks.amazonaws.com~1role-arn\"]"}}}`)},
	})
	t.Run("OfThePlatform", func(t *testing.T) {
		e := crossplanetest.New(t, `{}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"server":{"serviceAccount":{"annotations":{"eks.amazonaws.com/role-arn":"a"}}}}}}}`).Install()
		c := e.Condition("SpecAccepted")
		if want := "input.charts.argocd.values.server.serviceAccount.annotations.eks.amazonaws.com/role-arn: pods of a virtual cluster have no identity in AWS"; c.GetReason() != "UnusedValues" || !strings.Contains(c.GetMessage(), want) {
			t.Errorf("want %q, got %s: %s", want, c.GetReason(), c.GetMessage())
		}
	})
}
