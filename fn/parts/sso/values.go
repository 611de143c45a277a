package sso

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/sso/connectors"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// The settings of sign-on in the values of the argo-cd chart.
const (
	valuesOIDC = `spec.argocd.values.configs.cm."oidc.config"`
	valuesDex  = `spec.argocd.values.configs.cm."dex.config"`
)

// ofValues decides on sign-on that is written as values, whoever has written them. It refuses what is wrong with the claim's own, unless
// it was accepted before.
func ofValues(of part.Candidate) error {
	own := func(key string) bool {
		s, _ := values.At[values.Values](of.Spec.ArgoCDValues, "configs", "cm")[key].(string)
		return strings.TrimSpace(s) != "" && !of.KeepsValues("configs", "cm", key)
	}
	d := &of.Decision.SSO
	switch oidc, dex := setting(of, "oidc.config"), setting(of, "dex.config"); {
	case oidc != "":
		object, err := text.Object([]byte(oidc))
		config, asSpec, wrong := readOIDC(of, object)
		if own("oidc.config") {
			if err != nil {
				return fmt.Errorf("%s: %w, and Argo CD would leave it out: write YAML such as in Argo CD's documentation", valuesOIDC, err)
			}
			if err := wrong(); err != nil {
				return err
			}
		}
		if config.Issuer != "" {
			d.On, d.Provider, d.Callback = true, withoutReference(config.Name, "SSO"), "/auth/callback"
			d.Notes = notes(inValues, asSpec, config)
		}
	case dex != "" && !values.Enabled(of.ArgoCD.Merged(), true, "dex", "enabled"):
		// Where the claim itself says so, package policy refuses it.
		if off := of.ArgoCD.Field("dex", "enabled"); own("dex.config") && off.Owner != mistakes.Claim && !of.Unassigned {
			return fmt.Errorf("%s: Dex doesn't run, because of %s, so that nothing reads it: write spec.sso.oidc, or let Dex run", valuesDex, off)
		}
	case dex != "":
		object, err := text.Object([]byte(dex))
		if own("dex.config") {
			if err == nil {
				err = checkValuesOfDex(of, object)
			} else {
				err = fmt.Errorf("%s: %w, and Argo CD would leave it out: write YAML such as in Dex's documentation", valuesDex, err)
			}
			if err != nil {
				return err
			}
		}
		spec, _, _ := readDex(object)
		var names []string
		for _, c := range spec.Connectors {
			names = append(names, withoutReference(c.Name, c.ID))
		}
		if len(names) > 0 {
			d.On, d.Dex, d.Provider, d.Callback = true, true, strings.Join(names, ", "), "/api/dex/callback"
		}
	}
	return nil
}

// setting returns one of Argo CD's ConfigMap in the values, whoever has written it.
func setting(of part.Candidate, key string) string {
	s, _ := of.ArgoCD.Last("configs", "cm", key).Value.(string)
	return strings.TrimSpace(s)
}

// withoutReference returns a name, or what stands for one that is empty or a reference to a secret.
func withoutReference(name, instead string) string {
	if strings.HasPrefix(name, "$") {
		return instead
	}
	return cmp.Or(name, instead)
}

// readOIDC reads Argo CD's oidc.config, and returns what refuses it. References to secrets are taken for right values in asSpec.
func readOIDC(of part.Candidate, object map[string]any) (config oidcConfig, asSpec v1alpha1.OIDCSpec, wrong func() error) {
	// Argo CD's decoder takes upper and lower case for the same.
	fields := wire.Fields[oidcConfig]()
	names := slices.Sorted(maps.Keys(fields))
	var found []error
	usual, resolved := map[string]any{}, map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, key) })
		switch {
		case i < 0:
			instead := known.Instead(key, names, "see Argo CD's documentation for those there are")
			found = append(found, fmt.Errorf("%s.%s: Argo CD has no such field: %s", valuesOIDC, key, instead))
		case usual[names[i]] != nil:
			found = append(found, fmt.Errorf("%s.%s: is there twice: leave one out", valuesOIDC, key))
		default:
			usual[names[i]] = asText(names[i], object[key])
			resolved[names[i]] = withoutReferences(names[i], usual[names[i]])
		}
	}
	_, err := wire.Decode(valuesOIDC, "Argo CD's documentation", usual, &config)
	read := oidcConfig{}
	// The same mistake.
	_, _ = wire.Decode(valuesOIDC, "", resolved, &read)
	o := v1alpha1.OIDCSpec{
		Name: read.Name, Issuer: read.Issuer, ClientID: read.ClientID, CLIClientID: read.CLIClientID, EnablePKCEAuthentication: read.EnablePKCEAuthentication,
		RequestedIDTokenClaims: read.RequestedIDTokenClaims, EnableUserInfoGroups: read.EnableUserInfoGroups, UserInfoPath: read.UserInfoPath,
		UserInfoBaseURL: read.UserInfoBaseURL, UserInfoCacheExpiration: read.UserInfoCacheExpiration, LogoutURL: read.LogoutURL, DomainHint: read.DomainHint,
		RefreshTokenThreshold: read.RefreshTokenThreshold, Azure: read.Azure, Scopes: read.RequestedScopes, AllowedAudiences: read.AllowedAudiences, RootCA: read.RootCA,
	}
	if read.ClientSecret != "" {
		o.ClientSecretRef = &v1alpha1.SecretKeyReference{}
	}
	if len(config.RequestedScopes) == 0 {
		// As Argo CD does.
		config.RequestedScopes = []string{"openid", "profile", "email", "groups"}
	}
	return config, o, func() error {
		found := append(found, err)
		if err == nil {
			found = append(found, checkConfig(valuesOIDC, usual, ofSecret(of), isSecret), checkOIDC(inValues, o), checkEffect(inValues, o))
			if p := providerOf(o.Issuer); p != nil && len(o.Scopes) == 0 {
				found = append(found, fmt.Errorf("%s.requestedScopes: is missing, and %s refuses groups, which Argo CD then asks for: write [openid, profile, email]", valuesOIDC, p.name))
			}
		}
		return mistakes.Join(found...)
	}
}

// asText returns a number or a switch as the text that Argo CD's decoder makes of it, if the field is one.
func asText(field string, v any) any {
	for of, i := reflect.TypeFor[oidcConfig](), 0; i < of.NumField(); i++ {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if kind := reflect.ValueOf(v).Kind(); name == field && of.Field(i).Type.Kind() == reflect.String && (kind == reflect.Bool || kind >= reflect.Int && kind <= reflect.Float64) {
			return fmt.Sprint(v)
		}
	}
	return v
}

// standIn is what stands for a reference to a secret in a field that is a URL, and in others.
var standIn = map[string]string{"issuer": "https://secret.invalid", "logoutURL": "https://secret.invalid", "userInfoBaseURL": "https://secret.invalid", "userInfoPath": "/secret", "userInfoCacheExpiration": "5m", "refreshTokenThreshold": "5m"}

// withoutReferences returns a value in which no text refers to a secret.
func withoutReferences(field string, v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "$") {
			return cmp.Or(standIn[field], "secret")
		}
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withoutReferences("", item)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, is := range v {
			out[key] = withoutReferences("", is)
		}
		return out
	}
	return v
}

// argocds are keys that argocd-secret has anyway, and those that the chart's own values set; one that ends with a dot is a prefix.
var argocds = []string{"server.secretkey", "tls.crt", "tls.key", "admin.", "webhook.", "accounts."}

// ofSecret are references to keys of argocd-secret, and to Secrets of the virtual cluster.
func ofSecret(of part.Candidate) references {
	merged := of.ArgoCD.Merged()
	keys := maps.Clone(values.At[values.Values](merged, "configs", "secret", "extra"))
	if keys == nil {
		keys = values.Values{}
	}
	for _, k := range of.Spec.ArgoCDSecretKeys {
		keys[k.Key] = true
	}
	elsewhere := of.Unassigned || !values.Enabled(merged, true, "configs", "secret", "createSecret")
	return references{instead: "write it into a Secret, its name into spec.argocd.secretKeys, and $<key> here", refuse: func(text string) error {
		key := strings.TrimPrefix(text, "$")
		_, there := keys[key]
		// Whoever has the virtual cluster makes other Secrets in it.
		if there || elsewhere || strings.Contains(key, ":") || slices.ContainsFunc(argocds, func(has string) bool {
			return key == has || strings.HasSuffix(has, ".") && strings.HasPrefix(key, has)
		}) {
			return nil
		}
		return fmt.Errorf("%q is no key that argocd-secret will have: write an entry with key %q into spec.argocd.secretKeys, or the key of one", text, key)
	}}
}

// readDex reads the connectors in a configuration of Dex, with their entries.
func readDex(object map[string]any) (spec v1alpha1.DexSpec, entries []map[string]any, isList bool) {
	_, v := connectors.Get(object, "connectors")
	list, isList := v.([]any)
	for _, item := range list {
		entry, _ := item.(map[string]any)
		name := func(field string) string {
			_, v := connectors.Get(entry, field)
			s, _ := v.(string)
			return s
		}
		spec.Connectors = append(spec.Connectors, v1alpha1.DexConnector{Type: name("type"), ID: name("id"), Name: name("name")})
		entries = append(entries, entry)
	}
	return spec, entries, isList
}

// checkValuesOfDex checks a configuration of Dex as spec.sso.dex is checked.
func checkValuesOfDex(of part.Candidate, object map[string]any) error {
	spec, entries, isList := readDex(object)
	if !isList || len(entries) == 0 {
		return fmt.Errorf("%s.connectors: is no list of connectors, and Dex wouldn't start: write one connector at least, or write spec.sso.dex", valuesDex)
	}
	refs := ofSecret(of)
	inEnv := environment(of.ArgoCD.Merged())
	refuse := refs.refuse
	refs.refuse = func(text string) error {
		if inEnv(strings.TrimPrefix(text, "$")) {
			return nil
		}
		return refuse(text)
	}
	rest := maps.Clone(object)
	delete(rest, "connectors")
	found := []error{connectors.CheckWhole(valuesDex, object), checkConfig(valuesDex, rest, refs, func(string) bool { return false }), checkDex(valuesDex, spec), checkTypes(valuesDex, spec)}
	for i, entry := range entries {
		at := fmt.Sprintf("%s.connectors[%d]", valuesDex, i)
		found = append(found, connectors.CheckEntry(at, entry))
		_, v := connectors.Get(entry, "config")
		config, _ := v.(map[string]any)
		found = append(found, checkConfig(at+".config", config, refs, isSecret), connectors.Check(at+".config", spec.Connectors[i].Type, config, hasFiles(of)))
	}
	return mistakes.Join(found...)
}

// environment returns whether a name is one of Dex's environment, which Dex looks at for what Argo CD knows no secret of.
func environment(merged values.Values) func(name string) bool {
	dex := values.At[values.Values](merged, "dex")
	var from, env []any
	raw, _ := json.Marshal(map[string]any{"from": dex["envFrom"], "env": dex["env"]})
	lists := struct{ From, Env []any }{from, env}
	// Values of another kind are refused elsewhere.
	_ = json.Unmarshal(raw, &lists)
	return func(name string) bool {
		return len(lists.From) > 0 || slices.ContainsFunc(lists.Env, func(e any) bool { is, _ := e.(map[string]any); return is["name"] == name })
	}
}
