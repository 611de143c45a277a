package accounts

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// secretType is the type of Secrets with tokens. A Secret's type can't be changed: even if somebody creates a Secret of that name just
// before Crossplane does, that isn't overwritten.
const secretType corev1.SecretType = "virtualargocd.io/argocd-token"

// inPlace reports whether Argo CD has what is to be kept: it was kept, the Release reads it, and Helm has another revision than when it
// changed.
func inPlace(t tenant.Tenant) bool {
	release := t.Composed(tenant.ArgoCDRelease)
	revision := argocd.Revision(t.Observed)
	return reflect.DeepEqual(t.Accounts.Kept, t.Observed.Kept()) && argocd.ReadsNewestValues(t) && release.Deployed() && release.Current() && !release.TakenBack() &&
		revision != 0 && revision != t.Accounts.Kept.Revision
}

// rows are those of the Secrets with tokens. One is created once Argo CD accepts its token, and only if there is no other Secret of its
// name: Crossplane would overwrite it. One that exists stays.
func rows(t tenant.Tenant) []resource.Row {
	var out []resource.Row
	runs := tenant.WasReady(t.Observed) || argocd.WorkloadsAvailable(t)
	for _, token := range t.Accounts.Tokens {
		name := tenant.TokenResource(token.SecretName)
		free := token.Delivery.Read && !token.Delivery.Taken
		out = append(out, resource.Row{
			Name: name, Has: t.Composed(name).Exists() || free && runs && inPlace(t), Ready: true,
			Build: func(t tenant.Tenant) (resource.Object, error) { return secret(t, token) },
		})
	}
	return out
}

// secret composes the Secret with a token: the newest one, once Argo CD accepts it, and until then the one before.
func secret(t tenant.Tenant, token tenant.AccountToken) (resource.Object, error) {
	signed := string(t.Composed(tenant.TokenResource(token.SecretName)).SecretValue(tenant.TokenKey))
	if newest, ok := newestOf(t, token); ok && inPlace(t) {
		var err error
		if signed, err = sign(t.Accounts.Kept, token.Account, newest); err != nil {
			return resource.Object{}, fmt.Errorf("cannot sign a token: %w", err)
		}
	}
	url := tenant.URL(t.Decision)
	server, _, _ := strings.Cut(strings.TrimPrefix(url, "https://"), "/")
	return resource.Object{Typed: &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.Claim.Namespace, Name: token.SecretName, Labels: resource.OfTenant(t)},
		Type:       secretType,
		Data: map[string][]byte{
			tenant.TokenKey: []byte(signed), tenant.AccountKey: []byte(token.Account), tenant.ServerKey: []byte(server), tenant.URLKey: []byte(url),
		},
	}}, nil
}

func newestOf(t tenant.Tenant, token tenant.AccountToken) (tenant.Issued, bool) {
	issued := t.Accounts.Kept.Issued[token.Account+"/"+token.Token]
	if len(issued) == 0 {
		return tenant.Issued{}, false
	}
	return issued[len(issued)-1], true
}

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	if problem := taken(t); problem != "" {
		return is.No(v1alpha1.ReasonSecretTaken, problem, "")
	}
	if t.Accounts.Problem != "" {
		return is.No(v1alpha1.ReasonPasswordNotRotated, "The annotation "+tenant.AnnotationRotatePassword+" has no effect", t.Accounts.Problem)
	}
	switch {
	case !argocd.Runs(t):
		return is.No(v1alpha1.ReasonWaitingForArgoCD, "The accounts wait for Argo CD", "")
	case !t.Composed(tenant.ArgoCDRelease).Current() || !settled(t):
		return is.No(v1alpha1.ReasonInstalling, "Rolling out the accounts and tokens", "")
	}
	return is.Yes(strings.Join(given(t), "; "))
}

// settled reports whether Argo CD has everything that is derived, and each token is in its Secret.
func settled(t tenant.Tenant) bool {
	if len(t.Accounts.Tokens) == 0 && t.Accounts.Kept.Admin == nil {
		return true
	}
	for _, token := range t.Accounts.Tokens {
		if !token.Delivery.Composed {
			return false
		}
	}
	return inPlace(t)
}

// taken names the tokens that can't be delivered; "" for none.
func taken(t tenant.Tenant) string {
	var out []string
	for _, token := range t.Accounts.Tokens {
		if d := token.Delivery; d.Taken {
			whose := cmp.Or(d.Holder, "not this claim's, and stays as it is")
			if d.Holder != "" {
				whose = "that of claim " + d.Holder
			}
			out = append(out, fmt.Sprintf("%s.secretName: Secret %s exists in namespace %s, and is %s: write another name, or delete the Secret", token.Field, token.SecretName, t.Claim.Namespace, whose))
		}
	}
	return few.Texts(out)
}

// given says what Argo CD was given.
func given(t tenant.Tenant) []string {
	var out, tokens []string
	if len(t.Accounts.Names) > 0 {
		names := few.Names{Most: 5}
		for _, name := range t.Accounts.Names {
			names.Add(name)
		}
		out = append(out, "Argo CD has the accounts "+names.String())
	}
	for _, token := range t.Accounts.Tokens {
		if newest, ok := newestOf(t, token); ok {
			tokens = append(tokens, fmt.Sprintf("Secret %s has a token of %s until %s", token.SecretName, token.Account, time.Unix(newest.ExpiresAt, 0).UTC().Format(time.RFC3339)))
		}
	}
	if len(tokens) > 0 {
		out = append(out, few.Texts(tokens))
	}
	if admin := t.Accounts.Kept.Admin; admin != nil {
		out = append(out, "The password of admin was rotated at "+admin.ChangedAt)
	}
	return out
}
