{{/* Where images of containers come from: ImageConfigs rewrite packages only. */}}
{{- define "virtual-argocd.images" -}}
{{- $published := "xpkg.crossplane.io/virtual-argocd" -}}
{{- if ne .Values.registry $published -}}
{{ .Values.registry }}
{{- else if .Values.mirror -}}
{{ .Values.mirror }}/virtual-argocd
{{- else -}}
{{ $published }}
{{- end -}}
{{- end -}}

{{/* A file of examples/install, with this release's versions and images. Takes a list of the chart's scope and the file's name. */}}
{{- define "virtual-argocd.file" -}}
{{- $root := index . 0 -}}
{{- $published := "xpkg.crossplane.io/virtual-argocd/" -}}
{{- $text := $root.Files.Get (printf "files/%s" (index . 1)) | required (printf "the chart has no file files/%s: pack it with make push" (index . 1)) -}}
{{- range $name, $version := dict "function-virtual-argocd" $root.Values.versions.function "virtual-argocd" $root.Values.versions.configuration -}}
{{- if $version -}}
{{- $at := ternary "@" ":" (hasPrefix "sha256:" $version) -}}
{{- $text = regexReplaceAll (printf "%s%s[:@]\\S+( # v\\S+)?" $published $name) $text (printf "%s%s%s%s" $published $name $at $version) -}}
{{- end -}}
{{- end -}}
{{- $text | replace (printf "image: %s" $published) (printf "image: %s/" (include "virtual-argocd.images" $root)) -}}
{{- end -}}

{{/* The objects of such a file, as a JSON object with the list `objects`. */}}
{{- define "virtual-argocd.objects" -}}
{{- $objects := list -}}
{{- range splitList "\n---\n" (include "virtual-argocd.file" .) -}}
{{- $objects = append $objects (fromYaml .) -}}
{{- end -}}
{{- dict "objects" $objects | toJson -}}
{{- end -}}

{{/* An object with Crossplane's Secret for registries, on its way to a package and its pods. Takes a list of the chart's scope and a package. */}}
{{- define "virtual-argocd.package" -}}
{{- $package := index . 1 -}}
{{- with (index . 0).Values.pullSecret -}}
{{- $_ := set $package.spec "packagePullSecrets" (list (dict "name" .)) -}}
{{- end -}}
{{- toYaml $package -}}
{{- end -}}

{{/* A container that runs kubectl. Takes a list of the chart's scope, the container's name and the arguments. */}}
{{- define "virtual-argocd.kubectl" -}}
- name: {{ index . 1 }}
  image: {{ (index . 0).Values.hooks.image }}
  args:
    {{- toYaml (index . 2) | nindent 4 }}
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
  resources:
    requests:
      cpu: 10m
      memory: 32Mi
    limits:
      memory: 256Mi
  volumeMounts:
    - name: manifests
      mountPath: /manifests
{{- end -}}
