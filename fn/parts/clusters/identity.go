package clusters

import (
	"path"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
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

// ofImage are programs of Argo CD's image that can print credentials (3.6, Dockerfile).
var ofImage = []string{"argocd", "argocd-k8s-auth", "bash", "cat", "echo", "env", "printf", "sh"}

// noteProgram says that Argo CD's pods don't have a program, unless they may have files beside those of Argo CD's image.
func noteProgram(of part.Candidate, s *credentials.Reader, command string) {
	if command == "" || slices.Contains(ofImage, path.Base(command)) {
		return
	}
	v := of.ArgoCD.Merged()
	var lacking []string
	for _, component := range []string{"controller", "server"} {
		has := func(keys ...string) bool { return values.Enabled(v, false, append([]string{component}, keys...)...) }
		if !has("volumeMounts") && !has("image", "repository") && !has("image", "tag") {
			lacking = append(lacking, component)
		}
	}
	if len(lacking) == 0 || ownImage(of) {
		return
	}
	s.Note("Argo CD's image has no program %.40q: write argocd-k8s-auth in execProviderConfig.command, or mount the program by spec.argocd.values in %s, with volumes and volumeMounts", path.Base(command), strings.Join(lacking, " and "))
}

// ownImage reports whether Argo CD's image is one of the claim's own or its plan's. The platform's registry has the same image.
func ownImage(of part.Candidate) bool {
	return slices.ContainsFunc([]string{"repository", "tag"}, func(key string) bool {
		is := of.ArgoCD.Last("global", "image", key)
		return is.Value != nil && is.Value != "" && is.Field.Owner > values.Input
	})
}
