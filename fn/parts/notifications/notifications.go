// Package notifications is the part of a claim with the notifications that its Argo CD sends.
package notifications

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

const (
	field = "spec.notifications"
	// secretName is the Secret that Argo CD's services refer to.
	secretName = "argocd-notifications-secret"
	// defaultTriggers is a key of argocd-notifications-cm, and argocdURL one of its context.
	defaultTriggers = "defaultTriggers"
	argocdURL       = "argocdUrl"
)

// Part is spec.notifications.
var Part = part.Part{
	Field: field, Secrets: secretNames, Resolve: resolve,
	Condition: v1alpha1.ConditionNotificationsReady,
	Has:       func(t tenant.Tenant) bool { return t.Notifications.On }, Observe: observe,
}

func secretNames(s tenant.Ask) []string {
	if s.Notifications == nil || s.Notifications.SecretRef == nil {
		return nil
	}
	return []string{s.Notifications.SecretRef.Name}
}

func resolve(c part.Candidate) error {
	spec := c.Spec.Notifications
	if spec == nil {
		return nil
	}
	c.Decision.Notifications.On = true
	for _, s := range spec.Services {
		c.Decision.Notifications.Services = append(c.Decision.Notifications.Services, nameOf(s))
	}
	for _, t := range spec.Triggers {
		c.Decision.Notifications.Triggers = append(c.Decision.Notifications.Triggers, t.Name)
	}
	var found []error
	if spec.SecretRef != nil {
		found = append(found, credentials.CheckSecretRef(field, *spec.SecretRef))
	}
	if !wasAccepted(c) {
		found = append(found, check(c, *spec))
	}
	if !values.Enabled(c.ArgoCD.Merged(), true, "notifications", "enabled") && !c.Unassigned {
		found = append(found, fmt.Errorf("%s: the notifications controller doesn't run, because of %s: leave out one of the two", field, c.ArgoCD.Field("notifications", "enabled")))
	}
	lacking, written := setSecret(c, *spec)
	own, err := valuesOf(*spec, lacking)
	if written {
		values.Insert(own, false, "notifications", "secret", "create")
	}
	found = append(found, err)
	rules := []values.Rule{values.Be(true, "notifications", "cm", "create"), values.Be(secretName, "notifications", "secret", "name")}
	for _, path := range values.Leaves(own) {
		rules = append(rules, values.Not(path...))
	}
	if spec.SecretRef != nil {
		// Also while the Secret is missing: whether a claim is accepted doesn't depend on that.
		rules = append(rules, values.Not("notifications", "secret", "create"), values.Not("notifications", "secret", "items"))
	}
	// Values of the platform with the same names are overridden, as by the claim's own values, and its subscriptions stay.
	if err := mistakes.Join(append(found, c.ArgoCD.Reserve(values.Claim, field, rules...))...); err != nil {
		return err
	}
	subscriptions := []string{"notifications", "subscriptions"}
	if ours := values.At[[]any](own, subscriptions...); len(ours) > 0 {
		values.Insert(own, slices.Concat(values.At[[]any](c.ArgoCD.Merged(), subscriptions...), ours), subscriptions...)
	}
	c.Decision.ArgoCD.Values = values.Merge(c.Decision.ArgoCD.Values, own)
	return nil
}

// wasAccepted reports whether the notifications, and what they refer to in the claim's values, are as they were accepted before.
func wasAccepted(c part.Candidate) bool {
	was := c.WasAsked()
	return values.Same(was.Notifications, c.Spec.Notifications) && values.Same(values.At[values.Values](was.ArgoCDValues, "notifications"), values.At[values.Values](c.Spec.ArgoCDValues, "notifications"))
}

// setSecret adds the Secret that services refer to, and reports whether there is one. It returns the services, by their place, that refer to
// keys that it doesn't have: Argo CD would take the reference itself for the secret, and some services then keep all others from being sent, too.
func setSecret(c part.Candidate, spec v1alpha1.NotificationsSpec) (lacking map[int]bool, written bool) {
	if spec.SecretRef == nil {
		return nil, false
	}
	secret := credentials.Read(c.Given, spec.SecretRef.Name)
	data := values.Values{}
	// The chart writes no Secret beside this one.
	items := values.At[values.Values](c.ArgoCD.Merged(), "notifications", "secret", "items")
	for key, value := range items {
		data[key] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(value)))
	}
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		data[key] = base64.StdEncoding.EncodeToString([]byte(secret.Text(key)))
	}
	for i, s := range spec.Services {
		// What is no object is refused elsewhere.
		config, _ := decode(s.Config)
		for _, key := range referencesIn(config) {
			if _, set := items[key]; !set && !secret.Has(key) {
				why := fmt.Sprintf("%s.services[%d].config refers to it", field, i)
				if near := known.Nearest(key, slices.Sorted(maps.Keys(secret.Data))); near != "" {
					why += "; did you mean " + near + "?"
				}
				secret.Need(key, why)
			}
		}
	}
	state := c.Sensitive.AddObject(tenant.Connection{Kind: "Notifications", Name: "Secret " + spec.SecretRef.Name}, secret.Problem, values.Values{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data,
		"metadata": values.Values{"name": secretName, "namespace": tenant.ArgoCDNamespace, "labels": values.Values{"app.kubernetes.io/part-of": "argocd"}},
	}, secretName)
	c.Decision.Notifications.Secrets = []tenant.Connection{state}
	has := values.Values{}
	for _, o := range c.Sensitive.Objects {
		if o, ok := o.(values.Values); ok && values.At[string](o, "metadata", "name") == secretName {
			has, written = values.At[values.Values](o, "data"), true
		}
	}
	if !written {
		has = items
	}
	lacking = map[int]bool{}
	for i, s := range spec.Services {
		config, _ := decode(s.Config)
		for _, key := range referencesIn(config) {
			if _, ok := has[key]; !ok {
				lacking[i] = true
			}
		}
	}
	return lacking, written
}

// valuesOf returns the chart's values, which become Argo CD's ConfigMap argocd-notifications-cm.
func valuesOf(spec v1alpha1.NotificationsSpec, lacking map[int]bool) (values.Values, error) {
	own := values.Values{}
	var found []error
	set := func(v any, at string, path ...string) {
		text, err := toYAML(v)
		if err != nil {
			found = append(found, fmt.Errorf("%s: cannot be written as YAML: %w", at, err))
			return
		}
		values.Insert(own, text, append([]string{"notifications"}, path...)...)
	}
	for i, s := range spec.Services {
		config, err := decode(s.Config)
		if err != nil || lacking[i] {
			continue
		}
		set(config, fmt.Sprintf("%s.services[%d]", field, i), "notifiers", keyOf(s))
	}
	for i, t := range spec.Templates {
		config, err := decode(t.Config)
		if err != nil {
			continue
		}
		if t.Message != "" {
			config["message"] = t.Message
		}
		set(config, fmt.Sprintf("%s.templates[%d]", field, i), "templates", "template."+t.Name)
	}
	for i, t := range spec.Triggers {
		set(t.Conditions, fmt.Sprintf("%s.triggers[%d]", field, i), "triggers", "trigger."+t.Name)
	}
	if len(spec.DefaultTriggers) > 0 {
		set(spec.DefaultTriggers, field+".defaultTriggers", "triggers", defaultTriggers)
	}
	var subscriptions []any
	for _, s := range spec.Subscriptions {
		out := values.Values{"recipients": list(s.Recipients)}
		if len(s.Triggers) > 0 {
			out["triggers"] = list(s.Triggers)
		}
		if s.Selector != "" {
			out["selector"] = s.Selector
		}
		subscriptions = append(subscriptions, out)
	}
	if len(subscriptions) > 0 {
		values.Insert(own, subscriptions, "notifications", "subscriptions")
	}
	for key, value := range spec.Context {
		values.Insert(own, string(value), "notifications", "context", key)
	}
	return own, mistakes.Join(found...)
}

func list(of []string) []any {
	out := make([]any, 0, len(of))
	for _, s := range of {
		out = append(out, s)
	}
	return out
}

// toYAML returns a value as YAML, with numbers as they are written.
func toYAML(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	text, err := yaml.JSONToYAML(raw)
	return string(text), err
}

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	passed := argocd.Passed(t, is, t.Notifications.Secrets, "service")
	state := release.StateOf(t.Composed(tenant.ArgoCDRelease))
	switch {
	case !passed.True:
		return passed
	case state.RollsOut():
		return is.No(v1alpha1.ReasonInstalling, "Rolling out the notifications", "")
	}
	spec := t.Notifications
	what := func(names []string) string {
		n := few.Names{}
		for _, name := range names {
			n.Add(name)
		}
		return n.String()
	}
	var has []string
	for _, of := range []struct {
		what  string
		names []string
	}{{"services", spec.Services}, {"triggers", spec.Triggers}} {
		if len(of.names) > 0 {
			has = append(has, of.what+" "+what(of.names))
		}
	}
	message := "Argo CD has the notifications of the claim"
	if len(has) > 0 {
		message += ": " + strings.Join(has, ", ")
	}
	return is.Yes(message + "; whether a service accepts them isn't looked at: the log of the notifications controller says so")
}
