package function

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
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
			e := newEngine(t, tenantXR(tc.spec), "")
			msg := refusal(e.reconcile())
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
		e := newEngine(t, tenantXR(`{}`), `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"server":{"serviceAccount":{"annotations":{"eks.amazonaws.com/role-arn":"a"}}}}}}}`).install()
		c := e.condition("SpecAccepted")
		if want := "input.charts.argocd.values.server.serviceAccount.annotations.eks.amazonaws.com/role-arn: pods of a virtual cluster have no identity in AWS"; c.GetReason() != "UnusedValues" || !strings.Contains(c.GetMessage(), want) {
			t.Errorf("want %q, got %s: %s", want, c.GetReason(), c.GetMessage())
		}
	})
}

// TestClusterByIdentity: the status names Secrets of clusters that rely on an identity of Argo CD's pods.
func TestClusterByIdentity(t *testing.T) {
	exec := func(args, env string) string {
		return `{"execProviderConfig":{"command":"argocd-k8s-auth","args":[` + args + `],"env":{` + env + `}}}`
	}
	cases := map[string]struct{ config, want string }{
		"AWS":           {exec(`"aws","--cluster-name","a"`, ``), "argocd-k8s-auth aws takes the identity of Argo CD's pods, and pods of a virtual cluster have none in AWS: write AWS_ACCESS_KEY_ID"},
		"AWSRole":       {exec(`"aws","--cluster-name","a","--role-arn","b"`, `"AWS_REGION":"eu-central-1"`), "none in AWS"},
		"AWSKey":        {exec(`"aws","--cluster-name","a"`, `"AWS_ACCESS_KEY_ID":"a","AWS_SECRET_ACCESS_KEY":"b"`), ""},
		"GCP":           {exec(`"gcp"`, ``), "none in Google Cloud: write GOOGLE_APPLICATION_CREDENTIALS"},
		"GCPFile":       {exec(`"gcp"`, `"GOOGLE_APPLICATION_CREDENTIALS":"/var/run/google/google.json"`), ""},
		"Azure":         {exec(`"azure"`, `"AAD_LOGIN_METHOD":"workloadidentity","AZURE_CLIENT_ID":"a","AZURE_TENANT_ID":"b"`), "none in Azure: write AAD_LOGIN_METHOD: spn"},
		"AzureMSI":      {exec(`"azure"`, `"AAD_LOGIN_METHOD":"msi"`), "none in Azure"},
		"AzureBoth":     {exec(`"azure"`, `"AAD_LOGIN_METHOD":"msi","AZURE_CLIENT_SECRET":"a"`), "none in Azure"},
		"AzureSecret":   {exec(`"azure"`, `"AAD_LOGIN_METHOD":"spn","AAD_SERVICE_PRINCIPAL_CLIENT_ID":"a","AAD_SERVICE_PRINCIPAL_CLIENT_SECRET":"b"`), ""},
		"WithPath":      {`{"execProviderConfig":{"command":"/usr/local/bin/argocd-k8s-auth","args":["aws"]}}`, "none in AWS"},
		"AWSAuthConfig": {`{"awsAuthConfig":{"clusterName":"a"}}`, "awsAuthConfig takes the identity of Argo CD's pods"},
		"Another":       {`{"execProviderConfig":{"command":"mine","args":["aws"]}}`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"clusters":[{"name":"a","secretRef":{"name":"a"}}]}`), "")
			e.secret("a", "", map[string]string{"server": "https://a.example.org", "config": tc.config})
			e.install()
			got := must(json.Marshal(field(e.rsp.GetDesired().GetComposite().GetResource(), "status").AsMap()["clusters"]))
			if strings.Contains(string(got), "identity") != (tc.want != "") || !strings.Contains(string(got), tc.want) {
				t.Errorf("want %q, got %s", tc.want, got)
			}
		})
	}
}

// TestCloudExamples: the credentials of examples/claims/cloud-*.yaml reach Argo CD.
func TestCloudExamples(t *testing.T) {
	for file, want := range map[string]struct {
		env  map[string]any
		keys []string
	}{
		"cloud-aws":    {map[string]any{"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "not-a-key", "AWS_SECRET_ACCESS_KEY": "not-a-secret"}, nil},
		"cloud-google": {map[string]any{"GOOGLE_APPLICATION_CREDENTIALS": "/var/run/google/google.json"}, []string{"google.json"}},
		"cloud-azure": {map[string]any{"AAD_ENVIRONMENT_NAME": "AzurePublicCloud", "AAD_LOGIN_METHOD": "spn", "AZURE_TENANT_ID": "00000000-0000-0000-0000-000000000001",
			"AAD_SERVICE_PRINCIPAL_CLIENT_ID": "00000000-0000-0000-0000-000000000002", "AAD_SERVICE_PRINCIPAL_CLIENT_SECRET": "not-a-secret"}, nil},
	} {
		t.Run(file, func(t *testing.T) {
			raw, err := os.ReadFile("../../examples/claims/" + file + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			documents := strings.Split(string(raw), "\n---\n")
			of := struct {
				Spec map[string]any `json:"spec"`
			}{}
			if err := yaml.Unmarshal([]byte(documents[0]), &of); err != nil {
				t.Fatal(err)
			}
			delete(of.Spec, "writeConnectionSecretToRef")
			e := newEngine(t, tenantXR(string(must(json.Marshal(of.Spec)))), "")
			for _, text := range documents[1:] {
				secret := struct {
					Metadata   struct{ Name string }
					StringData map[string]string `json:"stringData"`
				}{}
				if err := yaml.Unmarshal([]byte(text), &secret); err != nil {
					t.Fatal(err)
				}
				e.secret(secret.Metadata.Name, "", secret.StringData)
			}
			e.install()
			configs := e.secretValues()["configs"].(map[string]any)
			for name, cluster := range configs["clusterCredentials"].(map[string]any) {
				config := cluster.(map[string]any)["config"].(map[string]any)
				if diff := cmp.Diff(want.env, config["execProviderConfig"].(map[string]any)["env"]); diff != "" {
					t.Errorf("cluster %s: -want, +got:\n%s", name, diff)
				}
			}
			for _, key := range want.keys {
				if extra := configs["secret"].(map[string]any)["extra"].(map[string]any); extra[key] == nil {
					t.Errorf("argocd-secret lacks %s", key)
				}
				// The pods that connect to clusters mount what the cluster's Secret names.
				v := field(e.observed("argocd"), "spec", "forProvider", "values").AsMap()
				for _, component := range []string{"controller", "server"} {
					if text := string(must(json.Marshal(v[component]))); !strings.Contains(text, `"mountPath":"/var/run/google"`) || !strings.Contains(text, `"secretName":"argocd-secret"`) || !strings.Contains(text, `"path":"`+key+`"`) {
						t.Errorf("%s: %s", component, text)
					}
				}
			}
		})
	}
}
