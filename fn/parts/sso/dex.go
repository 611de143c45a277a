package sso

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/sso/connectors"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

const (
	ofDex = "spec.sso.dex"
	// secretPrefix is that of the Secrets in the virtual cluster. Argo CD reads those with its label.
	secretPrefix = "sso-"
)

// setDex sets the values for Dex and its connectors. The Secrets that these refer to become Secrets in Argo CD's namespace.
func setDex(of part.Candidate, d v1alpha1.DexSpec, own values.Values) error {
	found := []error{checkDex(ofDex, d), unlessAccepted(of, func() error {
		return mistakes.Join(checkTypes(ofDex, d), checkGroups(ofDex, d.AdminGroups, d.ReadOnlyGroups), checkScopes(of, ofDex, d.AdminGroups, d.ReadOnlyGroups))
	})}
	if !values.Enabled(of.ArgoCD.Merged(), true, "dex", "enabled") && !of.Unassigned {
		field := of.ArgoCD.Field("dex", "enabled")
		found = append(found, fmt.Errorf("%s: Dex doesn't run, because of %s: write spec.sso.oidc, or let Dex run", ofDex, field))
	}
	if setting(of, "oidc.config") != "" && (!wasAccepted(of) || !of.KeepsValues("configs", "cm", "oidc.config")) {
		found = append(found, fmt.Errorf("%s: Argo CD ignores Dex while there is %s: leave one of them out", ofDex, of.ArgoCD.Field("configs", "cm", "oidc.config")))
	}
	found = append(found, setGroups(of, ofDex, d.AdminGroups, d.ReadOnlyGroups, own))
	refs, configs, names := map[string][]string{}, []map[string]any{}, []string{}
	for i, c := range d.Connectors {
		at := fmt.Sprintf("%s.connectors[%d].config", ofDex, i)
		config, err := decodeConfig(c)
		if err != nil {
			found = append(found, fmt.Errorf("%s: is no object: write the connector's configuration", at))
		}
		claims := ofClaim(of.Spec.ArgoCDSecretKeys)
		found = append(found, checkConfig(at, config, claims, func(key string) bool { return slices.Contains(secretFields, key) }))
		found = append(found, unlessAccepted(of, func() error {
			return mistakes.Join(checkConfig(at, config, claims, isSecret), connectors.Check(at, c.Type, config, hasFiles(of)))
		}))
		for name, keys := range referencesIn(config) {
			refs[name] = append(refs[name], keys...)
		}
		configs, names = append(configs, config), append(names, c.Name)
	}
	found = append(found, unlessAccepted(of, func() error { return mistakes.Join(checkConnectorGroups(d, configs), checkTeams(of, d, configs)) }))
	if err := mistakes.Join(found...); err != nil {
		return err
	}
	of.Decision.SSO.Provider, of.Decision.SSO.Callback, of.Decision.SSO.Dex = strings.Join(names, ", "), "/api/dex/callback", true
	there := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		c := addSecret(of, name, refs[name])
		of.Decision.SSO.Secrets = append(of.Decision.SSO.Secrets, c)
		there[name] = slices.ContainsFunc(of.Sensitive.Objects, func(o any) bool {
			o2, _ := o.(values.Values)
			return values.At[string](o2, "metadata", "name") == secretPrefix+name
		})
	}
	var usable []any
	for i, c := range d.Connectors {
		lacks := func(name string) bool { return !there[name] }
		// Without its Secret, a connector only leads to errors.
		if slices.ContainsFunc(slices.Collect(maps.Keys(referencesIn(configs[i]))), lacks) {
			continue
		}
		usable = append(usable, map[string]any{"type": c.Type, "id": c.ID, "name": c.Name, "config": renamed(configs[i])})
	}
	if len(usable) == 0 {
		return nil
	}
	raw, err := json.Marshal(map[string]any{"connectors": usable})
	if err == nil {
		// Numbers stay as they are.
		raw, err = yaml.JSONToYAML(raw)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot be written as YAML: %w", ofDex, err)
	}
	values.Insert(own, string(raw), "configs", "cm", "dex.config")
	return nil
}

// addSecret adds the Secret in Argo CD's namespace, with the keys that connectors refer to.
func addSecret(of part.Candidate, name string, keys []string) tenant.Connection {
	secret := credentials.Read(of.Given, name)
	data := values.Values{}
	for _, key := range keys {
		data[key] = base64.StdEncoding.EncodeToString([]byte(secret.Need(key, "a connector of Dex refers to it")))
	}
	object := values.Values{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data,
		"metadata": values.Values{"name": secretPrefix + name, "namespace": tenant.ArgoCDNamespace, "labels": values.Values{"app.kubernetes.io/part-of": "argocd"}},
	}
	return of.Sensitive.AddObject(tenant.Connection{Kind: "Dex", Name: name}, secret.Problem, object, secretPrefix+name)
}

func checkDex(of string, d v1alpha1.DexSpec) error {
	var found []error
	if len(d.Connectors) == 0 {
		found = append(found, fmt.Errorf("%s.connectors: is missing: write one connector at least, such as {type: github, id: github, name: GitHub, config: {...}}", of))
	}
	ids := []string{}
	for i, c := range d.Connectors {
		for _, f := range []struct{ field, text string }{{"type", c.Type}, {"id", c.ID}, {"name", c.Name}} {
			at := fmt.Sprintf("%s.connectors[%d].%s", of, i, f.field)
			if f.text == "" {
				found = append(found, fmt.Errorf("%s: is missing: write it as Dex's documentation has it", at))
				continue
			}
			found = append(found, checkTexts(at, []string{f.text}))
		}
		if c.ID != "" && slices.Contains(ids, c.ID) {
			found = append(found, fmt.Errorf("%s.connectors[%d].id: %q is that of another connector, too: write another", of, i, c.ID))
		}
		ids = append(ids, c.ID)
	}
	return mistakes.Join(append(found, checkTexts(of+".adminGroups", d.AdminGroups), checkTexts(of+".readOnlyGroups", d.ReadOnlyGroups))...)
}

func checkTypes(of string, d v1alpha1.DexSpec) error {
	var found []error
	for i, c := range d.Connectors {
		if c.Type != "" && !connectors.IsType(c.Type) {
			types := connectors.Types()
			instead := known.Instead(c.Type, types, "write one of "+strings.Join(types, ", "))
			found = append(found, fmt.Errorf("%s.connectors[%d].type: %q is unknown to Dex: %s", of, i, c.Type, instead))
		}
	}
	return mistakes.Join(found...)
}

// checkConnectorGroups refuses groups that have roles, where no connector says which groups somebody is in.
func checkConnectorGroups(d v1alpha1.DexSpec, configs []map[string]any) error {
	var all []string
	for i, c := range d.Connectors {
		instead, lacks := connectors.LacksGroups(c.Type, configs[i])
		if !lacks {
			return nil
		}
		all = append(all, instead)
	}
	if field := withRoles(d.AdminGroups, d.ReadOnlyGroups); field != "" && len(all) > 0 {
		return fmt.Errorf("%s.%s: nobody would have these roles, because no connector tells Argo CD groups: %s", ofDex, field, strings.Join(slices.Compact(all), "; "))
	}
	return nil
}

// checkTeams refuses groups with roles that none of the connectors has.
func checkTeams(of part.Candidate, d v1alpha1.DexSpec, configs []map[string]any) error {
	scopes, _ := of.ArgoCD.Last("configs", "rbac", "scopes").Value.(string)
	if scopes = strings.TrimSpace(scopes); scopes != "" && scopes != "[groups]" {
		// Then roles aren't only of groups.
		return nil
	}
	var found []error
	for _, role := range []struct {
		field  string
		groups []string
	}{{"adminGroups", d.AdminGroups}, {"readOnlyGroups", d.ReadOnlyGroups}} {
		for i, group := range role.groups {
			var instead []string
			for n, c := range d.Connectors {
				instead = append(instead, connectors.NotAGroup(c.Type, configs[n], group))
			}
			if len(instead) > 0 && !slices.Contains(instead, "") {
				found = append(found, fmt.Errorf("%s.%s[%d]: nobody is in %.80q, because Dex tells Argo CD teams with their organization: write %s", ofDex, role.field, i, group, strings.Join(slices.Compact(instead), " or ")))
			}
		}
	}
	return mistakes.Join(found...)
}

// decodeConfig returns the configuration of a connector, with numbers as they are written.
func decodeConfig(c v1alpha1.DexConnector) (map[string]any, error) {
	config := map[string]any{}
	if c.Config == nil {
		return config, nil
	}
	return config, text.JSONNumbers(c.Config.Raw, &config)
}

// reference is how a text names a key of a Secret.
var reference = regexp.MustCompile(`^\$([a-z0-9]([-a-z0-9.]*[a-z0-9])?):([-._a-zA-Z0-9]+)$`)

// secretFields are the fields of Dex's connectors that hold a secret.
var secretFields = []string{"clientSecret", "bindPW", "keystonePassword", "password", "clientKey"}

// isSecret reports whether a field holds a secret, however it is spelt: to Dex, upper and lower case are the same.
func isSecret(key string) bool {
	return slices.ContainsFunc(secretFields, func(f string) bool { return strings.EqualFold(f, key) })
}

// isFile reports whether a field names the file that a secret is in, as LDAP's clientKey does.
func isFile(key, text string) bool {
	return strings.EqualFold(key, "clientKey") && strings.HasPrefix(text, "/")
}

// hasFiles reports whether Dex's pod may have files beside those of Dex's own image.
func hasFiles(of part.Candidate) bool {
	dex := values.At[values.Values](of.ArgoCD.Merged(), "dex")
	for _, key := range []string{"volumeMounts", "initContainers"} {
		if list, _ := dex[key].([]any); len(list) > 0 {
			return true
		}
	}
	for _, image := range []string{"repository", "tag"} {
		// The platform's own registry has the same image.
		if is := of.ArgoCD.Last("dex", "image", image); is.Value != nil && is.Value != "" && is.Field.Owner > values.Input {
			return true
		}
	}
	return of.Unassigned
}

// references are texts that stand for secrets.
type references struct {
	// refuse returns what is wrong with a text that begins with $; nil for one that can be used.
	refuse func(text string) error
	// instead is what to write for a secret.
	instead string
}

// ofClaim are references to Secrets in the namespace of the claim, and to keys of Argo CD's own Secret.
func ofClaim(keys []v1alpha1.SecretKeySpec) references {
	return references{instead: "write it into a Secret, and $<name>:<key> here", refuse: func(text string) error {
		if reference.MatchString(text) || slices.ContainsFunc(keys, func(k v1alpha1.SecretKeySpec) bool { return text == "$"+k.Key }) {
			return nil
		}
		return fmt.Errorf("%q doesn't name a key of a Secret: write $<name>:<key>, with the name of a Secret in the namespace of the claim, or $<key>, with a key of spec.argocd.secretKeys", text)
	}}
}

// checkConfig refuses secrets that stand in the claim, and texts that Argo CD would take for the name of a secret.
func checkConfig(field string, v any, refs references, isSecret func(key string) bool) error {
	var found []error
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "$") {
			if err := refs.refuse(v); err != nil {
				return fmt.Errorf("%s: %w", field, err)
			}
		}
	case []any:
		for i, item := range v {
			found = append(found, checkConfig(fmt.Sprintf("%s[%d]", field, i), item, refs, isSecret))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if text, ok := v[key].(string); ok && isSecret(key) && text != "" && !strings.HasPrefix(text, "$") && !isFile(key, text) {
				found = append(found, fmt.Errorf("%s.%s: there is a secret in the claim: %s", field, key, refs.instead))
			}
			found = append(found, checkConfig(field+"."+key, v[key], refs, isSecret))
		}
	}
	return mistakes.Join(found...)
}

// referencesIn returns the keys that texts refer to, by the name of the Secret.
func referencesIn(v any) map[string][]string {
	out := map[string][]string{}
	each(v, func(name, key string) string {
		if !slices.Contains(out[name], key) {
			out[name] = append(out[name], key)
		}
		return ""
	})
	return out
}

// renamed returns a configuration that refers to the Secrets as they are called in the virtual cluster.
func renamed(v any) any {
	return each(v, func(name, key string) string { return "$" + secretPrefix + name + ":" + key })
}

// each returns a configuration in which texts that refer to keys of Secrets are replaced.
func each(v any, replace func(name, key string) string) any {
	switch v := v.(type) {
	case string:
		if m := reference.FindStringSubmatch(v); m != nil {
			return replace(m[1], m[3])
		}
		return v
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			out = append(out, each(item, replace))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, at := range v {
			out[key] = each(at, replace)
		}
		return out
	}
	return v
}
