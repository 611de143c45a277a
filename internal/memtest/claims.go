package memtest

import (
	"fmt"
	"strings"

	yamltext "github.com/virtual-argocd/virtual-argocd/fn/text"
)

const (
	// size is as many bytes as the values of a claim may have, less some for quotes and keys.
	size = 240 << 10
	// signs is as many lines and signs of YAML as the texts of a claim may have, less some for those of keys.
	signs = 19_500
	// count is as many values as a claim may have, less a few.
	count = 4900
	// objects is as many objects as the argo-cd chart may create for a claim.
	objects = 100
)

// Claims are values of the argo-cd chart that a claim may have.
func Claims() map[string]map[string]any {
	out := map[string]map[string]any{
		"Nothing":      {},
		"ExtraObjects": {"extraObjects": manifests(objects, map[string]any{"a": text(size / objects)})},
		"ManyInExtraObjects": {"extraObjects": manifests(objects, func() map[string]any {
			data := map[string]any{}
			for i := range count/objects - 8 {
				data[fmt.Sprintf("k%d", i)] = "a"
			}
			return data
		}())},
		"Variables":       {"server": map[string]any{"env": variables(count / 3)}},
		"GlobalVariables": {"global": map[string]any{"env": variables(count / 3)}},
		"Deep":            {"server": map[string]any{"podAnnotations": map[string]any{"a": text(1000)}, "clusterRoleRules": map[string]any{"enabled": true, "rules": []any{deep(25)}}}},
	}
	for name, s := range map[string]string{
		"Text": text(size), "Lines": repeat("a: b\n"), "Sequences": repeat("- - - -\n"), "FlowSequences": repeat("[], "), "FlowMaps": repeat("{a: b}, "),
		"Comments": repeat("#\n"), "Quotes": repeat(`"`), "Escapes": strings.Repeat("\x01", size/len(`\u0001`)), "Documents": repeat("---\n"),
	} {
		out[name+"/setting"] = map[string]any{"configs": map[string]any{"cm": map[string]any{"a": s}}}
		out[name+"/annotation"] = map[string]any{"server": map[string]any{"podAnnotations": map[string]any{"a": s}}}
	}
	// The chart writes these into every workload, without quotes.
	for name, item := range map[string]string{"FlowLists": "[],", "FlowMaps": "{a: b},", "Items": "a,", "Quoted": `"",`, "Sets": "{a},"} {
		out[name+"InWorkloads"] = map[string]any{"global": map[string]any{"image": map[string]any{"imagePullPolicy": "[" + repeat(item) + "]"}}}
	}
	// The tag is in every workload.
	out["Image"] = map[string]any{"global": map[string]any{"image": map[string]any{"tag": text(size)}}}
	// Settings are no templates.
	out["Templates"] = map[string]any{"configs": map[string]any{"cm": map[string]any{"a": repeat("{{/**/}}")}}}
	settings := map[string]any{}
	for i := range count {
		settings[fmt.Sprintf("key%05d", i)] = text(size/count - 12)
	}
	out["Settings"] = map[string]any{"configs": map[string]any{"cm": settings}}
	// The labels of all pods are in every workload.
	labels := map[string]any{}
	for i := range count {
		labels[fmt.Sprintf("l%05d", i)] = "a"
	}
	out["PodLabels"] = map[string]any{"global": map[string]any{"podLabels": labels}}
	out["PodAnnotations"] = map[string]any{"global": map[string]any{"podAnnotations": map[string]any{"a": text(size)}}}
	return out
}

func text(n int) string { return strings.Repeat("x", n) }

// repeat repeats a text as often as the values of a claim may have it.
func repeat(s string) string {
	return strings.Repeat(s, min(size/len(s), signs/max(1, yamltext.Signs(s))))
}

func manifests(n int, data map[string]any) []any {
	var out []any
	for i := range n {
		out = append(out, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("c%d", i)}, "data": data})
	}
	return out
}

func variables(n int) []any {
	var out []any
	for i := range n {
		out = append(out, map[string]any{"name": fmt.Sprintf("V%d", i), "value": "a"})
	}
	return out
}

func deep(n int) map[string]any {
	if n == 0 {
		return map[string]any{}
	}
	return map[string]any{"a": deep(n - 1)}
}
