package clusters_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

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
			e := crossplanetest.New(t, `{"clusters":[{"name":"a","secretRef":{"name":"a"}}]}`, "")
			e.AddSecret("a", "", map[string]string{"server": "https://a.example.org", "config": tc.config})
			e.Install()
			got := crossplanetest.Must(json.Marshal(crossplanetest.Field(e.Response.GetDesired().GetComposite().GetResource(), "status").AsMap()["clusters"]))
			if strings.Contains(string(got), "identity") != (tc.want != "") || !strings.Contains(string(got), tc.want) {
				t.Errorf("want %q, got %s", tc.want, got)
			}
		})
	}
}

// TestProgramsOfOthers: the status names programs that Argo CD's pods don't have.
func TestProgramsOfOthers(t *testing.T) {
	const note = "Argo CD's image has no program "
	mounts := func(components ...string) string {
		var out []string
		for _, component := range components {
			out = append(out, `"`+component+`":{"volumes":[{"name":"a","emptyDir":{}}],"volumeMounts":[{"name":"a","mountPath":"/a"}]}`)
		}
		return strings.Join(out, ",")
	}
	for name, tc := range map[string]struct{ command, values, want string }{
		"AWS":           {"aws", "", note + `"aws": write argocd-k8s-auth in execProviderConfig.command, or mount the program by spec.argocd.values in controller and server`},
		"Azure":         {"/usr/local/bin/kubelogin", "", note + `"kubelogin"`},
		"HalfMounted":   {"aws", mounts("controller"), "by spec.argocd.values in server, with"},
		"Mounted":       {"/a/aws", mounts("controller", "server"), ""},
		"OwnImage":      {"aws", `"global":{"image":{"repository":"registry.example.org/argocd"}}`, ""},
		"ArgoCDs":       {"argocd-k8s-auth", "", ""},
		"ArgoCDsByPath": {"/usr/local/bin/argocd-k8s-auth", "", ""},
		"Shell":         {"sh", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"clusters":[{"name":"a","secretRef":{"name":"a"}}],"argocd":{"values":{`+tc.values+`}}}`, "")
			e.AddSecret("a", "", map[string]string{"server": "https://a.example.org", "config": `{"execProviderConfig":{"command":"` + tc.command + `"},"tlsClientConfig":{"insecure":true}}`})
			e.Install()
			message, _ := e.StatusList("clusters")[0].(map[string]any)["message"].(string)
			if strings.Contains(message, note) != (tc.want != "") || !strings.Contains(message, tc.want) {
				t.Errorf("want %q, got %q", tc.want, message)
			}
		})
	}
}

// TestSecretOfAnotherKind: a Secret says of itself that it is for a repository.
func TestSecretOfAnotherKind(t *testing.T) {
	for label, want := range map[string]string{"repository": "its label argocd.argoproj.io/secret-type is repository, and here it is taken for one of spec.clusters: name it in spec.repositories", "repo-creds": "name it in spec.credentialTemplates", "scm-creds": "which nothing in a claim is for", "cluster": "", "": ""} {
		t.Run(label, func(t *testing.T) {
			e := crossplanetest.New(t, `{"clusters":[{"name":"a","secretRef":{"name":"a"}}]}`, "")
			e.AddSecret("a", "", map[string]string{"server": "https://a.example.org", "config": `{"bearerToken":"abcdefgh","tlsClientConfig":{"insecure":true}}`})
			if label != "" {
				e.AnnotateSecret("a", map[string]string{"argocd.argoproj.io/secret-type": label}, nil)
			}
			e.Install()
			message, _ := e.StatusList("clusters")[0].(map[string]any)["message"].(string)
			if !strings.Contains(message, want) || (message == "") != (want == "") {
				t.Errorf("want %q, got %q", want, message)
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
			raw, err := os.ReadFile("../../../examples/claims/" + file + ".yaml")
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
			e := crossplanetest.New(t, string(crossplanetest.Must(json.Marshal(of.Spec))), "")
			for _, text := range documents[1:] {
				secret := struct {
					Metadata   struct{ Name string }
					StringData map[string]string `json:"stringData"`
				}{}
				if err := yaml.Unmarshal([]byte(text), &secret); err != nil {
					t.Fatal(err)
				}
				e.AddSecret(secret.Metadata.Name, "", secret.StringData)
			}
			e.Install()
			configs := e.SecretValues()["configs"].(map[string]any)
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
				v := crossplanetest.Field(e.Observed("argocd"), "spec", "forProvider", "values").AsMap()
				for _, component := range []string{"controller", "server"} {
					if text := string(crossplanetest.Must(json.Marshal(v[component]))); !strings.Contains(text, `"mountPath":"/var/run/google"`) || !strings.Contains(text, `"secretName":"argocd-secret"`) || !strings.Contains(text, `"path":"`+key+`"`) {
						t.Errorf("%s: %s", component, text)
					}
				}
			}
		})
	}
}
