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
	cases := map[string]struct {
		spec string
		// want are parts of the refusal; none for a claim that is accepted.
		want []string
	}{
		"IRSA":              {of(`{"repoServer":{"serviceAccount":{"annotations":{"eks.amazonaws.com/role-arn":"arn:aws:iam::123456789012:role/a"}}}}`), []string{"spec.argocd.values.repoServer.serviceAccount.annotations.eks.amazonaws.com/role-arn: pods of a virtual cluster have no identity in AWS: leave it out", page + "aws"}},
		"IRSAOfEach":        {of(`{"controller":{"serviceAccount":{"annotations":{"eks.amazonaws.com/role-arn":"a"}}},"server":{"serviceAccount":{"annotations":{"eks.amazonaws.com/sts-regional-endpoints":"true"}}},"notifications":{"serviceAccount":{"annotations":{"eks.amazonaws.com/audience":"a"}}}}`), []string{"values.controller.serviceAccount", "; (2) spec.argocd.values.notifications.serviceAccount", "; (3) spec.argocd.values.server.serviceAccount"}},
		"Kube2IAM":          {of(`{"repoServer":{"podAnnotations":{"iam.amazonaws.com/role":"a"}}}`), []string{"spec.argocd.values.repoServer.podAnnotations.iam.amazonaws.com/role: pods of a virtual cluster have no identity in AWS"}},
		"WorkloadIdentity":  {of(`{"applicationSet":{"serviceAccount":{"annotations":{"iam.gke.io/gcp-service-account":"a@b.iam.gserviceaccount.com"}}}}`), []string{"no identity in Google Cloud", page + "google-cloud"}},
		"AzurePods":         {of(`{"server":{"podLabels":{"azure.workload.identity/use":"true"}},"controller":{"serviceAccount":{"labels":{"azure.workload.identity/use":"true"},"annotations":{"azure.workload.identity/client-id":"a"}}}}`), []string{"spec.argocd.values.controller.serviceAccount.annotations.azure.workload.identity/client-id: pods of a virtual cluster have no identity in Azure", "; (2) spec.argocd.values.controller.serviceAccount.labels", "; (3) spec.argocd.values.server.podLabels.azure.workload.identity/use", page + "azure"}},
		"AzureGlobal":       {of(`{"global":{"podLabels":{"azure.workload.identity/use":"true","aadpodidbinding":"a"}}}`), []string{"spec.argocd.values.global.podLabels.aadpodidbinding", "; (2) spec.argocd.values.global.podLabels.azure"}},
		"OfAnotherVersion":  {`{"argocd":{"chartVersion":"11.0.0","values":{"server":{"podLabels":{"azure.workload.identity/use":"true"}}}}}`, []string{"no identity in Azure"}},
		"OtherKeys":         {of(`{"server":{"podLabels":{"team":"a"},"serviceAccount":{"annotations":{"example.org/role-arn":"a"}}}}`), nil},
		"Empty":             {of(`{"server":{"serviceAccount":{"annotations":{"eks.amazonaws.com/role-arn":""}}}}`), nil},
		"OfAnApplication":   {of(`{"extraObjects":[{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"a","namespace":"argocd"},"spec":{"project":"default","source":{"repoURL":"https://git.example.org/a","path":"a","helm":{"valuesObject":{"serviceAccount":{"annotations":{"eks.amazonaws.com/role-arn":"a"}}}}},"destination":{"name":"prod","namespace":"a"}}}]}`), nil},
		"LabelsOfAClusters": {of(`{"configs":{"cm":{"resource.customizations.ignoreDifferences.all":"jsonPointers: [\"/metadata/annotations/eks.amazonaws.com~1role-arn\"]"}}}`), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, "")
			msg := crossplanetest.Refusal(e.Reconcile())
			if (msg == "") != (len(tc.want) == 0) {
				t.Errorf("want %q, got %q", tc.want, msg)
			}
			for _, want := range tc.want {
				if !strings.Contains(msg, want) {
					t.Errorf("the refusal should say %q: %q", want, msg)
				}
			}
		})
	}
	t.Run("OfThePlatform", func(t *testing.T) {
		e := crossplanetest.New(t, `{}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"server":{"serviceAccount":{"annotations":{"eks.amazonaws.com/role-arn":"a"}}}}}}}`).Install()
		c := e.Condition("SpecAccepted")
		if want := "input.charts.argocd.values.server.serviceAccount.annotations.eks.amazonaws.com/role-arn: pods of a virtual cluster have no identity in AWS"; c.GetReason() != "UnusedValues" || !strings.Contains(c.GetMessage(), want) {
			t.Errorf("want %q, got %s: %s", want, c.GetReason(), c.GetMessage())
		}
	})
}
