package images

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// A found image, with the place that names it.
type found struct{ reference, place string }

// inPods returns the images of all pods that an object describes, wherever in it they are: of a Deployment, of a CronJob, of a custom resource with the
// template of a pod, or of an object inside an Object of provider-kubernetes.
func inPods(o any) []string {
	var out []string
	switch o := o.(type) {
	case []any:
		for _, item := range o {
			out = append(out, inPods(item)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(o)) {
			switch key {
			case "containers", "initContainers", "ephemeralContainers":
				for _, c := range listOf(o[key]) {
					out = append(out, textAt(c, "image"))
				}
			case "volumes":
				for _, v := range listOf(o[key]) {
					out = append(out, textAt(v, "image", "reference"))
				}
			}
			out = append(out, inPods(o[key])...)
		}
	}
	return slices.DeleteFunc(out, func(reference string) bool { return reference == "" })
}

// inTexts returns the images that an object names elsewhere: in the arguments, the commands and the environment of its containers, and in the data of a
// ConfigMap or Secret. Text looks like a reference of an image in many places, so only the repositories count that the chart's values name as such.
func inTexts(o map[string]any, repositories []string) []string {
	if len(repositories) == 0 {
		return nil
	}
	var texts []string
	collectTexts(o, &texts)
	for _, key := range []string{"data", "stringData"} {
		data, _ := o[key].(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(data)) {
			if text, ok := data[k].(string); ok {
				texts = append(texts, text)
			}
		}
	}
	var quoted []string
	for _, r := range repositories {
		quoted = append(quoted, regexp.QuoteMeta(r))
	}
	pattern := regexp.MustCompile(`(?:^|[^A-Za-z0-9._/-])((?:(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::[0-9]+)?|[A-Za-z0-9-]+:[0-9]+|localhost)/)?(?:` + strings.Join(quoted, "|") + `)(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127}(?:@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64}))`)
	var out []string
	for _, text := range texts {
		for _, match := range pattern.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(out, match[1]) {
				out = append(out, match[1])
			}
		}
	}
	return out
}

// collectTexts collects the arguments, commands and environment of all containers.
func collectTexts(o any, into *[]string) {
	switch o := o.(type) {
	case []any:
		for _, item := range o {
			collectTexts(item, into)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(o)) {
			switch key {
			case "args", "command":
				for _, item := range listOf(o[key]) {
					if text, ok := item.(string); ok {
						*into = append(*into, text)
					}
				}
			case "env":
				for _, item := range listOf(o[key]) {
					*into = append(*into, textAt(item, "value"))
				}
			}
			collectTexts(o[key], into)
		}
	}
}

// repositoriesOf returns the repositories of images that values name: {repository: argoproj/argoexec, tag: v4}, or a text at a key that ends with image.
func repositoriesOf(values any) []string {
	seen := map[string]bool{}
	addRepositories(values, seen)
	return slices.Sorted(maps.Keys(seen))
}

func addRepositories(values any, into map[string]bool) {
	switch values := values.(type) {
	case []any:
		for _, item := range values {
			addRepositories(item, into)
		}
	case map[string]any:
		if repository, ok := values["repository"].(string); ok && repository != "" {
			if _, tagged := values["tag"]; tagged {
				into[pathOf(repository)] = true
			}
		}
		for key, below := range values {
			if text, ok := below.(string); ok && strings.HasSuffix(strings.ToLower(key), "image") {
				if ref, err := name.ParseReference(text, name.WeakValidation); err == nil && strings.ContainsAny(text, ":@/") {
					into[pathOf(strings.TrimSuffix(text, ":"+ref.Identifier()))] = true
				}
			}
			addRepositories(below, into)
		}
	}
}

// pathOf returns a repository without its registry and without a digest.
func pathOf(repository string) string {
	repository, _, _ = strings.Cut(repository, "@")
	_, path := split(repository)
	path, _, _ = strings.Cut(path, ":")
	return path
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// textAt returns the text at a path; "" for none.
func textAt(v any, path ...string) string {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	text, _ := v.(string)
	return text
}

// identity is kind and name of an object, for messages.
func identity(o map[string]any) string {
	return fmt.Sprintf("%s %s", textAt(o, "kind"), textAt(o, "metadata", "name"))
}
