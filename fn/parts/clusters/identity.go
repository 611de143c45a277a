package clusters

import (
	"path"
	"slices"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// identities are what argocd-k8s-auth takes to connect to a cloud's clusters (3.2, cmd/argocd-k8s-auth/commands): in the order of args, the
// name of the cloud, and the environment variables of which one must be there, unless Argo CD's pods have an identity in the cloud.
var identities = map[string]struct {
	cloud, page string
	env         []string
	write       string
}{
	"aws": {"AWS", pages.CloudAWS, []string{"AWS_ACCESS_KEY_ID", "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE"}, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
	"gcp": {"Google Cloud", pages.CloudGoogle, []string{"GOOGLE_APPLICATION_CREDENTIALS"}, "GOOGLE_APPLICATION_CREDENTIALS, the file with the key of a service account,"},
	"azure": {"Azure", pages.CloudAzure, []string{"AAD_SERVICE_PRINCIPAL_CLIENT_SECRET", "AAD_SERVICE_PRINCIPAL_CLIENT_CERTIFICATE", "AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH"},
		"AAD_LOGIN_METHOD: spn, with the id and the secret of a service principal,"},
}

// ofPods are the ways to log in to Azure that take an identity of the pod.
var ofPods = []string{"msi", "workloadidentity"}

// noteIdentity says where a program takes the identity of Argo CD's pods, which pods of a virtual cluster don't have.
func noteIdentity(s *credentials.Reader, exec *execConfig) {
	if exec == nil || path.Base(exec.Command) != "argocd-k8s-auth" || len(exec.Args) == 0 {
		return
	}
	name := exec.Args[0]
	of, known := identities[name]
	has := slices.ContainsFunc(of.env, func(key string) bool { return exec.Env[key] != "" })
	if name == "azure" && slices.Contains(ofPods, exec.Env["AAD_LOGIN_METHOD"]) {
		has = false
	}
	if !known || has {
		return
	}
	s.Note("argocd-k8s-auth %s takes the identity of Argo CD's pods, and pods of a virtual cluster have none in %s: write %s to execProviderConfig.env, or give Argo CD's pods credentials by spec.argocd.values: %s",
		name, of.cloud, of.write, of.page)
}
