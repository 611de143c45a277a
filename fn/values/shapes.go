package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// A finding is a mistake in a value at a path.
type finding struct {
	path    []string
	message string
}

// kubernetes are the types of values that the argo-cd chart writes into its manifests as they are, by the last key of their paths. The API
// server leaves out fields that a type doesn't have, and Helm doesn't say so.
var kubernetes = map[string]any{
	"affinity":                  corev1.Affinity{},
	"containerSecurityContext":  corev1.SecurityContext{},
	"deploymentStrategy":        appsv1.DeploymentStrategy{},
	"dnsConfig":                 corev1.PodDNSConfig{},
	"env":                       []corev1.EnvVar{},
	"envFrom":                   []corev1.EnvFromSource{},
	"extraArgs":                 []string{},
	"extraContainers":           []corev1.Container{},
	"hostAliases":               []corev1.HostAlias{},
	"imagePullSecrets":          []corev1.LocalObjectReference{},
	"initContainers":            []corev1.Container{},
	"lifecycle":                 corev1.Lifecycle{},
	"nodeSelector":              map[string]string{},
	"resources":                 corev1.ResourceRequirements{},
	"tolerations":               []corev1.Toleration{},
	"topologySpreadConstraints": []corev1.TopologySpreadConstraint{},
	"volumeMounts":              []corev1.VolumeMount{},
	"volumes":                   []corev1.Volume{},
	"autoscaling.behavior":      autoscalingv2.HorizontalPodAutoscalerBehavior{},
	"autoscaling.metrics":       []autoscalingv2.MetricSpec{},
}

// kubernetesType returns the type of a value of the argo-cd chart; nil for one that isn't of Kubernetes. The chart of redis-ha has values of
// its own with the same names.
func kubernetesType(path []string) reflect.Type {
	last := len(path) - 1
	if last < 1 || path[last] == "extraArgs" && last > 1 || path[0] == "redis-ha" || path[0] == "configs" || path[0] == "extraObjects" || path[0] == "notifications" && last > 1 && path[1] != "metrics" || slices.Equal(path, []string{"global", "affinity"}) {
		return nil
	}
	if is, ok := kubernetes[path[last-1]+"."+path[last]]; ok {
		return reflect.TypeOf(is)
	}
	if is, ok := kubernetes[path[last]]; ok {
		return reflect.TypeOf(is)
	}
	return nil
}

// checkKubernetes returns what is wrong with a value of one of Kubernetes' types.
func checkKubernetes(field string, path []string, is any, want reflect.Type) []finding {
	at, key := field, path[len(path)-1]
	if len(path) > 1 {
		at += "." + strings.Join(path[:len(path)-1], ".")
	}
	// The value alone, as the only field of a type.
	of := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "Value", Type: want, Tag: reflect.StructTag(`json:"` + key + `"`)}}))
	unknown, err := wire.Decode(at, pages.KubernetesFields, map[string]any{key: is}, of.Interface())
	if amount := amountIn(is); amount != "" && key == "resources" {
		unknown, err = nil, fmt.Errorf("%s.%s.%s", field, strings.Join(path, "."), amount)
	}
	var out []finding
	for _, mistake := range mistakes.Each(mistakes.Join(err, unknown)) {
		out = append(out, finding{path, mistake.Error()})
	}
	return out
}

// CheckResources refuses resources of containers, wherever they are in values at a field, with fields or amounts that Kubernetes doesn't have:
// charts write them as they are.
func CheckResources(field string, v Values) error {
	var found []error
	var walk func(v any, path []string)
	walk = func(v any, path []string) {
		of, _ := v.(Values)
		for _, key := range slices.Sorted(maps.Keys(of)) {
			at := append(slices.Clone(path), key)
			if _, number := costlyNumber(of[key]); key != "resources" || number != "" {
				walk(of[key], at)
				continue
			}
			for _, f := range checkKubernetes(field, at, of[key], reflect.TypeFor[corev1.ResourceRequirements]()) {
				found = append(found, errors.New(f.message))
			}
		}
	}
	walk(v, nil)
	return mistakes.Join(found...)
}

// amountIn returns the first amount of resources that is none, as the end of a message; "" for none.
func amountIn(resources any) string {
	of, _ := resources.(Values)
	for _, kind := range []string{"limits", "requests"} {
		amounts := At[Values](of, kind)
		for _, name := range slices.Sorted(maps.Keys(amounts)) {
			text := AmountText(amounts[name])
			if _, ok := ParseAmount(text); !ok && amounts[name] != nil {
				return fmt.Sprintf("%s.%s: %.40q is not an amount: write one such as 500m or 2Gi", kind, name, text)
			}
		}
	}
	return ""
}

// A settingText is what the argo-cd chart makes a text of, at paths in which * stands for any key.
type settingText struct {
	path string
	// strict reports whether it has to be text: templates fail on a number or a switch.
	strict bool
}

var texts = []settingText{
	{"configs.cm.*", false},
	{"configs.params.*", false},
	{"configs.rbac.*", true},
	{"configs.secret.extra.*", true},
	{"configs.repositories.*.*", true},
	{"configs.credentialTemplates.*.*", true},
	{"configs.tls.certificates.*", true},
	{"configs.gpg.keys.*", true},
	{"configs.ssh.knownHosts", true},
	{"configs.ssh.extraHosts", true},
	{"notifications.notifiers.*", true},
	{"notifications.templates.*", true},
	{"notifications.triggers.*", true},
	{"notifications.secret.items.*", true},
	{"*.labels.*", false},
	{"*.annotations.*", false},
}

// objects are maps of the argo-cd chart in which each key has a map.
var objects = []string{"configs.repositories", "configs.credentialTemplates", "configs.clusterCredentials", "configs.clusterCredentials.*.config", "configs.tls.certificates", "configs.cmp.plugins", "configs.secret.extra", "notifications.secret.items"}

func fits(path []string, pattern string) bool {
	parts := strings.Split(pattern, ".")
	if parts[0] == "*" && len(parts) == 3 {
		// Labels and annotations are anywhere.
		return len(path) >= 2 && path[len(path)-2] == parts[1] && (len(path) < 3 || path[0] != "extraObjects")
	}
	if len(path) != len(parts) {
		return false
	}
	for i, part := range parts {
		if part != "*" && part != path[i] {
			return false
		}
	}
	return true
}

// isSettingText reports whether the argo-cd chart writes what is at a path into one of Argo CD's settings.
func isSettingText(path []string) bool {
	return len(path) > 2 && path[0] == "configs" && slices.Contains([]string{"cm", "params", "rbac"}, path[1]) && path[2] != "annotations" && path[2] != "create"
}

// check returns what is wrong with a value of which the chart makes a text; "" for nothing.
func (t settingText) check(path []string, is any) string {
	key := path[len(path)-1]
	if len(path) == 3 && (key == "create" || key == "annotations") {
		// The chart's own.
		return ""
	}
	switch is := is.(type) {
	case nil, string:
		return ""
	case Values:
		if len(is) == 0 {
			return ""
		}
		advice := "write text, such as YAML after |"
		if below := slices.Sorted(maps.Keys(is)); !isYAML(key) {
			advice = fmt.Sprintf("a key with dots is one key, such as %q; write that, or text", key+"."+below[0])
		}
		return fmt.Sprintf("is an object, and Argo CD takes text there: %s", advice)
	case []any:
		if len(is) == 0 {
			return ""
		}
		return "is a list, and Argo CD takes text there: write text, with commas between the items, or YAML after |, as Argo CD's documentation has it"
	}
	if t.strict {
		return fmt.Sprintf("%v is not text: write it in quotes", is)
	}
	return ""
}

// isYAML reports whether the text of a setting is YAML.
func isYAML(key string) bool {
	return strings.HasSuffix(key, ".config") || strings.HasPrefix(key, "resource.") || strings.HasPrefix(key, "service.") || strings.HasPrefix(key, "template.") || strings.HasPrefix(key, "trigger.")
}

// misshapen returns the mistakes in the shape of values of the argo-cd chart that the chart's own defaults don't show, sorted by path.
func misshapen(field string, v Values) []finding {
	var out []finding
	var walk func(v Values, path []string)
	walk = func(v Values, path []string) {
		for _, key := range slices.Sorted(maps.Keys(v)) {
			is, at := v[key], append(slices.Clone(path), key)
			of, isMap := is.(Values)
			if len(path) == 0 && key == "extraObjects" || is == nil {
				continue
			}
			if want := kubernetesType(at); want != nil {
				// Decoding would compute with a costly amount, which is refused elsewhere.
				if _, number := costlyNumber(is); number != "" {
					continue
				}
				out = append(out, checkKubernetes(field, at, is, want)...)
				continue
			}
			if i := slices.IndexFunc(texts, func(t settingText) bool { return fits(at, t.path) }); i >= 0 {
				if message := texts[i].check(at, is); message != "" {
					out = append(out, finding{at, field + "." + strings.Join(at, ".") + ": " + message})
					continue
				}
			}
			if !isMap && is != "" && slices.ContainsFunc(objects, func(o string) bool { return fits(at, o) }) {
				out = append(out, finding{at, fmt.Sprintf("%s.%s: is no object: write an object, such as {name: ...}, or leave it out", field, strings.Join(at, "."))})
				continue
			}
			if isMap {
				walk(of, at)
			}
		}
	}
	walk(v, nil)
	return out
}

// checkShapes refuses values of a claim that can't be in the place in which they are; those of the platform are named.
func (s *Stack) checkShapes(l Layer) error {
	found := misshapen(l.Field.Path, l.Values)
	if s.chart != nil && s.chart.Exact {
		for _, m := range s.chart.Misshapen(l.Values, isSettingText) {
			if !slices.ContainsFunc(found, func(f finding) bool { return slices.Equal(f.path, m.Path) }) {
				found = append(found, finding{m.Path, l.Field.Below(strings.Join(m.Path, ".")).Path + ": " + m.Message})
			}
		}
	}
	var errs []error
	before := slices.Clone(s.refused)
	for _, f := range found {
		if slices.ContainsFunc(before, func(at []string) bool { return Below(f.path, at) }) {
			continue
		}
		now, _ := Lookup(l.Values, f.path...)
		if s.chart != nil && s.chart.IsDefault(f.path, now) {
			continue
		}
		was, had := Lookup(l.Accepted, f.path...)
		if l.Field.Owner < Claim || had && Same(now, was) {
			s.noEffect = append(s.noEffect, f.message)
			continue
		}
		s.refused, errs = append(s.refused, f.path), append(errs, errors.New(f.message))
	}
	return mistakes.Join(errs...)
}

// Same reports whether two values, or parts of specs, say the same, of which one may have been in JSON since: checks of a later version of
// the function leave alone what is as it was accepted.
func Same(a, b any) bool {
	return reflect.DeepEqual(a, b) || reflect.DeepEqual(decoded(a), decoded(b))
}

// decoded is what a value says, however its JSON is written, with numbers as they are. What came from JSON can be encoded.
func decoded(v any) (out any) {
	raw, _ := json.Marshal(v)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&out)
	return out
}
