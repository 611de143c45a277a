// Package pullsecrets is the part of a claim with the registries that its pods pull images from. Its Secrets become Secrets in Argo CD's
// namespace of the virtual cluster, which vcluster copies to the tenant's namespace on the host. There all pods of the tenant run as one
// ServiceAccount, and Kubernetes gives them what that has in imagePullSecrets.
package pullsecrets

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

const (
	field = "spec.imagePullSecrets"
	// forceSync has vcluster copy a Secret to the host that no pod names (vcluster 0.36, pkg/constants).
	forceSync = "vcluster.loft.sh/force-sync"
)

// Part is spec.imagePullSecrets.
var Part = part.Part{
	Field: field, Secrets: secretNames, Resolve: resolve, Rows: rows,
	Condition: v1alpha1.ConditionImagePullSecretsReady,
	Has:       func(t tenant.Tenant) bool { return len(t.PullSecrets) > 0 }, Observe: observe,
}

func secretNames(s tenant.Ask) []string {
	var names []string
	for _, ref := range s.ImagePullSecrets {
		names = append(names, ref.Name)
	}
	return names
}

// nameOf returns the name of a Secret in the virtual cluster.
func nameOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "image-pull-" + hex.EncodeToString(sum[:5])
}

func resolve(c part.Candidate) error {
	var found []error
	seen := map[string]bool{}
	for i, ref := range c.Spec.ImagePullSecrets {
		if seen[ref.Name] {
			found = append(found, fmt.Errorf("%s[%d].name: %q is that of another entry, too: leave one of the two out", field, i, ref.Name))
			continue
		}
		seen[ref.Name] = true
		if err := credentials.CheckSecretRef("", ref); err != nil {
			found = append(found, fmt.Errorf("%s[%d].name: %q is not the name of a Secret: write the name of a Secret in the namespace of the claim", field, i, ref.Name))
			continue
		}
		secret := credentials.Read(c.Given, ref.Name)
		file := read(secret)
		name := nameOf(ref.Name)
		c.Decision.PullSecrets = append(c.Decision.PullSecrets, c.Sensitive.AddObject(tenant.Connection{Kind: "Image pull secret", Name: ref.Name}, secret.Problem, values.Values{
			"apiVersion": "v1", "kind": "Secret", "type": string(corev1.SecretTypeDockerConfigJson),
			"data":     values.Values{corev1.DockerConfigJsonKey: base64.StdEncoding.EncodeToString([]byte(file))},
			"metadata": values.Values{"name": name, "namespace": tenant.ArgoCDNamespace, "annotations": values.Values{forceSync: "true"}},
		}, name))
		c.Decision.PullSecretsOnHost = append(c.Decision.PullSecretsOnHost, tenant.OnHost(name))
	}
	slices.Sort(c.Decision.PullSecretsOnHost)
	return mistakes.Join(found...)
}

// read returns the credentials in a Secret, as Kubernetes has them. Kubernetes would refuse a Secret of another form, and with it all of Argo
// CD's installation.
func read(s *credentials.Reader) string {
	const form = "write what kubectl create secret docker-registry makes"
	if s.Problem == nil && s.Type != string(corev1.SecretTypeDockerConfigJson) {
		s.Fail("it is of type %q: create one of type %s, such as with kubectl create secret docker-registry", s.Type, corev1.SecretTypeDockerConfigJson)
	}
	file := s.Need(corev1.DockerConfigJsonKey, form)
	if s.Problem != nil {
		return ""
	}
	var config struct {
		Auths map[string]struct{ Auth, Username, Password, IdentityToken, RegistryToken string } `json:"auths"`
	}
	if err := text.JSON([]byte(file), &config); err != nil {
		s.Fail("key %s is not the JSON that Kubernetes knows, such as {\"auths\": {\"registry.example.org\": {...}}}: %s", corev1.DockerConfigJsonKey, err)
		return ""
	}
	if len(config.Auths) == 0 {
		s.Fail("key %s has no auths: %s", corev1.DockerConfigJsonKey, form)
	}
	for i, registry := range slices.Sorted(maps.Keys(config.Auths)) {
		of := config.Auths[registry]
		decoded, err := base64.StdEncoding.DecodeString(of.Auth)
		_, password, _ := strings.Cut(string(decoded), ":")
		switch {
		case err == nil && password != "" || of.Auth == "" && of.Username != "" && of.Password != "":
		case of.IdentityToken+of.RegistryToken != "":
			// What az acr login writes, for one. The kubelet pulls without it, and nobody says why.
			s.Fail("key %s: entry %d of auths has a token that Kubernetes doesn't read (identitytoken or registrytoken) and no password; %s with a user of the registry's for pulling", corev1.DockerConfigJsonKey, i+1, form)
		default:
			// A colon would have the next word taken for the password, and redacted.
			s.Fail("key %s: entry %d of auths has no user name with a password, neither as auth in base64 nor as username and password; %s", corev1.DockerConfigJsonKey, i+1, form)
		}
	}
	return file
}

// rows has the Object that writes the names of the Secrets into the ServiceAccount of the tenant's pods, which the vcluster chart makes. As
// values of that chart, they would restart the virtual API server. Where a tenant once had any, the Object stays, without names: what
// server-side apply leaves out, Kubernetes takes away.
func rows(t tenant.Tenant) []resource.Row {
	return []resource.Row{{
		Name: tenant.PullAccount, Has: len(t.PullSecretsOnHost) > 0 || t.Composed(tenant.PullAccount).Exists(),
		// An Object that finds nothing to observe fails, and is tried again at growing intervals.
		Waits: !release.StateOf(t.Composed(tenant.VClusterRelease)).HasDeployed(), Ready: true, Build: account,
	}}
}

func account(t tenant.Tenant) (resource.Object, error) {
	o := resource.NewObject(t, tenant.PullAccount, t.Names.HostProviderConfig, resource.ReadyOnceCreated)
	o.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve, xpv1.ManagementActionUpdate}
	manifest := map[string]any{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"namespace": t.Names.Namespace, "name": tenant.WorkloadAccount},
	}
	// To Kubernetes, the list is one value. So it begins with the platform's, which the chart writes.
	var secrets []any
	for _, account := range []string{"serviceAccount", "workloadServiceAccount"} {
		secrets = append(secrets, values.At[[]any](t.VirtualCluster.Values, "controlPlane", "advanced", account, "imagePullSecrets")...)
	}
	for _, name := range t.PullSecretsOnHost {
		secrets = append(secrets, map[string]any{"name": name})
	}
	if len(secrets) > 0 {
		manifest["imagePullSecrets"] = secrets
	}
	return resource.Object{Typed: o, RawAt: resource.ManifestPath, Raw: manifest}, nil
}

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	passed := argocd.Passed(t, is, t.PullSecrets, "registry")
	o := t.Composed(tenant.PullAccount)
	state := release.StateOf(t.Composed(tenant.ArgoCDRelease))
	switch {
	case !passed.True:
		return passed
	case !o.Exists() || !has(t):
		return is.No(v1alpha1.ReasonInstalling, "Giving the Secrets to the pods of the virtual cluster", condition.Problem(o))
	case state.RollsOut():
		return is.No(v1alpha1.ReasonInstalling, "Rolling out the Secrets", "")
	}
	names := few.Names{}
	for _, s := range t.PullSecrets {
		names.Add(s.Name)
	}
	return is.Yes("Pods that are created from now on in the virtual cluster pull images with " + names.String() + ", unless they name imagePullSecrets of their own")
}

// has reports whether the ServiceAccount was seen with all names.
func has(t tenant.Tenant) bool {
	var seen []string
	for _, ref := range t.Composed(tenant.PullAccount).List("status", "atProvider", "manifest", "imagePullSecrets") {
		seen = append(seen, ref.String("name"))
	}
	return !slices.ContainsFunc(t.PullSecretsOnHost, func(name string) bool { return !slices.Contains(seen, name) })
}
