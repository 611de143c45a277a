// Package webhooks is the part of a claim with the Git servers that tell its Argo CD of pushes.
package webhooks

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

const field = "spec.webhooks"

// path is where Argo CD takes events, below its URL.
const path = "/api/webhook"

// Part is spec.webhooks.
var Part = part.Part{
	Field: field, Secrets: secretNames, Resolve: resolve,
	Condition: v1alpha1.ConditionWebhooksReady,
	Has:       func(t tenant.Tenant) bool { return len(t.Webhooks) > 0 }, Observe: observe,
	Report: func(t tenant.Tenant, s *v1alpha1.Status) {
		if len(t.Webhooks) > 0 && argocd.Deployed(t) {
			s.Webhooks = &v1alpha1.WebhooksStatus{URL: tenant.URL(t.Decision) + path}
		}
	},
}

// A provider is a kind of Git server.
type provider struct {
	name v1alpha1.WebhookProvider
	// keys of argocd-secret (Argo CD 3.6, util/settings/settings.go), with the default keys of the claim's Secret.
	keys []key
}

type key struct {
	argocd, secret string
	// value is the value of the chart that writes it, too.
	value []string
}

var providers = []provider{
	{v1alpha1.WebhookAzureDevOps, []key{
		{"webhook.azuredevops.username", "username", []string{"azureDevops", "username"}}, {"webhook.azuredevops.password", "password", []string{"azureDevops", "password"}},
	}},
	{v1alpha1.WebhookBitbucket, []key{{"webhook.bitbucket.uuid", "uuid", []string{"bitbucketUUID"}}}},
	{v1alpha1.WebhookBitbucketServer, []key{{"webhook.bitbucketserver.secret", "secret", []string{"bitbucketServerSecret"}}}},
	{v1alpha1.WebhookGitHub, []key{{"webhook.github.secret", "secret", []string{"githubSecret"}}}},
	{v1alpha1.WebhookGitLab, []key{{"webhook.gitlab.secret", "secret", []string{"gitlabSecret"}}}},
	{v1alpha1.WebhookGogs, []key{{"webhook.gogs.secret", "secret", []string{"gogsSecret"}}}},
}

func secretNames(s tenant.Ask) []string {
	var names []string
	for _, w := range s.Webhooks {
		names = append(names, w.SecretRef.Name)
	}
	return names
}

func resolve(c part.Candidate) error {
	if len(c.Spec.Webhooks) == 0 {
		return nil
	}
	var found []error
	named := map[v1alpha1.WebhookProvider]bool{}
	// of is what the secrets of Azure DevOps are, in a form that doesn't tell.
	of := hmac.New(sha256.New, c.Token)
	for i, w := range c.Spec.Webhooks {
		at := fmt.Sprintf("%s[%d]", field, i)
		n := slices.IndexFunc(providers, func(p provider) bool { return p.name == w.Provider })
		if n < 0 {
			found = append(found, fmt.Errorf("%s.provider: %.80q is unknown: write one of %s", at, w.Provider, all()))
			continue
		}
		if named[w.Provider] {
			found = append(found, fmt.Errorf("%s.provider: %q is that of another entry, too: Argo CD knows one secret for each kind of Git server, so write it at all of them", at, w.Provider))
			continue
		}
		named[w.Provider] = true
		keys, err := keysOf(at, w, providers[n])
		found = append(found, err, credentials.CheckSecretRef(at, w.SecretRef))
		secret := credentials.Read(c.Given, w.SecretRef.Name)
		var texts []string
		for _, k := range keys {
			texts = append(texts, secret.Need(k.secret, "write what "+string(w.Provider)+" sends with its events"))
			if strings.HasPrefix(texts[len(texts)-1], "$") {
				secret.Fail("key %s begins with $, which Argo CD takes for the name of another key: write another", k.secret)
			}
		}
		state := tenant.Connection{Kind: "Webhook", Name: string(w.Provider)}
		for j, k := range keys {
			path, taken := c.ReserveSecretKey(at, k.argocd)
			ofChart := append([]string{"configs", "secret"}, k.value...)
			found = append(found, taken, c.ArgoCD.Reserve(values.Input, at, values.Not(ofChart...)), refuseSecretKey(c, at, k.argocd))
			state = c.Sensitive.Add(state, secret.Problem, texts[j], path...)
			if w.Provider == v1alpha1.WebhookAzureDevOps {
				fmt.Fprintf(of, "%s\n", values.At[string](c.Sensitive.Values, path...))
			}
		}
		c.Decision.Webhooks = append(c.Decision.Webhooks, state)
	}
	if err := mistakes.Join(found...); err != nil {
		return err
	}
	closeOthers(c, named, of.Sum(nil))
	return nil
}

// all are the names of providers.
func all() string {
	var names []string
	for _, p := range providers {
		names = append(names, string(p.name))
	}
	return strings.Join(names, ", ")
}

// keysOf returns the keys of a provider, with those of the claim's Secret.
func keysOf(at string, w v1alpha1.WebhookSpec, p provider) ([]key, error) {
	keys := slices.Clone(p.keys)
	if w.SecretKey == "" {
		return keys, nil
	}
	if len(keys) > 1 {
		return keys, fmt.Errorf("%s.secretKey: is not possible for %s, whose Secret has the keys username and password: leave it out", at, p.name)
	}
	keys[0].secret = w.SecretKey
	if len(validation.IsConfigMapKey(w.SecretKey)) > 0 {
		return keys, fmt.Errorf("%s.secretKey: %.80q is not a key of a Secret: write letters, digits, dots, dashes and underscores", at, w.SecretKey)
	}
	return keys, nil
}

// refuseSecretKey refuses a key of argocd-secret that spec.argocd.secretKeys has, too.
func refuseSecretKey(c part.Candidate, at, key string) error {
	for i, k := range c.Spec.ArgoCDSecretKeys {
		if k.Key == key {
			return fmt.Errorf("spec.argocd.secretKeys[%d].key: %q is set by %s: leave out one of the two", i, key, at)
		}
	}
	return nil
}

// closeOthers gives those kinds of Git servers that have no entry secrets that nobody knows. Argo CD checks the events of a kind only if it has
// a secret for it, and who sends an event says of which kind it is: without that, anybody could do without the signature. The secrets follow
// from the token of the tenant's account on the host, which nobody can guess, so that the same request has the same answer; and from those of
// Azure DevOps, because Argo CD reads them anew only when another secret has changed (3.6, server/server.go).
func closeOthers(c part.Candidate, named map[v1alpha1.WebhookProvider]bool, of []byte) {
	configs := values.At[values.Values](c.ArgoCD.Merged(), "configs", "secret")
	for _, p := range providers {
		set := named[p.name]
		for _, k := range p.keys {
			_, inExtra := values.Lookup(configs, "extra", k.argocd)
			inValues, _ := values.Lookup(configs, k.value...)
			set = set || inExtra || inValues != nil && inValues != "" || refuseSecretKey(c, "", k.argocd) != nil
		}
		if set {
			continue
		}
		for _, k := range p.keys {
			path := []string{"configs", "secret", "extra", k.argocd}
			secret := values.At[string](c.Sensitive.Before, path...)
			if len(c.Token) > 0 {
				mac := hmac.New(sha256.New, c.Token)
				fmt.Fprintf(mac, "%s\n%x", k.argocd, of)
				secret = hex.EncodeToString(mac.Sum(nil)[:16])
			}
			if secret != "" {
				c.Sensitive.Put(secret, path)
			}
		}
	}
}

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	passed := argocd.Passed(t, is, t.Webhooks, "Git server")
	state := release.StateOf(t.Composed(tenant.ArgoCDRelease))
	switch {
	case !passed.True:
		return passed
	case state.RollsOut():
		return is.No(v1alpha1.ReasonInstalling, "Rolling out the secrets of webhooks", "")
	}
	var names, urls []string
	for _, w := range t.Webhooks {
		names = append(names, w.Name)
	}
	for _, url := range tenant.URLs(t.Decision) {
		urls = append(urls, url+path)
	}
	message := "Argo CD takes signed events of " + strings.Join(names, ", ") + " at " + strings.Join(urls, ", ")
	if cmp.Or(t.Ingress.InUse()...) == "" {
		message += ", which is a Service of the host: for Git servers elsewhere, write spec.ingress.host"
	}
	return is.Yes(message)
}
